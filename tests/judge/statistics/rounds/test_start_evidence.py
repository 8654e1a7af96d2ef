"""Blocks of rounds on servers that were started for them: a start is a source of variation of its own."""

import math

import numpy as np
import pytest

from loadstone.judge.statistics.decision import verdict_of
from loadstone.judge.statistics.pair_evidence import NO_BLOCKS
from loadstone.judge.statistics.rounds.pair_slices import PairSlices
from loadstone.judge.statistics.rounds.start_evidence import start_evidence
from loadstone.judge.statistics.settings import Settings
from loadstone.plan.looks import LOOK_ALPHA, LOOKS
from loadstone.plan.rounds import ROUNDS_A_START

SETTINGS = Settings(unit="block", alpha=LOOK_ALPHA, names=("old", "new"))


def blocks(count: int, ratio: float, *, start_sd: float = 0.02, sd: float = 0.1, seed: int = 1) -> list[PairSlices]:
    rng = np.random.default_rng(seed)
    seconds = np.full(ROUNDS_A_START, 0.085)
    found = []
    for _ in range(count):
        starts = np.exp(rng.normal(0, start_sd, 2))
        a, b = 5000 * np.exp(rng.normal(0, sd / math.sqrt(2), (2, ROUNDS_A_START)))
        found.append(PairSlices(a * starts[0], seconds, b * starts[1] * ratio, seconds))
    return found


def test_a_difference_is_found_with_its_direction_and_counted_in_blocks() -> None:
    found = verdict_of(start_evidence(blocks(12, 1.15), SETTINGS), SETTINGS)
    assert (found.kind, found.winner, found.blocks, found.unit) == ("faster", "b", 12, "block")
    assert found.estimate == pytest.approx(math.log(1.15), abs=0.04)
    assert found.a.typical == pytest.approx(5000 / 0.085, rel=0.05)


def test_equal_servers_are_equivalent() -> None:
    assert verdict_of(start_evidence(blocks(40, 1.0), SETTINGS), SETTINGS).kind == "equivalent"


def test_the_interval_holds_what_differs_from_start_to_start_however_exact_the_rounds_are() -> None:
    evidence = start_evidence(blocks(18, 1.0, start_sd=0.05, sd=0.001), SETTINGS)
    assert evidence.low is not None
    assert evidence.high is not None
    assert evidence.high - evidence.low > 0.04
    assert evidence.spread == pytest.approx(0.05 * math.sqrt(2), rel=0.5)


def test_fewer_blocks_than_the_first_look_have_no_interval() -> None:
    evidence = start_evidence(blocks(LOOKS[0] - 1, 2.0), SETTINGS)
    assert (evidence.low, evidence.high, evidence.p_value, evidence.guard) == (None, None, 1.0, False)
    assert evidence.blocks == LOOKS[0] - 1


def test_nothing_measured_is_no_evidence() -> None:
    none = np.zeros(0)
    assert start_evidence([PairSlices(none, none, none, none)], SETTINGS) == NO_BLOCKS
    assert start_evidence([], SETTINGS) == NO_BLOCKS


def test_lost_slices_are_told_by_the_side_that_lost_them() -> None:
    some = blocks(12, 1.0, sd=0.02)
    for block in some:
        block.done_b[3] *= 0.05
    evidence = start_evidence(some, SETTINGS)
    assert (evidence.stalls_a, evidence.stalls_b) == (0, 12)
    assert not evidence.guard


def test_equal_servers_whose_starts_differ_are_rarely_told_apart() -> None:
    """Short: `bench/start_level.py` has the figures."""
    wrong = 0
    for seed in range(200):
        some = blocks(LOOKS[-1], 1.0, start_sd=0.03, seed=1000 + seed)
        looks = [start_evidence(some[:look], SETTINGS) for look in LOOKS]
        wrong += any(one.low is not None and one.high is not None and not one.low <= 0 <= one.high for one in looks)
    assert wrong <= 20
