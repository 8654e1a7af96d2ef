"""From measured blocks to what a verdict rests on: estimate, interval, spread, stalls, total work, and the checks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from loadstone.experiment.plan.look_schedule import BLOCKS_MIN
from loadstone.judge.statistics.drift_guard import EQUIVALENCE_BLOCKS, passes_drift_guard, stall_counts, total_log_ratio
from loadstone.judge.statistics.effect import has_outliers, robust_spread
from loadstone.judge.statistics.histogram_arrays import LatencyBlocks
from loadstone.judge.statistics.permutation import quantile_interval
from loadstone.judge.statistics.settings import Settings
from loadstone.judge.statistics.signed_rank import Floats, signed_rank
from loadstone.judge.verdict import Requests
from loadstone.run_folder.trial import CheckResult

Typical = tuple[float | None, float | None]


@dataclass(frozen=True)
class Evidence:
    """One metric of a pair. Ratios are ln(B / A). None: not known of so few blocks, or without a correct reply."""

    blocks: int
    estimate: float | None
    low: float | None
    high: float | None
    p_value: float
    spread: float | None
    """Robust standard deviation of one block's d."""
    outliers: bool
    stalls_a: int
    stalls_b: int
    total: float | None
    """Ratio of the totals over all blocks; None for a quantile of merged histograms, which is one itself."""
    guard: bool
    """Whether equivalence may be claimed."""
    total_noise: float = 0.0
    """Error that chance may put into `total`: not counted over whole trials, of which each is long."""
    typical: Typical = (None, None)
    """The typical figures of A and B, in the metric's unit."""
    checks: tuple[CheckResult, ...] = ()
    """Those that the metric had to pass."""
    pairing: float | None = None
    """For rounds, what taking turns left of the spread, see `PairSlices.pairing`."""
    requests: Requests = "all"
    """Requests that a quantile is of."""

    @property
    def refusal(self) -> CheckResult | None:
        """The first check that forbids a verdict."""
        return next((check for check in self.checks if check.verdict == "invalid"), None)


NO_BLOCKS = Evidence(0, None, None, None, 1.0, None, False, 0, 0, None, False)
"""Nothing was measured, or nothing that may be used."""


def reaching(estimate: float, low: float, high: float, further: float) -> tuple[float, float]:
    """The ends of an interval that reaches further on either side, by so much (ln) in quadrature."""
    return estimate - math.hypot(estimate - low, further), estimate + math.hypot(high - estimate, further)


def block_evidence(blocks_a: Sequence[float], blocks_b: Sequence[float], settings: Settings) -> Evidence:
    """From one figure a block: goodput or p50 of A and of B, in the same order.

    Raises ValueError if the numbers of blocks differ, or a figure is not above zero and finite.
    """
    a, b = _figures(blocks_a, "A"), _figures(blocks_b, "B")
    if len(a) != len(b):
        raise ValueError(f"A has {len(a)} blocks and B has {len(b)}: compare blocks that hold both")
    if not len(a):
        return NO_BLOCKS
    d = np.log(b / a)
    blocks = len(d)
    ranks = signed_rank(d, settings.interval_alpha)
    enough = blocks >= BLOCKS_MIN and ranks.low is not None and ranks.high is not None
    estimate = float(ranks.estimate)
    spread = float(robust_spread(d)) if blocks > 1 else None
    stalls_a, stalls_b = stall_counts(d, ranks.estimate, larger_is_faster=settings.larger_is_faster)
    total = total_log_ratio(a, b)
    return Evidence(
        blocks=blocks,
        estimate=estimate,
        low=float(ranks.low) if enough and ranks.low is not None else None,
        high=float(ranks.high) if enough and ranks.high is not None else None,
        p_value=float(ranks.p_value) if enough else 1.0,
        spread=spread,
        outliers=spread is not None and has_outliers(d, estimate, spread),
        stalls_a=int(stalls_a),
        stalls_b=int(stalls_b),
        total=float(total),
        guard=bool(passes_drift_guard(total, stalls_a, stalls_b, blocks, settings.log_margin)),
    )


def quantile_evidence(latencies: LatencyBlocks, quantile: float, settings: Settings) -> Evidence:
    """From the histograms of each block: the quantile (0 < quantile < 1) of all of them merged.

    The merged quantile feels every stall itself, so of the guard only the number of blocks applies;
    stalls are counted on the blocks' own quantiles.
    """
    blocks = latencies.blocks
    if not blocks:
        return NO_BLOCKS
    interval = quantile_interval(latencies, quantile, settings.interval_alpha)
    enough = blocks >= BLOCKS_MIN and interval.low is not None and interval.high is not None
    low, high = (interval.low, interval.high) if enough else (None, None)
    stalls_a, stalls_b = _quantile_stalls(latencies, quantile, interval.estimate)
    return Evidence(
        blocks=blocks,
        estimate=interval.estimate,
        low=low,
        high=high,
        p_value=interval.p_value if enough else 1.0,
        spread=_spread_of(low, high, blocks, settings.interval_alpha),
        outliers=False,
        stalls_a=stalls_a,
        stalls_b=stalls_b,
        total=None,
        guard=blocks >= EQUIVALENCE_BLOCKS,
    )


def _figures(values: Sequence[float], name: str) -> Floats:
    """The figures of one condition as an array; raises ValueError naming the first impossible one."""
    figures = np.asarray(values, dtype=np.float64)
    bad = np.flatnonzero(~(np.isfinite(figures) & (figures > 0)))
    if len(bad):
        raise ValueError(f"{name}, block {bad[0]}: {figures[bad[0]]} has no ratio: leave out trials that are invalid")
    return figures


def _quantile_stalls(latencies: LatencyBlocks, quantile: float, estimate: float | None) -> tuple[int, int]:
    """Stalls of A and of B by the quantiles of the single blocks, where both are finite."""
    if estimate is None or math.isinf(estimate):
        return 0, 0
    a, b = latencies.quantiles_ns(quantile)
    finite = np.isfinite(a) & np.isfinite(b)
    d = np.log(b[finite] / a[finite])
    stalls_a, stalls_b = stall_counts(d, np.median(d), larger_is_faster=False) if len(d) else (0, 0)
    return int(stalls_a), int(stalls_b)


def _spread_of(low: float | None, high: float | None, blocks: int, alpha: float) -> float | None:
    """The spread of one block that would give such an interval if d were normal."""
    if low is None or high is None or math.isinf(low) or math.isinf(high):
        return None
    return (high - low) / 2 * math.sqrt(blocks) / NormalDist().inv_cdf(1 - alpha / 2)
