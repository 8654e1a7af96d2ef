"""Quantiles, tails and least squares, against scipy's."""

import numpy as np
import pytest
from scipy import optimize, special, stats

from loadstone.judge.statistics.distributions import (
    beta_quantile,
    f_survival,
    non_negative_least_squares,
    student_t_quantile,
)

CLOSE = 1e-9
DRAWN = np.random.default_rng(1)


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 7, 12, 30, 59, 199, 1000, 100_000])
def test_quantiles_of_students_t(freedom: int) -> None:
    for p in (0.0005, 0.01, 0.025, 0.3, 0.5, 0.6, 0.75, 0.95, 0.975, 0.9995, 1 - 1e-6):
        assert student_t_quantile(freedom, p) == pytest.approx(special.stdtrit(freedom, p), rel=CLOSE, abs=1e-12)


def test_quantiles_of_the_beta_distribution() -> None:
    """Those of an exact interval of a share: of up to ten thousand, and of some that are no whole numbers."""
    for of in (1, 2, 5, 60, 999, 10_000):
        for number in {0, 1, of // 3, of // 2, of - 1, of} - {0}:
            for p in (0.005, 0.025, 0.5, 0.975):
                found = beta_quantile(number, of - number + 1, p)
                assert found == pytest.approx(special.betaincinv(number, of - number + 1, p), rel=CLOSE)
    for a, b, p in DRAWN.uniform([0.3, 0.3, 0.001], [50, 50, 0.999], (500, 3)):
        assert beta_quantile(a, b, p) == pytest.approx(special.betaincinv(a, b, p), rel=CLOSE)


def test_the_tail_of_the_f_distribution() -> None:
    for x, above, below in DRAWN.uniform([0, 1, 1], [30, 20, 300], (500, 3)):
        assert f_survival(x, above, below) == pytest.approx(stats.f.sf(x, above, below), rel=CLOSE)
    assert (f_survival(0, 3, 8), f_survival(float("inf"), 3, 8)) == (1, 0)


@pytest.mark.parametrize("wrong", [(0, 0.5), (5, 0), (5, 1), (float("nan"), 0.5), (5, float("nan"))])
def test_what_is_no_distribution_is_refused(wrong: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        student_t_quantile(*wrong)


def test_least_squares_without_negative_parts() -> None:
    for rows in (3, 5, 12):
        for _ in range(300):
            terms, wanted = DRAWN.normal(size=(rows, 3)), DRAWN.normal(size=rows)
            expected, rest = optimize.nnls(terms, wanted)
            found = non_negative_least_squares(terms, wanted)
            assert np.linalg.norm(terms @ found - wanted) == pytest.approx(rest, rel=CLOSE, abs=1e-12)
            assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)
