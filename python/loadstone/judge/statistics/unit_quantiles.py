"""A quantile of latencies with its 95 % interval, over the slices, seconds or trials that it was measured in.

Operations within a second are not independent: one stall makes thousands of them late, so that an interval over single
operations (the binomial one) holds the true P99 of a trial in 5 to 47 of 100 cases. The units are what varies. At a
latency x unit i has d_i = (operations beyond x) - (1 - p) (all its operations); x may be the p-quantile as long as the
mean of d is not significantly off 0, and the interval is all such x: the quantile of a sample of clusters by test
inversion (Woodruff 1952; Francisco and Fuller 1991). Histograms are added up, percentiles never averaged.

The test is Student's t on the units. A few units hold most of what is late, so d is skewed, and t alone misses above:
it is corrected by Hall's transformation (Hall 1992, 'On the removal of skewness by transformation'). Units that follow
each other share the machine's state: the variance grows by their autocorrelation (`rounds_in_one`) and by what few
units cannot show of it, and it is never less than that of independent operations. Coverage by simulation:
`bench/judge/replay_unit_quantiles.py`.

No interval contains a stall that came in none of the units. So rare stalls are a finding of their own (`settled`): how
many units held one, and the share of units that may, by the exact binomial interval (Clopper & Pearson 1934). The
quantile and its interval are of the other units. What more than `RARE` of the units hold is the condition's own, and
stays in the quantile.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from loadstone.drivers.histogram import Histogram, place_of_rank, rank_of
from loadstone.judge.statistics.distributions import beta_quantile, student_t_quantile
from loadstone.judge.statistics.histogram_arrays import Counts, quantiles_ns, table_of
from loadstone.judge.statistics.rounds.round_interval import rounds_in_one
from loadstone.judge.statistics.signed_rank import Floats

UNITS_MIN = 8
"""Fewer units give no interval, as slices of a row's rate (`row_rate`)."""
LEVEL = 0.05
MOST = 0.9
"""The units that together hold so large a share of what lies beyond a quantile are those that it rests on."""

ONE_UNIT_TIMES, ONE_UNIT_SHARE = 2.0, 0.75
"""J: one unit made a quantile that is twice as long as without it, if it holds three quarters of what lies beyond."""
ONE_OF_MIN = 3
"""Fewest units for this question: of two units one always holds most."""
STALL_TIMES = 5.0
"""J: replies are of a stall from so many times the quantile of a usual unit on. Without stalls hardly a unit of
`bench/judge/replay_unit_quantiles.py` reaches it."""
USUAL = 0.25
"""A usual unit's quantile is the lower quartile of the units' own: the median breaks down where half of them stall."""
STALL_OPERATIONS = 10
"""A stall makes operations late together: a few late ones are the tail of the condition itself."""
RARE = 0.15
"""Stalls in more than this share of the units are the condition's own."""
UNKNOWN_MEMORY = 6.0
"""Correction for memory that few units cannot show: their variance is taken 1 + 6 / n times. By simulation."""

CANDIDATES = 3
"""Only the units with most operations beyond a quantile can have made it."""


class UnitQuantile(NamedTuple):
    """A quantile in ns over all units; infinite where it falls among the operations that failed."""

    figure: float
    low: float | None
    """Ends of the interval; None: too few units."""
    high: float | None
    """May be infinite: with so few operations nothing bounds it from above."""
    without_one: float
    """The quantile without the one unit that moves it most downwards."""
    share_of_one: float
    """What share of the operations beyond the quantile that unit holds."""
    units_of_most: int
    """The fewest units that together hold nine tenths of the operations beyond the quantile."""
    units: int

    @property
    def is_of_one_unit(self) -> bool:
        """Whether a single unit made the quantile: a stall, and nothing that repeats."""
        alone = self.share_of_one >= ONE_UNIT_SHARE and self.figure >= ONE_UNIT_TIMES * self.without_one
        return alone and self.units >= ONE_OF_MIN


class StalledUnits(NamedTuple):
    """In how many units so many operations waited together that it would move a quantile."""

    units: int
    of: int
    low: float
    """Ends of the exact 95 % interval of the share of units that hold a stall."""
    high: float
    longest_ns: float | None
    """The longest reply in these units; None where no unit held a stall."""
    held: tuple[bool, ...]
    """For each unit, whether it held a stall."""

    @property
    def are_rare(self) -> bool:
        """Whether there are any, and so few that they are told apart from the quantile."""
        return 0 < self.units <= RARE * self.of


class MeasuredUnits:
    """The latencies of several units, a histogram each."""

    def __init__(self, latencies: Sequence[Histogram], failed: Sequence[int]) -> None:
        """`failed`: of each unit the operations that never got a latency: infinitely late.

        Raises ValueError without a single operation, or if the histograms differ in their buckets.
        """
        values, counts = table_of(latencies)
        self._set(values, np.cumsum(counts, axis=1), counts.sum(axis=1) + np.asarray(failed, dtype=np.int64))

    @classmethod
    def _of(cls, values: Floats, below: Counts, totals: Counts) -> "MeasuredUnits":
        units = cls.__new__(cls)
        units._set(values, below, totals)
        return units

    def _set(self, values: Floats, below: Counts, totals: Counts) -> None:
        """`below`: of each unit, a row, the operations up to each latency."""
        self._values, self._below, self._totals = values, below, totals
        self._replies = below[:, -1] if below.shape[1] else np.zeros(len(totals), np.int64)
        self._all_below, self._total = below.sum(axis=0), int(totals.sum())
        if not self._total:
            raise ValueError("units without a single operation have no quantile")

    @property
    def number(self) -> int:
        """Return how many units there are."""
        return len(self._totals)

    def settled(self, p: float) -> tuple[UnitQuantile, StalledUnits]:
        """The p-quantile of the units without a stall where stalls are rare, else of all units; and the stalls."""
        stalls = self.stalls(p)
        if not stalls.are_rare:
            return self.quantile(p), stalls
        return self.without(stalls.held).quantile(p, least_units=1), stalls

    def stalls(self, p: float) -> StalledUnits:
        """The units in which a stall moves the p-quantile.

        More than 1 - p of their operations, and at least `STALL_OPERATIONS`, took more than `STALL_TIMES` times as long
        as the p-quantile of a usual unit: a quarter of the units have a smaller one. What failed is no late reply.
        """
        counts = np.diff(self._below, axis=1, prepend=0)
        own = quantiles_ns(self._values, counts, self._totals - self._replies, p)
        limit = STALL_TIMES * float(np.quantile(own[self._totals > 0], USUAL, method="lower"))
        place = int(np.searchsorted(self._values, limit, side="right"))
        late = self._replies - (self._below[:, place - 1] if place else 0)
        held = (late >= STALL_OPERATIONS) & (late > (1 - p) * self._totals)
        number = int(held.sum()) if self.number >= UNITS_MIN else 0
        longest = float(self._values[np.flatnonzero(counts[held].sum(axis=0))[-1]]) if number else None
        low, high = share_interval(number, self.number)
        return StalledUnits(
            number, self.number, low, high, longest, tuple(held.tolist()) if number else (False,) * len(held)
        )

    def without(self, held: Sequence[bool]) -> "MeasuredUnits":
        """The units that `held` does not mark. Raises ValueError where none of them has an operation."""
        return MeasuredUnits._of(self._values, self._below[~np.asarray(held)], self._totals[~np.asarray(held)])

    def quantile(self, p: float, least_units: int = UNITS_MIN) -> UnitQuantile:
        """The p-quantile (0 < p < 1) of all units together, with its interval and what it rests on.

        From `least_units` on there is an interval: more units may have been measured than are left.
        """
        place = _place(p, self._all_below, self._total)
        low, high = self._ends(p, place) if self.number >= least_units else (None, None)
        late = self._totals - (self._below[:, place - 1] if place else 0)  # of the quantile's own bucket, too
        worst, without = self._without_one(p, place, late)
        shares = np.sort(late / late.sum())[::-1]
        most = int(np.searchsorted(np.cumsum(shares), MOST - 1e-9)) + 1
        share = float(late[worst] / late.sum())
        return UnitQuantile(self._value(place), low, high, self._value(without), share, most, self.number)

    def _without_one(self, p: float, place: int, late: Counts) -> tuple[int, int]:
        """The unit without which the quantile is smallest, and the quantile's place then."""
        found = (int(np.argmax(late)), place)
        for unit in np.argsort(-late, kind="stable")[:CANDIDATES].tolist():
            left = self._total - int(self._totals[unit])
            if left and (without := _place(p, self._all_below - self._below[unit], left)) < found[1]:
                found = unit, without
        return found

    def _value(self, place: int) -> float:
        return float(self._values[place]) if place < len(self._values) else math.inf

    def _ends(self, p: float, place: int) -> tuple[float, float]:
        """The smallest and the largest latency that the test does not reject, and the quantile itself."""
        units, totals = self.number, self._totals.astype(np.float64)[:, np.newaxis]
        off = totals - self._below - (1 - p) * totals
        mean = off.mean(axis=0)
        centred = off - mean
        least = totals.mean() * p * (1 - p)
        variance = np.maximum((centred**2).sum(axis=0) / (units - 1), least)
        skewness = (centred**3).mean(axis=0) / variance**1.5 * units**2 / ((units - 1) * (units - 2))
        tau = rounds_in_one(off[:, min(place, off.shape[1] - 1)])
        t = mean / np.sqrt(variance * tau * (1 + UNKNOWN_MEMORY / units) / units)
        root = math.sqrt(units)
        corrected = t + skewness * t**2 / 3 / root + skewness**2 * t**3 / 27 / units + skewness / 6 / root
        kept = np.flatnonzero(np.abs(corrected) <= student_t_quantile(units - 1, 1 - LEVEL / 2))
        first, last = (int(kept[0]), int(kept[-1]) + 1) if len(kept) else (place, place)
        return self._value(min(first, place)), self._value(max(last, place))


def share_interval(number: int, of: int) -> tuple[float, float]:
    """The exact 95 % interval of a share of which `number` of `of` were seen (Clopper & Pearson 1934)."""
    low = beta_quantile(number, of - number + 1, LEVEL / 2) if number else 0.0
    high = beta_quantile(number + 1, of - number, 1 - LEVEL / 2) if number < of else 1.0
    return low, high


def _place(p: float, below: Counts, total: int) -> int:
    """Index of the quantile's bucket; behind the last one where it falls among failures."""
    return int(place_of_rank(below, np.asarray(rank_of(1000 * p, total))))
