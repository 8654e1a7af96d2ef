"""What carries over from one slice into the next is found; drift and stalls are not mistaken for it."""

import importlib
from types import ModuleType

import numpy as np
import pytest

from loadstone.judge.statistics.rounds.carry_over import Bias, CarryOver, carry_over, may_be_carried, weighted_bias

BLOCKS = (32, 48, 72)
BETWEEN = {0: -1.0, 1: 1.0}


@pytest.fixture(scope="module")
def simulated() -> ModuleType:
    return importlib.import_module("bench.judge.slices")


def checked(slices: ModuleType, noise: int, loss: float, run: int, rounds: int = 108) -> CarryOver:
    """One run of three blocks, every slice slower by `loss` where it follows the other condition."""
    rng = np.random.default_rng([run, noise])
    made = slices.with_carry_over(slices.simulated(slices.NOISES[noise], rng, 1, rounds), loss)
    first = made.b_first[0].astype(int)
    labels = np.stack([first, 1 - first], axis=-1)
    figures = np.take_along_axis(np.log(made.rates[0]), labels, axis=-1)
    parts = [(block.ravel().tolist()) for block in np.split(labels, BLOCKS[:2])]
    found = carry_over(parts, [block.ravel().tolist() for block in np.split(figures, BLOCKS[:2])], seed=run)
    assert found is not None
    return found


@pytest.mark.parametrize("noise", [0, 1, 2])
def test_drift_and_stalls_raise_no_alarm(simulated: ModuleType, noise: int) -> None:
    alarms = sum(checked(simulated, noise, 0.0, run).warn for run in range(15))
    assert alarms <= 1


def test_a_loss_of_a_tenth_is_found_with_its_size(simulated: ModuleType) -> None:
    found = [checked(simulated, 0, 0.10, run) for run in range(15)]
    assert all(one.warn for one in found)
    assert all(shift is not None for one in found for shift in one.shifts)
    assert np.median([one.largest for one in found]) == pytest.approx(-0.09, abs=0.03)


def test_it_is_found_on_a_noisy_machine_with_all_rounds(simulated: ModuleType) -> None:
    assert sum(checked(simulated, 1, 0.15, run, 240).warn for run in range(10)) >= 9


def rows(count: int, rounds: int, carried: float, seed: int) -> tuple[list[int], list[float]]:
    """Conditions in rounds, of which the last one slows down whatever follows it, except for itself."""
    rng = np.random.default_rng(seed)
    order = rng.permuted(np.tile(np.arange(count), (rounds, 1)), axis=1).ravel()
    figures = 10 + 0.3 * order + rng.normal(0, 0.03, len(order))
    after = np.concatenate([[-1], order[:-1]])
    figures[(after == count - 1) & (order != count - 1)] -= carried
    return order.tolist(), figures.tolist()


def test_several_rows_are_checked_together() -> None:
    order, figures = rows(4, 240, 0.0, 1)
    calm = carry_over([order], [figures])
    assert calm is not None
    assert not calm.warn
    order, figures = rows(4, 240, 0.2, 1)
    found = carry_over([order], [figures])
    assert found is not None
    assert len(found.shifts) == 4


def test_more_checks_are_each_stricter() -> None:
    order, figures = rows(2, 60, 0.035, 4)
    once = carry_over([order], [figures])
    often = carry_over([order], [figures], checks=7)
    assert once is not None
    assert often is not None
    assert once.p_value == pytest.approx(often.p_value, abs=0.01)
    assert often.p_value < 0.01 or not often.warn


def test_halves_of_slices_need_no_drift_taken_off() -> None:
    rng = np.random.default_rng(5)
    first = rng.integers(0, 2, 108)
    labels = np.stack([first, 1 - first], axis=-1).ravel()
    rises = rng.normal(0, 0.05, len(labels))
    follows = np.concatenate([[False], labels[1:] != labels[:-1]])
    found = carry_over([labels.tolist()], [(rises + 0.05 * follows).tolist()], drifting=False)
    assert found is not None
    assert found.warn
    assert found.largest == pytest.approx(0.05, abs=0.03)


def test_too_few_slices_after_their_own_say_nothing() -> None:
    assert carry_over([[0, 1, 0, 1]], [[1.0, 1.0, 1.0, 1.0]]) is None
    assert carry_over([], []) is None


def test_what_is_not_made_of_rounds_is_refused() -> None:
    with pytest.raises(ValueError, match="whole rounds"):
        carry_over([[0, 1, 1, 1]], [[1.0] * 4])
    with pytest.raises(ValueError, match="one figure a slice"):
        carry_over([[0, 1]], [[1.0]])


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
    bias = weighted_bias([labels.tolist()], statistics, BETWEEN, claim=claim, seed=seed)
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


def test_too_few_slices_after_their_own_give_no_bias() -> None:
    assert weighted_bias([[0, 1, 0, 1]], [[[1.0] * 4]], BETWEEN, claim=1.0) is None
    assert weighted_bias([], [[]], BETWEEN, claim=1.0) is None


def early(left_behind: float, faster: float, rounds: int, seed: int) -> bool:
    """Whether a claim after so few rounds would wait: B seems slower by at least half of what it is said to be."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 2, rounds)
    labels = np.stack([first, 1 - first], axis=-1).ravel()
    struck = np.concatenate([[False], (labels[1:] == 1) & (labels[:-1] == 0)])
    rates = 0.3 * rng.standard_t(3, len(labels)) - faster * labels - left_behind * struck
    near = (left_behind + faster) / 2
    bias = weighted_bias([labels.tolist()], [[rates.tolist()]], BETWEEN, claim=-1.0)
    return may_be_carried(bias, -3 * near, -near, 2)


@pytest.mark.parametrize("rounds", [12, 20])
def test_an_early_claim_of_what_is_only_carried_over_waits(rounds: int) -> None:
    """Eleven times as slow behind the other one's slices, and not otherwise, was once claimed as a difference."""
    waits = sum(early(2.4, 0.0, rounds, seed) for seed in range(60))
    assert waits >= 57


def test_an_early_claim_of_a_difference_seldom_waits() -> None:
    assert sum(early(0.0, 0.6, 32, seed) for seed in range(60)) <= 6


def test_of_many_conditions_too_few_slices_keep_no_claim_back() -> None:
    assert may_be_carried(None, -0.5, -0.1, 3)
    assert not may_be_carried(None, -0.5, -0.1, 4)
