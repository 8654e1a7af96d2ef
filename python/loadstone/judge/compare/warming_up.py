"""Whether a condition was still warming up: by all of its trials, against their own noise."""

import math
from collections.abc import Sequence

import numpy as np

from loadstone.judge.statistics.signed_rank import signed_rank
from loadstone.judge.statistics.trend import LEVEL, trend
from loadstone.run_folder.trial import TrialRecord

RISE_MIN = math.log(1.10)
"""J: a rise of less than a tenth is no warm-up worth a word."""
TRIALS_MIN = 8
INTERVALS_MIN = 6
"""Fewer intervals have no thirds worth comparing."""


def rise_within(trials: Sequence[TrialRecord]) -> float | None:
    """Return the log ratio by which the rate rises from the first to the last third of each trial; None where it does
    not.

    The lower end of the 99 % signed-rank interval over the trials must lie above zero, and the rise be a tenth at
    least.
    """
    rises = [rise for trial in trials if (rise := _rise(trial)) is not None]
    if len(rises) < TRIALS_MIN:
        return None
    ranks = signed_rank(np.asarray(rises, dtype=np.float64), LEVEL)
    estimate = float(ranks.estimate)
    return estimate if ranks.low is not None and ranks.low > 0 and estimate > RISE_MIN else None


def rise_over(trials: Sequence[TrialRecord]) -> float | None:
    """Return the log ratio by which the trials' rates rise from the first to the last one, in time; None where they do
    not."""
    in_time = sorted(trials, key=lambda trial: trial.started_unix_ns)
    rates = [trial.goodput_per_s for trial in in_time]
    if len(rates) < TRIALS_MIN or min(rates) <= 0:
        return None
    rise = trend(np.log(np.asarray(rates, dtype=np.float64)))
    return rise if rise is not None and rise > RISE_MIN else None


def _rise(trial: TrialRecord) -> float | None:
    """ln of the last third's rate over the first third's, of one trial."""
    points = [point for point in trial.facts.series if point.duration_s > 0]
    if len(points) < INTERVALS_MIN:
        return None
    third = len(points) // 3
    first, last = (
        sum(p.completed for p in part) / sum(p.duration_s for p in part) for part in (points[:third], points[-third:])
    )
    return math.log(last / first) if first > 0 and last > 0 else None
