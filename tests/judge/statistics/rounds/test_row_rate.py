"""The interval of a row's own rate holds slow drift."""

import numpy as np
import pytest

from loadstone.judge.statistics.rounds.row_rate import row_rate
from loadstone.judge.statistics.signed_rank import Floats

SECONDS, STARTS = np.full(160, 0.1), np.arange(160) * 0.254


def steady(rounds: int = 160, seed: int = 1) -> Floats:
    return np.asarray(5000 * np.exp(np.random.default_rng(seed).normal(0, 0.05, rounds)), dtype=np.float64)


def test_the_goodput_is_the_ratio_of_the_totals_and_the_typical_rate_the_median_slice() -> None:
    done = steady()
    done[:16] = 100
    found = row_rate(done, SECONDS, STARTS)
    assert found.goodput.figure == pytest.approx(done.sum() / 16)
    assert found.typical.figure == pytest.approx(np.median(done) / 0.1)
    assert found.typical.figure > 1.05 * found.goodput.figure


def test_each_interval_holds_its_figure() -> None:
    for interval in row_rate(steady(), SECONDS, STARTS):
        assert interval.low is not None
        assert interval.high is not None
        assert interval.low < interval.figure < interval.high
        assert interval.high / interval.low < 1.15


def test_drift_makes_it_wider() -> None:
    done = steady()
    drifting = done * np.exp(0.3 * np.sin(np.arange(160) / 25))
    calm, slow = row_rate(done, SECONDS, STARTS).goodput, row_rate(drifting, SECONDS, STARTS).goodput
    assert calm.low is not None
    assert calm.high is not None
    assert slow.low is not None
    assert slow.high is not None
    assert slow.high / slow.low > 1.2 * calm.high / calm.low


def test_too_few_rounds_have_no_interval() -> None:
    found = row_rate(steady(15), SECONDS[:15], STARTS[:15])
    assert found.goodput.figure > 0
    assert (found.goodput.low, found.typical.high) == (None, None)


def test_a_row_that_did_nothing_has_no_rate() -> None:
    with pytest.raises(ValueError, match="without a single operation"):
        row_rate(np.zeros(20), SECONDS[:20], STARTS[:20])
