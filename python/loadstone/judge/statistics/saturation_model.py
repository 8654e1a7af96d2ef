"""What the saturation estimates take, and what they give back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from loadstone.judge.statistics.signed_rank import signed_rank
from loadstone.message import Message, message
from loadstone.plan.looks import FIXED_ALPHA

ERRORS_MAX = 0.01
"""From this share of wrong or missing replies on a level says nothing about capacity."""


@dataclass(frozen=True)
class Probe:
    """One trial of the closed model, at one number of users."""

    users: int
    goodput_per_s: float
    response_s: float
    """Mean response time of correct replies."""
    error_share: float = 0.0
    generator_limit: Message | str | None = None
    """Why the generator could not have made more load; None while it could."""


Sweep = tuple[Probe, ...]
"""Every level once, in the order in which they ran."""


@dataclass(frozen=True)
class Estimate:
    """A figure with its interval."""

    value: float
    low: float
    high: float
    level: float
    """0.95 holds 95 times in 100."""

    @property
    def figures(self) -> list[float]:
        """For a message: itself, and the ends of its interval."""
        return [self.value, self.low, self.high]


Kind = Literal["plateau", "peak", "limit", "at_least", "none"]


@dataclass(frozen=True)
class Saturation:
    """Where the load stops to pay.

    plateau: throughput levels off; `users` is the saturation point N* = X_max (R_0 + Z), `per_s` X_max.
    peak: throughput falls again; both are those of the peak. limit: `per_s` is the highest rate of the open
    model that keeps its objective. at_least: only a bound is known: the load ended, or the time.
    none: nothing may be said; the message has the reason.
    """

    kind: Kind
    message: Message
    per_s: Estimate | None = None
    users: Estimate | None = None
    at_least_per_s: float | None = None
    """What the best level typically did, where the end was not found."""
    method: Literal["", "plateau", "usl", "log-quadratic", "bisection"] = ""
    repeats: int = 0
    """Independent estimates behind the interval: sweeps, or blocks of the open model."""


def typical(values: Sequence[float], alpha: float = FIXED_ALPHA) -> Estimate:
    """One estimate a sweep -> Hodges-Lehmann estimate and exact signed-rank interval, on the log scale.

    Raises ValueError if there are too few of them for the level, or one is not above zero.
    """
    if not all(value > 0 for value in values):
        raise ValueError("estimates must be above zero")
    found = signed_rank(np.log(np.asarray(values, dtype=np.float64)), alpha)
    if found.low is None or found.high is None:
        raise ValueError(f"{len(values)} estimates give no interval at level {alpha}")
    low, middle, high = (float(np.exp(end)) for end in (found.low, found.estimate, found.high))
    return Estimate(middle, low, high, 1 - alpha)


def no_point(why: Message) -> Saturation:
    """Nothing may be said, and why."""
    return Saturation("none", message("saturation_none", why=why))


def at_least(per_s: float, why: Message) -> Saturation:
    """What may be said when load or time ended before the system's capacity was found."""
    if per_s <= 0:
        return no_point(why)
    return Saturation("at_least", message("saturation_at_least", per_s=per_s, why=why), at_least_per_s=per_s)
