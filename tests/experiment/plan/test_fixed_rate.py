"""What is measured at a fixed rate: the plan, and for how long."""

from itertools import pairwise

import pytest

from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.experiment.plan.drive_plan import Open
from loadstone.experiment.plan.fixed_rate import (
    ALIKE,
    LEAST_S,
    MOST_S,
    OPERATIONS,
    RATE_NOT_KNOWN_PER_S,
    TOGETHER_MAX,
    FixedRate,
    is_saturating,
    rounds_at_rate,
    rows_alike,
    sliced_s,
    times_at_rate,
    with_rate,
)
from loadstone.experiment.plan.run_plan import AtRatePlan, RunPlan
from loadstone.experiment.spec.loading import load_experiment
from loadstone.judge.statistics.unit_quantiles import UNITS_MIN


def test_only_the_model_changes(small: str) -> None:
    plan = make_run_plan(load_experiment(small)).trials[0].plan
    changed = with_rate(plan, 5000)
    assert changed.model == Open(rate_per_s=5000)
    assert changed.model_dump(exclude={"model"}) == plan.model_dump(exclude={"model"})


def test_full_speed_is_a_closed_model_without_think_time(small: str) -> None:
    plan = make_run_plan(load_experiment(small)).trials[0].plan
    assert is_saturating(plan)
    assert not is_saturating(with_rate(plan, 10))
    pausing = make_run_plan(load_experiment(small.replace("kind: closed\n", "kind: closed\n    think_time_ms: 5 ms\n")))
    assert not is_saturating(pausing.trials[0].plan)


def test_a_rate_for_all_or_a_share_of_each() -> None:
    assert FixedRate().of(1000) == 500
    assert FixedRate(share=0.8).of(None) is None
    assert FixedRate(5000, None).of(None) == 5000


def planned(run_plan: RunPlan) -> AtRatePlan:
    assert run_plan.at_rate is not None
    return run_plan.at_rate


def test_every_row_of_a_table_is_planned_once_beside_its_own_trials(small: str) -> None:
    run_plan = make_run_plan(load_experiment(small))
    found = planned(run_plan)
    assert found.fixed == FixedRate(None, 0.5)
    assert sorted(map(str, (one.condition for one in found.trials))) == sorted(map(str, run_plan.conditions))
    assert {one.group for one in found.trials} == {"at-rate"}
    assert all(one.plan.model == Open(rate_per_s=RATE_NOT_KNOWN_PER_S) for one in found.trials)
    assert [one.rate_share for one in found.trials] == [0.5] * len(found.trials)
    assert [one.name for one in found.trials[:2]] == ["at-rate-b01-001", "at-rate-b01-002"]
    assert not {"at-rate"} & {trial.group for trial in run_plan.trials}
    every = {trial.name for trial in run_plan.every_trial}
    assert {one.name for one in found.trials} <= every, "what must be there for them is there"


def test_a_rate_for_all_rows_is_known_beforehand(small: str) -> None:
    text = f"{small}design: {{at_rate: 5000/s}}\n"
    found = planned(make_run_plan(load_experiment(text)))
    assert {one.plan.model for one in found.trials} == {Open(rate_per_s=5000)}
    assert {one.rate_share for one in found.trials} == {None}


def test_quick_may_have_a_rate_of_its_own(small: str) -> None:
    text = small.replace("quick:\n  phases", "quick:\n  design: {at_rate: 20 %}\n  phases")
    assert planned(make_run_plan(load_experiment(text))).fixed.share == 0.5
    assert planned(make_run_plan(load_experiment(text), quick=True)).fixed.share == 0.2


def test_never(small: str) -> None:
    assert make_run_plan(load_experiment(f"{small}design: {{at_rate: never}}\n")).at_rate is None


def test_the_originals_counts_are_repeated_without(small: str) -> None:
    assert make_run_plan(load_experiment(small), as_published=True).at_rate is None


def test_an_open_model_has_a_rate_already(small: str) -> None:
    text = small.replace("kind: closed\n    users: ${workers}", "kind: open\n    rate_per_s: 100/s")
    assert make_run_plan(load_experiment(text)).at_rate is None


def test_what_only_a_comparison_needs_stands_in_no_row(compared: str) -> None:
    run_plan = make_run_plan(load_experiment(compared), quick=True)
    rows = {str(one.condition) for one in planned(run_plan).trials}
    assert len(rows) == 4, "the one table of a quick run"
    assert rows < set(map(str, run_plan.conditions))


def test_fast_rows_have_a_p99_and_slow_ones_what_is_left() -> None:
    rates = [20_000.0] * 10 + [500.0] * 2
    times = times_at_rate(rates, [0.1] * 12, room_s=13.0)
    assert all(rate * time >= OPERATIONS[2] for rate, time in zip(rates[:10], times[:10], strict=True))
    assert all(OPERATIONS[0] <= 500 * time < OPERATIONS[1] for time in times[10:]), "a P50"
    assert 1.2 + sum(map(sliced_s, times)) <= 13.0


def test_with_more_room_slow_rows_have_theirs_too() -> None:
    times = times_at_rate([20_000.0, 500.0], [0.1] * 2, room_s=100.0)
    assert times[1] * 500 >= OPERATIONS[1]
    assert times[0] * 20_000 >= OPERATIONS[3]
    assert max(times_at_rate([20_000.0, 5.0], [0.1] * 2, room_s=1e9)) == MOST_S


def test_where_there_is_no_room_for_all_fast_rows_have_it() -> None:
    assert times_at_rate([100.0, 10_000.0], [0.5] * 2, room_s=0.7) == [0.0, LEAST_S]
    assert times_at_rate([100.0, 10_000.0], [0.5] * 2, room_s=-1.0) == [0.0, 0.0]
    assert times_at_rate([], [], room_s=5.0) == []


def test_rows_that_take_turns_are_measured_for_about_as_long() -> None:
    times = [5.0, 0.1, 0.12, 0.5, 0.1, 0.55]
    assert rows_alike(times) == [[1, 4, 2], [3, 5], [0]]
    families = rows_alike([0.1] * 40)
    assert sorted(place for one in families for place in one) == list(range(40))
    assert max(map(len, families)) == TOGETHER_MAX
    for family in rows_alike([1.1**number for number in range(30)]):
        assert 1.1 ** family[-1] <= ALIKE * 1.1 ** family[0] * 1.001
    assert all(a[-1] != b[0] for a, b in pairwise(families))


@pytest.mark.parametrize("measure_s", [0.1, 0.33, 0.55, 2.2, 10.0])
def test_rounds_hold_the_time(measure_s: float) -> None:
    rounds = rounds_at_rate(measure_s)
    assert measure_s * 0.999 <= rounds.of(1) * rounds.measured_s <= measure_s + 0.5
    assert rounds.settle_s < rounds.slice_s


@pytest.mark.parametrize("rate_per_s", [10_000, 57_000, 200_000])
def test_a_row_with_a_p99_has_as_many_slices_as_its_interval_needs(rate_per_s: float) -> None:
    (time_s,) = times_at_rate([rate_per_s], [0.1], room_s=100.0)
    assert rate_per_s * time_s >= OPERATIONS[2]
    assert rounds_at_rate(time_s).of(1) >= UNITS_MIN
