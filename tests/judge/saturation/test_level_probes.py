"""Trials as probes and sweeps: which of them count, in which order, and what each says."""

from types import ModuleType
from typing import Any

import pytest
from tests.changed_facts import with_drive, written
from tests.saturation_trials import System, failing, full_generator, system_of, undriven, with_slices

from loadstone.judge.saturation.level_probes import (
    failed_share,
    generator_limit,
    search_probes,
    search_trials,
    sweep_blocks,
    sweep_rounds_of,
    sweeps_of,
)
from loadstone.record.trial import TrialRecord


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
    assert search_trials([lost, driven, lost])[0] is driven, "an attempt that was driven is better than a later failure"


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
        places = {one.saturation.users: slices(one)[number]["position"] for one in trials if one.saturation}
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
