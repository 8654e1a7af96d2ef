"""Rounds give the same evidence as blocks, and the same verdicts."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest

from loadstone.experiment.plan.look_schedule import LOOK_ALPHA, LOOKS, ROUND_LOOK_ALPHA, ROUND_LOOKS
from loadstone.experiment.plan.rounds import ROUNDS_A_START
from loadstone.judge.statistics.decision import verdict_of
from loadstone.judge.statistics.pair_evidence import NO_BLOCKS, Evidence
from loadstone.judge.statistics.rounds.round_evidence import (
    Total,
    lost_alike,
    lost_slices,
    round_evidence,
    start_evidence,
    total_allows_equivalence,
    total_of,
)
from loadstone.judge.statistics.rounds.slices import PairSlices
from loadstone.judge.statistics.settings import Settings

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
    assert [SETTINGS.next_look(rounds) for rounds in (0, 12, 32, 33, 240, 360)] == [12, 20, 48, 48, 360, None]
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


BY_STARTS = Settings(unit="block", alpha=LOOK_ALPHA, names=("old", "new"))


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
    found = verdict_of(start_evidence(blocks(12, 1.15), BY_STARTS), BY_STARTS)
    assert (found.kind, found.winner, found.blocks, found.unit) == ("faster", "b", 12, "block")
    assert found.estimate == pytest.approx(math.log(1.15), abs=0.04)
    assert found.a.typical == pytest.approx(5000 / 0.085, rel=0.05)


def test_equal_servers_are_equivalent() -> None:
    assert verdict_of(start_evidence(blocks(40, 1.0), BY_STARTS), BY_STARTS).kind == "equivalent"


def test_the_interval_holds_what_differs_from_start_to_start_however_exact_the_rounds_are() -> None:
    evidence = start_evidence(blocks(18, 1.0, start_sd=0.05, sd=0.001), BY_STARTS)
    assert evidence.low is not None
    assert evidence.high is not None
    assert evidence.high - evidence.low > 0.04
    assert evidence.spread == pytest.approx(0.05 * math.sqrt(2), rel=0.5)


def test_fewer_blocks_than_the_first_look_have_no_interval() -> None:
    evidence = start_evidence(blocks(LOOKS[0] - 1, 2.0), BY_STARTS)
    assert (evidence.low, evidence.high, evidence.p_value, evidence.guard) == (None, None, 1.0, False)
    assert evidence.blocks == LOOKS[0] - 1


def test_no_start_is_no_evidence() -> None:
    none = np.zeros(0)
    assert start_evidence([PairSlices(none, none, none, none)], BY_STARTS) == NO_BLOCKS
    assert start_evidence([], BY_STARTS) == NO_BLOCKS


def test_lost_slices_are_told_by_the_side_that_lost_them() -> None:
    some = blocks(12, 1.0, sd=0.02)
    for block in some:
        block.done_b[3] *= 0.05
    evidence = start_evidence(some, BY_STARTS)
    assert (evidence.stalls_a, evidence.stalls_b) == (0, 12)
    assert not evidence.guard


@pytest.mark.prove
def test_equal_servers_whose_starts_differ_are_rarely_told_apart() -> None:
    """Short: `bench/judge/start_level.py` has the figures."""
    wrong = 0
    for seed in range(200):
        some = blocks(LOOKS[-1], 1.0, start_sd=0.03, seed=1000 + seed)
        looks = [start_evidence(some[:look], BY_STARTS) for look in LOOKS]
        wrong += any(one.low is not None and one.high is not None and not one.low <= 0 <= one.high for one in looks)
    assert wrong <= 20


MARGIN = math.log1p(0.05)


def test_lost_slices_are_counted_by_their_own_spread() -> None:
    d = np.random.default_rng(1).normal(0.1, 0.15, 300)
    assert lost_slices(d, 0.1, 0.15) == (0, 0)
    d[:5] += 2.5
    d[5:8] -= 2.5
    assert lost_slices(d, 0.1, 0.15) == (5, 3)
    assert lost_slices(np.array([0.1, 0.15]), 0.0, 0.001) == (0, 0)


@pytest.mark.parametrize(("a", "b"), [(0, 0), (3, 0), (8, 1), (9, 1), (18, 20), (30, 12)])
def test_losses_are_alike_where_a_fair_coin_may_deal_them_so(a: int, b: int) -> None:
    fair = binomtest(a, a + b).pvalue >= 0.01 if a + b else True
    assert lost_alike(a, b) == lost_alike(b, a) == fair


def test_the_total_feels_a_stall_that_the_rounds_do_not() -> None:
    a = np.full(100, 1000.0)
    b = np.full(100, 1020.0)
    b[:10] = 50.0
    seconds = np.full(100, 0.1)
    found = total_of(PairSlices(a, seconds, b, seconds))
    assert found.log_ratio == pytest.approx(math.log((90 * 1020 + 500) / 100_000))
    assert found.log_ratio < 0 < math.log(1.02)


def test_the_noise_of_the_total_is_what_it_spreads_by() -> None:
    totals, noises = [], []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        rates = 1000 * np.exp(rng.normal(0, 0.1, (2, 120))) * np.where(rng.random((2, 120)) < 0.05, 0.05, 1.0)
        seconds = np.full(120, 0.1)
        total = total_of(PairSlices(rates[0], seconds, rates[1], seconds))
        totals.append(total.log_ratio)
        noises.append(total.noise)
    assert np.mean(noises) == pytest.approx(2.326 * np.std(totals), rel=0.1)
    assert np.mean(np.array(totals) > noises) < 0.03


def test_equivalence_needs_the_total_and_equal_losses() -> None:
    assert total_allows_equivalence(Total(0.01, 0.02), 4, 6, MARGIN)
    assert not total_allows_equivalence(Total(-0.06, 0.02), 4, 6, MARGIN)
    assert not total_allows_equivalence(Total(0.01, 0.02), 0, 12, MARGIN)


def test_a_side_without_an_operation_has_no_ratio() -> None:
    seconds = np.full(3, 0.1)
    with pytest.raises(ValueError, match="without a single operation"):
        total_of(PairSlices(np.ones(3), seconds, np.zeros(3), seconds))
