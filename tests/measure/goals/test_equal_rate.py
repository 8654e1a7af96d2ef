"""Blocks of a comparison of latencies are driven at one rate: a share of what the slowest condition can do."""

from typing import Any

import pytest

from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.experiment.plan.drive_plan import Closed, Open
from loadstone.experiment.plan.fixed_rate import FixedRate
from loadstone.experiment.plan.group import Group
from loadstone.experiment.plan.run_plan import WARM_BLOCK, PlannedTrial, RunPlan
from loadstone.experiment.spec.loading import load_experiment
from loadstone.measure.goals.group_block import at_equal_rate, rate_of
from loadstone.run_folder.trial import TrialRecord

USERS = "    kind: closed\n    users: ${workers}\n"


@pytest.fixture
def run_plan(compared: str) -> RunPlan:
    return make_run_plan(load_experiment(compared))


def group_of(run_plan: RunPlan, name: str) -> Group:
    return next(group for group in run_plan.groups if group.name == name)


def planned(run_plan: RunPlan, name: str, block: int) -> list[PlannedTrial]:
    return [trial for trial in run_plan.trials if (trial.group, trial.block) == (name, block)]


def finished(synthetic: Any, trials: list[PlannedTrial], *rates_per_s: float) -> list[TrialRecord]:
    """Trials as planned, with so many correct replies a second, the last rate for all that are left."""
    made: TrialRecord = synthetic.make_trial()
    rates = [*rates_per_s, *[rates_per_s[-1]] * len(trials)]
    return [
        made.model_copy(
            update={"condition": one.condition, "block": one.block, "goodput_per_s": rate, "duration_s": 1.0}
        )
        for one, rate in zip(trials, rates, strict=False)
    ]


def test_all_conditions_have_half_of_what_the_slowest_did_in_the_warm_up_block(
    run_plan: RunPlan, synthetic: Any
) -> None:
    group, warm = group_of(run_plan, "kinds"), planned(run_plan, "kinds", WARM_BLOCK)
    assert all(isinstance(one.plan.model, Closed) for one in warm)
    records = finished(synthetic, warm, 41_239, 98_000)
    block = planned(run_plan, "kinds", 1)
    driven = at_equal_rate(group, block, records)
    assert {one.plan.model for one in driven} == {Open(rate_per_s=20_600)}
    assert [one.name for one in driven] == [one.name for one in block]
    assert [one.plan.phases for one in driven] == [one.plan.phases for one in block]
    assert at_equal_rate(group, warm, records) == tuple(warm), "the warm-up block is at full speed"


def test_a_rate_that_is_not_known_leaves_the_load_as_planned(run_plan: RunPlan, synthetic: Any) -> None:
    group, warm = group_of(run_plan, "kinds"), planned(run_plan, "kinds", WARM_BLOCK)
    block = planned(run_plan, "kinds", 1)
    assert rate_of(group, []) is None
    assert rate_of(group, finished(synthetic, warm[:1], 5000)) is None, "of one condition nothing is known"
    assert at_equal_rate(group, block, []) == tuple(block)


def test_a_rate_that_is_written_needs_no_capacity(compared: str) -> None:
    run_plan = make_run_plan(load_experiment(compared.replace("  trial: 4 s\n", "  trial: 4 s\n  at_rate: 5000/s\n")))
    group = group_of(run_plan, "kinds")
    assert group.fixed_rate == FixedRate(5000.0, None)
    assert {one.plan.model for one in at_equal_rate(group, planned(run_plan, "kinds", 1), [])} == {
        Open(rate_per_s=5000.0)
    }


def test_comparisons_of_rates_keep_their_load(run_plan: RunPlan, synthetic: Any) -> None:
    group, warm = group_of(run_plan, "users"), planned(run_plan, "users", WARM_BLOCK)
    assert group.fixed_rate is None
    assert rate_of(group, finished(synthetic, warm, 5000)) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (USERS, USERS + "    think_time_ms: 1\n"),
        (USERS, "    kind: open\n    rate_per_s: 5000\n"),
        ("between: operation\n    levels: [get, set]\n    baseline: set\n    at: {idle: [few]}\n"
         "    quick_at: {idle: [many]}\n", "between: workers\n    levels: [1, 8]\n"),
    ],
)  # fmt: skip
def test_a_load_with_a_rate_or_pauses_or_other_users_has_no_rate_of_its_own(compared: str, old: str, new: str) -> None:
    assert old in compared
    assert group_of(make_run_plan(load_experiment(compared.replace(old, new))), "kinds").fixed_rate is None


def test_without_rates_for_tables_latencies_are_compared_at_the_usual_one(compared: str) -> None:
    run_plan = make_run_plan(load_experiment(compared.replace("  trial: 4 s\n", "  trial: 4 s\n  at_rate: never\n")))
    assert group_of(run_plan, "kinds").fixed_rate == FixedRate()
