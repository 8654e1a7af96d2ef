"""Days that break, played on the real loop: as many as fit into eight seconds, and those that found something."""

import time
from pathlib import Path

import pytest

from .day import play
from .found import FOUND

CPU_S = 8.0
DAYS = 1000
"""At most: a machine of today has played about 20 when the time is over."""


def test_days_break_and_nothing_is_lost_or_counted_twice(tmp_path: Path) -> None:
    ends_s = time.process_time() + CPU_S
    for seed in range(1, DAYS + 1):
        root = tmp_path / str(seed)
        root.mkdir()
        assert play(seed, root)[1] == [], f"python -m tests.simulation --seed {seed}"
        if time.process_time() > ends_s:
            break


@pytest.mark.parametrize("seed", FOUND)
def test_a_day_that_found_something_is_over_without(seed: int, tmp_path: Path) -> None:
    assert play(seed, tmp_path)[1] == [], FOUND[seed]


def test_a_seed_plays_the_same_day_again(tmp_path: Path) -> None:
    told: list[list[str]] = [[], []]
    for number, log in enumerate(told):
        root = tmp_path / str(number)
        root.mkdir()
        play(min(FOUND), root, log.append)
    assert [line for line in told[0] if "***" in line] == [line for line in told[1] if "***" in line] != []
