"""p95, p99 and p99.9 of merged histograms, compared by swapping labels within blocks.

Sources: Fisher 1935 (randomisation test), Ernst 2004 (permutation methods as a basis for exact
inference), Phipson & Smyth 2010 (p of random swaps is never zero). The interval is the set of
factors that the test does not reject when B is divided by them (Garthwaite 1996). Percentiles
are never averaged: each swap merges the histograms again and reads the quantile off.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from loadstone.drivers.histogram import rank_of
from loadstone.judge.statistics.histogram_arrays import LatencyBlocks, quantiles_ns
from loadstone.judge.statistics.signed_rank import Floats

SWAPS = 2000
SWAPS_BEYOND = 5
"""At a very small level more swaps are drawn, so that about so many lie beyond it."""
ALL_SWAPS_BLOCKS = 12
"""Up to so many blocks every swap is tried: 2^B, of which half are the mirror of the others."""
TOLERANCE = 5e-4
"""Precision of the interval's ends, as a log ratio; a bucket is about 1e-3 wide."""
GRID = 16
"""Number of places that are looked at before bisection."""
WIDEST = 20.0
"""A log ratio beyond which an end counts as infinite."""


class QuantileInterval(NamedTuple):
    """ln(q_B / q_A) of the merged histograms with its interval and p-value.

    `low` and `high` are None where the blocks are too few for the level; the estimate is None
    where both quantiles fall among the failures.
    """

    estimate: float | None
    low: float | None
    high: float | None
    p_value: float


def quantile_interval(
    latencies: LatencyBlocks, quantile: float, alpha: float, swaps: int = SWAPS, seed: int = 0
) -> QuantileInterval:
    """Compare a quantile (between 0 and 1) of B with that of A; the same seed gives the same answer.

    Raises ValueError without a single operation.
    """
    test = SwapTest(latencies, quantile, max(swaps, math.ceil(SWAPS_BEYOND / alpha)), seed)
    estimate = test.estimate
    if estimate is None:
        return QuantileInterval(None, None, None, 1.0)
    p_value = test.p_value(0.0)
    if test.least_p > alpha:
        return QuantileInterval(estimate, None, None, p_value)
    if math.isinf(estimate):
        low, high = (estimate, estimate) if p_value <= alpha else (-math.inf, math.inf)
        return QuantileInterval(estimate, low, high, p_value)
    low, high = (_end(test.p_value, estimate, side, alpha) for side in (-1, 1))
    return QuantileInterval(estimate, low, high, p_value)


def _swaps(blocks: int, swaps: int, seed: int) -> Floats:
    """Rows of 0 (as it was) and 1 (swapped), a column a block; the first row is as it was.

    Up to ALL_SWAPS_BLOCKS every row whose last block stays: its mirror gives the negative ratio.
    """
    if blocks <= ALL_SWAPS_BLOCKS:
        numbers = np.arange(2 ** (blocks - 1))
        return ((numbers[:, np.newaxis] >> np.arange(blocks)) & 1).astype(np.float64)
    drawn = np.random.default_rng(seed).integers(0, 2, size=(swaps, blocks))
    return np.vstack([np.zeros(blocks), drawn]).astype(np.float64)


def _end(p_at: Callable[[float], float], estimate: float, side: int, alpha: float) -> float:
    """The last theta on one side of the estimate that is not rejected, by doubling and bisection."""
    inside, step = estimate, 0.02
    while p_at(estimate + side * step) > alpha:
        inside, step = estimate + side * step, step * 2
        if step > WIDEST:
            return side * np.inf
    outside = estimate + side * step
    while abs(outside - inside) > TOLERANCE:
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if p_at(middle) > alpha else (inside, middle)
    return outside


class SwapTest:
    """The merged quantiles under many swaps at once, from counts summed up beforehand.

    Raises ValueError if a condition has not a single operation.
    """

    def __init__(self, latencies: LatencyBlocks, quantile: float, swaps: int = SWAPS, seed: int = 0) -> None:
        self._quantile = quantile
        self._values = latencies.values_ns
        self._total_a = latencies.counts_a.sum(axis=1) + latencies.failed_a
        self._total_b = latencies.counts_b.sum(axis=1) + latencies.failed_b
        if not self._total_a.sum() or not self._total_b.sum():
            raise ValueError("a condition without a single operation has no quantile")
        self._below_a = _below(latencies.counts_a)
        self._below_b = _below(latencies.counts_b)
        self._range_a = _range(latencies.values_ns, latencies.counts_a, latencies.failed_a, quantile)
        self._range_b = _range(latencies.values_ns, latencies.counts_b, latencies.failed_b, quantile)
        self._labels = _swaps(latencies.blocks, swaps, seed)
        self.least_p = 1 / len(self._labels)
        """No p-value can be smaller."""
        self.estimate = None if self._unknown() else float(self._log_ratios(self._labels[:1], 0.0)[0])
        """ln(q_B / q_A) as measured; None where both fall among the failures."""

    def p_value(self, theta: float) -> float:
        """Two-sided p of a true log ratio `theta`: the share of swaps as far off as what was measured."""
        ratios = np.abs(self._log_ratios(self._labels, theta))
        return float(np.mean(ratios >= ratios[0] - 1e-9))

    def _log_ratios(self, labels: Floats, theta: float) -> Floats:
        """ln(q_B / q_A) for each row of labels when every latency of B is divided by exp(theta).

        Two quantiles among the failures are alike: 0.
        """
        scaled = self._values * np.exp(-theta)
        support = self._support(theta, scaled)
        in_a = self._below_a[np.searchsorted(self._values, support, side="right")]
        in_b = self._below_b[np.searchsorted(scaled, support, side="right")]
        more = in_b - in_a
        moved = labels @ (self._total_b - self._total_a)
        edge = np.append(support, np.inf)
        quantile_a = edge[self._place(in_a.sum(axis=1), more, labels, self._total_a.sum() + moved)]
        quantile_b = edge[self._place(in_b.sum(axis=1), -more, labels, self._total_b.sum() - moved)]
        both_failed = np.isinf(quantile_a) & np.isinf(quantile_b)
        ratios: Floats = np.log(np.where(both_failed, 1.0, quantile_b)) - np.log(np.where(both_failed, 1.0, quantile_a))
        return ratios

    def _unknown(self) -> bool:
        """Whether both quantiles, as they are, fall among the failures."""
        in_a = self._below_a[-1].sum() < rank_of(1000 * self._quantile, self._total_a.sum())
        in_b = self._below_b[-1].sum() < rank_of(1000 * self._quantile, self._total_b.sum())
        return bool(in_a and in_b)

    def _support(self, theta: float, scaled: Floats) -> Floats:
        """Where merged quantiles can lie: never outside those of the histograms that are merged."""
        low = min(self._range_a[0], self._range_b[0] * np.exp(-theta))
        high = max(self._range_a[1], self._range_b[1] * np.exp(-theta))
        both = np.concatenate([values[(values >= low) & (values <= high)] for values in (self._values, scaled)])
        return np.unique(both)

    def _place(self, base: Floats, more: Floats, labels: Floats, total: Floats) -> NDArray[np.intp]:
        """Index of each row's quantile in the support, by search over counts that are merged as needed.

        All rows at once on a coarse grid first, then by bisection within a step of it. Sums by einsum: a product of
        matrices would start threads, which wait for each other on a busy machine and take ten times as long.
        """
        rank = rank_of(1000 * self._quantile, total)
        step = max(1, len(base) // GRID)
        grid = np.arange(step - 1, len(base), step)
        coarse = base[grid] + np.einsum("sb,bg->sg", labels, np.ascontiguousarray(more[grid].T))
        first = np.count_nonzero(coarse < rank[:, np.newaxis], axis=1)
        low = first * step
        high = np.minimum(low + step - 1, len(base))
        while (searching := low < high).any():
            middle = (low + high) // 2
            at = np.minimum(middle, len(base) - 1)
            reached = base[at] + np.einsum("sb,sb->s", labels, more[at]) >= rank
            high = np.where(searching & reached, middle, high)
            low = np.where(searching & ~reached, middle + 1, low)
        return np.asarray(low, dtype=np.intp)


def _range(
    values: Floats, counts: NDArray[np.int64], failed: NDArray[np.int64], quantile: float
) -> tuple[float, float]:
    """The smallest and the largest quantile of the single blocks; blocks without operations do not count."""
    used = counts.sum(axis=1) + failed > 0
    found = quantiles_ns(values, counts[used], failed[used], quantile)
    return float(found.min()), float(found.max())


def _below(counts: NDArray[np.int64]) -> Floats:
    """Return how many of each block (column) lie in the first n buckets (row n)."""
    summed = np.cumsum(counts.T, axis=0, dtype=np.float64)
    return np.vstack([np.zeros(len(counts)), summed])
