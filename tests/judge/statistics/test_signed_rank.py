"""The exact signed-rank interval, against brute force, published tables and scipy."""

import itertools

import numpy as np
import pytest
from scipy.stats import wilcoxon

from loadstone.judge.statistics.signed_rank import (
    critical_rank,
    distribution,
    fewest_blocks,
    p_value,
    signed_rank,
    walsh_averages,
)


@pytest.mark.parametrize("blocks", [1, 2, 5, 9])
def test_the_distribution_is_that_of_all_signs(blocks: int) -> None:
    ranks = range(1, blocks + 1)
    all_signs = itertools.product((0, 1), repeat=blocks)
    sums = [sum(rank for rank, sign in zip(ranks, signs, strict=True) if sign) for signs in all_signs]
    expected = np.cumsum(np.bincount(sums)) / 2**blocks
    assert distribution(blocks) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(
    ("blocks", "alpha", "k"),
    [
        (6, 0.05, 1),
        (8, 0.05, 4),
        (10, 0.05, 9),
        (12, 0.05, 14),
        (20, 0.05, 53),
        (20, 0.01, 38),
        (8, 0.0157, 2),
        (25, 0.05, 90),
    ],
)
def test_critical_ranks_are_those_of_the_published_tables(blocks: int, alpha: float, k: int) -> None:
    """One more than the critical values of T in Wilcoxon & Wilcox 1964."""
    assert critical_rank(blocks, alpha) == k


def test_too_few_blocks_have_no_interval() -> None:
    assert critical_rank(5, 0.05) is None
    found = signed_rank(np.arange(1.0, 6.0), 0.05)
    assert found.low is None
    assert found.high is None
    assert found.p_value == pytest.approx(2 / 32)
    for alpha in (0.05, 0.0157, 0.0157 / 15):
        assert critical_rank(fewest_blocks(alpha), alpha) is not None
        assert critical_rank(fewest_blocks(alpha) - 1, alpha) is None


@pytest.mark.parametrize("blocks", [6, 8, 13, 27, 40])
def test_p_is_that_of_scipy(blocks: int) -> None:
    d = np.random.default_rng(blocks).normal(0.3, 1, size=blocks)
    assert p_value(walsh_averages(d), blocks) == pytest.approx(wilcoxon(d, method="exact").pvalue, rel=1e-9)


def test_the_interval_holds_exactly_what_is_not_rejected() -> None:
    d = np.random.default_rng(3).normal(0.2, 1, size=14)
    found = signed_rank(d, 0.05)
    assert found.low is not None
    assert found.high is not None
    step = 1e-6
    for end, inwards in ((found.low, step), (found.high, -step)):
        assert p_value(walsh_averages(d), 14, float(end + inwards)) > 0.05
        assert p_value(walsh_averages(d), 14, float(end - inwards)) <= 0.05


def test_many_rows_are_judged_as_each_alone() -> None:
    d = np.random.default_rng(4).normal(size=(7, 12))
    together = signed_rank(d, 0.05)
    for row in range(7):
        alone = signed_rank(d[row], 0.05)
        assert together.low is not None
        assert together.low[row] == alone.low
        assert together.estimate[row] == alone.estimate
        assert together.p_value[row] == alone.p_value


def test_the_estimate_is_the_median_walsh_average_and_ignores_one_wild_block() -> None:
    assert signed_rank(np.array([1.0, 2.0, 4.0]), 0.05).estimate == 2.25
    calm = np.linspace(0.9, 1.1, 12)
    wild = np.append(calm[:-1], 50.0)
    assert signed_rank(wild, 0.05).estimate == pytest.approx(1.0, abs=0.03)


def test_ties_count_against_a_finding() -> None:
    assert signed_rank(np.zeros(10), 0.05).p_value == 1
    one_sided = np.array([0.0, 0.0, 0.0, 0.1, 0.1, 0.1, 0.1, 0.1])
    assert signed_rank(one_sided, 0.05).p_value > 0.05


def test_the_interval_covers_as_promised() -> None:
    """20,000 samples of 10: coverage 1 - 2 P(T+ <= 8), within five standard errors."""
    d = np.random.default_rng(5).standard_t(2, size=(20_000, 10))
    found = signed_rank(d, 0.05)
    assert found.low is not None
    assert found.high is not None
    missed = np.mean((found.low > 0) | (found.high < 0))
    exact = 2 * distribution(10)[8]
    assert missed == pytest.approx(exact, abs=5 * np.sqrt(exact * (1 - exact) / 20_000))
