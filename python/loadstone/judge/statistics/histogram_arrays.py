"""Latency histograms of a comparison as arrays: a row a block, a column a bucket."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loadstone.drivers.histogram import Histogram, common_layout, place_of_rank, rank_of
from loadstone.judge.statistics.signed_rank import Floats

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class LatencyBlocks:
    """Correct replies by latency, and failures, of conditions A and B in the same blocks.

    `values_ns` ascends; `counts_*` have the shape (blocks, values); `failed_*` (blocks) are
    operations that never gave a correct reply: latencies without end.
    """

    values_ns: Floats
    counts_a: Counts
    counts_b: Counts
    failed_a: Counts
    failed_b: Counts

    @property
    def blocks(self) -> int:
        """Return how many blocks there are."""
        return len(self.counts_a)

    def quantiles_ns(self, p: float) -> tuple[Floats, Floats]:
        """Each block's own quantile, of A and of B; infinite where it falls among what failed."""
        return (
            quantiles_ns(self.values_ns, self.counts_a, self.failed_a, p),
            quantiles_ns(self.values_ns, self.counts_b, self.failed_b, p),
        )


def latency_blocks(
    a: Sequence[Histogram],
    b: Sequence[Histogram],
    failed_a: Sequence[int] | None = None,
    failed_b: Sequence[int] | None = None,
) -> LatencyBlocks:
    """One histogram (ns) and one number of failures for each block of A and of B.

    Raises ValueError if the histograms differ in their buckets or the blocks in number.
    """
    if len(a) != len(b):
        raise ValueError(f"A has {len(a)} blocks and B has {len(b)}: compare blocks that hold both")
    values_ns, counts = table_of([*a, *b])
    return LatencyBlocks(
        values_ns=values_ns,
        counts_a=counts[: len(a)],
        counts_b=counts[len(a) :],
        failed_a=np.asarray(failed_a if failed_a is not None else [0] * len(a), dtype=np.int64),
        failed_b=np.asarray(failed_b if failed_b is not None else [0] * len(b), dtype=np.int64),
    )


def table_of(histograms: Sequence[Histogram]) -> tuple[Floats, Counts]:
    """The values (ns) of all buckets that any of them uses, ascending, and the counts: a row a histogram.

    A value is the largest that falls into its bucket, at least 1 ns: a ratio needs more than zero. Raises ValueError if
    they differ in their buckets.
    """
    if not histograms:
        return np.zeros(0), np.zeros((0, 0), np.int64)
    used = np.unique(np.concatenate([histogram.places for histogram in histograms]))
    counts = np.zeros((len(histograms), len(used)), dtype=np.int64)
    for row, histogram in zip(counts, histograms, strict=True):
        row[np.searchsorted(used, histogram.places)] = histogram.counts
    tops = common_layout(histograms).highest_in(used)
    return np.asarray(np.maximum(tops, 1), dtype=np.float64), counts


def quantiles_ns(values_ns: Floats, counts: Counts, failed: Counts, p: float) -> Floats:
    """The p-quantile of each row: the value of its rank, infinite if that falls among the failures."""
    below = np.cumsum(counts, axis=-1)
    place = place_of_rank(below, rank_of(1000 * p, counts.sum(axis=-1) + failed))
    return np.asarray(np.append(values_ns, np.inf)[place], dtype=np.float64)
