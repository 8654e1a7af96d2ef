"""A difference that depends on the order is warned of."""

import numpy as np
import pytest
from scipy.stats import binom, mannwhitneyu

from loadstone.judge.statistics.two_sample import order_effect


def test_whoever_runs_second_being_faster_is_observed() -> None:
    rng = np.random.default_rng(1)
    a_first = [bool(value) for value in rng.permutation([True] * 10 + [False] * 10)]
    d = rng.normal(0, 0.02, 20) + np.where(a_first, 0.05, -0.05)
    found = order_effect(d, a_first)
    assert found is not None
    assert found.warn
    assert found.shift == pytest.approx(0.1, abs=0.03)


def test_p_is_the_exact_one() -> None:
    rng = np.random.default_rng(3)
    for firsts in (1, 4, 9):
        d = rng.normal(size=12)
        a_first = [number < firsts for number in range(12)]
        found = order_effect(d, a_first)
        assert found is not None
        assert found.p_value == pytest.approx(mannwhitneyu(d[:firsts], d[firsts:], method="exact").pvalue)


def test_without_an_effect_a_warning_is_rare() -> None:
    rng = np.random.default_rng(2)
    warned = 0
    for _ in range(300):
        found = order_effect(rng.normal(size=12), [bool(value) for value in rng.permutation([True] * 6 + [False] * 6)])
        assert found is not None
        warned += found.warn
    assert warned <= binom.isf(1e-5, 300, 0.01)


def test_one_order_alone_tells_nothing() -> None:
    assert order_effect(np.ones(8), [True] * 8) is None
