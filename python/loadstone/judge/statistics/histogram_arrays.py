"""Latency histograms of a comparison as arrays: a row a block, a column a bucket."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

from loadstone.judge.statistics.signed_rank import Floats

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Buckets:
    """A histogram without its empty buckets: a hundredth of its size."""

    places: Counts
    """Indices of the buckets, ascending."""
    counts: Counts
    layout: tuple[int, int]
    """Its unit magnitude, and the magnitude of half of its sub-buckets: where each index lies."""

    @property
    def total(self) -> int:
        """How many values were recorded."""
        return int(self.counts.sum())


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
        """How many blocks there are."""
        return len(self.counts_a)

    def quantiles_ns(self, p: float) -> tuple[Floats, Floats]:
        """Each block's own quantile, of A and of B; infinite where it falls among what failed."""
        return (
            quantiles_ns(self.values_ns, self.counts_a, self.failed_a, p),
            quantiles_ns(self.values_ns, self.counts_b, self.failed_b, p),
        )


def buckets_of(histogram: HdrHistogram) -> Buckets:
    """The buckets of a histogram that hold anything."""
    counts = np.frombuffer(histogram.counts, dtype=np.uint64)
    places = np.flatnonzero(counts)
    layout = (histogram.unit_magnitude, histogram.sub_bucket_half_count_magnitude)
    return Buckets(places.astype(np.int64), counts[places].astype(np.int64), layout)


def latency_blocks(
    a: Sequence[Buckets],
    b: Sequence[Buckets],
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


def table_of(histograms: Sequence[Buckets]) -> tuple[Floats, Counts]:
    """The values (ns) of all buckets that any of them uses, ascending, and the counts: a row a histogram.

    Raises ValueError if they differ in their buckets.
    """
    if not histograms:
        return np.zeros(0), np.zeros((0, 0), np.int64)
    layouts = {histogram.layout for histogram in histograms}
    if len(layouts) > 1:
        raise ValueError("the histograms differ in their lowest value or their digits: record them alike")
    used = np.unique(np.concatenate([histogram.places for histogram in histograms]))
    counts = np.zeros((len(histograms), len(used)), dtype=np.int64)
    for row, histogram in zip(counts, histograms, strict=True):
        row[np.searchsorted(used, histogram.places)] = histogram.counts
    return _tops_ns(used, layouts.pop()), counts


def _tops_ns(places: Counts, layout: tuple[int, int]) -> Floats:
    """The largest value that falls into each bucket, at least 1 ns: a ratio needs more than zero.

    HdrHistogram's own layout: each half of sub-buckets covers twice the range of the one before.
    """
    unit, half = layout
    doublings = np.maximum((places >> half) - 1, 0)
    within = places - (doublings << half)
    tops = ((within + 1) << (doublings + unit)) - 1
    return np.asarray(np.maximum(tops, 1), dtype=np.float64)


def quantiles_ns(values_ns: Floats, counts: Counts, failed: Counts, p: float) -> Floats:
    """The p-quantile of each row: the value of rank ceil(p N), infinite if it falls among the failures."""
    below = np.cumsum(counts, axis=-1)
    rank = rank_of(p, below[..., -1] + failed)
    place = np.count_nonzero(below < rank[..., np.newaxis], axis=-1)
    return np.asarray(np.append(values_ns, np.inf)[place], dtype=np.float64)


def rank_of(p: float, total: Counts | Floats) -> Floats:
    """Rank of the p-quantile among `total` values: ceil(p N), at least the first."""
    return np.asarray(np.maximum(1.0, np.ceil(p * total - 1e-6)), dtype=np.float64)
