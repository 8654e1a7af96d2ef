"""Changes in a row of runs, on histories of known truth. `bench/judge/history_changes.py` counts over many more."""

import numpy as np
import pytest

from loadstone.addons.history.change_points import LEVEL, RUNS_MIN, ChangePoint, changes

OWN, BETWEEN = 0.01, 0.02
"""Standard errors of a run's own interval, and of what runs differ by."""


def history(seed: int, runs: int, at: int = 0, change: float = 0.0) -> list[float]:
    random = np.random.default_rng(seed)
    noise = random.normal(0, np.hypot(OWN, BETWEEN), runs)
    return [float(one) + (change if number >= at else 0) for number, one in enumerate(noise)]


def found(logs: list[float], errors: list[float | None] | None = None) -> list[ChangePoint]:
    return changes(logs, errors or [OWN] * len(logs), LEVEL)


def test_a_change_is_found_where_it_is_with_its_size() -> None:
    near, holds, places = 0, 0, 0
    for seed in range(20):
        (one,) = found(history(seed, 60, 41, -0.08))
        near += abs(one.at - 41) <= 1
        holds += one.low <= -0.08 <= one.high
        places += one.earliest <= 41 <= one.latest
        assert one.p_value <= LEVEL
    assert near >= 17
    assert holds >= 17
    assert places >= 17


def test_without_a_change_there_is_no_hint() -> None:
    assert sum(bool(found(history(seed, 40))) for seed in range(60)) <= 2


def test_two_changes_are_told_apart() -> None:
    logs = [one + (0.1 if 20 <= number < 40 else 0) for number, one in enumerate(history(3, 60))]
    first, second = found(logs)
    assert (first.at, second.at) == (20, 40)
    assert first.low > 0 > second.high


def test_a_drift_is_less_of_a_change_than_a_step() -> None:
    """Neighbouring runs that are alike for a while: half of such histories look like steps to who takes no notice."""
    random = np.random.default_rng(5)
    false = 0
    for _ in range(40):
        logs = [0.0]
        for _ in range(39):
            logs.append(0.6 * logs[-1] + float(random.normal(0, BETWEEN)))
        false += bool(found(logs))
    assert false <= 8


def test_runs_that_know_little_count_little() -> None:
    """Five wild figures at the end, with intervals that say so."""
    logs = history(1, 30)
    wild = [*logs[:25], *(one + 0.5 for one in logs[25:])]
    assert found(wild) != []
    assert found(wild, [OWN] * 25 + [1.0] * 5) == []


@pytest.mark.parametrize("errors", [[None] * 30, [None, OWN] * 15, [0.0] * 30])
def test_runs_without_an_interval_weigh_as_the_others(errors: list[float | None]) -> None:
    (one,) = found(history(2, 30, 15, 0.2), errors)
    assert one.at == 15


def test_few_runs_and_equal_ones_have_none() -> None:
    assert found([0.0] * (RUNS_MIN - 1)) == []
    assert found([0.0] * 40) == []
    assert [one.at for one in found([0.0] * 20 + [1.0] * 20)] == [20]
