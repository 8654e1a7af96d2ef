"""The interval over rounds: that of the signed rank where nothing is to be widened."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from loadstone.judge.statistics.rounds import round_interval as module
from loadstone.judge.statistics.rounds.round_interval import (
    FEWEST_EFFECTIVE,
    autocorrelations,
    grades,
    round_interval,
    rounds_in_one,
    stretch_of,
)
from loadstone.judge.statistics.signed_rank import Floats, signed_rank


@pytest.fixture
def independent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rounds are known to have no memory."""
    monkeypatch.setattr(module, "rounds_in_one", lambda _: 1.0)
    monkeypatch.setattr(module, "stretch_of", lambda _: 1.0)


@pytest.mark.usefixtures("independent")
@pytest.mark.parametrize("rounds", [32, 108])
def test_without_memory_it_is_the_signed_rank_interval(rounds: int) -> None:
    d = np.random.default_rng(rounds).normal(0.05, 0.1, rounds)
    plain, found = signed_rank(d, 0.015), round_interval(d, 0.015)
    assert (found.estimate, found.low, found.high) == (plain.estimate, plain.low, plain.high)
    assert found.p_value == pytest.approx(float(plain.p_value))


def test_memory_widens_it_and_leaves_the_estimate() -> None:
    d = np.random.default_rng(1).normal(0.05, 0.1, 72)
    remembering = np.sort(d)
    shuffled, ordered = round_interval(d, 0.015), round_interval(remembering, 0.015)
    assert ordered.estimate == shuffled.estimate
    assert ordered.rounds_in_one > 5 * shuffled.rounds_in_one
    assert ordered.low is not None
    assert ordered.high is not None
    assert shuffled.low is not None
    assert shuffled.high is not None
    assert ordered.low < shuffled.low < shuffled.estimate < shuffled.high < ordered.high
    assert ordered.p_value > shuffled.p_value


def test_p_is_at_most_alpha_where_the_interval_leaves_out_zero() -> None:
    rng = np.random.default_rng(2)
    outside = 0
    for _ in range(200):
        d = rng.normal(0.03, 0.1, 48)
        found = round_interval(d, 0.05)
        assert found.low is not None
        assert found.high is not None
        leaves_out = found.low > 0 or found.high < 0
        assert leaves_out == (found.p_value <= 0.05)
        outside += leaves_out
    assert 20 < outside < 180


def test_rounds_that_all_agree_are_stretched_beyond_themselves() -> None:
    d = 0.5 + 0.001 * np.arange(32.0)
    found = round_interval(d, 0.015 / 15)
    assert found.rounds_in_one == 8
    assert found.low is not None
    assert found.high is not None
    assert found.low < d.min()
    assert found.high > d.max()
    assert found.low > 0


def test_too_few_rounds_have_no_interval() -> None:
    found = round_interval(np.arange(1.0, 6.0), 0.015)
    assert (found.low, found.high) == (None, None)


def test_the_p_value_is_that_of_the_stretched_z() -> None:
    d = np.random.default_rng(4).normal(0.02, 0.1, 72)
    plain, found = float(signed_rank(d, 0.05).p_value), round_interval(d, 0.05)
    z = -NormalDist().inv_cdf(plain / 2) / (math.sqrt(found.rounds_in_one) * stretch_of(72))
    assert found.p_value == pytest.approx(2 * NormalDist().cdf(-z))


def remembering(kept: float, rounds: int, seed: int) -> Floats:
    """A first-order series: tau = (1 + kept) / (1 - kept)."""
    dice = np.random.default_rng(seed).normal(size=rounds)
    series = np.empty(rounds)
    series[0] = dice[0]
    for at in range(1, rounds):
        series[at] = kept * series[at - 1] + np.sqrt(1 - kept**2) * dice[at]
    return series


def test_grades_are_ranks_about_zero_and_ties_share_theirs() -> None:
    assert grades(np.array([30.0, 10.0, 20.0])) == pytest.approx([0.25, -0.25, 0.0])
    assert grades(np.array([5.0, 5.0, 9.0])) == pytest.approx([-0.125, -0.125, 0.25])
    assert grades(np.zeros(6)) == pytest.approx(np.zeros(6))


def test_autocorrelations_are_those_of_the_definition() -> None:
    values = np.random.default_rng(1).normal(size=50)
    centred = values - values.mean()
    expected = [(centred[lag:] * centred[: 50 - lag]).sum() / (centred**2).sum() + 1 / 50 for lag in (1, 2, 7)]
    found = autocorrelations(values, 7)
    assert found[0] == 1
    assert found[[1, 2, 7]] == pytest.approx(expected)


def test_a_series_without_memory_is_hardly_widened() -> None:
    for rounds, most in ((32, 1.2), (108, 1.15), (360, 1.1)):
        taus = [rounds_in_one(np.random.default_rng(seed).normal(size=rounds)) for seed in range(200)]
        assert min(taus) == 1
        assert np.mean(np.sqrt(taus)) < most


def test_stalls_make_no_memory() -> None:
    taus = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        d = rng.normal(0, 0.1, 240)
        d[rng.random(240) < 0.1] += 3.0
        taus.append(rounds_in_one(d))
    assert np.mean(np.sqrt(taus)) < 1.12


@pytest.mark.parametrize("kept", [0.3, 0.6])
def test_memory_is_found_about_as_large_as_it_is(kept: float) -> None:
    taus = [rounds_in_one(remembering(kept, 360, seed)) for seed in range(100)]
    assert np.median(taus) == pytest.approx((1 + kept) / (1 - kept), rel=0.15)


def test_an_alternating_series_never_narrows_the_interval() -> None:
    taus = [rounds_in_one(remembering(-0.6, 160, seed)) for seed in range(20)]
    assert min(taus) == 1
    assert np.mean(taus) < 1.2


def test_a_trend_is_bounded_and_few_or_equal_rounds_have_no_memory() -> None:
    assert rounds_in_one(np.arange(40.0)) <= 40 / FEWEST_EFFECTIVE
    assert rounds_in_one(np.zeros(60)) == 1
    assert rounds_in_one(np.arange(5.0)) == 1


def test_few_rounds_are_stretched_more() -> None:
    assert [round(stretch_of(rounds), 2) for rounds in (32, 108, 360)] == [1.39, 1.13, 1.04]
