"""Quantiles over everything that was due: failures are infinitely late, too few samples tell nothing."""

from types import ModuleType

import pytest

from loadstone.drivers.histogram import (
    EMPTY,
    decode,
    dispersion,
    measurable,
    merge,
    quantiles_ns,
    quantiles_of_summary,
    rank_of,
)
from loadstone.safety.errors import DriveFailed


def quantiles(synthetic: ModuleType, values: list[int], operations: int | None = None):
    return quantiles_ns(
        synthetic.as_ours(synthetic.recorded(values)), operations or len(values), min(values), 1.0, max(values)
    )


def test_ranks_are_counted_exactly() -> None:
    assert rank_of(500, 3) == 2
    assert rank_of(990, 100_000) == 99_000
    assert rank_of(999, 100_000) == 99_900
    assert rank_of(999, 100_001) == 99_901
    assert rank_of(950, 0) == 0


def test_quantiles_are_those_of_hdrhistograms_own_tools(synthetic: ModuleType) -> None:
    values = [1000 + 37 * n for n in range(100_000)]
    found = quantiles(synthetic, values)
    histogram = synthetic.recorded(values)
    for name, percentile in {"p50": 50, "p90": 90, "p95": 95, "p99": 99, "p999": 99.9}.items():
        assert getattr(found, name) == histogram.get_value_at_percentile(percentile)


@pytest.mark.parametrize(
    ("operations", "reported"),
    [(199, []), (200, ["p50"]), (1000, ["p50", "p90"]), (10_000, ["p50", "p90", "p95", "p99"])],
)
def test_a_quantile_needs_a_hundred_operations_beyond_it(
    synthetic: ModuleType, operations: int, reported: list[str]
) -> None:
    found = quantiles(synthetic, [5000] * operations)
    assert [name for name in ("p50", "p90", "p95", "p99", "p999") if getattr(found, name) is not None] == reported
    assert (found.min, found.max) == (5000, 5000)


def test_p999_needs_a_hundred_thousand() -> None:
    assert measurable(999, 100_000)
    assert not measurable(999, 99_999)


def test_failures_are_infinitely_late(synthetic: ModuleType) -> None:
    """1.2 % of 10,000 failed: the P99 falls among them, the P95 is that of rank 9,500 of all."""
    values = list(range(1, 9881))
    found = quantiles(synthetic, values, operations=10_000)
    assert found.p99 is None
    assert found.p95 == synthetic.recorded(values).get_highest_equivalent_value(9500)


def test_one_failure_moves_no_quantile_out_of_reach(synthetic: ModuleType) -> None:
    assert quantiles(synthetic, [7] * 99_999, operations=100_000).p999 == 7


def test_nothing_recorded_is_nothing_reported() -> None:
    found = quantiles_ns(EMPTY, 1000, None, None, None)
    assert set(found.model_dump().values()) == {None}


def test_no_quantile_lies_beyond_the_longest(synthetic: ModuleType) -> None:
    found = quantiles_ns(
        synthetic.as_ours(synthetic.recorded([1_000_001] * 1000)), 1000, 1_000_001, 1_000_001.0, 1_000_001
    )
    assert found.p50 == found.max == 1_000_001


def test_merging_is_recording_together(synthetic: ModuleType) -> None:
    one, other = [1000] * 50 + [2_000_000] * 3, [5000] * 40 + [9_000_000_000]
    merged = merge(map(synthetic.as_ours, (synthetic.recorded(one), synthetic.recorded(other))))
    together = synthetic.recorded(one + other)
    assert merged.total == len(one + other)
    for percentile in (1, 25, 50, 75, 99, 100):
        assert merged.value_at_percentile(percentile) == together.get_value_at_percentile(percentile)


def test_merging_nothing_is_empty() -> None:
    assert merge([]).total == 0


def test_an_encoded_histogram_comes_back(synthetic: ModuleType) -> None:
    histogram = synthetic.recorded([10, 200, 3000])
    assert decode(synthetic.encoded(histogram)).total == 3
    assert decode(synthetic.encoded(synthetic.recorded([]))).total == 0


@pytest.mark.parametrize("text", ["", "HISTFAAAA", "not base64 at all", "AAAA" * 20])
def test_a_damaged_histogram_is_one_clear_line(text: str) -> None:
    with pytest.raises(DriveFailed, match="a histogram cannot be read"):
        decode(text)


def test_a_drivers_summary_keeps_what_its_count_can_tell(synthetic: ModuleType) -> None:
    found = quantiles_of_summary(synthetic.summary([100] * 1000))
    assert (found.p50, found.p90, found.p95, found.p999) == (100, 100, None, None)
    assert quantiles_of_summary(synthetic.summary([])).max is None


@pytest.mark.parametrize("values", [[7], [1, 2, 2000, 4095, 70_000], [0, 5], [10**12, 3, 3, 3]])
def test_dispersion_is_that_of_hdrhistograms_own_figures(synthetic: ModuleType, values: list[int]) -> None:
    library = synthetic.recorded(values)
    one = synthetic.as_ours(library)
    assert dispersion([one]) == pytest.approx(1 + library.get_stddev() ** 2 / library.get_mean_value() ** 2, rel=1e-12)
    assert dispersion([one, EMPTY]) == dispersion([one, one]) == pytest.approx(dispersion([one]))


def test_what_is_all_zero_has_no_dispersion(synthetic: ModuleType) -> None:
    assert dispersion([]) is None
    assert dispersion([EMPTY, synthetic.as_ours(synthetic.recorded([0, 0]))]) is None
