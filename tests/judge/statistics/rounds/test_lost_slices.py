"""What the estimate over rounds does not notice, the totals and the counts of lost slices do."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest

from loadstone.judge.statistics.rounds.lost_slices import (
    Total,
    lost_alike,
    lost_slices,
    total_allows_equivalence,
    total_of,
)
from loadstone.judge.statistics.rounds.pair_slices import PairSlices

MARGIN = math.log1p(0.05)


def test_lost_slices_are_counted_by_their_own_spread() -> None:
    d = np.random.default_rng(1).normal(0.1, 0.15, 300)
    assert lost_slices(d, 0.1, 0.15) == (0, 0)
    d[:5] += 2.5
    d[5:8] -= 2.5
    assert lost_slices(d, 0.1, 0.15) == (5, 3)
    assert lost_slices(np.array([0.1, 0.15]), 0.0, 0.001) == (0, 0)


@pytest.mark.parametrize(("a", "b"), [(0, 0), (3, 0), (8, 1), (9, 1), (18, 20), (30, 12)])
def test_losses_are_alike_where_a_fair_coin_may_deal_them_so(a: int, b: int) -> None:
    fair = binomtest(a, a + b).pvalue >= 0.01 if a + b else True
    assert lost_alike(a, b) == lost_alike(b, a) == fair


def test_the_total_feels_a_stall_that_the_rounds_do_not() -> None:
    a = np.full(100, 1000.0)
    b = np.full(100, 1020.0)
    b[:10] = 50.0
    seconds = np.full(100, 0.1)
    found = total_of(PairSlices(a, seconds, b, seconds))
    assert found.log_ratio == pytest.approx(math.log((90 * 1020 + 500) / 100_000))
    assert found.log_ratio < 0 < math.log(1.02)


def test_the_noise_of_the_total_is_what_it_spreads_by() -> None:
    totals, noises = [], []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        rates = 1000 * np.exp(rng.normal(0, 0.1, (2, 120))) * np.where(rng.random((2, 120)) < 0.05, 0.05, 1.0)
        seconds = np.full(120, 0.1)
        total = total_of(PairSlices(rates[0], seconds, rates[1], seconds))
        totals.append(total.log_ratio)
        noises.append(total.noise)
    assert np.mean(noises) == pytest.approx(2.326 * np.std(totals), rel=0.1)
    assert np.mean(np.array(totals) > noises) < 0.03


def test_equivalence_needs_the_total_and_equal_losses() -> None:
    assert total_allows_equivalence(Total(0.01, 0.02), 4, 6, MARGIN)
    assert not total_allows_equivalence(Total(-0.06, 0.02), 4, 6, MARGIN)
    assert not total_allows_equivalence(Total(0.01, 0.02), 0, 12, MARGIN)


def test_a_side_without_an_operation_has_no_ratio() -> None:
    seconds = np.full(3, 0.1)
    with pytest.raises(ValueError, match="without a single operation"):
        total_of(PairSlices(np.ones(3), seconds, np.zeros(3), seconds))
