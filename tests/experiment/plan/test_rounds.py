"""What is compared takes turns in rounds of slices, where it can; and where not, the plan says why."""

import math
from collections import Counter

import pytest
from tests.experiments import find_experiment

from loadstone.experiment.plan.design.randomisation import round_orders
from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.experiment.plan.drive_plan import Closed
from loadstone.experiment.plan.group import Group
from loadstone.experiment.plan.look_schedule import LATER_ROUND_LOOKS, ROUND_LOOKS
from loadstone.experiment.plan.rounds import (
    FIXED_ROUNDS,
    SLICE_S,
    WARM_ROUNDS,
    expected_spread,
    rounds_of_starts,
    trial_length_s,
)
from loadstone.experiment.plan.run_plan import RunPlan
from loadstone.experiment.plan.stored_bytes import memory_of
from loadstone.experiment.spec.levels import identity
from loadstone.experiment.spec.loading import load_experiment
from loadstone.safety.errors import UserError
from loadstone.text.message import Message, message


def group(run_plan: RunPlan, name: str) -> Group:
    return next(one for one in run_plan.groups if one.name == name)


@pytest.fixture
def in_rounds(compared: str) -> str:
    """The two comparisons as they are measured where nothing is said: `kinds` compares a latency."""
    return compared.replace("  rounds: never\n", "")


def test_blocks_end_at_the_looks(in_rounds: str) -> None:
    users = group(make_run_plan(load_experiment(in_rounds)), "users")
    assert users.rounds is not None
    assert users.looks == tuple(range(1, 10))
    assert tuple(users.rounds.upto(look) for look in users.looks) == ROUND_LOOKS
    assert users.rounds.of(0) == WARM_ROUNDS
    assert users.sequential
    assert users.whole_trials is None


def test_a_trial_is_under_load_as_long_as_its_slices(in_rounds: str) -> None:
    run_plan = make_run_plan(load_experiment(in_rounds))
    rounds = group(run_plan, "users").rounds
    assert rounds is not None
    for trial in (one for one in run_plan.trials if one.group == "users"):
        phases = trial.plan.phases
        assert trial.in_rounds
        assert phases.measure_s == pytest.approx(rounds.of(trial.block) * SLICE_S)
        assert (phases.warm_up_s, phases.measure_operations) == (0.0, None)
        assert isinstance(trial.plan.model, Closed)
        assert trial.plan.model.operations_per_user is None


def test_a_number_of_blocks_fixes_that_of_rounds(in_rounds: str) -> None:
    users = group(make_run_plan(load_experiment(in_rounds), blocks=3), "users")
    assert users.rounds is not None
    assert (users.looks, users.sequential, users.rounds.upto(3)) == ((3,), False, 3 * FIXED_ROUNDS)


def test_blocks_take_as_long_as_their_rounds(in_rounds: str) -> None:
    users = group(make_run_plan(load_experiment(in_rounds)), "users")
    assert users.seconds([1]) > users.seconds([2]) < users.seconds([9])
    assert users.seconds(range(1, 10)) == pytest.approx(9 * users.block_s)
    assert users.seconds(range(1, 10)) >= 360 * 4 * SLICE_S


def test_applications_and_quantiles_are_looked_at_from_32_rounds_on(in_rounds: str) -> None:
    of_rates, of_quantiles = (group(make_run_plan(load_experiment(in_rounds)), name) for name in ("users", "kinds"))
    assert of_rates.replicates(1) == ROUND_LOOKS[0]
    assert of_quantiles.replicates(1) == LATER_ROUND_LOOKS[0]


def why(text: str, name: str = "users") -> Message | None:
    found = group(make_run_plan(load_experiment(text)), name)
    assert (found.rounds is None) == (found.whole_trials is not None)
    return found.whole_trials


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("  trial: 4 s\n", "  trial: 4 s\n  rounds: never\n", "whole_trials.as_written"),
        ("margin: 20 %", "margin: 20 %\n  - {name: peak, question: Q, between: workers, levels: [1, 8],"
         " metric: peak_per_s}", ""),
        ("measure_s: 2 s", "measure_s: 2 s\n    ramp_up_s: 1 s", "whole_trials.ramp_up"),
    ],
)  # fmt: skip
def test_what_cannot_take_turns_is_measured_by_whole_trials(in_rounds: str, old: str, new: str, reason: str) -> None:
    assert old in in_rounds
    found = why(in_rounds.replace(old, new, 1))
    assert (found.kind if found else "") == reason


def test_latencies_take_turns_with_a_histogram_every_few_rounds(in_rounds: str) -> None:
    run_plan = make_run_plan(load_experiment(in_rounds))
    rounds = group(run_plan, "kinds").rounds
    assert rounds is not None
    for trial in (one for one in run_plan.trials if one.group == "kinds"):
        slices = trial.plan.interval_s / rounds.measured_s
        assert math.ceil(slices) == max(1, rounds.of(trial.block) // 16)
    assert {one.plan.interval_s for one in run_plan.trials if one.group == "users"} == {1.0}


def test_what_no_slice_and_no_histogram_has_is_compared_by_whole_trials(in_rounds: str) -> None:
    text = in_rounds.replace("metric: response_ns.p99", "metric: response_ns.max")
    assert why(text, "kinds") == message("whole_trials.metric", metric="response_ns.max")


def test_of_the_studies_what_redis_alone_does_takes_turns() -> None:
    found = {one.name: one.whole_trials for one in make_run_plan(find_experiment("json-documents")).groups}
    assert found["storage"] is found["partial-update"] is found["small-pool"] is None
    assert found["warm-up"] == message("whole_trials.warm_up")


def test_a_slice_has_the_length_that_is_written(in_rounds: str) -> None:
    text = in_rounds.replace("  trial: 4 s\n", "  slice: 400 ms\n")
    rounds = group(make_run_plan(load_experiment(text)), "users").rounds
    assert rounds is not None
    assert rounds.slice_s == 0.4
    assert 0 < rounds.settle_s < rounds.slice_s


@pytest.mark.parametrize("slice_", ["1 ms", "2 min"])
def test_a_slice_that_is_none_is_refused_with_its_line(in_rounds: str, slice_: str) -> None:
    with pytest.raises(UserError, match=r"design\.slice.*20 ms to 60 s"):
        load_experiment(in_rounds.replace("  trial: 4 s\n", f"  slice: {slice_}\n"))


def test_every_round_has_every_condition_and_which_is_first_is_a_fair_coin(in_rounds: str) -> None:
    users = group(make_run_plan(load_experiment(in_rounds)), "users")
    orders = [[identity(one) for one in order] for order in round_orders(users, 1, 1, 600)]
    required = Counter(map(identity, users.conditions))
    assert all(Counter(order) == required for order in orders)
    for pair in users.pairs:
        first = sum(order.index(identity(pair.a)) < order.index(identity(pair.b)) for order in orders)
        assert 240 < first < 360
    assert orders == [[identity(one) for one in order] for order in round_orders(users, 1, 1, 600)]
    assert orders != [[identity(one) for one in order] for order in round_orders(users, 1, 2, 600)]


def test_keys_of_conditions_that_take_turns_are_there_together(in_rounds: str) -> None:
    text = in_rounds.replace("metric: response_ns.p99", "metric: response_ns.max")
    trials = make_run_plan(load_experiment(text)).trials
    block = [trial for trial in trials if trial.group == "users" and trial.block == 1]
    each = [memory_of([trial], "redis").bytes for trial in block]
    assert memory_of(block, "redis").bytes == sum(each)
    apart = [trial for trial in trials if trial.group == "kinds" and trial.block == 1]
    assert memory_of(apart, "redis").bytes == max(memory_of([trial], "redis").bytes for trial in apart)


def test_the_length_grows_with_what_a_trial_costs_beside_it() -> None:
    assert trial_length_s(30, 0.05, 0.6, 0.03) == pytest.approx(math.sqrt(30 * 0.0025 * 4) / 0.03)
    assert trial_length_s(1) == pytest.approx(0.1 / 0.03)


def test_the_length_stays_within_its_bounds() -> None:
    assert trial_length_s(0.1) == 3
    assert trial_length_s(5, 0.5, 0.9, 0.01) == 60
    assert trial_length_s(5, 0.05, 0.6, 0.0) == 60


def mean_of_a_process(trial_s: float, steps: int = 1000) -> float:
    """Variance of the mean of a process with exponential correlation, summed up in small steps."""
    long = 0.0025 * 4
    rate = -math.log(0.6)
    each = long * rate / 2  # the process' own variance, whose mean over a long time has the variance long / L
    step = trial_s / steps
    return each / steps**2 * sum((steps - abs(k)) * math.exp(-rate * abs(k) * step) for k in range(1 - steps, steps))


@pytest.mark.parametrize("trial_s", [0.7, 3, 15, 60])
def test_the_spread_expected_of_a_block(trial_s: float) -> None:
    assert expected_spread(trial_s) == pytest.approx(math.sqrt(2 * (0.03**2 + mean_of_a_process(trial_s))), rel=0.001)


def test_a_longer_trial_spreads_less_but_never_less_than_what_differs_from_trial_to_trial() -> None:
    spreads = [expected_spread(trial_s) for trial_s in (0.1, 0.7, 3, 10, 60, 10_000)]
    assert spreads == sorted(spreads, reverse=True)
    assert spreads[-1] == pytest.approx(0.03 * math.sqrt(2), rel=0.01)


def test_latencies_of_what_starts_again_have_twice_the_slices_in_the_same_time() -> None:
    rate, latency = (rounds_of_starts(15, 0.1, settle_s=0.025, of_latency=finer) for finer in (False, True))
    assert latency.of(1) == 2 * rate.of(1)
    assert latency.measured_s * latency.of(1) == pytest.approx(rate.measured_s * rate.of(1))
    assert latency.latency_interval_s(1) < latency.measured_s, "a histogram each"
