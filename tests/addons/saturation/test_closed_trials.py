"""Trials as probes and sweeps: which of them count, in which order, and what each says."""

import random
from types import ModuleType
from typing import Any

import pytest
from tests.addons.saturation.trials import (
    Facts,
    System,
    failing,
    full_generator,
    planned,
    system_of,
    undriven,
    with_slices,
)
from tests.changed_facts import with_drive, written

from loadstone.addons.saturation.closed_estimate import Saturation
from loadstone.addons.saturation.closed_trials import (
    LevelLatency,
    closed_answer,
    failed_share,
    generator_limit,
    met_up_to,
    search_probes,
    search_trials,
    sweep_blocks,
    sweep_rounds_of,
    sweeps_of,
)
from loadstone.addons.saturation.recorded_steps import phase_of, step_of, users_of
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.sentences import render_message


@pytest.fixture
def system(synthetic: ModuleType) -> System:
    return system_of(synthetic, noise=0.05)


def levels_of(block: list[TrialRecord]) -> dict[int, TrialRecord]:
    (found,) = sweep_blocks(block)
    return found


def slices(trial: TrialRecord) -> list[dict[str, Any]]:
    return list(written(trial)["drive"]["slices"])


def test_the_search_is_in_the_order_of_its_users_and_of_the_last_attempts(system: System) -> None:
    trials = [system.search(4, 3), system.search(1), system.search(2, 2), system.search(1, goodput_per_s=7.0)]
    assert [(one.users, one.goodput_per_s) for one in search_probes(trials)] == [(1, 7.0), (2, 2000.0), (4, 4000.0)]


def test_what_could_not_be_driven_counts_only_when_it_was_tried_twice(system: System) -> None:
    lost = undriven(system.search(2, 2))
    assert [one.users for one in search_probes([system.search(1), lost])] == [1]
    twice = search_probes([system.search(1), lost, lost])
    assert (twice[1].goodput_per_s, twice[1].error_share) == (0.0, 1.0)
    driven = system.search(2, 2)
    assert search_trials([system.search(1), lost, driven, lost])[1] is driven, (
        "an attempt that was driven is better than a later failure"
    )


def test_blocks_are_in_the_order_of_their_numbers_with_the_last_attempt_of_each_level(system: System) -> None:
    second, first = system.whole_sweep((1, 2), 2), system.whole_sweep((2, 1), 1)
    again = system.whole_sweep((2,), 2, goodput_per_s=9.0)
    found = sweep_blocks([*second, *first, *again, system.search(1)])
    assert [sorted(block) for block in found] == [[1, 2], [1, 2]]
    assert found[1][2].goodput_per_s == 9.0
    assert found[0][2].goodput_per_s != 9.0


def test_rounds_make_sweeps_and_what_is_left_over_makes_none(system: System) -> None:
    assert sweep_rounds_of(levels_of(system.rounds((1, 2, 4), 1, rounds=7, rounds_a_sweep=3))) == [[0, 1, 2], [3, 4, 5]]
    assert sweep_rounds_of(levels_of(system.whole_sweep((1, 2), 1))) == []


def test_a_level_that_ended_early_ends_the_sweeps_of_its_block(system: System) -> None:
    trials = system.rounds((1, 2, 4), 1, rounds=8, rounds_a_sweep=2)
    trials[1] = with_slices(trials[1], slices(trials[1])[:5])
    assert sweep_rounds_of(levels_of(trials)) == [[0, 1], [2, 3]]


def test_the_round_in_which_something_failed_counts_for_none(system: System) -> None:
    trials = system.rounds((1, 2), 1, rounds=4, rounds_a_sweep=2)
    trials[0] = with_slices(trials[0], slices(trials[0]), failure="the server went away")
    assert sweep_rounds_of(levels_of(trials)) == [[0, 1]]
    stopped = system.rounds((1, 2), 1, rounds=4, rounds_a_sweep=2)
    stopped[1] = with_drive(stopped[1], stopped="too many errors")
    assert sweep_rounds_of(levels_of(stopped)) == [[0, 1]]


def test_a_round_that_is_missing_in_the_middle_makes_no_sweep_across_it(system: System) -> None:
    trials = system.rounds((1, 2), 1, rounds=6, rounds_a_sweep=2)
    trials[0] = with_slices(trials[0], [one for one in slices(trials[0]) if one["round"] != 2])
    assert sweep_rounds_of(levels_of(trials)) == [[0, 1]]


def test_the_rounds_of_a_sweep_count_together(system: System) -> None:
    one, two = sweeps_of(system.rounds((1, 4), 1, rounds=4, rounds_a_sweep=2))
    for sweep in (one, two):
        by_users = {probe.users: probe for probe in sweep}
        assert by_users[1].goodput_per_s == pytest.approx(1000, rel=0.01)
        assert by_users[4].goodput_per_s == pytest.approx(4000, rel=0.01)
        assert by_users[4].response_s == pytest.approx(0.001, rel=0.01)
        assert {probe.error_share for probe in sweep} == {0.0}


def test_failures_of_slices_are_a_share_of_what_they_offered(system: System) -> None:
    trials = system.rounds((1, 4), 1, rounds=2, rounds_a_sweep=2)
    spoiled = [{**one, "offered": 100, "failed": 5 * (one["round"] + 1)} for one in slices(trials[1])]
    (sweep,) = sweeps_of([trials[0], with_slices(trials[1], spoiled)])
    assert {probe.users: probe.error_share for probe in sweep} == {1: 0.0, 4: pytest.approx(15 / 200)}


def test_a_sweep_is_in_the_order_in_which_it_was_measured(system: System) -> None:
    trials = system.rounds((1, 2, 4, 8), 1, rounds=6)
    for number, sweep in enumerate(sweeps_of(trials)):
        places = {users_of(one): slices(one)[number]["position"] for one in trials if one.search}
        assert [probe.users for probe in sweep] == sorted(places, key=lambda users: places[users])
    assert [probe.users for probe in sweeps_of(system.whole_sweep((4, 1, 2), 1))[0]] == [4, 1, 2]


def test_whole_trials_that_were_not_driven_leave_their_level_out(system: System) -> None:
    trials = system.whole_sweep((1, 2, 4), 1)
    (sweep,) = sweeps_of([trials[0], undriven(trials[1]), trials[2]])
    assert [probe.users for probe in sweep] == [1, 4]
    assert sweeps_of([undriven(one) for one in trials]) == []


def test_failed_replies_are_a_share_of_the_offered(system: System) -> None:
    trial = system.search(1)
    assert failed_share(trial) == 0.0
    assert failed_share(failing(trial, 0.25)) == pytest.approx(0.25, abs=0.001)
    late = trial.counts.model_copy(update={"timeouts": 6, "dropped": 6})
    assert failed_share(trial.model_copy(update={"counts": late})) == pytest.approx(12 / late.offered)
    assert failed_share(undriven(trial)) == 1.0


def test_a_generator_is_the_limit_where_it_is_full_and_the_server_is_not(system: System) -> None:
    assert generator_limit([system.search(8)]) is None
    system.facts = full_generator(0.99)
    found = generator_limit([system.search(8)])
    assert found is not None
    assert found.kind == "generator_full"
    assert found.figures["busy_share"] == pytest.approx(0.99)
    system.facts = full_generator(0.9)
    assert generator_limit([system.search(8)]) is None, "a tenth is left"
    assert generator_limit([]) is None
    assert generator_limit([undriven(system.search(8))]) is None


def test_a_generator_beside_a_full_server_is_no_limit(system: System) -> None:
    def both(facts: dict[str, Any], users: int) -> None:
        full_generator(0.96)(facts, users)
        facts["parts"]["redis"].update(main_thread_share=0.99, mean_share=0.99)

    system.facts = both
    assert generator_limit([system.search(8)]) is None


def test_the_limit_of_a_level_stands_in_all_its_sweeps(system: System) -> None:
    def beyond_two(facts: dict[str, Any], users: int) -> None:
        if users > 2:
            full_generator()(facts, users)

    system.facts = beyond_two
    for sweep in sweeps_of(system.rounds((1, 2, 4), 1, rounds=3)):
        assert {probe.users: probe.generator_limit is not None for probe in sweep} == {1: False, 2: False, 4: True}


@pytest.fixture
def steady(synthetic: ModuleType) -> System:
    return system_of(synthetic, noise=0.02)


def answered(steady: System) -> Saturation:
    template, settings = planned(quick=True)
    trials: list[TrialRecord] = []
    steady.carry_on(template, settings, trials)
    return closed_answer(trials, settings).saturation


def beside_the_generator(share: float) -> Facts:
    """Other programs had its CPU while it waited for that; the server then waited for the generator."""

    def change(facts: dict[str, Any], users: int) -> None:  # noqa: ARG001 (every change knows the users)
        facts["drive"]["threads"][0].update(cpu_s=0.4 * 6, wall_s=6.0, waited_s=share * 6)
        facts["parts"]["generator"] |= {"mean_share": 0.4, "wait_share": share}
        facts["parts"]["redis"].update(main_thread_share=0.5, mean_share=0.5)
        for cpu, (busy, others) in {"cpu0": (50, 0), "cpu1": (40 + 100 * share, 100 * share)}.items():
            shares = {"busy": busy, "stolen": 0.0, "others": others}
            facts["seen"][cpu] = {name: {"avg": value, "max": value} for name, value in shares.items()}

    return change


def test_of_a_quiet_machine_the_interval_is_that_of_the_sweeps(steady: System) -> None:
    found = answered(steady)
    assert (found.kind, found.users is not None) == ("plateau", True)
    assert found.users is not None
    assert found.users.value == pytest.approx(8, rel=0.03)
    assert found.users.high < 8.6


def test_what_others_had_of_the_generators_cpu_may_be_missing_from_the_point(steady: System) -> None:
    quiet = answered(steady)
    steady.facts = beside_the_generator(0.2)
    found = answered(steady)
    assert quiet.per_s is not None
    assert found.per_s is not None
    assert found.users is not None
    assert found.per_s.value == pytest.approx(quiet.per_s.value, rel=0.05)
    assert found.per_s.high > 1.2 * found.per_s.value
    assert found.users.high > 1.2 * found.users.value
    assert found.message.figures["per_s"] == found.per_s.figures


def test_where_others_had_half_of_it_only_what_was_reached_is_known(steady: System) -> None:
    steady.facts = beside_the_generator(0.5)
    found = answered(steady)
    assert found.kind == "at_least"
    assert found.users is None
    assert found.at_least_per_s == pytest.approx(8000, rel=0.03)
    assert "other programs took CPU time: without them the rate could be up to 100 % higher" in render_message(
        found.message
    )


def test_where_time_ends_before_the_interval_the_levels_say_what_was_reached(steady: System) -> None:
    """The search ran while others had the machine: the sweeps after it are what the system did."""
    template, settings = planned(quick=True)
    trials: list[TrialRecord] = []
    steady.carry_on(template, settings, trials)
    slow = [
        one.model_copy(update={"goodput_per_s": 0.6 * one.goodput_per_s}) for one in trials if phase_of(one) == "search"
    ]
    for times, why in ((3, "2 sweeps; an interval needs at least 6"), (1000, "no sweep was measured whole")):
        sweeps = [in_longer_sweeps(one, times) for one in trials if phase_of(one) == "sweep"]
        found = closed_answer([*slow, *sweeps], settings).saturation
        assert why in render_message(found.message)
        assert found.at_least_per_s == pytest.approx(8000, rel=0.05)


def in_longer_sweeps(trial: TrialRecord, times: int) -> TrialRecord:
    """The trial in sweeps of so many times as many rounds: there are fewer of them."""
    step = step_of(trial)
    assert step is not None
    longer = step.model_copy(update={"rounds_a_sweep": times * step.rounds_a_sweep})
    return trial.model_copy(update={"search": longer.model_dump(mode="json")})


def test_a_rate_that_rose_with_time_is_said_so(steady: System) -> None:
    steady.capacity_per_s = 1e6
    _, settings = planned(users_max=8)
    search = [steady.search(2**step, step + 1) for step in range(4)]
    same = closed_answer([*search, steady.search(4, 5)], settings).saturation
    assert render_message(same.message).endswith("it had not levelled off at 8 users, the most that were allowed")
    later = closed_answer([*search, steady.search(4, 5, goodput_per_s=5200.0)], settings).saturation
    assert render_message(later.message) == (
        "CAPACITY >= 8,000 a second: it did more with time, not only with users: 4 users 4,000 a second, and later "
        "5,200; warm it up for longer"
    )


LEVELS = (1, 2, 3, 4, 6, 8, 11, 16, 23, 32)


def sweep(noise: float, dice: random.Random) -> dict[int, LevelLatency]:
    """A server of 1,000 a second: from 8 users on the latency is users / 1,000 s."""
    return {
        users: LevelLatency(min(1000.0, 125.0 * users), max(8, users) / 1000 * (1 + noise * dice.uniform(-1, 1)))
        for users in LEVELS
    }


def test_the_crossing_lies_between_two_levels_with_an_interval() -> None:
    dice = random.Random(1)
    met = met_up_to([sweep(0.02, dice) for _ in range(8)], 0.014)
    assert met.kind == "limit"
    assert met.users is not None
    assert met.per_s is not None
    assert met.users.low < 14 < met.users.high
    assert met.users.value == pytest.approx(14, rel=0.03)
    assert met.per_s.value == pytest.approx(1000, rel=0.01)


@pytest.mark.parametrize(("limit_s", "kind"), [(1.0, "met_always"), (0.001, "never")])
def test_met_always_and_never(limit_s: float, kind: str) -> None:
    dice = random.Random(1)
    met = met_up_to([sweep(0.02, dice) for _ in range(6)], limit_s)
    assert met.kind == kind
    assert met.users is None


def test_too_few_sweeps_say_nothing() -> None:
    assert met_up_to([], 1.0).kind == "unknown"
    assert met_up_to([sweep(0.0, random.Random(1))] * 3, 0.014).kind == "unknown"


def test_one_level_that_strays_moves_nothing() -> None:
    dice = random.Random(1)
    sweeps = [sweep(0.0, dice) for _ in range(6)]
    for one in sweeps:
        one[2] = LevelLatency(250.0, 0.5)  # a neighbour took its slices
    met = met_up_to(sweeps, 0.014)
    assert met.users is not None
    assert met.users.value == pytest.approx(14, rel=0.01)


def test_what_failed_misses_the_objective() -> None:
    lost = {users: LevelLatency(10.0, None) for users in LEVELS}
    assert met_up_to([lost] * 6, 10.0).kind == "never"
