"""One metric of a pair: what its verdict rests on, or the check that forbids a verdict on it."""

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from loadstone.judge.compare import pair_checks
from loadstone.judge.compare.latencies import HistogramCache
from loadstone.judge.compare.pairs import PairBlock
from loadstone.judge.compare.round_figures import in_rounds, in_slices, pair_slices
from loadstone.judge.metrics import figure, is_rate, quantile_of, tail_of
from loadstone.judge.statistics.histogram_arrays import LatencyBlocks, quantiles_ns
from loadstone.judge.statistics.pair_evidence import (
    NO_BLOCKS,
    Evidence,
    Typical,
    block_evidence,
    quantile_evidence,
)
from loadstone.judge.statistics.rounds.latency_groups import latencies_of_groups, round_quantile_evidence
from loadstone.judge.statistics.rounds.round_evidence import round_evidence, start_evidence
from loadstone.judge.statistics.settings import Settings
from loadstone.run_folder.latency_logs import LatencyKind
from loadstone.run_folder.trial import CheckResult
from loadstone.safety.errors import DriveFailed


def evaluate_metric(
    metric: str, blocks: Sequence[PairBlock], settings: Settings, latencies: HistogramCache
) -> Evidence:
    """What the used blocks of a pair say about a metric."""
    if not blocks:
        return NO_BLOCKS
    by_rounds = settings.unit == "round"
    if is_rate(metric):
        return (_by_rounds if by_rounds or in_rounds(blocks, metric) else _by_blocks)(metric, blocks, settings)
    rate = pair_checks.offered_rate(blocks)
    if rate.verdict == "invalid":
        return replace(NO_BLOCKS, checks=(rate,))
    merged = quantile_of(metric) if by_rounds else tail_of(metric)
    if merged is not None:
        evidence = _merged(merged, blocks, settings, latencies)
    elif by_rounds:
        evidence = _mean_by_rounds(metric, blocks, settings)
    else:
        evidence = _by_blocks(metric, blocks, settings)
    return replace(evidence, checks=(rate, *evidence.checks))


def _by_blocks(metric: str, blocks: Sequence[PairBlock], settings: Settings) -> Evidence:
    """One figure a block. Where a block has none, the others may not stand for it: that would choose by the result."""
    figures = [(figure(block.a, metric), figure(block.b, metric)) for block in blocks]
    known = [(a, b) for a, b in figures if a and b]
    if len(known) < len(figures):
        return replace(NO_BLOCKS, checks=(pair_checks.figures(len(figures) - len(known), len(figures)),))
    return _of_figures(known, blocks, settings, latency=not is_rate(metric))


def _of_figures(
    figures: Sequence[tuple[float, float]], blocks: Sequence[PairBlock], settings: Settings, *, latency: bool
) -> Evidence:
    """From one figure of A and of B a block; of a latency only where the clock tells them apart."""
    a, b = [pair[0] for pair in figures], [pair[1] for pair in figures]
    typical = (median(a), median(b))
    checks = (pair_checks.clock(blocks, typical, settings.margin),) if latency else ()
    evidence = NO_BLOCKS if _forbidden(checks) else block_evidence(a, b, settings)
    return replace(evidence, typical=typical, checks=checks)


def _by_rounds(metric: str, blocks: Sequence[PairBlock], settings: Settings) -> Evidence:
    """One figure a round, or one a block of them. A side that did nothing at all has none."""
    try:
        if settings.unit == "block":
            return start_evidence([pair_slices([block], metric) for block in blocks], settings)
        return round_evidence(pair_slices(blocks, metric), settings)
    except ValueError:
        return replace(NO_BLOCKS, checks=(pair_checks.figures(len(blocks), len(blocks)),))


def _mean_by_rounds(metric: str, blocks: Sequence[PairBlock], settings: Settings) -> Evidence:
    """One mean a round, of all its operations."""
    evidence = _by_rounds(metric, blocks, settings)
    if evidence.refusal is not None:
        return evidence
    clock = pair_checks.clock(blocks, [value for value in evidence.typical if value], settings.margin)
    return replace(NO_BLOCKS if _forbidden([clock]) else evidence, typical=evidence.typical, checks=(clock,))


def _merged(
    tail: tuple[LatencyKind, int], blocks: Sequence[PairBlock], settings: Settings, latencies: HistogramCache
) -> Evidence:
    """A quantile of the histograms of all blocks together, or of all rounds."""
    kind, per_mille = tail
    enough = pair_checks.samples(blocks, kind, per_mille)
    if enough.verdict == "invalid":
        return replace(NO_BLOCKS, checks=(enough,))
    groups = None
    try:
        if not settings.compares_runs and settings.unit == "block" and all(in_slices(block) for block in blocks):
            quiet = _of_quiet_slices(tail, blocks, settings, latencies)
            if quiet is not None:
                return replace(quiet, checks=(enough, *quiet.checks))
        if settings.unit == "round":
            groups = latencies.rounds(blocks, kind)
            merged = latencies_of_groups(*groups)
        else:
            merged = latencies.blocks([block.a for block in blocks], [block.b for block in blocks], kind)
    except DriveFailed as error:
        lost = pair_checks.no_latencies(error.message)
        return replace(NO_BLOCKS, checks=(enough, lost))
    typical = _quantiles(merged, per_mille / 1000)
    clock = pair_checks.clock(blocks, [value for value in typical if value], settings.margin)
    if _forbidden([clock]):
        evidence = NO_BLOCKS
    elif groups is not None:
        evidence = round_quantile_evidence(*groups, per_mille / 1000, settings)
    else:
        evidence = quantile_evidence(merged, per_mille / 1000, settings)
    own = typical if evidence.typical == (None, None) else evidence.typical
    return replace(evidence, typical=own, checks=(enough, clock))


def _of_quiet_slices(
    tail: tuple[LatencyKind, int], blocks: Sequence[PairBlock], settings: Settings, latencies: HistogramCache
) -> Evidence | None:
    """A quantile of the quieter slices of each block; None where those of one hold too few operations."""
    kind, quantile = tail[0], tail[1] / 1000
    sides = [[latencies.quiet_ns(trial, kind, quantile) for trial in (block.a, block.b)] for block in blocks]
    known = [(a, b) for a, b in sides if a and b and math.isfinite(a) and math.isfinite(b)]
    if len(known) < len(sides):
        return None
    return replace(_of_figures(known, blocks, settings, latency=True), requests="quiet")


def _quantiles(merged: LatencyBlocks, quantile: float) -> Typical:
    """The quantile of each side over all blocks; None where it falls among the failures."""
    sides = ((merged.counts_a, merged.failed_a), (merged.counts_b, merged.failed_b))
    a, b = (float(quantiles_ns(merged.values_ns, c.sum(axis=0), f.sum(), quantile)) for c, f in sides)
    return None if math.isinf(a) else a, None if math.isinf(b) else b


def _forbidden(checks: Sequence[CheckResult]) -> bool:
    return any(check.verdict == "invalid" for check in checks)
