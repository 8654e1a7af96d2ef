"""Which passes through a block there were, and which one stands."""

from types import ModuleType

import pytest

from loadstone.experiment.plan.group import Group, PairDesign
from loadstone.experiment.plan.run_plan import PlannedTrial
from loadstone.measure.goals.block_attempts import PAUSE_MAX_S, BlockAttempts
from loadstone.run_folder.trial import TrialRecord

START_S = 1_790_000_000
CONDITIONS = ({"n": 1}, {"n": 2}, {"n": 3})


@pytest.fixture
def template(synthetic: ModuleType) -> TrialRecord:
    return synthetic.make_trial()


@pytest.fixture
def passes(synthetic: ModuleType) -> BlockAttempts:
    """A group of three conditions with a warm block and four others."""
    pairs = (PairDesign(CONDITIONS[0], CONDITIONS[1]),)
    group = Group(
        name="g",
        conditions=CONDITIONS,
        pairs=pairs,
        metric="goodput_per_s",
        margin=0.05,
        looks=(4,),
        sequential=False,
        warm_block=True,
        trial_s=3.0,
        overhead_s=1.0,
    )
    plan = synthetic.make_plan()
    planned = [
        PlannedTrial(f"g-b{block:02d}-{order:03d}", CONDITIONS[order - 1], block, order, {}, plan, None, "g")
        for block in range(5)
        for order in (1, 2, 3)
    ]
    return BlockAttempts(group, planned)


def trial(template: TrialRecord, block: int, order: int, at_s: float = 0.0) -> TrialRecord:
    return template.model_copy(
        update={
            "trial": f"g-b{block:02d}-{order:03d}",
            "group": "g",
            "block": block,
            "order": order,
            "started_unix_ns": int((START_S + at_s) * 1e9),
            "phases": {"measure": (0.0, 3.0)},
        }
    )


def test_a_block_is_complete_when_its_last_pass_is(template: TrialRecord, passes: BlockAttempts) -> None:
    assert not passes.warm
    for order in (1, 2, 3):
        passes.add(trial(template, 0, order))
    assert passes.warm
    assert passes.complete == 0
    for order in (1, 2, 3, 1):
        passes.add(trial(template, 1, order))
    assert passes.complete == 0
    assert [planned.order for planned in passes.pending(1)] == [2, 3]
    for order in (2, 3):
        passes.add(trial(template, 1, order))
    assert passes.complete == 1
    assert [record.trial for record in passes.upto(1)][3:] == ["g-b01-001", "g-b01-002", "g-b01-003"]


def test_a_half_done_block_is_given_up_after_a_pause(template: TrialRecord, passes: BlockAttempts) -> None:
    assert passes.give_up_after_pause(START_S) is None
    passes.add(trial(template, 1, 1))
    assert passes.half_done() == 1
    assert passes.give_up_after_pause(START_S + 3 + PAUSE_MAX_S) is None
    assert passes.give_up_after_pause(START_S + 4 + PAUSE_MAX_S) == 1
    assert len(passes.pending(1)) == 3
    assert passes.give_up_after_pause(START_S + 10 * PAUSE_MAX_S) is None


def test_the_length_of_a_block_is_the_plans_then_the_median_of_those_measured(
    template: TrialRecord, passes: BlockAttempts
) -> None:
    assert passes.next_s() == 12
    assert passes.seconds_to(1) == 24, "the warm one comes first"
    for block, step_s in ((0, 5), (1, 5), (2, 300), (3, 6)):  # block 2 was interrupted
        for order in (1, 2, 3):
            passes.add(trial(template, block, order, at_s=1000 * block + step_s * order))
    assert passes.next_s() == 18, "servers and subjects start in the warm block, so it is not among them"


def test_a_pause_of_unknown_length_is_too_long(template: TrialRecord, passes: BlockAttempts) -> None:
    passes.add(trial(template, 1, 1, at_s=3600.0))  # and then the clock was set back
    assert passes.give_up_after_pause(START_S) == 1
