"""Histograms of latencies in nanoseconds: read, added up, written, and the quantiles of what they hold.

Their text is HdrHistogram's V2 encoding, compressed, in base64. Only the buckets that hold anything are kept: adding a
thousand histograms takes a tenth of what it takes with HdrHistogram's library, whose histograms have every bucket. The
tests hold all of it against that library.
"""

import base64
import math
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from loadstone.drivers.outcome import Latency, Quantiles
from loadstone.safety.errors import DriveFailed
from loadstone.text.problem import Problem

Integers = NDArray[np.int64]
Numbers = NDArray[np.int64] | NDArray[np.float64]

PER_MILLE = {"p50": 500, "p90": 900, "p95": 950, "p99": 990, "p999": 999}
"""The quantiles that are printed, in thousandths."""
SAMPLES_BEYOND = 100
"""A quantile is reported only if at least so many operations lie beyond it."""
COUNT_MAX = 2**62 - 1
"""More than any load has; sums of these counts stay whole."""
NOTHING = Latency(count=0, min=0, mean=0.0, p50=0, p90=0, p95=0, p99=0, p999=0, max=0)

_SIGNIFICANT_DIGITS_MAX = 4
"""One more would take 50 MB a histogram, whatever is in it."""
_UNPACKED_MAX_BYTES = 16 * 1024 * 1024
"""A histogram of three significant digits has at most 0.3 MB."""
_HEADER = struct.Struct(">IIIIQQd")
"""Cookie, length of the counts, offset, digits, lowest and highest value, ratio."""
_ENVELOPE = struct.Struct(">II")
"""Cookie, length of what is packed."""
_COOKIE, _PACKED_COOKIE = 0x1C849303, 0x1C849304
_WORD = 0x10
_GROUP_BITS, _GROUP, _MORE = 7, 0x7F, 0x80
_GROUPS_MAX = 9
"""Largest number of groups of seven bits each: counts up to `COUNT_MAX`."""


@dataclass(frozen=True)
class BucketLayout:
    """Which latencies share a bucket. Buckets are numbered from 0, in the order of their latencies."""

    digits: int
    lowest: int
    highest: int

    @property
    def unit(self) -> int:
        """Return the number of bits of a value that do not count."""
        return self.lowest.bit_length() - 1

    @property
    def half_bits(self) -> int:
        """Below twice 2 to this each unit has a bucket of its own; from there on, so many share each power of two."""
        return (2 * int(10**self.digits) - 1).bit_length() - 1

    @property
    def buckets(self) -> int:
        """Return the number of buckets."""
        powers = max(0, self.highest.bit_length() - self.unit - self.half_bits - 1)
        return (powers + 2) << self.half_bits

    def lowest_in(self, places: Integers) -> Integers:
        """The lowest value of each of these buckets."""
        powers = self._powers(places)
        return (places - (powers << self.half_bits)) << (powers + self.unit)

    def sizes_of(self, places: Integers) -> Integers:
        """Return how many values each of these buckets stands for."""
        return np.int64(1) << (self._powers(places) + self.unit)

    def highest_in(self, places: Integers) -> Integers:
        """The highest value of each of these buckets."""
        return self.lowest_in(places) + self.sizes_of(places) - 1

    def places_of(self, values: Integers) -> Integers:
        """The bucket of each value."""
        units = values >> self.unit
        powers = np.array([max(0, unit.bit_length() - self.half_bits - 1) for unit in units.tolist()], np.int64)
        return (powers << self.half_bits) + (units >> powers)

    def with_other(self, other: "BucketLayout") -> "BucketLayout":
        """The layout of both together. Raises ValueError if their buckets differ."""
        if (self.digits, self.unit) != (other.digits, other.unit):
            raise Problem("histograms differ in their lowest value or their digits; record them alike")
        return replace(self, highest=max(self.highest, other.highest))

    def _powers(self, places: Integers) -> Integers:
        return np.asarray(np.maximum((places >> self.half_bits) - 1, 0), dtype=np.int64)


LATENCIES = BucketLayout(digits=3, lowest=1, highest=3_600_000_000_000)
"""That of the engine, in nanoseconds."""


@dataclass(frozen=True, eq=False)
class Histogram:
    """Number of times that each latency occurred, in nanoseconds."""

    layout: BucketLayout
    places: Integers
    """Numbers of the buckets that hold anything, ascending."""
    counts: Integers

    @property
    def total(self) -> int:
        """Return the number of latencies."""
        return int(self.counts.sum())

    @property
    def longest(self) -> int:
        """The highest value of the last bucket that holds anything; 0 if none does."""
        return int(self.layout.highest_in(self.places[-1:])[0]) if self.places.size else 0

    @classmethod
    def read(cls, text: str) -> "Histogram":
        """From HdrHistogram's V2 encoding, compressed, in base64. Raises ValueError if it cannot be read."""
        try:
            return cls._of_bytes(_unpacked(text))
        except (ValueError, struct.error, zlib.error) as error:
            raise Problem("a histogram cannot be read ({error})", error=error) from None

    @classmethod
    def _of_bytes(cls, data: bytes) -> "Histogram":
        cookie, length, _, digits, lowest, highest, _ = _HEADER.unpack_from(data)
        if cookie != _COOKIE | _WORD:
            raise Problem("it is not in the V2 encoding")
        if digits > _SIGNIFICANT_DIGITS_MAX:
            raise Problem(
                "it has more than {significant_digits_max} significant digits",
                significant_digits_max=_SIGNIFICANT_DIGITS_MAX,
            )
        if not (1 <= lowest <= highest < 2**63 and digits >= 1 and len(data) == _HEADER.size + length):
            raise Problem("its header is damaged")
        layout = BucketLayout(digits, lowest, highest)
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

    def values_of(self, ranks: Sequence[int]) -> list[int]:
        """The highest value that the bucket of each rank stands for. No rank is more than `total`."""
        places = self.places[place_of_rank(self.counts.cumsum(), np.array(ranks))]
        return [int(value) for value in self.layout.highest_in(places)]

    def value_at_percentile(self, percentile: float) -> int:
        """The value that HdrHistogram's own tools name: they round the rank to the nearest. There must be a value."""
        total = self.total
        [value] = self.values_of([int(min(percentile, 100.0) * total / 100 + 0.5)])
        return value

    def summary(self) -> Latency:
        """Each rank's value is the highest that its bucket stands for, as the engine has it."""
        total = self.total
        if not total:
            return NOTHING
        quantiles = self.values_of([rank_of(per_mille, total) for per_mille in PER_MILLE.values()])
        return Latency(
            count=total,
            min=int(self.layout.lowest_in(self.places[:1])[0]),
            mean=float(np.dot(self._middles().astype(np.float64), self.counts.astype(np.float64))) / total,
            max=self.longest,
            **dict(zip(PER_MILLE, quantiles, strict=True)),
        )

    def moments(self) -> tuple[int, int]:
        """Sum of all values and of their squares, each value as the middle of its bucket."""
        held = list(zip(self._middles().tolist(), self.counts.tolist(), strict=True))
        return sum(value * count for value, count in held), sum(value * value * count for value, count in held)

    def in_layout(self, layout: BucketLayout) -> "Histogram":
        """Return the latencies in other buckets: each is the lowest value of its present bucket.

        Raises:
            ValueError: one is too long for the layout.
        """
        if self.layout == layout:
            return self
        if self.longest > (most := int(layout.highest_in(np.array([layout.buckets - 1]))[0])):
            raise Problem("{longest} ns is more than the {most} ns of the others", longest=self.longest, most=most)
        if (self.layout.digits, self.layout.unit) == (layout.digits, layout.unit):
            return replace(self, layout=layout)
        places, first = np.unique(layout.places_of(self.layout.lowest_in(self.places)), return_index=True)
        return Histogram(layout, places, np.add.reduceat(self.counts, first) if first.size else self.counts)

    def _middles(self) -> Integers:
        return self.layout.lowest_in(self.places) + (self.layout.sizes_of(self.places) >> 1)


EMPTY = Histogram(LATENCIES, np.zeros(0, np.int64), np.zeros(0, np.int64))


def added(histograms: Iterable[Histogram]) -> Histogram:
    """All of their latencies together; an empty one of the engine's layout if there are none.

    Raises:
        ValueError: their buckets differ, or the counts are too large.
    """
    every = list(histograms)
    if not every:
        return EMPTY
    layout = common_layout(every)
    if sum(one.total for one in every) > COUNT_MAX:
        raise Problem("a histogram's counts are too large")
    counts = np.zeros(1 + max((int(one.places[-1]) for one in every if one.places.size), default=0), np.int64)
    for one in every:
        counts[one.places] += one.counts
    places = np.flatnonzero(counts)
    return Histogram(layout, places, counts[places])


def common_layout(histograms: Iterable[Histogram]) -> BucketLayout:
    """The layout of all of them together. Raises ValueError if their buckets differ."""
    return reduce(BucketLayout.with_other, (one.layout for one in histograms))


def decode(text: str) -> Histogram:
    """A histogram from what a driver or a run's folder has.

    Raises:
        DriveFailed: the text is not such a histogram.
    """
    try:
        return Histogram.read(text)
    except ValueError as error:
        raise DriveFailed("driver: {error}", error=error) from None


def merge(histograms: Iterable[Histogram]) -> Histogram:
    """All latencies of a run together, in buckets that are at least as fine and reach as far as those of the engine.

    Raises:
        DriveFailed: one holds values that the first one cannot, or the counts are too large.
    """
    every = list(histograms)
    first = every[0].layout if every else LATENCIES
    layout = BucketLayout(max(LATENCIES.digits, first.digits), LATENCIES.lowest, max(LATENCIES.highest, first.highest))
    try:
        return added(one.in_layout(layout) for one in every)
    except ValueError as error:
        raise DriveFailed("driver: histograms cannot be added up ({error})", error=error) from None


@overload
def rank_of(per_mille: float, total: int) -> int: ...
@overload
def rank_of(per_mille: float, total: Numbers) -> Numbers: ...
def rank_of(per_mille: float, total: Any) -> Any:
    """Rank (from 1) of a quantile among `total` values, rounded up; 0 of none.

    Of whole thousandths it is exact. Others are products of floats: what is a millionth above a whole number is that.
    """
    whole = round(per_mille)
    if abs(per_mille - whole) < _THOUSANDTH_OFF:
        return -(-total * whole // 1000)
    rank = np.ceil(per_mille / 1000 * total - _RANK_OFF)
    return int(rank) if isinstance(total, int) else rank


_THOUSANDTH_OFF = 1e-9
"""0.55 in thousandths is 550.0000000000001."""
_RANK_OFF = 1e-6


def place_of_rank(cumulated: Integers, rank: Numbers) -> NDArray[np.intp]:
    """The bucket that each rank falls into; the number of buckets where it falls among what failed.

    `cumulated`: how many values lie up to the end of each bucket, along the last axis; its others go with those of
    `rank`. The first rank is 1, and less than that is taken for it.
    """
    below = cumulated < np.maximum(rank, 1)[..., np.newaxis]
    return np.asarray(np.count_nonzero(below, axis=-1), dtype=np.intp)


def measurable(per_mille: int, operations: int) -> bool:
    """Whether at least `SAMPLES_BEYOND` of `operations` lie beyond the quantile."""
    return operations - rank_of(per_mille, operations) >= SAMPLES_BEYOND


def quantiles_ns(
    histogram: Histogram,
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
    recorded, lower = histogram.total, math.ceil(delayed * operations)
    ranks = {name: rank_of(per_mille, operations) for name, per_mille in PER_MILLE.items()}
    known = [name for name, rank in ranks.items() if measurable(PER_MILLE[name], operations) and 0 < rank <= recorded]
    found = histogram.values_of([ranks[name] - lower for name in known])
    shortened = found if greatest is None else [min(value, greatest) for value in found]
    values = dict(zip(known, shortened, strict=True))
    return Quantiles(
        min=least if recorded else None,
        mean=mean if recorded else None,
        max=greatest if recorded else None,
        **{name: values.get(name) for name in PER_MILLE},
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


def dispersion(histograms: Sequence[Histogram]) -> float | None:
    """The mean square of all values over the square of their mean; None of no value, or if all are 0."""
    sums, squares = (sum(moment) for moment in zip((0, 0), *(one.moments() for one in histograms), strict=True))
    return sum(one.total for one in histograms) * squares / sums**2 if sums else None


def _unpacked(text: str) -> bytes:
    """What is packed in the text. Raises ValueError if it takes more memory than a histogram of latencies."""
    data = base64.b64decode(text)
    cookie, length = _ENVELOPE.unpack_from(data)
    if cookie != _PACKED_COOKIE | _WORD or length != len(data) - _ENVELOPE.size:
        raise Problem("its header is damaged")
    unpacked = zlib.decompressobj().decompress(data[_ENVELOPE.size :], _UNPACKED_MAX_BYTES + 1)
    if len(unpacked) > _UNPACKED_MAX_BYTES:
        raise Problem("it unpacks to more than {unpacked_max_bytes} bytes", unpacked_max_bytes=_UNPACKED_MAX_BYTES)
    return unpacked


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
