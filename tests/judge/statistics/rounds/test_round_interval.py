"""The interval over rounds: that of the signed rank where nothing is to be widened."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from loadstone.judge.statistics.rounds import round_interval as module
from loadstone.judge.statistics.rounds.effective_rounds import stretch_of
from loadstone.judge.statistics.rounds.round_interval import round_interval
from loadstone.judge.statistics.signed_rank import signed_rank


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
