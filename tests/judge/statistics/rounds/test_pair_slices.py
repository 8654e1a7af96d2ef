"""Slices become one log ratio a round."""

import numpy as np
import pytest

from loadstone.judge.statistics.rounds.pair_slices import NOTHING_DONE, PairSlices


def pair(done_a: list[float], done_b: list[float], seconds: float = 0.1) -> PairSlices:
    lengths = np.full(len(done_a), seconds)
    return PairSlices(np.array(done_a), lengths, np.array(done_b), lengths)


def test_a_ratio_is_that_of_the_rates() -> None:
    slices = PairSlices(np.array([100.0]), np.array([0.1]), np.array([300.0]), np.array([0.2]))
    assert slices.log_ratios == pytest.approx([np.log(1.5)])


def test_a_slice_with_nothing_done_counts_as_half_an_operation_on_either_side() -> None:
    slices = pair([0, 10, 0], [10, 0, 0])
    assert slices.log_ratios == pytest.approx([np.log(10 / NOTHING_DONE), -np.log(10 / NOTHING_DONE), 0])


def test_neighbours_are_merged_by_their_sums() -> None:
    merged = pair([1, 2, 3, 4, 5], [2, 2, 3, 3, 9]).merged(2)
    assert merged.done_a.tolist() == [3, 7]
    assert merged.done_b.tolist() == [4, 6]
    assert merged.seconds_a == pytest.approx([0.2, 0.2])


@pytest.mark.parametrize(
    ("done_a", "done_b", "said"),
    [([1, 2], [1], "one entry a round"), ([1, -1], [1, 1], "A, round 1"), ([1, 1], [np.nan, 1], "B, round 0")],
)
def test_what_has_no_rate_is_named(done_a: list[float], done_b: list[float], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        PairSlices(np.array(done_a), np.full(len(done_a), 0.1), np.array(done_b), np.full(len(done_b), 0.1))


def test_a_slice_without_time_is_refused() -> None:
    with pytest.raises(ValueError, match=r"1\.0 operations in 0\.0 s"):
        pair([1.0], [1.0], seconds=0.0)
