"""`load: saturate` and `saturation`: what may be written, and what is said of the rest."""

from typing import Any

import pytest
from tests.experiments import with_overrides

from loadstone.addons.saturation.spec import Saturate, SaturationSpec, latency_objective
from loadstone.experiment.spec.experiment import Experiment
from loadstone.experiment.spec.loading import load_experiment, read_source, validate_source
from loadstone.experiment.spec.problems import ExperimentSource
from loadstone.safety.errors import UserError

EXPERIMENT = """\
format: 1
name: small
question: Where does it saturate?
factors:
  operation: {levels: [get, set]}
tables:
  - {name: all, title: All, vary: {operation: [get, set]}}
servers:
  redis: {kind: embedded}
workload:
  model: {kind: closed, users: 4}
  pool: {connections: 4}
  operations:
    - {name: ping, commands: [{args: PING}]}
"""
COMPARED = "comparisons: [{name: both, question: Which?, between: operation, levels: [get, set]}]\n"


def read(more: str) -> Experiment:
    return load_experiment(EXPERIMENT + more)


def refused(more: str) -> str:
    with pytest.raises(UserError) as error:
        read(more)
    return str(error.value)


def test_the_word_alone_stands_for_all_defaults() -> None:
    load = read("load: saturate\n").part(Saturate)
    assert load is not None
    assert (load.model, load.users_max, load.sweeps, load.objective) == ("closed", 4096, 6, None)
    assert read("load: {model: closed}\n").part(Saturate) == load
    assert read("").part(Saturate) is None


def test_what_is_resolved_is_read_again() -> None:
    experiment = read("saturation: {vary: {operation: [get]}, objective: 'p99 < 10 ms'}\n")
    again = Experiment.with_add_ons().model_validate(experiment.model_dump(mode="json"))
    assert again.part(SaturationSpec) == experiment.part(SaturationSpec)
    in_short = read("load: saturate\n").model_dump(mode="json")
    assert Experiment.with_add_ons().model_validate(in_short).part(Saturate) is not None


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("load: saturated\n", "15: load: 'saturated' is no load; write saturate"),
        ("load: {sweeps: 3}\n", "load.sweeps: '3' must be at least 6"),
        ("load: {users_max: 0}\n", "load.users_max: '0' must be at least 1"),
        ("load: {user_max: 10}\n", "load.user_max: unknown key; did you mean 'users_max'?"),
        ("load: {model: open}\n", "the open model needs an objective"),
        ("load: {sweeps: 30}\n", "sweeps_max 24 is less than sweeps 30"),
        ("load: {objective: fast}\n", "load.objective: 'fast' is no objective; write for example 'p99 < 10 ms'"),
        ("load: {objective: 'p98 < 1 ms'}\n", "'p98' is no quantile"),
        ("load: {objective: 'p99 < 1 h'}\n", "'h' is no unit of time"),
        ("load: {objective: 'p99 < 0 ms'}\n", "a response time must be more than 0"),
        ("load: {slice: 1 ms}\n", "load.slice: '1 ms' is no length of a slice"),
        (f"load: saturate\n{COMPARED}", "comparisons need the load of workload.model"),
        ("load: saturate\nsaturation: {vary: {operation: [get]}}\n", "leave one of them out"),
        ("saturation: {vary: {operation: [put]}}\n", "saturation.vary.operation"),
        ("saturation: {}\n", "saturation.vary: is missing"),
    ],
)
def test_bad_input_is_named_with_a_remedy(more: str, said: str) -> None:
    assert said in refused(more)


def test_objectives_are_quantiles_and_times() -> None:
    found = latency_objective("P99.9<=1.5s")
    assert (found.text, found.quantile, found.latency_s) == ("p99.9 <= 1.5 s", 0.999, 1.5)
    for micro in ("us", "\N{MICRO SIGN}s", "\N{GREEK SMALL LETTER MU}s"):
        found = latency_objective(f"p50 < 200{micro}")
        assert (found.latency_s, found.text) == (pytest.approx(0.0002), "p50 < 200 us")


@pytest.mark.parametrize("load", ["saturate", {"users_max": 8}, None], ids=str)
def test_a_fleet_measures_applications_in_whole_trials(app: str, load: object) -> None:
    written = read_source(app, "app.yaml").data
    left_out = ("comparisons", "effects", "crashes", "conclusions", "lessons")
    data = {key: value for key, value in written.items() if key not in left_out} | {"load": load}
    alone = validate_source(ExperimentSource("app.yaml", data))
    changed = with_overrides(alone, fleet="local:2")
    assert changed.design.rounds == "never" != alone.design.rounds
    assert changed.part(Saturate) == (None if load is None else Saturate(rounds="never", **_settings(load)))


def _settings(load: object) -> dict[str, Any]:
    return load if isinstance(load, dict) else {}
