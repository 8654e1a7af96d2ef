"""From real HdrHistograms to arrays, and quantiles that agree with theirs."""

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram

from loadstone.analyse.statistics.histograms import latency_blocks, quantiles_ns


def recorded(seed: int, median_ns: float = 400e3, operations: int = 1000) -> HdrHistogram:
    histogram = HdrHistogram(1, 60_000_000_000, 3)
    for value in np.random.default_rng(seed).lognormal(np.log(median_ns), 0.5, operations):
        histogram.record_value(int(value))
    return histogram


def test_counts_values_and_quantiles_are_those_of_the_histograms() -> None:
    a, b = [recorded(seed) for seed in range(3)], [recorded(seed, 800e3) for seed in range(3, 6)]
    blocks = latency_blocks(a, b)
    assert blocks.blocks == 3
    assert blocks.counts_a.sum(axis=1).tolist() == [1000] * 3
    for p in (0.5, 0.95, 0.99, 0.999):
        ours = quantiles_ns(blocks.values_ns, blocks.counts_b, blocks.failed_b, p)
        assert ours.tolist() == [histogram.get_value_at_percentile(100 * p) for histogram in b]


def test_decoded_histograms_give_the_same() -> None:
    fresh = [recorded(1), recorded(2)]
    decoded = [HdrHistogram.decode(histogram.encode()) for histogram in fresh]
    ours, theirs = latency_blocks(fresh, fresh), latency_blocks(decoded, decoded)
    assert np.array_equal(ours.values_ns, theirs.values_ns)
    assert np.array_equal(ours.counts_a, theirs.counts_a)


def test_failures_are_latencies_without_end() -> None:
    blocks = latency_blocks([recorded(1)] * 2, [recorded(2)] * 2, failed_a=[0, 5], failed_b=[20, 0])
    a = quantiles_ns(blocks.values_ns, blocks.counts_a, blocks.failed_a, 0.99)
    b = quantiles_ns(blocks.values_ns, blocks.counts_b, blocks.failed_b, 0.99)
    assert np.isfinite(a).all()
    assert a[1] > a[0]
    assert np.isinf(b).tolist() == [True, False]


def test_no_blocks_at_all() -> None:
    assert latency_blocks([], []).blocks == 0


def test_unlike_histograms_or_blocks_are_refused() -> None:
    with pytest.raises(ValueError, match="A has 1 blocks and B has 2"):
        latency_blocks([recorded(1)], [recorded(2), recorded(3)])
    with pytest.raises(ValueError, match="digits"):
        latency_blocks([recorded(1)], [HdrHistogram(1, 60_000_000_000, 2)])
