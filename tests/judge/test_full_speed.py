"""What a condition can do, by its trials at full speed."""

from typing import Any

import pytest
from tests.changed_facts import with_model

from loadstone.experiment.plan.drive_plan import Open
from loadstone.judge.full_speed import capacity_of
from loadstone.run_folder.trial import CheckResult, TrialRecord

CONDITION = {"operation": "set"}


def trial(synthetic: Any, rate_per_s: float, duration_s: float = 1.0, **changes: Any) -> TrialRecord:
    """One trial of the condition that counts, with so many correct replies a second."""
    made: TrialRecord = synthetic.make_trial()
    usual = {"condition": CONDITION, "block": 1, "checks": []}
    return made.model_copy(update={**usual, "goodput_per_s": rate_per_s, "duration_s": duration_s, **changes})


def refused(name: str) -> CheckResult:
    return CheckResult(name=name, verdict="invalid", measured=1.0, limit=0.0, unit="")


def test_longer_trials_weigh_more(synthetic: Any) -> None:
    trials = [trial(synthetic, 1000, 1.0), trial(synthetic, 4000, 2.0)]
    assert capacity_of(CONDITION, trials) == pytest.approx(3000)


def test_trials_that_do_not_count_are_left_out(synthetic: Any) -> None:
    others = [
        trial(synthetic, 9000, condition={"operation": "get"}),
        trial(synthetic, 9000, block=0),
        trial(synthetic, 9000, checks=[refused("replies")]),
    ]
    assert capacity_of(CONDITION, [trial(synthetic, 1000), *others]) == pytest.approx(1000)
    assert capacity_of(CONDITION, others) is None


def test_a_bound_does_not_forbid_a_trial(synthetic: Any) -> None:
    assert capacity_of(CONDITION, [trial(synthetic, 1000, checks=[refused("gain")])]) == pytest.approx(1000)


def test_the_open_model_says_nothing_of_the_capacity(synthetic: Any) -> None:
    at_rate = with_model(trial(synthetic, 500), Open(rate_per_s=500).model_dump(mode="json"))
    assert capacity_of(CONDITION, [at_rate]) is None


def test_nothing_was_replied(synthetic: Any) -> None:
    assert capacity_of(CONDITION, [trial(synthetic, 0)]) is None
    assert capacity_of(CONDITION, []) is None
