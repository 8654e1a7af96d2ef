"""Histograms as drivers deliver them: read from their text, added up as counts, summed up and written.

Only the buckets that hold anything are kept. Adding a thousand of them takes a tenth of what it takes with the library,
whose histograms have every bucket.
"""

import base64
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loadstone.bounds.histogram_text import COUNT_MAX, unpacked
from loadstone.drive.outcome import Latency
from loadstone.language import said

Integers = NDArray[np.int64]

NOTHING = Latency(count=0, min=0, mean=0.0, p50=0, p90=0, p95=0, p99=0, p999=0, max=0)
PER_MILLE = {"p50": 500, "p90": 900, "p95": 950, "p99": 990, "p999": 999}

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
            raise ValueError(said("histograms differ in their lowest value or their digits; record them alike"))
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
            raise ValueError(said("a histogram cannot be read ({error})", error=error)) from None

    @classmethod
    def _of_bytes(cls, data: bytes) -> "Histogram":
        cookie, length, _, digits, lowest, highest, _ = _HEADER.unpack_from(data)
        if cookie != _COOKIE | _WORD:
            raise ValueError(said("it is not in the V2 encoding"))
        if not (1 <= lowest <= highest < 2**63 and digits >= 1 and len(data) == _HEADER.size + length):
            raise ValueError(said("its header is damaged"))
        layout = Layout(digits, lowest, highest)
        words = _words(np.frombuffer(data, np.uint8, offset=_HEADER.size))
        if words.size and int(words.min()) < -layout.buckets:
            raise ValueError(said("it has more buckets than its header says"))
        steps = np.where(words < 0, -words, 1)
        ends = steps.cumsum()
        held = words > 0
        places, counts = (ends - steps)[held], words[held]
        if places.size and int(places[-1]) >= layout.buckets:
            raise ValueError(said("it has more buckets than its header says"))
        if sum(counts.tolist()) > COUNT_MAX:
            raise ValueError(said("its counts are too large"))
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
        raise ValueError(said("a histogram's counts are too large"))
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
        raise ValueError(said("its last count is cut off"))
    begins = np.concatenate([[0], ends[:-1] + 1])
    lengths = ends - begins + 1
    if int(lengths.max()) > _GROUPS_MAX:
        raise ValueError(said("its counts are too large"))
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
