"""The looks: what they promise, and what looking at every block would do."""

import numpy as np
import pytest
from scipy.stats import binom

from loadstone.experiment.plan.look_schedule import (
    FIXED_ALPHA,
    LOOK_ALPHA,
    LOOKS,
    ROUND_LOOK_ALPHA,
    ROUND_LOOKS,
    ROUNDS_MIN,
    keeps_last,
    level,
    looks,
    looks_left,
    next_look,
    next_round_look,
    rounds_of_blocks,
)
from loadstone.judge.statistics.signed_rank import signed_rank

RUNS = 3000


def rejected_somewhere(at: tuple[int, ...], alpha: float) -> int:
    d = np.random.default_rng(7).normal(size=(RUNS, max(at)))
    hit = np.zeros(RUNS, dtype=bool)
    for blocks in at:
        found = signed_rank(d[:, :blocks], alpha)
        assert found.low is not None
        assert found.high is not None
        hit |= (found.low > 0) | (found.high < 0)
    return int(hit.sum())


def test_the_looks_together_err_in_at_most_five_per_cent() -> None:
    assert rejected_somewhere(LOOKS, LOOK_ALPHA) <= binom.isf(1e-5, RUNS, 0.05)


def test_the_level_of_a_single_look_would_not_do() -> None:
    assert rejected_somewhere(LOOKS, FIXED_ALPHA) > binom.isf(1e-5, RUNS, 0.05)


def test_looks_by_number_of_pairs() -> None:
    assert looks(1) == (8, 12, 18, 27, 40)
    assert looks(15) == (12, 18, 27, 40)
    assert next_look(0) == 8
    assert next_look(8) == 12
    assert next_look(13, pairs=3) == 18
    assert next_look(1, pairs=3) == 12
    assert next_look(40) is None
    assert level(sequential=True) == 0.0157
    assert level(sequential=False) == 0.05


@pytest.mark.parametrize(
    ("taken", "left"),
    [
        ((), LOOKS),
        ((8,), (12, 18, 27, 40)),
        ((8, 10), (18, 27, 40)),
        ((10, 8, 8, 10), (18, 27, 40)),
        ((8, 9, 10, 11), (40,)),
        ((8, 20), (40,)),
        ((8, 9, 10, 11, 13), ()),
        ((4, 7), LOOKS),
        ((40,), ()),
    ],
)
def test_a_look_between_two_planned_ones_stands_for_the_next(taken: tuple[int, ...], left: tuple[int, ...]) -> None:
    assert looks_left(LOOKS, taken) == left


def test_the_only_look_left_is_not_given_away_early() -> None:
    assert keeps_last(LOOKS, (40,), 14)
    assert not keeps_last(LOOKS, (40,), 27)
    assert not keeps_last(LOOKS, (27, 40), 14)
    assert not keeps_last((20,), (20,), 10)


def test_blocks_of_rounds_end_at_the_looks() -> None:
    assert rounds_of_blocks() == (12, 8, 12, 16, 24, 36, 52, 80, 120)
    assert rounds_of_blocks(early=False) == (32, 16, 24, 36, 52, 80, 120)
    assert [next_round_look(rounds) for rounds in (0, 12, 31, 32, 359, 360)] == [12, 20, 32, 48, 360, None]
    assert ROUND_LOOKS[0] == ROUNDS_MIN


def test_rounds_have_a_level_of_their_own() -> None:
    assert level(sequential=True, in_rounds=True) == ROUND_LOOK_ALPHA < level(sequential=True)
    assert level(sequential=False, in_rounds=True) == level(sequential=False) == FIXED_ALPHA
