"""What is read off the chart of a ramp: the flat part's beginning, the peak of what falls, nothing of too little."""

import math
import random
from collections.abc import Callable

import pytest

from loadstone.addons.saturation.ramp_reading import RampStretch, by_eye, kneedle, moving_average


def ramp(curve: Callable[[int], float], top: int = 100, noise: float = 0.0, seed: int = 1) -> list[RampStretch]:
    dice = random.Random(seed)
    return [
        RampStretch(users, float(users - 1), float(users), curve(users) * math.exp(dice.gauss(0, noise)))
        for users in range(1, top + 1)
    ]


def test_a_plateau_is_read_where_it_begins_and_not_where_the_asymptotes_meet() -> None:
    found = by_eye(ramp(lambda users: 8000 * users / (users + 8)))
    assert found is not None
    assert 50 < found.users < 80, "8 is true: the curve comes within 5 % of its end far behind it"
    straight = by_eye(ramp(lambda users: min(users, 8) * 1000.0))
    assert straight is not None
    assert straight.users == pytest.approx(9, abs=3)


def test_what_falls_again_is_read_near_its_peak() -> None:
    found = by_eye(ramp(lambda users: 1000 * users / (1 + 0.05 * (users - 1) + 0.002 * users * (users - 1))))
    assert found is not None
    assert 12 <= found.users <= 22, "the true peak is at 22 users, and flat to within 5 % long before it"


def test_what_still_rises_is_read_at_its_end() -> None:
    found = by_eye(ramp(lambda users: 100.0 * users))
    assert found is not None
    assert found.users > 90


def test_noise_moves_what_the_eye_reads() -> None:
    """The same system, read from ten ramps: that is why such a figure has no interval of its own."""
    read = [by_eye(ramp(lambda users: min(users, 30) * 100.0, noise=0.08, seed=seed)) for seed in range(10)]
    users = [one.users for one in read if one is not None]
    assert len(users) == 10
    assert max(users) > 1.3 * min(users)


def test_kneedle_finds_the_bend() -> None:
    found = kneedle(ramp(lambda users: min(users, 20) * 100.0))
    assert found is not None
    assert found.users == pytest.approx(20, abs=4)
    assert kneedle(ramp(lambda users: 100.0 * users)) is None, "a straight line has no knee"
    assert kneedle(ramp(lambda _: 5.0)) is None


def test_a_short_ramp_has_no_shape() -> None:
    few = ramp(lambda users: 10.0 * users, top=4)
    assert by_eye(few) is None
    assert kneedle(few) is None


def test_the_moving_average_keeps_a_line_in_its_place() -> None:
    line = [float(value) for value in range(50)]
    smooth = moving_average(line)
    assert smooth[:47] == pytest.approx(line[:47])
    assert smooth[-1] < line[-1]
