"""How many rounds are worth an independent one, where it is known."""

import numpy as np
import pytest

from loadstone.judge.statistics.rounds.effective_rounds import (
    FEWEST_EFFECTIVE,
    autocorrelations,
    grades,
    rounds_in_one,
    stretch_of,
)
from loadstone.judge.statistics.signed_rank import Floats


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
