"""What others on the machine add to a ratio of costs, where the truth is known."""

import numpy as np
import pytest

from loadstone.judge.statistics.rounds import interference_adjustment
from loadstone.judge.statistics.rounds.interference_adjustment import (
    FEWEST,
    SLOPE_SDS,
    InterferenceAdjustment,
    dearer_by_others,
)
from loadstone.judge.statistics.rounds.round_interval import round_interval
from loadstone.judge.statistics.signed_rank import Floats

TRUE = np.log(1.3)
OF_A, OF_B = 0.15, 0.3
"""By so much (ln) a request of either gets dearer on a machine that others use whole."""


def disturbed(rng: np.random.Generator, rounds: int) -> tuple[Floats, Floats, Floats]:
    """Rounds beside a program that comes and goes every few of them: the ratio, and what it used in each slice."""
    on = (np.arange(rounds) + rng.integers(10)) // 5 % 2
    a, b = (np.clip(0.6 * on + rng.normal(0, 0.05, rounds), 0, 1) for _ in range(2))
    return TRUE + OF_B * b - OF_A * a + rng.normal(0, 0.05, rounds), a, b


def error(found: InterferenceAdjustment) -> float:
    return float(np.hypot(found.noise, found.unknown))


def test_the_ratio_is_that_without_others() -> None:
    log_ratios, a, b = disturbed(np.random.default_rng(1), 200)
    assert np.median(log_ratios) > TRUE + 0.02
    found = dearer_by_others(log_ratios, a, b)
    assert np.median(log_ratios - found.b + found.a) == pytest.approx(TRUE, abs=2 * error(found) + 0.005)
    assert error(found) < 0.02


@pytest.mark.parametrize("rounds", [20, 48, 108])
def test_intervals_hold_the_calm_ratio(rounds: int) -> None:
    rng = np.random.default_rng(rounds)
    held = raw = 0
    for _ in range(100):
        log_ratios, a, b = disturbed(rng, rounds)
        found = dearer_by_others(log_ratios, a, b)
        one = round_interval(log_ratios - found.b + found.a, 0.05)
        assert one.low is not None
        assert one.high is not None
        reach = 1.96 * error(found)
        low = one.estimate - np.hypot(one.estimate - one.low, reach)
        high = one.estimate + np.hypot(one.high - one.estimate, reach)
        held += low <= TRUE <= high
        before = round_interval(log_ratios, 0.05)
        raw += before.low is not None and before.high is not None and before.low <= TRUE <= before.high
    assert held >= 93
    if rounds == 108:
        assert raw < 70


def test_a_calm_run_is_as_it_was() -> None:
    rng = np.random.default_rng(2)
    log_ratios = TRUE + rng.normal(0, 0.05, 60)
    nobody = np.zeros(60)
    found = dearer_by_others(log_ratios, nobody, nobody)
    assert not found.a.any()
    assert not found.b.any()
    assert error(found) == 0
    little = rng.uniform(0, 0.01, (2, 60))
    assert error(dearer_by_others(log_ratios, *little)) < 0.005 * 1.2 * SLOPE_SDS[0] + 0.001 * SLOPE_SDS[1]


def test_a_neighbour_who_never_pauses_tells_nothing_of_what_it_adds() -> None:
    always = np.full(60, 0.6)
    found = dearer_by_others(TRUE + np.random.default_rng(3).normal(0, 0.05, 60), always, always)
    assert (found.noise, found.unknown) == pytest.approx((0, 0.6 * SLOPE_SDS[0]))
    few = always[: FEWEST - 1]
    assert dearer_by_others(np.full(len(few), TRUE), few, few).unknown == pytest.approx(0.6 * SLOPE_SDS[0])


def test_a_slice_that_a_stall_took_decides_nothing() -> None:
    log_ratios, a, b = disturbed(np.random.default_rng(4), 100)
    before = dearer_by_others(log_ratios, a, b)
    log_ratios[int(np.argmax(a + b))] += 4.0
    after = dearer_by_others(log_ratios, a, b)
    assert abs((after.b - after.a).mean() - (before.b - before.a).mean()) < 0.02


def test_rounds_that_tell_nothing_correct_nothing() -> None:
    shares = np.random.default_rng(6).uniform(0, 1, (2, 50))
    none = np.zeros(0)
    assert error(dearer_by_others(none, none, none)) == 0
    for log_ratios in (np.full(50, TRUE), np.linspace(0, 1e-300, 50)):
        found = dearer_by_others(log_ratios, *shares)
        assert not found.a.any()
        assert np.isfinite(error(found))


def test_of_many_rounds_neighbours_are_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    """The spread looks at every two rounds: of 100,000 it would take 80 GB."""
    seen: list[int] = []
    spread = interference_adjustment.robust_spread
    monkeypatch.setattr(interference_adjustment, "robust_spread", lambda left: seen.append(len(left)) or spread(left))
    monkeypatch.setattr(interference_adjustment, "ROUNDS_MAX", 100)
    log_ratios, a, b = disturbed(np.random.default_rng(7), 450)
    found = dearer_by_others(log_ratios, a, b)
    assert set(seen) == {90}
    assert len(found.a) == 450
    assert np.median(log_ratios - found.b + found.a) == pytest.approx(TRUE, abs=2 * error(found) + 0.005)


def test_swapping_the_sides_turns_the_sign() -> None:
    log_ratios, a, b = disturbed(np.random.default_rng(5), 100)
    one, other = dearer_by_others(log_ratios, a, b), dearer_by_others(-log_ratios, b, a)
    assert one.a == pytest.approx(other.b, abs=1e-6)
    assert one.b == pytest.approx(other.a, abs=1e-6)
    assert error(one) == pytest.approx(error(other), rel=1e-3)
