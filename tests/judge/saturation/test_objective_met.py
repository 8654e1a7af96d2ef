"""Up to how many users an objective is met, from sweeps whose truth is known."""

import random

import pytest

from loadstone.judge.saturation.objective_met import LevelLatency, met_up_to

LEVELS = (1, 2, 3, 4, 6, 8, 11, 16, 23, 32)


def sweep(noise: float, dice: random.Random) -> dict[int, LevelLatency]:
    """A server of 1,000 a second: from 8 users on the latency is users / 1,000 s."""
    return {
        users: LevelLatency(min(1000.0, 125.0 * users), max(8, users) / 1000 * (1 + noise * dice.uniform(-1, 1)))
        for users in LEVELS
    }


def test_the_crossing_lies_between_two_levels_with_an_interval() -> None:
    dice = random.Random(1)
    met = met_up_to([sweep(0.02, dice) for _ in range(8)], 0.014)
    assert met.kind == "limit"
    assert met.users is not None
    assert met.per_s is not None
    assert met.users.low < 14 < met.users.high
    assert met.users.value == pytest.approx(14, rel=0.03)
    assert met.per_s.value == pytest.approx(1000, rel=0.01)


@pytest.mark.parametrize(("limit_s", "kind"), [(1.0, "met_always"), (0.001, "never")])
def test_met_always_and_never(limit_s: float, kind: str) -> None:
    dice = random.Random(1)
    met = met_up_to([sweep(0.02, dice) for _ in range(6)], limit_s)
    assert met.kind == kind
    assert met.users is None


def test_too_few_sweeps_say_nothing() -> None:
    assert met_up_to([], 1.0).kind == "unknown"
    assert met_up_to([sweep(0.0, random.Random(1))] * 3, 0.014).kind == "unknown"


def test_one_level_that_strays_moves_nothing() -> None:
    dice = random.Random(1)
    sweeps = [sweep(0.0, dice) for _ in range(6)]
    for one in sweeps:
        one[2] = LevelLatency(250.0, 0.5)  # a neighbour took its slices
    met = met_up_to(sweeps, 0.014)
    assert met.users is not None
    assert met.users.value == pytest.approx(14, rel=0.01)


def test_what_failed_misses_the_objective() -> None:
    lost = {users: LevelLatency(10.0, None) for users in LEVELS}
    assert met_up_to([lost] * 6, 10.0).kind == "never"
