"""Histograms as drivers deliver them: read from their text, added up as counts, summed up and written.

Only the buckets that hold anything are kept. Adding a thousand of them takes a tenth of what it takes with the library,
whose histograms have every bucket.
"""

import base64
import math
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

from loadstone.drivers.outcome import Latency
from loadstone.run_folder.trial import Quantiles
from loadstone.safety.errors import DriveFailed
from loadstone.text.problem import Problem

_SIGNIFICANT_DIGITS_MAX = 4
"""One more would take 50 MB a histogram, whatever is in it."""
_DIGITS_FIELD = slice(12, 16)
_ENVELOPE_BYTES = 8
_UNPACKED_MAX_BYTES = 16 * 1024 * 1024
"""A histogram of three significant digits has at most 0.3 MB."""
COUNT_MAX = 2**62 - 1
"""More than any load has; sums of these counts stay whole."""


def decoded(encoded: str) -> HdrHistogram:
    """A histogram from its text (HdrHistogram V2, compressed, base64). Raises ValueError if it cannot be read."""
    try:
        unpacked(encoded)
        histogram = HdrHistogram.decode(encoded)
    except Exception as error:
        raise Problem("a histogram cannot be read ({name}: {error})", name=type(error).__name__, error=error) from None
    if not 0 <= histogram.get_total_count() <= COUNT_MAX:
        raise Problem("a histogram cannot be read (its counts are too large)")
    return histogram


def unpacked(encoded: str) -> bytes:
    """What is packed in the text. Raises ValueError if the histogram takes more memory than one of latencies; the
    library would give it all."""
    packed = base64.b64decode(encoded)[_ENVELOPE_BYTES:]
    data = zlib.decompressobj().decompress(packed, _UNPACKED_MAX_BYTES + 1)
    if len(data) > _UNPACKED_MAX_BYTES:
        raise Problem("it unpacks to more than {unpacked_max_bytes} bytes", unpacked_max_bytes=_UNPACKED_MAX_BYTES)
    if int.from_bytes(data[_DIGITS_FIELD]) > _SIGNIFICANT_DIGITS_MAX:
        raise Problem(
            "it has more than {significant_digits_max} significant digits",
            significant_digits_max=_SIGNIFICANT_DIGITS_MAX,
        )
    return data


Integers = NDArray[np.int64]

NOTHING = Latency(count=0, min=0, mean=0.0, p50=0, p90=0, p95=0, p99=0, p999=0, max=0)

_HEADER = struct.Struct(">IIIIQQd")
"""Cookie, length of the counts, offset, digits, lowest and highest value, ratio."""
_ENVELOPE = struct.Struct(">II")
_COOKIE, _PACKED_COOKIE = 0x1C849303, 0x1C849304
_WORD = 0x10
_GROUP_BITS, _GROUP, _MORE = 7, 0x7F, 0x80
_GROUPS_MAX = 9
"""Of seven bits each: counts up to `COUNT_MAX`."""


@dataclass(frozen=True)
class Layout:
    """Which latencies share a bucket."""

    digits: int
    lowest: int
    highest: int

    @property
    def unit(self) -> int:
        """So many bits of a value do not count."""
        return self.lowest.bit_length() - 1

    @property
    def half_bits(self) -> int:
        """Below twice 2 to this each unit has a bucket of its own; from there on, so many share each power of two."""
        return (2 * int(10**self.digits) - 1).bit_length() - 1

    @property
    def buckets(self) -> int:
        """How many there are."""
        powers = max(0, self.highest.bit_length() - self.unit - self.half_bits - 1)
        return (powers + 2) << self.half_bits

    def with_other(self, other: "Layout") -> "Layout":
        """The layout of both together. Raises ValueError if their buckets differ."""
        if (self.digits, self.unit) != (other.digits, other.unit):
            raise Problem("histograms differ in their lowest value or their digits; record them alike")
        return Layout(self.digits, self.lowest, max(self.highest, other.highest))


LATENCIES = Layout(digits=3, lowest=1, highest=3_600_000_000_000)
"""That of the engine, in nanoseconds."""


@dataclass(frozen=True, eq=False)
class Histogram:
    """How often each latency occurred, in nanoseconds."""

    layout: Layout
    places: Integers
    """Numbers of the buckets that hold anything, ascending."""
    counts: Integers

    @property
    def total(self) -> int:
        """How many latencies there are."""
        return int(self.counts.sum())

    @classmethod
    def read(cls, text: str) -> "Histogram":
        """From HdrHistogram's V2 encoding, compressed, in base64. Raises ValueError if it cannot be read."""
        try:
            return cls._of_bytes(unpacked(text))
        except (ValueError, struct.error, zlib.error) as error:
            raise Problem("a histogram cannot be read ({error})", error=error) from None

    @classmethod
    def _of_bytes(cls, data: bytes) -> "Histogram":
        cookie, length, _, digits, lowest, highest, _ = _HEADER.unpack_from(data)
        if cookie != _COOKIE | _WORD:
            raise Problem("it is not in the V2 encoding")
        if not (1 <= lowest <= highest < 2**63 and digits >= 1 and len(data) == _HEADER.size + length):
            raise Problem("its header is damaged")
        layout = Layout(digits, lowest, highest)
        words = _words(np.frombuffer(data, np.uint8, offset=_HEADER.size))
        if words.size and int(words.min()) < -layout.buckets:
            raise Problem("it has more buckets than its header says")
        steps = np.where(words < 0, -words, 1)
        ends = steps.cumsum()
        held = words > 0
        places, counts = (ends - steps)[held], words[held]
        if places.size and int(places[-1]) >= layout.buckets:
            raise Problem("it has more buckets than its header says")
        if sum(counts.tolist()) > COUNT_MAX:
            raise Problem("its counts are too large")
        return cls(layout, places, counts)

    def text(self) -> str:
        """As `read` takes it."""
        gaps = np.diff(self.places, prepend=-1) - 1
        words = np.stack([np.where(gaps == 1, 0, -gaps), self.counts], axis=1).ravel()
        written = np.stack([gaps > 0, np.ones_like(gaps, dtype=bool)], axis=1).ravel()
        counts = _bytes_of(words[written])
        header = _HEADER.pack(
            _COOKIE | _WORD, len(counts), 0, self.layout.digits, self.layout.lowest, self.layout.highest, 1.0
        )
        packed = zlib.compress(header + counts)
        return base64.b64encode(_ENVELOPE.pack(_PACKED_COOKIE | _WORD, len(packed)) + packed).decode()

    def summary(self) -> Latency:
        """Each rank's value is the highest that its bucket stands for, as the engine has it."""
        total = self.total
        if not total:
            return NOTHING
        unit, half = self.layout.unit, self.layout.half_bits
        powers = np.maximum((self.places >> half) - 1, 0)
        lowest = (self.places - (powers << half)) << (powers + unit)
        sizes = np.int64(1) << (powers + unit)
        highest, cumulated = lowest + sizes - 1, self.counts.cumsum()
        middles = (lowest + (sizes >> 1)).astype(np.float64)
        quantiles = {
            name: int(highest[np.searchsorted(cumulated, max(1, -(-total * per_mille // 1000)))])
            for name, per_mille in PER_MILLE.items()
        }
        mean = float(np.dot(middles, self.counts.astype(np.float64))) / total
        return Latency(count=total, min=int(lowest[0]), mean=mean, max=int(highest[-1]), **quantiles)


def added(histograms: Iterable[Histogram]) -> Histogram:
    """All of their latencies together; an empty one of the engine's layout if there are none.

    Raises:
        ValueError: their buckets differ, or the counts are too large.
    """
    every = list(histograms)
    if not every:
        return Histogram(LATENCIES, np.zeros(0, np.int64), np.zeros(0, np.int64))
    layout = every[0].layout
    for one in every[1:]:
        layout = layout.with_other(one.layout)
    if sum(one.total for one in every) > COUNT_MAX:
        raise Problem("a histogram's counts are too large")
    counts = np.zeros(1 + max((int(one.places[-1]) for one in every if one.places.size), default=0), np.int64)
    for one in every:
        counts[one.places] += one.counts
    places = np.flatnonzero(counts)
    return Histogram(layout, places, counts[places])


def _words(data: NDArray[np.uint8]) -> Integers:
    """Numbers out of groups of seven bits, the lowest first: a count, or less than 0 so many buckets without one."""
    if not data.size:
        return np.zeros(0, np.int64)
    ends = np.flatnonzero(data < _MORE)
    if not ends.size or ends[-1] != data.size - 1:
        raise Problem("its last count is cut off")
    begins = np.concatenate([[0], ends[:-1] + 1])
    lengths = ends - begins + 1
    if int(lengths.max()) > _GROUPS_MAX:
        raise Problem("its counts are too large")
    places = np.arange(data.size) - np.repeat(begins, lengths)
    groups = (data & _GROUP).astype(np.uint64) << (_GROUP_BITS * places).astype(np.uint64)
    folded = np.bitwise_or.reduceat(groups, begins)
    return (folded >> np.uint64(1)).astype(np.int64) ^ -(folded & np.uint64(1)).astype(np.int64)


def _bytes_of(words: Integers) -> bytes:
    """The reverse of `_words`."""
    folded = ((words << 1) ^ (words >> 63)).astype(np.uint64)
    shifts = (_GROUP_BITS * np.arange(_GROUPS_MAX)).astype(np.uint64)
    rest = folded[:, np.newaxis] >> shifts
    groups = (rest & np.uint64(_GROUP)).astype(np.uint8)
    groups[rest > _GROUP] |= _MORE
    written = rest > 0
    written[:, 0] = True
    return groups[written].tobytes()


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
        raise DriveFailed("driver: {error}", error=error) from None


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
            raise DriveFailed("driver: histograms cannot be added up ({error})", error=error) from None
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
