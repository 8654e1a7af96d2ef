"""The verdicts, word for word, and which rule applies first."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from loadstone.judge.statistics.decision import (
    holm_adjusted,
    holm_rejected,
    refused,
    verdict_of,
    verdict_of_blocks,
    verdicts_of_pairs,
    widened,
)
from loadstone.judge.statistics.histogram_arrays import LatencyBlocks
from loadstone.judge.statistics.pair_evidence import block_evidence, quantile_evidence
from loadstone.judge.statistics.settings import Settings
from loadstone.judge.verdict import Side
from loadstone.report.verdicts import verdict_text
from loadstone.run_folder.trial import CheckResult
from loadstone.text.message import verbatim

SETTINGS = Settings(names=("jedis", "lettuce"))
LATENCY = replace(SETTINGS, larger_is_faster=False, margin=0.10)


def blocks(ratio: float, count: int = 18, sd: float = 0.02, seed: int = 1) -> tuple[list[float], list[float]]:
    """A at 1,000 and B at `ratio` times that, with exactly this median and about this spread."""
    rng = np.random.default_rng(seed)
    noise = np.sort(rng.normal(0, sd, count))
    noise = (noise - noise[::-1]) / 2
    return [1000.0] * count, (1000 * ratio * np.exp(rng.permutation(noise))).tolist()


def test_faster() -> None:
    found = verdict_of_blocks(*blocks(1.12, sd=0.04), SETTINGS)
    assert found.kind == "faster"
    assert found.winner == "b"
    assert re.fullmatch(r"lettuce FASTER by 12 % \[\d+, 1\d\], materially", verdict_text(found))
    assert found.estimate == pytest.approx(math.log(1.12))
    assert found.low is not None
    assert found.low > math.log(1.05)
    assert found.materially


def test_where_the_other_one_leads_the_base_stays() -> None:
    a, b = blocks(1.12, sd=0.04)
    found = verdict_of_blocks(b, a, SETTINGS)
    assert found.winner == "a"
    pattern = r"lettuce SLOWER by 10\.7 % \[\d\.\d, 1\d\.\d\], materially"
    assert re.fullmatch(pattern, verdict_text(found)), "1 / 1.12 is .893"


def test_less_latency_is_faster() -> None:
    found = verdict_of_blocks(*blocks(1.4, sd=0.04), LATENCY)
    assert found.winner == "a"
    assert verdict_text(found).startswith("lettuce SLOWER by 40 % [")


def test_faster_by_little_is_not_materially_so() -> None:
    found = verdict_of_blocks(*blocks(1.06, sd=0.05), SETTINGS)
    assert found.kind == "faster"
    assert not found.materially
    assert "materially" not in verdict_text(found)


def test_equivalent() -> None:
    found = verdict_of_blocks(*blocks(1.0, sd=0.02), SETTINGS)
    assert found.kind == "equivalent"
    assert verdict_text(found).startswith("EQUIVALENT within 5 %: 0.0 % [")
    assert found.winner is None
    assert not found.negligible


def test_equivalent_and_yet_real() -> None:
    found = verdict_of_blocks(*blocks(1.02, sd=0.01), SETTINGS)
    assert found.negligible
    assert verdict_text(found).startswith("EQUIVALENT within 5 %, real but negligible: +2")


def test_equivalence_comes_before_faster_and_needs_the_guard() -> None:
    a, b = blocks(1.02, sd=0.01, count=27)
    b[3] *= 0.5
    b[4] *= 0.5
    found = verdict_of_blocks(a, b, SETTINGS)
    assert (found.stalls_a, found.stalls_b) == (0, 2)
    assert found.kind == "mixed"
    assert found.winner == "b"
    pattern = r"MIXED: typically faster, less total work \(lettuce \+1\.9 % \[[\d.]+, [\d.]+\], in total -[12]\.\d %\)"
    assert re.fullmatch(pattern, verdict_text(found)), verdict_text(found)


def test_stalls_of_one_side_forbid_equivalence() -> None:
    a, b = blocks(1.0, sd=0.02, count=40)
    b[3] *= 0.7
    b[4] *= 0.7
    found = verdict_of_blocks(a, b, SETTINGS)
    assert found.kind == "undecided"
    assert verdict_text(found).endswith("; stalls: jedis 0, lettuce 2")


def test_no_equivalence_from_eight_blocks() -> None:
    found = verdict_of_blocks(*blocks(1.0, sd=0.005, count=8), SETTINGS)
    assert found.kind == "undecided"
    assert verdict_text(found).endswith("; equivalence needs 12 blocks")
    assert found.more_minutes == pytest.approx(4 * 2 * 20 / 60)


def test_undecided_says_how_much_longer() -> None:
    found = verdict_of_blocks(*blocks(1.02, sd=0.12), SETTINGS)
    assert found.kind == "undecided"
    pattern = r"UNDECIDED: \+2 % \[-\d+, \d+\]; about (\d+) to (\d+) more minutes"
    match = re.fullmatch(pattern, verdict_text(found))
    assert match, verdict_text(found)
    assert found.more_minutes is not None
    assert int(match[1]) == round(found.more_minutes / 2)
    assert int(match[2]) == round(found.more_minutes * 2)


def test_the_time_still_needed_is_that_of_the_formula() -> None:
    a, b = blocks(1.0, sd=0.3)
    evidence = block_evidence(a, b, SETTINGS)
    assert evidence.spread is not None
    found = verdict_of_blocks(a, b, SETTINGS)
    needed = math.ceil(1.1 * (2.4163 * evidence.spread / math.log(1.05)) ** 2)
    assert found.more_minutes == pytest.approx((needed - 18) * 2 * (15 + 5) / 60)


def test_not_decidable_where_four_budgets_would_not_do() -> None:
    a, b = blocks(1.02, sd=0.3)
    assert verdict_of_blocks(a, b, replace(SETTINGS, budget_minutes=1000)).kind == "undecided"
    found = verdict_of_blocks(a, b, replace(SETTINGS, budget_minutes=20))
    assert found.kind == "not_decidable"
    assert re.fullmatch(r"NOT DECIDABLE HERE: noise floor \+-\d+(\.\d)? %", verdict_text(found))
    assert found.noise_floor is not None
    assert found.detectable is not None
    assert found.noise_floor < found.detectable


@pytest.mark.parametrize("count", [0, 1, 4, 7])
def test_a_single_run_gets_no_verdict(count: int) -> None:
    found = verdict_of_blocks([1000.0] * count, [2000.0] * count, SETTINGS)
    assert found.kind == "undecided"
    assert found.low is None
    assert found.detectable is None
    assert f"no interval from {count} block" in verdict_text(found)
    assert "at least 8 are needed; about" in verdict_text(found)
    assert "FASTER" not in verdict_text(found)
    assert found.more_minutes == pytest.approx((8 - count) * 2 * 20 / 60)


def test_many_pairs_need_more_blocks_for_an_interval() -> None:
    settings = replace(SETTINGS, pairs=15, conditions=6)
    found = verdict_of_blocks(*blocks(2.0, count=8), settings)
    assert found.kind == "undecided"
    assert "no interval from 8 blocks, at least 11 are needed" in verdict_text(found)


def test_a_check_that_failed_leaves_no_ratio() -> None:
    check = CheckResult(
        name="generator CPU", verdict="invalid", measured=97.2, limit=85, unit="%", reason=verbatim("Too hot.")
    )
    found = refused(check, 12, SETTINGS)
    assert verdict_text(found) == "INVALID: generator CPU, measured 97.2 %, limit 85 %"
    known = {
        "kind",
        "a",
        "b",
        "larger_is_faster",
        "margin",
        "blocks",
        "blocks_min",
        "refusal",
        "metric",
        "quick",
        "unit",
        "rate_per_s",
        "started_once",
    }
    assert (found.kind, found.blocks, found.refusal) == ("invalid", 12, check)
    assert (found.a, found.b) == (Side(name="jedis"), Side(name="lettuce"))
    assert found.model_fields_set <= known, "no figure beside the blocks"
    unmeasured = CheckResult(
        name="replies", verdict="invalid", measured=None, limit=None, unit="", reason=verbatim("Lost.")
    )
    assert verdict_text(refused(unmeasured, 1, SETTINGS)) == "INVALID: replies, Lost."


def test_quick_says_so() -> None:
    assert verdict_text(verdict_of_blocks(*blocks(1.12), replace(SETTINGS, quick=True))).endswith(" (quick)")


def test_figures_without_a_ratio_are_refused() -> None:
    with pytest.raises(ValueError, match="B, block 1: 0"):
        verdict_of_blocks([1.0, 1.0], [1.0, 0.0], SETTINGS)
    with pytest.raises(ValueError, match="A, block 0: nan"):
        verdict_of_blocks([math.nan], [1.0], SETTINGS)
    with pytest.raises(ValueError, match="2 blocks and B has 1"):
        verdict_of_blocks([1.0, 1.0], [1.0], SETTINGS)


def test_holm_finds_what_the_interval_alone_just_misses() -> None:
    """Two pairs: the clear one frees the whole level for the other, whose interval then ends at zero."""
    settings = replace(SETTINGS, pairs=2, conditions=3)
    rng = np.random.default_rng(1)
    for shift in np.linspace(0.02, 0.08, 200):
        b = np.exp(np.linspace(-0.05, 0.05, 18) + shift + rng.normal(0, 0.03, 18))
        close = block_evidence([1.0] * 18, b.tolist(), settings)
        if settings.alpha / 2 < close.p_value <= settings.alpha:
            break
    assert close.low is not None
    assert close.low < 0
    clear = block_evidence(*blocks(1.5), settings)
    found = verdicts_of_pairs({"clear": (clear, settings), "close": (close, settings)})
    assert found["clear"].kind == "faster"
    assert found["close"].kind in ("faster", "equivalent")
    assert found["close"].low == 0
    noise = block_evidence(*blocks(1.0, sd=0.2), settings)
    alone = verdicts_of_pairs({"noise": (noise, settings), "close": (close, settings)})
    assert alone["close"].low == close.low


def test_pairs_must_know_how_many_they_are() -> None:
    evidence = block_evidence(*blocks(1.0), SETTINGS)
    with pytest.raises(ValueError, match=r"settings\.pairs is 1, but 2 pairs"):
        verdicts_of_pairs({1: (evidence, SETTINGS), 2: (evidence, SETTINGS)})
    assert verdicts_of_pairs({}) == {}


def quantile_blocks(factor: float, count: int, failed_b: int = 0) -> LatencyBlocks:
    edges = np.exp(np.arange(0, 6, 0.002)) * 1e5
    rng = np.random.default_rng(8)

    def rows(scale: float) -> np.ndarray:
        values = [rng.lognormal(np.log(4e5 * scale) + rng.normal(0, 0.02), 0.3, 5000) for _ in range(count)]
        return np.stack([np.bincount(np.searchsorted(edges, row), minlength=len(edges)) for row in values])

    none = np.zeros(count, dtype=np.int64)
    return LatencyBlocks(edges, rows(1.0), rows(factor), none, none + failed_b)


def test_quantiles_of_merged_histograms() -> None:
    slower = verdict_of(quantile_evidence(quantile_blocks(1.4, 12), 0.99, LATENCY), LATENCY)
    assert slower.kind == "faster"
    assert slower.winner == "a"
    assert verdict_text(slower).startswith("lettuce SLOWER by ")
    assert slower.total is None
    same = verdict_of(quantile_evidence(quantile_blocks(1.0, 27), 0.95, LATENCY), LATENCY)
    assert same.kind == "equivalent"
    assert verdict_text(same).startswith("EQUIVALENT within 10 %")
    assert same.detectable is not None
    assert verdict_of(quantile_evidence(quantile_blocks(1.4, 5), 0.99, LATENCY), LATENCY).kind == "undecided"


def test_a_quantile_among_the_failures_is_not_judged_equal() -> None:
    only_b = verdict_of(quantile_evidence(quantile_blocks(1.0, 12, failed_b=1000), 0.99, LATENCY), LATENCY)
    assert only_b.kind == "faster"
    assert only_b.winner == "a"
    both = quantile_blocks(1.0, 12, failed_b=1000)
    both.failed_a[:] = 1000
    found = verdict_of(quantile_evidence(both, 0.99, LATENCY), LATENCY)
    assert found.kind == "undecided"
    assert verdict_text(found) == "UNDECIDED: both conditions fail so often that the quantile falls among the failures"


# The generator's gain


def test_the_interval_is_widened_by_each_sides_gain() -> None:
    """A may be faster by its gain, which lowers B / A, and B by its own."""
    low, high, real = widened(np.asarray(0.10), np.asarray(0.20), np.asarray(True), (0.05, 0.03))
    assert float(low) == pytest.approx(0.10 - math.log(1.05))
    assert float(high) == pytest.approx(0.20 + math.log(1.03))
    assert bool(real)


@pytest.mark.parametrize(("low", "high", "gains", "real"), [
    (0.02, 0.20, (0.05, 0.0), False),  # A with a free generator might be as fast
    (0.02, 0.20, (0.0, 0.05), True),  # B would only lead by more
    (-0.20, -0.02, (0.0, 0.05), False),
    (-0.20, -0.02, (0.05, 0.0), True),
])  # fmt: skip
def test_what_a_gain_may_hide_is_not_real(low: float, high: float, gains: tuple[float, float], real: bool) -> None:
    assert bool(widened(np.asarray(low), np.asarray(high), np.asarray(True), gains)[2]) is real


def test_without_a_gain_nothing_is_widened() -> None:
    low, high, real = widened(np.asarray(0.0), np.asarray(0.2), np.asarray(True), (0.0, 0.0))
    assert (float(low), float(high), bool(real)) == (0.0, 0.2, True), "an end at zero that Holm rejected stays real"


def test_a_rejected_zero_within_the_gain_is_no_longer_rejected() -> None:
    assert not bool(widened(np.asarray(0.0), np.asarray(0.2), np.asarray(True), (0.01, 0.0))[2])


def test_a_gain_that_hides_the_answer_is_said_so_whatever_the_blocks() -> None:
    found = verdict_of_blocks(*blocks(1.0, sd=0.005, count=40), replace(SETTINGS, gains=(0.08, 0.08)))
    assert (found.kind, found.hidden, found.more_minutes) == ("not_decidable", True, None)
    assert verdict_text(found).startswith("NOT DECIDABLE HERE: ")
    assert verdict_text(found).endswith("; the generator may hide up to 8 %")


def test_a_gain_that_more_blocks_would_clear_hides_nothing() -> None:
    """+12 % with an interval that reaches from below the gain to far above it."""
    found = verdict_of_blocks(*blocks(1.12, sd=0.25), replace(SETTINGS, gains=(0.03, 0.0)))
    assert found.kind == "undecided"
    assert not found.hidden


def test_a_difference_beyond_the_gains_is_found_all_the_same() -> None:
    found = verdict_of_blocks(*blocks(1.67), replace(SETTINGS, gains=(0.03, 0.05)))
    assert (found.kind, found.winner) == ("faster", "b")
    assert found.low is not None
    assert found.low < math.log(1.67 / 1.03)


def test_a_latency_is_not_widened() -> None:
    a, b = blocks(1.5, sd=0.04)
    assert verdict_of_blocks(a, b, replace(LATENCY, gains=(0.4, 0.4))) == verdict_of_blocks(a, b, LATENCY)


def test_adjusted_p_values_of_a_worked_example() -> None:
    assert holm_adjusted([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_it_stops_at_the_first_that_is_not_rejected() -> None:
    """.04 would pass .05 / 1, but .03 before it fails .05 / 2."""
    assert holm_rejected([0.03, 0.001, 0.04], 0.05).tolist() == [False, True, False]
    assert holm_rejected([0.02, 0.001, 0.04], 0.05).tolist() == [True, True, True]


def test_rows_are_families_of_their_own_and_one_p_value_is_left_alone() -> None:
    rows = np.array([[0.01, 0.02], [0.03, 0.9]])
    assert holm_adjusted(rows) == pytest.approx(np.array([[0.02, 0.02], [0.06, 0.9]]))
    assert holm_adjusted([0.7]) == pytest.approx([0.7])
    assert holm_adjusted([0.9, 0.8]).max() == 1
