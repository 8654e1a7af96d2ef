"""What a person, and Kneedle, read off the chart of a ramp: one sweep of users who only ever became more.

Neither is an estimate: a ramp gives no interval, and in it time and load cannot be separated. They stand beside a
saturation point so that a published figure that was read in this way can be put in its place.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

RISE = 1.05
"""What lies less than 5 % above is on the same height to the eye."""
AVERAGED_SHARE, AVERAGED_MIN = 0.1, 3
"""The eye smooths: over a tenth of the chart, over three steps at least."""
SENSITIVITY = 1.0
"""S of Kneedle, as its authors recommend where all points are there (Satopaa et al. 2011, section IV)."""
STEPS_MIN = 5
"""A shorter ramp has no shape."""


@dataclass(frozen=True)
class RampStretch:
    """A stretch of a ramp in which the number of users was the same; times in seconds since its beginning."""

    users: int
    from_s: float
    to_s: float
    per_s: float
    """Correct replies a second."""


@dataclass(frozen=True)
class ReadOff:
    """A point of a chart."""

    users: int
    per_s: float


def by_eye(steps: Sequence[RampStretch]) -> ReadOff | None:
    """The first step after which the moving average of the rate never rises by 5 % again; None of too few steps.

    Of a rate that still rises at the end it is the end, and of one that falls it is near the peak: that is what a
    reader of such a chart writes down, too.
    """
    if len(steps) < STEPS_MIN:
        return None
    smooth = moving_average([step.per_s for step in steps])
    place = next(place for place, value in enumerate(smooth) if max(smooth[place:]) <= RISE * value)
    return ReadOff(steps[place].users, smooth[place])


def moving_average(values: Sequence[float]) -> list[float]:
    """The mean around each value, over as many as the eye smooths.

    Over fewer at the beginning, so that a rise is not shifted, and at the end over those before it.
    """
    reach = _reach(len(values))
    return [fmean(values[place - min(reach, place) : place + min(reach, place) + 1]) for place in range(len(values))]


def _reach(number: int) -> int:
    """Over so many values to either side."""
    return max(AVERAGED_MIN, round(AVERAGED_SHARE * number)) // 2


def kneedle(steps: Sequence[RampStretch]) -> ReadOff | None:
    """The knee of the smoothed curve by Kneedle (Satopaa et al. 2011); None where it finds none.

    On axes from 0 to 1 it is the first local maximum of y - x from which the difference falls by more than S times the
    mean distance of the points before it rises above that maximum again.
    """
    if len(steps) < STEPS_MIN:
        return None
    smooth = moving_average([step.per_s for step in steps])
    across, up = _from_0_to_1([step.users for step in steps]), _from_0_to_1(smooth)
    if across is None or up is None:
        return None
    above = [y - x for x, y in zip(across, up, strict=True)]
    enough = SENSITIVITY * fmean(after - before for before, after in pairwise(across))
    for place in range(1, len(above) - 1 - _reach(len(above))):  # behind it the average only seems to bend
        if above[place - 1] < above[place] >= above[place + 1] and _falls_by(above[place:], enough):
            return ReadOff(steps[place].users, smooth[place])
    return None


def _falls_by(above: Sequence[float], enough: float) -> bool:
    """Whether the difference falls so far below its first value before it exceeds that."""
    for value in above[1:]:
        if value > above[0]:
            return False
        if value < above[0] - enough:
            return True
    return False


def _from_0_to_1(values: Sequence[float]) -> list[float] | None:
    low, high = min(values), max(values)
    return None if high <= low else [(value - low) / (high - low) for value in values]
