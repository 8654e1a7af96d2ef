"""Latency histograms: decoded, merged, and read at a rank. Percentiles are never averaged."""

import math
from collections.abc import Iterable, Sequence

import numpy as np
from hdrh.histogram import HdrHistogram

from loadstone.bounds.histogram_text import decoded
from loadstone.drive.outcome import Latency
from loadstone.errors import DriveFailed
from loadstone.language import said
from loadstone.record.trial import Quantiles

PER_MILLE = {"p50": 500, "p90": 900, "p95": 950, "p99": 990, "p999": 999}
"""The quantiles that are printed, in thousandths."""

SAMPLES_BEYOND = 100
"""A quantile is reported only if at least so many operations lie beyond it."""

_LONGEST_NS = 3_600_000_000_000
_SIGNIFICANT_DIGITS = 3


def decode(encoded: str) -> HdrHistogram:
    """A histogram from its text (HdrHistogram V2, compressed, base64).

    Raises:
        DriveFailed: the text is not such a histogram.
    """
    try:
        return decoded(encoded)
    except ValueError as error:
        raise DriveFailed(said("driver: {error}", error=error)) from None


def merge(histograms: Iterable[HdrHistogram]) -> HdrHistogram:
    """All recorded values together; an empty histogram if there are none.

    Raises:
        DriveFailed: they are not of one kind, and one holds values that the first one cannot.
    """
    merged: HdrHistogram | None = None
    for histogram in histograms:
        if merged is None:
            merged = HdrHistogram(
                1,
                max(_LONGEST_NS, histogram.highest_trackable_value),
                max(_SIGNIFICANT_DIGITS, histogram.significant_figures),
            )
        try:
            merged.add(histogram)
        except (IndexError, ValueError, OverflowError) as error:
            raise DriveFailed(said("driver: histograms cannot be added up ({error})", error=error)) from None
    return merged if merged is not None else HdrHistogram(1, _LONGEST_NS, _SIGNIFICANT_DIGITS)


def rank_of(per_mille: int, operations: int) -> int:
    """Rank (from 1) of a quantile among `operations` values, as HdrHistogram counts it: rounded up."""
    return -(-operations * per_mille // 1000)


def measurable(per_mille: int, operations: int) -> bool:
    """Whether at least `SAMPLES_BEYOND` of `operations` lie beyond the quantile."""
    return operations - rank_of(per_mille, operations) >= SAMPLES_BEYOND


def quantiles_ns(
    histogram: HdrHistogram,
    operations: int,
    least: int | None,
    mean: float | None,
    greatest: int | None,
    delayed: float = 0.0,
) -> Quantiles:
    """Quantiles over `operations`, of which only those in the histogram ended rightly.

    What is not in the histogram (errors, timeouts, replies that never came) counts as infinitely
    late: a rank that falls among those has no value, nor has a quantile with too few beyond it. With a share `delayed`
    of the operations made late by somebody, each quantile is the least that it can be without that.
    """
    lower = math.ceil(delayed * operations)
    cumulated = np.frombuffer(histogram.counts, dtype=np.uint64).cumsum()
    recorded = int(cumulated[-1])
    values: dict[str, int | None] = {}
    for name, per_mille in PER_MILLE.items():
        rank = rank_of(per_mille, operations)
        values[name] = None
        if measurable(per_mille, operations) and 0 < rank <= recorded:
            rank = max(1, rank - lower)
            index = int(np.searchsorted(cumulated, rank))
            value = int(histogram.get_highest_equivalent_value(histogram.get_value_from_index(index)))
            values[name] = value if greatest is None else min(value, greatest)
    return Quantiles(
        min=least if recorded else None, mean=mean if recorded else None, max=greatest if recorded else None, **values
    )


def quantiles_of_summary(latency: Latency) -> Quantiles:
    """Quantiles of a driver's own summary, without those that too few values lie beyond."""
    reported = {
        name: getattr(latency, name) if measurable(per_mille, latency.count) else None
        for name, per_mille in PER_MILLE.items()
    }
    known = latency.count > 0
    return Quantiles(
        min=latency.min if known else None,
        mean=latency.mean if known else None,
        max=latency.max if known else None,
        **reported,
    )


def dispersion(histograms: Sequence[HdrHistogram]) -> float | None:
    """The mean square of all values over the square of their mean; None of no value, or if all are 0."""
    parts = [(h.get_total_count(), *_mean_and_deviation(h)) for h in histograms if h.get_total_count()]
    count = sum(number for number, _, _ in parts)
    mean = sum(number * mean for number, mean, _ in parts) / count if count else 0.0
    if not mean:
        return None
    square = sum(number * (mean_of**2 + deviation**2) for number, mean_of, deviation in parts) / count
    return float(square / mean**2)


def _mean_and_deviation(histogram: HdrHistogram) -> tuple[float, float]:
    """What its own `get_mean_value` and `get_stddev` say: those look at every bucket several times, for a third of a
    second, and few of them hold anything.
    """
    counts = np.frombuffer(histogram.counts, dtype=np.uint64)
    held = [(_middle(histogram, index), int(counts[index])) for index in np.flatnonzero(counts).tolist()]
    total = histogram.get_total_count()
    mean = float(sum(value * count for value, count in held)) / total
    squares = 0.0
    for value, count in held:
        squares += (value - mean) ** 2 * count
    return mean, math.sqrt(squares / total)


def _middle(histogram: HdrHistogram, index: int) -> int:
    """The value in the middle of a bucket's range."""
    lowest = int(histogram.get_value_from_index(index))
    return lowest + (int(histogram.get_highest_equivalent_value(lowest)) + 1 - lowest >> 1)
