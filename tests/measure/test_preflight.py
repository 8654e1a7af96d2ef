"""What is read, queried and started before the first trial, on fakes: in which order, and how often."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.experiment.plan.required import PlannedCrash, RequiredSubject
from loadstone.experiment.plan.run_plan import CrashTrial, PlannedTrial, RunPlan
from loadstone.experiment.spec.loading import load_experiment
from loadstone.programs.ready import RunningParts
from loadstone.run.preflight import (
    ask_users_parts,
    check_parts,
    connections_at_once,
    connections_to_one,
    start_parts,
)
from loadstone.safety.errors import UserError
from loadstone.servers import registry

from ..fake_redis import FakeServer
from ..fakes import FakeParts, FakeSubject
from .fake_rig import planned_run

EMBEDDED: dict[str, object] = {"kind": "embedded"}
URL: dict[str, object] = {"kind": "url", "url": "redis://127.0.0.1:6379"}
APP = RequiredSubject(manifest="subjects/spring")


@pytest.fixture
def of_trials() -> Callable[..., RunPlan]:
    """A run plan with a trial for each of these servers' settings and subjects."""

    def made(
        *parts: tuple[Mapping[str, dict[str, object]], Mapping[str, RequiredSubject]], crash: bool = False
    ) -> RunPlan:
        _, run_plan = planned_run()
        first = run_plan.trials[0]
        trials = [
            replace(first, name=f"b01-{number:03d}", servers=dict(servers), subjects=subjects)
            for number, (servers, subjects) in enumerate(parts, 1)
        ]
        if not crash:
            return replace(run_plan, trials=tuple(trials), at_rate=None)
        tried = PlannedCrash("kept", trials[-1].name, "redis", None, 1.0, 1)
        return replace(run_plan, trials=tuple(trials[:-1]), at_rate=None, crashes=(CrashTrial(trials[-1], tried),))

    return made


@dataclass
class Made:
    """Stands for `servers.registry.make_server`: makes fakes, and says of which settings."""

    servers: dict[str, FakeServer] = field(default_factory=dict)

    def __call__(self, name: str, settings: Mapping[str, Any]) -> FakeServer:
        key = repr((name, sorted(settings.items())))
        if key not in self.servers:
            self.servers[key] = FakeServer(name, ours=settings["kind"] != "url")
            self.servers[key].store.up = settings["kind"] == "url"
        return self.servers[key]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Made:
    found = Made()
    monkeypatch.setattr(registry, "make_server", found)
    return found


def test_mistakes_in_servers_and_applications_are_found_before_anything_starts(of_trials: Any, tmp_path: Path) -> None:
    check_parts(of_trials(({"redis": EMBEDDED}, {})))
    for servers, subjects, said in (
        ({"redis": {"kind": "embeded"}}, {}, r"^servers\.redis\.kind: .*embedded"),
        ({"redis": EMBEDDED | {"settingz": {}}}, {}, r"^servers\.redis\.settingz: unknown key"),
        ({}, {"app": RequiredSubject(manifest=str(tmp_path / "none"))}, "none"),
        (
            {},
            {"app": RequiredSubject(urls=("http://127.0.0.1:9",), limits={"cpu": -1})},
            r"^subjects\.app\.limits\.cpu: ",
        ),
        ({}, {"app": RequiredSubject(urls=("ftp://127.0.0.1",))}, "ftp"),
    ):
        with pytest.raises(UserError, match=said):
            check_parts(of_trials((servers, subjects)))


def test_the_parts_of_crashes_are_checked_too(of_trials: Any) -> None:
    plan = of_trials(({"redis": EMBEDDED}, {}), ({"redis": {"kind": "embeded"}}, {}), crash=True)
    with pytest.raises(UserError, match="embeded"):
        check_parts(plan)


def test_a_server_of_the_users_is_queried_once_and_left_as_it_was(of_trials: Any, made: Made) -> None:
    ask_users_parts(of_trials(({"redis": URL}, {}), ({"redis": URL, "own": EMBEDDED}, {}), ({"own": EMBEDDED}, {})))
    theirs, own = made("redis", URL), made("own", EMBEDDED)
    assert [event for event in theirs.events if event in ("start", "found", "stop")] == ["found", "stop"]
    assert theirs.contexts[0].only_asking
    assert theirs.store.up
    assert own.events == [], "what is ours is started when the run begins"


def test_one_that_has_no_room_is_refused_and_still_left(of_trials: Any, made: Made) -> None:
    made("redis", URL).store.config.update({"maxmemory": "1000001"})
    made("redis", URL).store.keys["theirs"] = "x"
    with pytest.raises(UserError, match="server redis"):
        ask_users_parts(of_trials(({"redis": URL}, {})))
    assert made("redis", URL).events[-1] == "stop"


def test_an_application_of_the_users_that_does_not_answer_is_named(of_trials: Any, made: Made) -> None:
    plan = of_trials(({"redis": EMBEDDED}, {"app": RequiredSubject(urls=("http://127.0.0.1:9",))}))
    with pytest.raises(UserError, match=r"subject app \(127\.0\.0\.1:9\)"):
        ask_users_parts(plan)
    assert made("redis", EMBEDDED).events == []


class Needed(FakeParts):
    """Notes what was needed, with which parts; every trial gets servers of its own settings."""

    def __init__(self) -> None:
        super().__init__({})
        self.trials: list[PlannedTrial] = []
        self.subjects = {"app": FakeSubject("app")}

    def need(self, planned: PlannedTrial) -> RunningParts:
        self.trials.append(planned)
        servers = {name: FakeServer(f"{name} {settings['kind']}") for name, settings in planned.servers.items()}
        found = FakeParts(servers, self.subjects if planned.subjects else {})
        return found.need(planned)


def test_every_server_is_started_and_the_first_application_alone(of_trials: Any) -> None:
    parts = Needed()
    other = replace(APP, replicas=2)
    ready = start_parts(
        parts,
        of_trials(({"redis": EMBEDDED}, {"app": APP}), ({"redis": URL, "db": URL}, {"app": other})),
    )
    bare = [trial for trial in parts.trials if not trial.subjects]
    assert [sorted(trial.servers) for trial in bare] == [["redis"], ["db", "redis"]]
    assert all(trial.data == () and trial.target is None for trial in bare)
    assert [trial.subjects for trial in parts.trials if trial.subjects] == [{"app": APP}]
    assert set(ready.subjects) == {"app"}
    assert ready.servers["redis"].server.name == "redis embedded", "of two of one name the first is in the record"
    assert set(ready.servers) == {"redis", "db"}


def test_without_an_application_none_is_started(of_trials: Any) -> None:
    parts = Needed()
    assert start_parts(parts, of_trials(({"redis": EMBEDDED}, {}), ({"redis": EMBEDDED}, {}))).subjects == {}
    assert len(parts.trials) == 1, "equal parts are one"


def test_what_cannot_be_started_ends_the_run_before_it_begins(of_trials: Any) -> None:
    parts = FakeParts({"redis": FakeServer("redis")}, fails=UserError("server redis: it does not start"))
    with pytest.raises(UserError, match="does not start"):
        start_parts(parts, of_trials(({"redis": EMBEDDED}, {})))


def test_conditions_that_take_turns_have_their_connections_open_together(compared: str) -> None:
    trials = make_run_plan(load_experiment(compared.replace("  rounds: never\n", ""))).trials
    block = [trial for trial in trials if trial.group == "users" and trial.block == 1]
    assert len(block) == 4
    assert connections_at_once(block) == sum(map(connections_to_one, block))
    apart = [trial for trial in make_run_plan(load_experiment(compared)).trials if trial.group == "kinds"]
    assert not any(trial.in_rounds for trial in apart)
    assert connections_at_once(apart) == max(map(connections_to_one, apart))
    assert connections_at_once([]) == 0
