"""What carries over is told from a difference that is there."""

import numpy as np
import pytest

from loadstone.judge.statistics.rounds.carried_bias import Bias, carried_bias

ROUNDS = 120


def found(left_behind: float, faster: float, seed: int, claim: float = -1.0, halves: bool = False) -> Bias:
    """A leaves behind what lowers the ln of B's next rate; B is faster by so much."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 2, ROUNDS)
    labels = np.stack([first, 1 - first], axis=-1).ravel()
    struck = np.concatenate([[False], (labels[1:] == 1) & (labels[:-1] == 0)])
    rates = rng.normal(0, 0.05, len(labels)) + faster * labels - left_behind * struck
    rises = rng.normal(0, 0.05, len(labels)) + 2 * left_behind * struck
    statistics = [[rates.tolist()], *([[rises.tolist()]] if halves else [])]
    bias = carried_bias([labels.tolist()], statistics, 0, 1, claim=claim, seed=seed)
    assert bias is not None
    return bias


def test_what_is_carried_over_explains_the_whole_difference() -> None:
    bias = found(0.10, 0.0, 1)
    assert bias.p_value < 0.01
    assert bias.log_ratio == pytest.approx(-0.075, abs=0.03)
    assert bias.explains(-0.09, -0.05)
    assert not bias.explains(-0.5, -0.4)


def test_a_difference_that_is_there_is_not_explained() -> None:
    assert sum(found(0.0, -0.10, seed).explains(-0.12, -0.08) for seed in range(10)) == 0


def test_chance_is_seldom_sure() -> None:
    assert sum(found(0.0, 0.0, seed).p_value < 0.01 for seed in range(20)) <= 1


def test_the_halves_of_slices_add_to_it() -> None:
    without = [found(0.02, 0.0, seed).p_value for seed in range(12)]
    both = [found(0.02, 0.0, seed, halves=True).p_value for seed in range(12)]
    assert np.median(both) < np.median(without)


def test_it_speaks_for_the_side_that_is_claimed() -> None:
    assert found(0.10, 0.0, 1, claim=1.0).p_value > 0.9


def test_too_few_slices_after_their_own_say_nothing() -> None:
    assert carried_bias([[0, 1, 0, 1]], [[[1.0] * 4]], 0, 1, claim=1.0) is None
    assert carried_bias([], [[]], 0, 1, claim=1.0) is None
