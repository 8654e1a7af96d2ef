"""The looks: what they promise, and what looking at every block would do."""

import numpy as np
from scipy.stats import binom

from loadstone.analyse.statistics.signed_rank import signed_rank
from loadstone.plan.looks import FIXED_ALPHA, LOOK_ALPHA, LOOKS, level, looks, next_look

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
