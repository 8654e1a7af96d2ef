"""Each check passes a clean trial, and finds its fault at twice its limit."""

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from loadstone.judge import checks
from loadstone.judge.checks.check import Check
from loadstone.judge.checks.checks import CHECKS, judge_trial, verdict_of
from loadstone.run_folder.trial import CheckResult, TrialRecord
from loadstone.text.sentences import render_message

NAMES = [check.name for check in CHECKS]
MODULES = [import_module(f"loadstone.judge.checks.{one.name}") for one in iter_modules(checks.__path__)]
ABOUT_THE_LEAST = {check.name for check in CHECKS if check.less_is_worse}
HIDDEN = ("servers", "kinds", "ceiling", "host", "parts", "placement", "series", "seen", "server_connections")
"""Facts of what cannot always be observed."""


def judged(line: dict[str, Any]) -> TrialRecord:
    return judge_trial(TrialRecord.model_validate(line))


def unknown_of(trial: TrialRecord) -> set[str]:
    return {check.name for check in trial.checks if check.verdict == "unknown"}


def test_a_clean_trial_is_valid(clean: dict[str, Any], injectors: ModuleType) -> None:
    trial = judged(clean)
    assert trial.verdict == "valid"
    assert {check.name for check in trial.checks} == set(NAMES) - injectors.OPEN_MODEL - injectors.NOT_IN_CLEAN
    unknown = {check.name for check in trial.checks if check.verdict == "unknown"}
    assert unknown == {"samples", "warm_up"}, "P99.9 needs more operations, and a trend a longer phase"
    assert [check.reason for check in trial.checks if check.verdict == "valid" and check.reason] == []


def test_a_clean_trial_of_the_open_model_is_valid(clean: dict[str, Any], injectors: ModuleType) -> None:
    trial = judged(injectors.injected(clean, injectors.becomes_open))
    assert trial.verdict == "valid"
    assert {check.name for check in trial.checks if check.verdict == "valid"} >= injectors.OPEN_MODEL
    assert "little" not in {check.name for check in trial.checks}


def test_every_check_has_a_fault_injector(injectors: ModuleType) -> None:
    assert set(injectors.TWICE) == set(NAMES)


@pytest.mark.parametrize("check", CHECKS, ids=NAMES)
def test_information_alone_is_never_held_against_a_trial(check: Any, injectors: ModuleType) -> None:
    assert check.information == (injectors.TWICE[check.name][1] == "valid")


@pytest.mark.parametrize("name", NAMES)
def test_twice_the_limit_is_found(name: str, clean: dict[str, Any], injectors: ModuleType) -> None:
    inject, verdict = injectors.TWICE[name]
    trial = judged(injectors.injected(clean, inject))
    found = next(check for check in trial.checks if check.name == name)
    assert found.verdict == verdict
    assert render_message(found.reason).endswith(".")
    assert "\n" not in render_message(found.reason)
    if verdict in ("invalid", "suspect"):
        assert trial.verdict in ("invalid", verdict)
    if found.measured is not None and found.limit is not None and name not in ABOUT_THE_LEAST:
        assert found.measured > found.limit


@pytest.mark.parametrize("check", CHECKS, ids=NAMES)
def test_every_check_is_explained_to_people(check: Any) -> None:
    assert render_message(check.explanation).endswith("?")
    assert check.function.__doc__


def test_names_are_unique() -> None:
    assert len(set(NAMES)) == len(NAMES)


def test_a_check_is_a_pure_function_of_the_line(clean: dict[str, Any]) -> None:
    assert judged(clean) == judged(clean)
    assert judged(judged(clean).model_dump(mode="json")) == judged(clean)


def result(verdict: str) -> CheckResult:
    return CheckResult.model_validate(
        {"name": "x", "verdict": verdict, "measured": None, "limit": None, "unit": "", "reason": None}
    )


@pytest.mark.parametrize(
    ("verdicts", "verdict"),
    [
        (["valid"], "valid"),
        (["valid", "unknown"], "valid"),
        (["valid", "suspect", "unknown"], "suspect"),
        (["valid", "suspect", "invalid"], "invalid"),
        (["unknown"], "suspect"),
        ([], "suspect"),
    ],
)
def test_the_worst_check_is_the_verdict(verdicts: list[str], verdict: str) -> None:
    assert verdict_of(map(result, verdicts)) == verdict


def test_a_trial_that_was_never_driven_is_invalid(synthetic: ModuleType) -> None:
    plan = synthetic.make_plan()
    planned = synthetic.planned_trial("b01-001", {}, plan)
    from loadstone.run_folder.make_trial import failed_trial_record

    trial = judge_trial(failed_trial_record(planned, plan, "connection refused", 1))
    assert trial.verdict == "invalid"
    assert [render_message(check.reason) for check in trial.checks] == [
        "The trial could not be driven: connection refused."
    ]


def test_facts_of_no_one_leave_a_trial_unjudged(clean: dict[str, Any]) -> None:
    trial = judged(clean | {"facts": {}})
    assert trial.verdict == "suspect"
    assert [check.verdict for check in trial.checks] == ["unknown"]


def without(*places: str) -> Callable[[dict[str, Any]], None]:
    def change(line: dict[str, Any]) -> None:
        for place in places:
            line["facts"].pop(place)

    return change


def test_what_cannot_be_observed_is_unknown_and_never_valid(clean: dict[str, Any], injectors: ModuleType) -> None:
    """A server by URL that tells nothing, a system without monitors, no ceiling.

    A check looks at what its fault changes: where that is hidden, it does not know.
    """
    trial = judged(injectors.injected(clean, without(*HIDDEN)))
    changed = {name: injectors.injected(clean, inject)["facts"] for name, (inject, _) in injectors.TWICE.items()}
    looks_there = {
        name for name, facts in changed.items() if any(facts.get(one) != clean["facts"].get(one) for one in HIDDEN)
    }
    asked = {check.name for check in trial.checks} & (looks_there | injectors.LOOKS_AT_MORE)
    assert len(asked) > 10
    assert unknown_of(trial) == asked | unknown_of(judged(clean))
    assert all(check.reason for check in trial.checks if check.verdict == "unknown")
    assert trial.verdict == "valid"


def test_a_very_short_trial_is_not_invalid_for_want_of_data(synthetic: ModuleType) -> None:
    plan = synthetic.make_plan(phases={"warm_up_s": 0.3, "measure_s": 1.3})
    drive = synthetic.make_drive(plan, per_interval=30, measure_intervals=1)
    trial = judge_trial(synthetic.make_trial(drive))
    assert trial.verdict == "valid"
    assert {"warm_up", "samples"} <= {check.name for check in trial.checks if check.verdict == "unknown"}


@pytest.fixture(scope="module")
def clean_kinds(synthetic: ModuleType) -> list[dict[str, Any]]:
    """Clean trials of several conditions and seeds, as lines."""
    lines = []
    for seed, (name, users) in enumerate([(n, u) for n in ("set", "get", "update") for u in (1, 4, 32, 200)], start=1):
        plan = synthetic.make_plan(name, users=users)
        drive = synthetic.make_drive(plan, seed=seed, per_interval=150 + 40 * seed)
        lines.append(synthetic.make_trial(drive).model_dump(mode="json"))
    return lines


def test_two_hundred_clean_trials_are_not_invalid(clean_kinds: list[dict[str, Any]]) -> None:
    """Noise as on a real machine: rates that vary by 5 % between seconds, neighbours alike."""
    verdicts = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        line = clean_kinds[seed % len(clean_kinds)]
        noise = 0.0
        series = []
        for number in range(int(rng.integers(8, 31))):
            noise = 0.6 * noise + rng.normal(0, 0.05 * 0.8)
            series.append({**line["facts"]["series"][0], "start_s": number, "completed": int(20_000 * (1 + noise))})
        host = line["facts"]["host"] | {"steal_share": float(rng.uniform(0, 0.015))}
        trial = judged({**line, "facts": line["facts"] | {"series": series, "host": host}})
        verdicts.append(trial.verdict)
        assert trial.verdict != "invalid", [check for check in trial.checks if check.verdict == "invalid"]
    assert verdicts.count("suspect") <= 40  # B allows a fifth of the trials to be replaced


def test_every_check_that_is_declared_is_run() -> None:
    declared = {one.name for module in MODULES for one in vars(module).values() if isinstance(one, Check)}
    assert declared == set(NAMES)
    assert len(NAMES) == len(declared)
