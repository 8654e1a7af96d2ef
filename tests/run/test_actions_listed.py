"""What is not listed is not let through: each class that a stranger may fill in says of all its fields what they do."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, get_args

import pytest
from pydantic import BaseModel

from loadstone import slot
from loadstone.addon import AddOn
from loadstone.experiment.action import ListsActions, fields
from loadstone.experiment.spec.experiment import AddOnPart, Experiment
from loadstone.experiment.spec.loading import load_experiment
from loadstone.experiment.spec.part import SpecPart
from loadstone.measure.goals.registry import DECLARED
from loadstone.programs.clients.manifest import DriverManifest
from loadstone.programs.manifest import Manifest
from loadstone.run.actions import planned_actions
from loadstone.run.consent import require_consent
from loadstone.run.prepare import requested_experiment, requested_plan
from loadstone.run.request import RunRequest
from loadstone.safety.bounds import pinned_files
from loadstone.safety.errors import UserError
from loadstone.servers import registry

from ..tiny_experiment import TINY

OF_DATA = {
    "Table": "the columns of a declared table, of which loadstone writes the statements (`declared_table`)",
    "Limits": "limits of a process: numbers of bytes and CPUs",
    "LinkSettings": "the delay and bandwidth of a line: numbers",
}
"""Classes within those that a stranger fills in, which hold numbers and checked names alone."""


def classes_in(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        for field in annotation.model_fields.values():
            yield from classes_in(field.annotation)
    for inner in get_args(annotation):
        yield from classes_in(inner)


def written_by_strangers() -> dict[str, type[BaseModel]]:
    goals = [kind.settings_type for _, kind in DECLARED.items()]
    roots = [Experiment.with_add_ons(), Manifest, DriverManifest, *registry.SERVERS.values(), *goals]
    return {kind.__name__: kind for root in roots for kind in classes_in(root)}


@pytest.mark.fault(
    "a new field of an experiment or a manifest of which nobody says what it does",
    "a run asks about it, and a test names it",
    area="foreign",
)
@pytest.mark.parametrize("name", sorted(written_by_strangers()))
def test_each_field_is_harmless_or_listed(name: str) -> None:
    kind = written_by_strangers()[name]
    if name in OF_DATA:
        assert not issubclass(kind, ListsActions), "it says itself what its fields do: take it off the list"
        return
    assert issubclass(kind, ListsActions), "derive it from ListsActions, and say what each of its fields does"
    assert not kind.HARMLESS & kind.LISTED
    parts = {
        field
        for field, info in kind.model_fields.items()
        if any(issubclass(one, AddOnPart) for one in classes_in(info.annotation))
    }
    missing = set(kind.model_fields) - parts - kind.HARMLESS - kind.LISTED
    assert missing <= ({"binary", "json_module", "folder"} if kind.__name__.endswith("Settings") else set())


class Notify(AddOnPart):
    """What an add-on of others may read: it says of one field alone that nothing is done for it."""

    AFTER: ClassVar[str] = "workload"
    HARMLESS = fields("retries")

    retries: int = 0
    url: str = ""


class Within(SpecPart):
    """A part within a part."""

    HARMLESS = fields("title")

    title: str = ""
    hook: Mapping[str, Any] = {}


def brought(monkeypatch: pytest.MonkeyPatch) -> None:
    add_on = AddOn("notify", experiment_fields={"notify": f"{__name__}:Notify"})
    monkeypatch.setattr(slot, "_add_ons", lambda: (add_on,))


@pytest.mark.fault("a new field of an experiment or a manifest of which nobody says what it does")
def test_a_field_of_an_add_on_that_nobody_lists_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    brought(monkeypatch)
    asked = asked_by(f"{TINY}notify: {{url: 'http://outside.example', retries: 2}}\n")
    assert asked == ["starts notify.url: http://outside.example (loadstone does not know what that does)"]
    assert asked_by(f"{TINY}notify: {{retries: 2}}\n") == []


def test_a_setting_of_a_goal_that_nobody_knows_is_on_one_line() -> None:
    goal = '{name: g, kind: unknown, vary: {users: [1]}, "a\\n\\u202eb": 1}'
    (line,) = asked_by(f"{TINY}goals: [{goal}]\n")
    assert line == "starts goals.0.a\\n\\u202eb: 1 (loadstone does not know what that does)"


def asked_by(text: str) -> list[str]:
    experiment = load_experiment(text, label="theirs.yaml")
    plan = requested_plan(experiment, RunRequest(experiment="theirs.yaml", seed=1))
    return [action.line for action in planned_actions(experiment, plan) if action.asks]


def test_a_part_within_a_part_is_looked_at() -> None:
    class Outer(SpecPart):
        HARMLESS = fields("parts")
        parts: dict[str, tuple[Within, ...]]

    outer = Outer.model_validate({"parts": {"a": [{"title": "x"}, {"hook": {"run": "evil"}}]}})
    assert list(outer.unlisted("outer")) == [(("outer", "parts", "a", 1, "hook"), {"run": "evil"})]


TWO = f"{TINY}subjects:\n  app: {{manifest: '${{users.app}}'}}\n".replace("workload:\n", "workload:\n  target: redis\n")
TWO = TWO.replace("levels: [1, 2, 3]", "levels: [1, 2], values: {1: {app: a.yaml}, 2: {app: b.yaml}}")
TWO = TWO.replace("[1, 2, 3]", "[1, 2]")
MANIFEST = "name: app\nrun: {command: 'sh program.sh'}\nbuild: {commands: ['true'], inputs: [WHAT], output: x}\n"


@pytest.mark.fault("a byte of its files changed, or an act was not in the list")
@pytest.mark.parametrize("changed", ["a.yaml", "b.yaml", "a.txt", "b.txt"])
def test_two_manifests_that_do_the_same_are_both_asked_about_again(
    changed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their actions read alike, and rest on files of their own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(MANIFEST.replace("WHAT", f"{name}.txt"))
        (tmp_path / f"{name}.txt").write_text(name)
    (tmp_path / "x.yaml").write_text(TWO)

    def ask(*, trust: bool) -> None:
        request = RunRequest(experiment=str(tmp_path / "x.yaml"), seed=1)
        experiment = requested_experiment(request)
        require_consent(experiment, requested_plan(experiment, request), trust=trust)

    ask(trust=True)
    ask(trust=False)
    with (tmp_path / changed).open("a") as file:
        file.write("# another\n")
    with pytest.raises(UserError, match="add --trust"):
        ask(trust=False)
    pinned_files.forget()
