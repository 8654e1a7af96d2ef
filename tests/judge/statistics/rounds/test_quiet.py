"""A quantile of the quieter slices: stalls of the machine leave it alone, what a version does does not."""

import math

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from tests.run_folder.synthetic import as_ours

from loadstone.drivers.histogram import Histogram
from loadstone.judge.statistics.rounds.latency_groups import low_noise_quantile_ns

MS = 1e6


def slices(number: int = 8, *, stalled: int = 0, tail: float = 0.0, operations: int = 250) -> list[Histogram]:
    """Of about 0.2 ms; the first `stalled` of them with 4 ms in 30 operations, all with 2 ms more in a share."""
    made = []
    for place in range(number):
        rng = np.random.default_rng(place)
        times = rng.gamma(20, 1e4, operations)
        times[rng.random(operations) < tail] += 2 * MS
        times[: 30 if place < stalled else 0] += 4 * MS
        histogram = HdrHistogram(1, 3_600_000_000_000, 3)
        for value in times:
            histogram.record_value(int(value) + 1)
        made.append(as_ours(histogram))
    return made


def p99(of: list[Histogram], failed: int = 0) -> float:
    found = low_noise_quantile_ns(of, [failed] * len(of), 0.99)
    assert found is not None
    return found


def test_stalls_in_a_quarter_of_the_slices_do_not_show_and_in_more_they_do() -> None:
    assert 0.25 * MS < p99(slices()) < 0.4 * MS
    assert p99(slices(stalled=2)) < 0.4 * MS
    assert p99(slices(stalled=4)) > 4 * MS


def test_what_happens_in_every_slice_shows() -> None:
    assert p99(slices(tail=0.03)) > 2 * MS
    assert p99(slices(tail=0.03, stalled=2)) < 3 * MS


def test_failures_are_late_without_end() -> None:
    assert math.isinf(p99(slices(), failed=5))
    assert math.isfinite(p99(slices(), failed=1))


def test_few_operations_have_no_such_quantile() -> None:
    assert low_noise_quantile_ns(slices(operations=30), [0] * 8, 0.99) is None
    assert low_noise_quantile_ns(slices(operations=34), [0] * 8, 0.99) is not None
    assert low_noise_quantile_ns([], [], 0.99) is None


def test_a_few_slices_are_all_kept() -> None:
    assert p99(slices(3, stalled=1)) > 4 * MS


def test_histograms_of_different_buckets_are_refused() -> None:
    other = HdrHistogram(1, 3_600_000_000_000, 2)
    other.record_value(5)
    with pytest.raises(ValueError, match="record them alike"):
        low_noise_quantile_ns([*slices(1), as_ours(other)], [0, 0], 0.99)
