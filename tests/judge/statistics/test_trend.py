"""The trend test on figures whose trend is known."""

import numpy as np
import pytest

from loadstone.judge.statistics.trend import POINTS_MAX, trend


@pytest.mark.parametrize("points", [8, 40, POINTS_MAX, 3 * POINTS_MAX])
@pytest.mark.parametrize("slope", [0.5, -0.5])
def test_a_trend_is_found_with_its_length(points: int, slope: float) -> None:
    rng = np.random.default_rng(2)
    values = slope * np.linspace(0, 1, points) + rng.normal(0, 0.02, points)
    assert trend(values) == pytest.approx(slope, rel=0.15)


def test_noise_has_one_by_chance_only() -> None:
    rng = np.random.default_rng(3)
    assert sum(trend(rng.normal(0, 1, 60)) is not None for _ in range(400)) <= 10


def test_the_level_is_that_of_both_sides() -> None:
    rng = np.random.default_rng(4)
    found = sum(trend(rng.normal(0, 1, 60), 0.2) is not None for _ in range(400))
    assert 50 < found < 110


def test_few_values_have_none() -> None:
    assert trend(np.arange(7.0)) is None
    assert trend(np.arange(8.0)) == pytest.approx(7.0)
    assert trend(np.ones(20)) is None
