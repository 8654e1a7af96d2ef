"""Detectable effects, and the time still needed."""

import math

import numpy as np
import pytest

from loadstone.judge.statistics.effect import (
    blocks_needed,
    detectable_effect,
    forecast,
    has_outliers,
    robust_spread,
)
from loadstone.judge.statistics.signed_rank import signed_rank
from loadstone.text.sentences import render_message


def test_the_constant_of_the_robust_spread_is_that_of_the_normal_distribution() -> None:
    d = np.random.default_rng(1).normal(0, 3, size=(50, 200))
    assert robust_spread(d).mean() == pytest.approx(3, rel=0.02)


def test_one_stall_hardly_moves_the_spread() -> None:
    d = np.random.default_rng(2).normal(0, 0.03, size=20)
    stalled = d.copy()
    stalled[4] = -2.0
    assert robust_spread(stalled) == pytest.approx(robust_spread(d), rel=0.25)
    assert has_outliers(stalled, 0.0, float(robust_spread(stalled)))
    assert not has_outliers(np.linspace(-0.05, 0.05, 20), 0.0, 0.03)


@pytest.mark.parametrize(("blocks", "c"), [(8, 1.25), (12, 0.94), (20, 0.68), (40, 0.47)])
def test_constants_at_five_per_cent(blocks: int, c: float) -> None:
    assert detectable_effect(blocks, 1.0, 0.05) == pytest.approx(c, abs=0.01)


@pytest.mark.parametrize(("blocks", "c"), [(8, 2.0), (12, 1.23), (20, 0.82), (40, 0.54)])
def test_constants_with_outliers(blocks: int, c: float) -> None:
    assert detectable_effect(blocks, 1.0, 0.05, outliers=True) == pytest.approx(c, rel=0.05)


@pytest.mark.parametrize(("blocks", "alpha"), [(10, 0.05), (15, 0.0157), (30, 0.0157 / 6), (60, 0.05)])
def test_between_the_nodes_the_effect_is_observed_eight_times_in_ten(blocks: int, alpha: float) -> None:
    effect = detectable_effect(blocks, 1.0, alpha)
    assert effect is not None
    low = signed_rank(np.random.default_rng(blocks).normal(effect, 1, size=(3000, blocks)), alpha).low
    assert low is not None
    assert np.mean(low > 0) == pytest.approx(0.8, abs=0.06)


def test_no_effect_is_detectable_without_an_interval() -> None:
    assert detectable_effect(5, 1.0, 0.05) is None
    assert detectable_effect(8, 1.0, 0.0157 / 15) is None


def test_blocks_needed_by_the_nearer_goal() -> None:
    margin = math.log(1.05)
    assert blocks_needed(0.0, 0.057, margin, 0.0157) == math.ceil(1.1 * (2.4163 * 0.057 / margin) ** 2)
    assert blocks_needed(0.1, 0.057, margin, 0.0157) == math.ceil(1.1 * (2.4163 * 0.057 / 0.1) ** 2)
    hardest = blocks_needed(margin / 2, 0.057, margin, 0.0157)
    assert hardest > blocks_needed(0.0, 0.057, margin, 0.0157)
    assert hardest > blocks_needed(margin, 0.057, margin, 0.0157)
    assert blocks_needed(-0.1, 0.057, margin, 0.0157) == blocks_needed(0.1, 0.057, margin, 0.0157)


def test_a_forecast_rests_on_the_measured_spread() -> None:
    quiet, noisy = forecast(12, 0.03, 0.0157), forecast(12, 0.30, 0.0157)
    assert (
        render_message(quiet)
        == "its blocks spread by 3.0 %: with 12 of them a difference of 3.5 % or more shows 8 times in 10"
    )
    assert "spread by 35 %" in render_message(noisy)
    assert "a difference of 42 % or more" in render_message(noisy)
    assert forecast(5, 0.03, 0.0157) is None
