"""The rate of one row of a table, measured in rounds: its figure and the interval that holds slow drift.

The printed figure is the ratio of the totals (all correct replies over all measured seconds), and the interval beside
it belongs to that figure. The typical rate (the median slice) has an interval of its own; it does not feel the slices
that a neighbour ate. Both are about what the row would do over a long time on this machine: slices next to each other
are no independent samples of that (autocorrelation .57 at 20 rounds), so the interval comes from long batches of
them, carried over to the whole run as for a drift that forgets itself in `DRIFT_TAU_S` (see `two_sample`). It is far
wider than that of a ratio of two rows, from which the drift cancels: rows are never compared by their intervals.

Coverage by simulation, of at least .93 (`bench/replay_rounds.py`).
"""

import math
from typing import NamedTuple

import numpy as np

from loadstone.judge.statistics.rounds.pair_slices import NOTHING_DONE, log_rates
from loadstone.judge.statistics.signed_rank import Floats
from loadstone.judge.statistics.two_sample import drift_variance

DRIFT_TAU_S = 20.0
"""A rate's autocorrelations of .75 at 2 and .57 at 20 rounds of .254 s, without its white part: 17 s."""
BATCHES = 8
"""Batch means (Schmeiser 1982): few, so that each is long against the noise of single slices."""
ROUNDS_MIN = 2 * BATCHES
FACTOR_95 = 3.182
"""Student's t of .975 at 3 degrees of freedom: so few stretches of a run of a minute are independent."""


class Interval(NamedTuple):
    """A figure with its 95 % interval. None: too few rounds."""

    figure: float
    low: float | None
    high: float | None


class RowRate(NamedTuple):
    """Rates in operations a second."""

    goodput: Interval
    """Of the ratio of the totals: the printed figure."""
    typical: Interval
    """Of the median slice."""


def row_rate(done: Floats, seconds: Floats, begin_s: Floats) -> RowRate:
    """The row's rates from its slices in the order of time; `begin_s` are their starts on one clock.

    Raises ValueError if it did nothing at all.
    """
    done, seconds, begin_s = (np.asarray(values, dtype=np.float64) for values in (done, seconds, begin_s))
    if not len(done) or not done.sum():
        raise ValueError("a row without a single operation has no rate")
    goodput, typical = float(done.sum() / seconds.sum()), float(np.median(done / seconds))
    if len(done) < ROUNDS_MIN:
        return RowRate(Interval(goodput, None, None), Interval(typical, None, None))
    parts = np.array_split(np.arange(len(done)), BATCHES)
    starts_s = np.array([begin_s[part[0]] for part in parts])
    means = np.log([max(done[part].sum(), NOTHING_DONE) / seconds[part].sum() for part in parts])
    medians = np.array([np.median(log_rates(done[part], seconds[part])) for part in parts])
    return RowRate(_interval(goodput, means, starts_s), _interval(typical, medians, starts_s))


def _interval(figure: float, batches: Floats, starts_s: Floats) -> Interval:
    """The figure divided and multiplied by what its logarithm may be off."""
    variance = float(drift_variance(batches, starts_s, DRIFT_TAU_S, floor=0.0))
    factor = math.exp(FACTOR_95 * math.sqrt(variance))
    return Interval(figure, figure / factor, figure * factor)
