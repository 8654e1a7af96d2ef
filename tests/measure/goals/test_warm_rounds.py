"""Block 0 is measured again for as long as an application gets faster in it."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from loadstone.experiment.plan.group import Group
from loadstone.experiment.plan.rounds import APPLICATION_SETTLE_S, APPLICATION_SLICE_S, Processes, sequential_rounds
from loadstone.experiment.plan.run_plan import WARM_BLOCK, PlannedTrial
from loadstone.measure.goals.block_attempts import WARM_LEAST_S, WARM_SHARE_MAX

from .scripted_loop import BLOCK_S, Bench, compared


def applications(processes: Processes = "once", slice_s: float = APPLICATION_SLICE_S) -> Group:
    rounds = sequential_rounds(slice_s, settle_s=APPLICATION_SETTLE_S, processes=processes, early=False)
    group = compared(looks=tuple(range(1, len(rounds.blocks) + 1)))
    return replace(group, rounds=rounds, trial_s=1.0, overhead_s=1.0)


def warm_passes(bench: Bench) -> int:
    return bench.ran.count("storage-b00-001")


def by_attempt(*rates: float) -> Callable[[PlannedTrial, int], float]:
    """The first condition's rate pass by pass, and the last one from then on; the other is warm from the start."""

    def rate(planned: PlannedTrial, attempt: int) -> float:
        warming = planned.block == WARM_BLOCK and planned.order == 1
        return rates[min(attempt, len(rates)) - 1] if warming else 1000.0

    return rate


def test_until_no_condition_is_faster_than_before(bench: Bench) -> None:
    bench.judge.decides = {"storage": 1}
    bench.rates = by_attempt(400.0, 600.0, 900.0, 930.0)
    bench.run(bench.plan(applications()))
    assert warm_passes(bench) == 4
    assert bench.looks() == [("storage", 1, "decided")]
    assert bench.recorded().trials[0].goodput_per_s == 930.0, "the last pass stands"


@pytest.mark.parametrize("processes", ["shared", "once"])
def test_what_is_warm_is_measured_twice_to_know_it(bench: Bench, processes: Processes) -> None:
    bench.judge.decides = {"storage": 1}
    bench.rates = by_attempt(1000.0)
    bench.run(bench.plan(applications(processes)))
    assert warm_passes(bench) == 2


@pytest.mark.parametrize("slice_s", [0.3, 1.2, 5.0])
def test_what_never_ends_to_rise_is_taken_as_it_is(bench: Bench, slice_s: float) -> None:
    """A first look is to be had within the budget, at 1,000 users and slices of 5 s, too."""
    bench.judge.decides = {"storage": 1}
    bench.rates = lambda _, attempt: 100.0 * 1.2**attempt
    group = applications(slice_s=slice_s)
    bench.run(bench.plan(group))
    passes, pass_s = warm_passes(bench), group.seconds([WARM_BLOCK])
    most_s = max(WARM_LEAST_S, WARM_SHARE_MAX * group.seconds([1]))
    assert passes >= 2
    assert passes * pass_s <= most_s < (passes + 1) * pass_s


def test_a_server_alone_is_warmed_up_once(bench: Bench) -> None:
    bench.judge.decides = {"storage": 1}
    bench.rates = by_attempt(400.0, 600.0)
    bench.run(bench.plan(applications("shared", 0.1)))
    assert warm_passes(bench) == 1


def test_no_time_for_more_of_it_goes_on_to_the_blocks(bench: Bench) -> None:
    """After the first pass there is time for a block, and not for another pass before it."""
    bench.judge.decides = {"storage": 1}
    bench.rates = lambda _, attempt: 100.0 * 1.2**attempt
    group = applications()
    bench.run(bench.plan(group, budget_s=BLOCK_S + group.seconds([1]) + 1.0))
    assert warm_passes(bench) == 1
    assert bench.looks() == [("storage", 1, "decided")]
