"""The interval of a row's own rate is for the time of its run."""

import math

import numpy as np
import pytest

from loadstone.judge.statistics.rounds.row_rate import RowRate, row_rate
from loadstone.judge.statistics.signed_rank import Floats

SECONDS = np.full(160, 0.1)


def steady(slices: int = 160, seed: int = 1) -> Floats:
    return np.asarray(5000 * np.exp(np.random.default_rng(seed).normal(0, 0.05, slices)), dtype=np.float64)


def half_width(found: RowRate) -> float:
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.figure < found.high
    return math.log(found.high / found.low) / 2


def test_the_figure_is_the_ratio_of_the_totals() -> None:
    done, seconds = steady(), SECONDS.copy()
    seconds[:80] = 0.05
    assert row_rate(done, seconds).figure == pytest.approx(done.sum() / seconds.sum())


def test_it_is_students_interval_of_the_slices() -> None:
    done = np.array([90.0, 110.0] * 6)
    found = row_rate(done, np.ones(12))
    assert found.figure == 100
    assert half_width(found) == pytest.approx(2.201 * math.sqrt(12 * 0.01 / 11) / math.sqrt(12), rel=1e-3)


def test_four_times_as_many_slices_halve_it() -> None:
    few, many = row_rate(steady(40), SECONDS[:40]), row_rate(steady(160), SECONDS)
    assert half_width(few) / half_width(many) == pytest.approx(2, rel=0.3)


def test_drift_makes_it_wider() -> None:
    done = steady()
    drifting = done * np.exp(0.3 * np.sin(np.arange(160) / 25))
    assert half_width(row_rate(drifting, SECONDS)) > 2 * half_width(row_rate(done, SECONDS))


def test_too_few_slices_have_no_interval() -> None:
    found = row_rate(steady(7), SECONDS[:7])
    assert found.figure > 0
    assert (found.low, found.high) == (None, None)
    assert half_width(row_rate(steady(8), SECONDS[:8])) > 0


def test_slices_that_a_neighbour_took_leave_an_interval_of_use() -> None:
    done = steady(16)
    done[3:5] = 0
    assert half_width(row_rate(done, SECONDS[:16])) < 0.3


def test_a_row_that_did_nothing_has_no_rate() -> None:
    with pytest.raises(ValueError, match="without a single operation"):
        row_rate(np.zeros(20), SECONDS[:20])
