"""The core alone: what loads and plans an experiment where no add-on is installed."""

from types import ModuleType
from typing import Any

import pytest

from loadstone import slot
from loadstone.experiment.spec.built_in import FOLDER
from loadstone.experiment.spec.experiment import Experiment
from loadstone.experiment.spec.loading import load_experiment
from loadstone.run.prepare import requested_plan
from loadstone.run.request import RunRequest
from loadstone.run_folder.trial import TrialRecord
from loadstone.safety.errors import UserError

from .plan_text import plan_text
from .readable import names
from .tiny_experiment import TINY

MEMORY_BYTES = 8 << 30
PLAIN = [name for name in names() if not load_experiment(FOLDER / f"{name}.yaml").parts]
"""The experiments that use no key of an add-on."""
BY_TURNS = [
    pytest.param(name, quick, marks=() if quick == bool(number % 2) else pytest.mark.prove)
    for number, name in enumerate(PLAIN)
    for quick in (False, True)
]
"""Each in one of its two lengths every day, and in both by `make prove`."""
LINE = 1 + TINY.count("\n")
"""What is written behind it begins there."""


def nothing_installed() -> tuple[object, ...]:
    return ()


@pytest.fixture
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slot, "_add_ons", nothing_installed)


def planned(experiment: Experiment, *, quick: bool) -> bytes:
    options = RunRequest(experiment.name, quick=quick, seed=1)
    return plan_text(requested_plan(experiment, options, (1,), 2, lambda: MEMORY_BYTES), str)


def test_there_are_plain_ones() -> None:
    assert len(PLAIN) > 3


@pytest.mark.parametrize(("name", "quick"), BY_TURNS)
def test_a_plain_experiment_has_the_same_plan(name: str, quick: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    path = FOLDER / f"{name}.yaml"
    before = planned(load_experiment(path), quick=quick)
    monkeypatch.setattr(slot, "_add_ons", nothing_installed)
    alone = load_experiment(path)
    assert type(alone).model_fields.keys() == Experiment.model_fields.keys()
    assert planned(alone, quick=quick) == before


@pytest.mark.usefixtures("_alone")
@pytest.mark.parametrize("key", ["gate", "load", "saturation"])
def test_a_key_of_an_add_on_is_unknown(key: str) -> None:
    load_experiment(TINY)
    with pytest.raises(UserError, match=rf"^experiment.yaml:{LINE}: {key}: unknown key; .*known here: format, name, "):
        load_experiment(f"{TINY}{key}: {{}}\n")


@pytest.mark.usefixtures("_alone")
def test_what_was_noted_of_a_search_is_kept_as_it_is(synthetic: ModuleType) -> None:
    noted = {"phase": "any", "users": 8, "rate_per_s": None}
    line = synthetic.make_trial().model_dump(mode="json") | {"group": "saturation", "saturation": noted}
    record = TrialRecord.model_validate(line)
    assert record.search == noted
    assert record.model_dump(mode="json")["saturation"] == noted


@pytest.mark.usefixtures("_alone")
def test_what_was_recorded_with_add_ons_is_read_unless_it_uses_them() -> None:
    recorded = load_experiment(TINY).model_dump(mode="json")
    assert Experiment.recorded({**recorded, "load": None}) == Experiment.recorded(recorded)
    with pytest.raises(ValueError, match="load: is read by an add-on that is not installed here"):
        Experiment.recorded({**recorded, "load": "saturate"})


@pytest.mark.usefixtures("_alone")
@pytest.mark.parametrize("given", [{"fleet": "local:2"}, {"fleet": ""}, {"watch": True}])
def test_an_option_of_an_add_on_is_refused(given: dict[str, Any]) -> None:
    (option,) = given
    with pytest.raises(UserError, match=rf"^--{option}: the add-on that does it is not installed; leave it out"):
        RunRequest(**given).require_add_ons()
    RunRequest().require_add_ons()
