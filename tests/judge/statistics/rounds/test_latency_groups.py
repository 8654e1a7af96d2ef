"""Histograms of a few rounds, paired by the rounds that they are of."""

from dataclasses import replace

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from tests.run_folder.synthetic import as_ours

from loadstone.experiment.plan.look_schedule import ROUND_LOOK_ALPHA
from loadstone.judge.statistics.decision import verdict_of
from loadstone.judge.statistics.pair_evidence import NO_BLOCKS
from loadstone.judge.statistics.rounds.latency_groups import RoundGroup, paired_groups, round_quantile_evidence
from loadstone.judge.statistics.settings import Settings


def group(first: int, last: int, slower: float = 1.0, seed: int = 0, failed: int = 0) -> RoundGroup:
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    for value in np.random.default_rng([seed, first]).gamma(4, 25_000, 100 * (last - first + 1)):
        histogram.record_value(int(value * slower) + 1)
    return RoundGroup(first, last, as_ours(histogram), failed)


def spans(groups: list[RoundGroup]) -> list[tuple[int, int]]:
    return [(one.first, one.last) for one in groups]


def test_groups_of_the_same_rounds_stay_as_they_are() -> None:
    a, b = ([group(0, 9), group(10, 19)] for _ in range(2))
    paired = paired_groups(a, b)
    assert spans(paired[0]) == spans(paired[1]) == [(0, 9), (10, 19)]
    assert paired[0][1].latencies.counts.sum() == 1000


def test_groups_that_end_at_different_rounds_are_merged_until_they_end_together() -> None:
    a = [group(0, 9), group(10, 20), group(21, 31), group(32, 40)]
    b = [group(0, 10, failed=2), group(11, 20, failed=3), group(21, 31), group(32, 41)]
    paired = paired_groups(a, b)
    assert spans(paired[0]) == spans(paired[1]) == [(0, 20), (21, 31)]
    assert paired[1][0].failed == 5
    assert paired[0][0].latencies.total == paired[1][0].latencies.total == 2100
    assert (np.diff(paired[0][0].latencies.places) > 0).all()


def test_a_hole_is_left_out_on_both_sides() -> None:
    a = [group(0, 9), group(20, 29), group(30, 39)]
    b = [group(0, 9), group(10, 19), group(20, 29), group(30, 39)]
    assert spans(paired_groups(a, b)[1]) == [(0, 9), (20, 29), (30, 39)]
    holed = [group(0, 4), group(7, 9)]
    assert paired_groups(holed, [group(0, 9)]) == ([], [])
    assert paired_groups([], [group(0, 9)]) == ([], [])


def test_overlapping_groups_are_refused() -> None:
    with pytest.raises(ValueError, match="must not overlap"):
        paired_groups([group(0, 9), group(9, 12)], [group(0, 12)])


SETTINGS = Settings(unit="round", alpha=ROUND_LOOK_ALPHA, larger_is_faster=False)


def sides(rounds: int, slower: float) -> tuple[list[RoundGroup], list[RoundGroup]]:
    firsts = range(0, rounds, 10)
    return (
        [group(first, first + 9, seed=1) for first in firsts],
        [group(first, first + 9, slower=slower, seed=2) for first in firsts],
    )


@pytest.mark.parametrize("quantile", [0.5, 0.99])
def test_a_slower_side_is_found_by_the_quantile_of_all_groups(quantile: float) -> None:
    evidence = round_quantile_evidence(*sides(160, 1.2), quantile, SETTINGS)
    assert evidence.low is not None
    assert evidence.high is not None
    assert 0 < evidence.low < np.log(1.2) < evidence.high
    found = verdict_of(evidence, SETTINGS)
    assert (found.kind, found.winner, found.blocks) == ("faster", "a", 160)


def test_equal_sides_have_an_interval_about_zero_that_fewer_rounds_make_wider() -> None:
    few, many = (round_quantile_evidence(*sides(rounds, 1.0), 0.5, SETTINGS) for rounds in (100, 300))
    assert few.low is not None
    assert few.high is not None
    assert many.low is not None
    assert many.high is not None
    assert few.low < many.low < 0 < many.high < few.high
    assert few.spread == pytest.approx(many.spread, rel=0.8)


def test_fewer_than_eight_groups_have_no_interval() -> None:
    evidence = round_quantile_evidence(*sides(70, 3.0), 0.5, SETTINGS)
    assert (evidence.blocks, evidence.low, evidence.p_value) == (70, None, 1.0)
    assert round_quantile_evidence([], [], 0.5, SETTINGS) == NO_BLOCKS


def test_of_a_gate_a_p99_is_that_of_the_typical_group_where_each_has_one() -> None:
    """A stall in one group of ten moves what is merged, and not the typical one."""
    gate = replace(SETTINGS, compares_runs=False)
    a, b = sides(160, 1.0)
    stalled = [replace(one, latencies=group(one.first, one.last, 40.0).latencies) for one in b[:2]]
    merged = round_quantile_evidence(a, [*stalled, *b[2:]], 0.99, SETTINGS)
    typical = round_quantile_evidence(a, [*stalled, *b[2:]], 0.99, gate)
    assert merged.estimate is not None
    assert typical.estimate is not None
    assert merged.estimate > np.log(5)
    assert abs(typical.estimate) < 0.1
    assert typical.typical[0] == pytest.approx(typical.typical[1], rel=0.1)
    assert round_quantile_evidence(a, b, 0.999, gate) == round_quantile_evidence(a, b, 0.999, SETTINGS), "too few"
