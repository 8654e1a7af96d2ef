"""The length of a trial, by the rule."""

import math

import pytest

from loadstone.plan.rounds import expected_spread, trial_length_s


def test_the_length_grows_with_what_a_trial_costs_beside_it() -> None:
    assert trial_length_s(30, 0.05, 0.6, 0.03) == pytest.approx(math.sqrt(30 * 0.0025 * 4) / 0.03)
    assert trial_length_s(1) == pytest.approx(0.1 / 0.03)


def test_the_length_stays_within_its_bounds() -> None:
    assert trial_length_s(0.1) == 3
    assert trial_length_s(5, 0.5, 0.9, 0.01) == 60
    assert trial_length_s(5, 0.05, 0.6, 0.0) == 60


def mean_of_a_process(trial_s: float, steps: int = 1000) -> float:
    """Variance of the mean of a process with exponential correlation, summed up in small steps."""
    long = 0.0025 * 4
    rate = -math.log(0.6)
    each = long * rate / 2  # the process' own variance, whose mean over a long time has the variance long / L
    step = trial_s / steps
    return each / steps**2 * sum((steps - abs(k)) * math.exp(-rate * abs(k) * step) for k in range(1 - steps, steps))


@pytest.mark.parametrize("trial_s", [0.7, 3, 15, 60])
def test_the_spread_expected_of_a_block(trial_s: float) -> None:
    assert expected_spread(trial_s) == pytest.approx(math.sqrt(2 * (0.03**2 + mean_of_a_process(trial_s))), rel=0.001)


def test_a_longer_trial_spreads_less_but_never_less_than_what_differs_from_trial_to_trial() -> None:
    spreads = [expected_spread(trial_s) for trial_s in (0.1, 0.7, 3, 10, 60, 10_000)]
    assert spreads == sorted(spreads, reverse=True)
    assert spreads[-1] == pytest.approx(0.03 * math.sqrt(2), rel=0.01)
