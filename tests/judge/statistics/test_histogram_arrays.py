"""From real HdrHistograms to arrays, and quantiles that agree with theirs."""

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from tests.run_folder.synthetic import as_ours

from loadstone.drivers.histogram import Histogram
from loadstone.judge.statistics.histogram_arrays import latency_blocks, quantiles_ns


def recorded(seed: int, median_ns: float = 400e3, operations: int = 1000) -> HdrHistogram:
    histogram = HdrHistogram(1, 60_000_000_000, 3)
    for value in np.random.default_rng(seed).lognormal(np.log(median_ns), 0.5, operations):
        histogram.record_value(int(value))
    return histogram


def buckets(*seeds: int, median_ns: float = 400e3) -> list[Histogram]:
    return [as_ours(recorded(seed, median_ns)) for seed in seeds]


def test_counts_values_and_quantiles_are_those_of_the_histograms() -> None:
    b = [recorded(seed, 800e3) for seed in range(3, 6)]
    blocks = latency_blocks(buckets(0, 1, 2), [as_ours(histogram) for histogram in b])
    assert blocks.blocks == 3
    assert blocks.counts_a.sum(axis=1).tolist() == [1000] * 3
    for p in (0.5, 0.95, 0.99, 0.999):
        ours = quantiles_ns(blocks.values_ns, blocks.counts_b, blocks.failed_b, p)
        assert ours.tolist() == [histogram.get_value_at_percentile(100 * p) for histogram in b]


def test_decoded_histograms_give_the_same() -> None:
    fresh = buckets(1, 2)
    decoded = [Histogram.read(as_ours(recorded(seed)).text()) for seed in (1, 2)]
    ours, theirs = latency_blocks(fresh, fresh), latency_blocks(decoded, decoded)
    assert np.array_equal(ours.values_ns, theirs.values_ns)
    assert np.array_equal(ours.counts_a, theirs.counts_a)


@pytest.mark.parametrize("value_ns", [1, 2047, 2048, 4097, 123_456, 987_654_321, 3_600_000_000_000])
def test_values_are_the_tops_of_the_buckets(value_ns: int) -> None:
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    histogram.record_value(value_ns)
    blocks = latency_blocks([as_ours(histogram)], [as_ours(histogram)])
    assert blocks.values_ns.tolist() == [histogram.get_highest_equivalent_value(value_ns)]


def test_failures_are_latencies_without_end() -> None:
    blocks = latency_blocks(buckets(1) * 2, buckets(2) * 2, failed_a=[0, 5], failed_b=[20, 0])
    a = quantiles_ns(blocks.values_ns, blocks.counts_a, blocks.failed_a, 0.99)
    b = quantiles_ns(blocks.values_ns, blocks.counts_b, blocks.failed_b, 0.99)
    assert np.isfinite(a).all()
    assert a[1] > a[0]
    assert np.isinf(b).tolist() == [True, False]


def test_no_blocks_at_all() -> None:
    assert latency_blocks([], []).blocks == 0


def test_different_histograms_or_blocks_are_refused() -> None:
    with pytest.raises(ValueError, match="A has 1 blocks and B has 2"):
        latency_blocks(buckets(1), buckets(2, 3))
    with pytest.raises(ValueError, match="digits"):
        latency_blocks(buckets(1), [as_ours(HdrHistogram(1, 60_000_000_000, 2))])
