"""Rounds give the same evidence as blocks, and the same verdicts."""

import math
from dataclasses import replace

import numpy as np
import pytest

from loadstone.judge.statistics.decision import verdict_of
from loadstone.judge.statistics.pair_evidence import NO_BLOCKS, Evidence
from loadstone.judge.statistics.rounds.pair_slices import PairSlices
from loadstone.judge.statistics.rounds.round_evidence import round_evidence
from loadstone.judge.statistics.settings import Settings
from loadstone.plan.looks import ROUND_LOOK_ALPHA, ROUND_LOOKS

SETTINGS = Settings(
    unit="round", alpha=ROUND_LOOK_ALPHA, trial_s=0.1, overhead_s=0.027, budget_minutes=1.5, names=("old", "new")
)


def slices(rounds: int, ratio: float, sd: float = 0.1, seed: int = 1, stalls_b: float = 0.0) -> PairSlices:
    rng = np.random.default_rng(seed)
    a, b = 5000 * np.exp(rng.normal(0, sd / math.sqrt(2), (2, rounds)))
    b = b * ratio * np.where(rng.random(rounds) < stalls_b, 0.05, 1.0)
    seconds = np.full(rounds, 0.1)
    return PairSlices(a, seconds, b, seconds)


def test_a_difference_is_found_with_its_direction() -> None:
    found = verdict_of(round_evidence(slices(72, 1.10), SETTINGS), SETTINGS)
    assert (found.kind, found.winner, found.blocks) == ("faster", "b", 72)
    assert found.estimate == pytest.approx(math.log(1.1), abs=0.03)
    assert found.a.typical == pytest.approx(50_000, rel=0.05)


def test_equal_ones_are_equivalent() -> None:
    assert verdict_of(round_evidence(slices(240, 1.0), SETTINGS), SETTINGS).kind == "equivalent"


def test_fewer_rounds_than_the_first_look_have_no_interval() -> None:
    evidence = round_evidence(slices(ROUND_LOOKS[0] - 1, 2.0, sd=0.01), SETTINGS)
    assert (evidence.low, evidence.high, evidence.p_value, evidence.guard) == (None, None, 1.0, False)
    found = verdict_of(evidence, SETTINGS)
    assert found.kind == "undecided"
    assert found.more_minutes == pytest.approx(0.254 / 60)


def test_nothing_measured_is_no_evidence() -> None:
    none = np.zeros(0)
    assert round_evidence(PairSlices(none, none, none, none), SETTINGS) == NO_BLOCKS


def test_undecided_says_how_many_seconds_more() -> None:
    found = verdict_of(round_evidence(slices(32, 1.05, sd=0.25, seed=3), SETTINGS), SETTINGS)
    assert found.kind == "undecided"
    assert found.more_minutes is not None
    assert found.more_minutes * 60 > (48 - 32) * 0.254 * 0.999
    assert found.detectable is not None
    assert found.detectable > 0.15


def test_the_next_look_is_one_of_rounds() -> None:
    assert [SETTINGS.next_look(rounds) for rounds in (0, 32, 33, 240, 360)] == [32, 48, 48, 360, None]
    assert Settings().next_look(8) == 12


@pytest.mark.parametrize("look", [48, 160])
def test_the_detectable_effect_is_found_eight_times_in_ten(look: int) -> None:
    effects = [
        verdict_of(round_evidence(slices(look, 1.0, seed=seed), SETTINGS), SETTINGS).detectable for seed in range(20)
    ]
    effect = math.exp(float(np.median([found for found in effects if found is not None])))
    lows = [round_evidence(slices(look, effect, seed=100 + seed), SETTINGS).low for seed in range(100)]
    found = np.mean([low is not None and low > 0 for low in lows])
    assert 0.68 <= found <= 0.92


def test_stalls_of_one_side_forbid_equivalence() -> None:
    evidence = round_evidence(slices(240, 1.0, stalls_b=0.05), SETTINGS)
    assert evidence.stalls_b > 5 > evidence.stalls_a
    assert not evidence.guard
    assert verdict_of(evidence, SETTINGS).kind == "undecided"


def opposed(total: float, noise: float) -> Evidence:
    evidence = round_evidence(slices(240, 1.10), SETTINGS)
    return replace(evidence, total=total, total_noise=noise)


@pytest.mark.parametrize(
    ("total", "noise", "kind"),
    [(0.02, 0.05, "faster"), (-0.02, 0.05, "undecided"), (-0.06, 0.05, "mixed"), (-0.06, 0.0, "mixed")],
)
def test_a_total_on_the_other_side_counts_beyond_its_noise(total: float, noise: float, kind: str) -> None:
    assert verdict_of(opposed(total, noise), SETTINGS).kind == kind


def test_typically_faster_with_much_less_done_is_mixed() -> None:
    found = verdict_of(round_evidence(slices(360, 1.05, sd=0.05, stalls_b=0.15), SETTINGS), SETTINGS)
    assert (found.kind, found.winner) == ("mixed", "b")


def test_very_many_rounds_are_merged_and_judged_alike() -> None:
    evidence = round_evidence(slices(1500, 1.03), SETTINGS)
    assert evidence.blocks == 1500
    assert evidence.low is not None
    assert evidence.low > 0
    assert evidence.spread == pytest.approx(0.1, rel=0.2)
