"""The rate of one row of a table, measured in rounds: its figure and the interval for the time of the run.

The printed figure is the ratio of the totals (all correct replies over all measured seconds). The interval is for what
the row would have done, had it been measured during all the time of its run: its slices are a random sample of that
time, a place in each round that was drawn at random, so that the machine's slow noise is in the sample and not beside
it (Student's t on the slices). Another hour may be faster or slower as a whole, for all rows alike.

Coverage by simulation (`bench/judge/replay_rounds.py`): .94 or more, and .83 where almost nothing but rare stalls moves
a slice and there are fewer than 32 of them, so that half of the rows have none.
"""

import math
from typing import NamedTuple

import numpy as np

from loadstone.judge.statistics.distributions import student_t_quantile
from loadstone.judge.statistics.signed_rank import Floats

SLICES_MIN = 8
LEVEL = 0.05
_LEAST, _MOST = 1e-12, 1e21
"""Less or more than these nobody counts, be it seconds, nanoseconds or replies."""


class RowRate(NamedTuple):
    """Operations a second, with the 95 % interval. None: too few slices."""

    figure: float
    low: float | None
    high: float | None


def are_measured(done: Floats, seconds: Floats) -> bool:
    """Whether a rate can be made of these: a run's folder may hold any numbers."""
    return all(bool(np.all((each >= 0) & (each <= _MOST))) and each.sum() > _LEAST for each in (done, seconds))


def row_rate(done: Floats, seconds: Floats) -> RowRate:
    """The row's rate from its slices. Raises ValueError if it did nothing at all."""
    done, seconds = np.asarray(done, dtype=np.float64), np.asarray(seconds, dtype=np.float64)
    if not len(done) or not done.sum():
        raise ValueError("a row without a single operation has no rate")
    figure = float(done.sum() / seconds.sum())
    if len(done) < SLICES_MIN:
        return RowRate(figure, None, None)
    off = (done - figure * seconds) / (figure * seconds.mean())
    error = float(np.sqrt(np.sum(off**2) / (len(off) - 1) / len(off)))
    factor = math.exp(student_t_quantile(len(off) - 1, 1 - LEVEL / 2) * error)
    return RowRate(figure, figure / factor, figure * factor)
