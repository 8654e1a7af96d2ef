"""Up to how many users the closed model keeps an objective: a crossing for each sweep, an interval over the sweeps."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from loadstone.judge.statistics.saturation_model import Estimate, typical


@dataclass(frozen=True)
class LevelLatency:
    """What one level did in one sweep."""

    per_s: float
    latency_s: float | None
    """The objective's quantile; None where it falls among the failures."""


@dataclass(frozen=True)
class Met:
    """Up to where an objective is met."""

    kind: Literal["limit", "met_always", "never", "unknown"]
    users: Estimate | None = None
    per_s: Estimate | None = None
    sweeps: int = 0


def met_up_to(sweeps: Sequence[Mapping[int, LevelLatency]], limit_s: float) -> Met:
    """Where the quantile crosses the limit, of each sweep by a straight line between two levels, both as logarithms.

    What most sweeps say of all levels holds: met always or never. Then the interval is that of the crossings.
    """
    found = [_crossing(sweep, limit_s) for sweep in sweeps if sweep]
    if not found:
        return Met("unknown")
    for kind in ("met_always", "never"):
        if 2 * sum(one == kind for one in found) > len(found):
            return Met(kind, sweeps=len(found))
    crossings = [one for one in found if not isinstance(one, str)]
    try:
        users, per_s = (typical([one[place] for one in crossings]) for place in (0, 1))
    except ValueError:
        return Met("unknown", sweeps=len(crossings))
    return Met("limit", users, per_s, len(crossings))


def _crossing(
    sweep: Mapping[int, LevelLatency], limit_s: float
) -> tuple[float, float] | Literal["met_always", "never"]:
    """Users and rate where the limit is reached: before the first level from which on most levels miss it."""
    levels = sorted(sweep)
    keeps = [_keeps(sweep[users], limit_s) for users in levels]
    # The place that contradicts the fewest levels, if they are met before it and missed from it on.
    place = min(range(len(levels) + 1), key=lambda at: sum(not one for one in keeps[:at]) + sum(keeps[at:]))
    if place == len(levels):
        return "met_always"
    if place == 0:
        return "never"
    a, b = levels[place - 1], levels[place]
    before, after = sweep[a], sweep[b]
    share = _share(before.latency_s, after.latency_s, limit_s)
    rates = [max(before.per_s, 1e-9), max(after.per_s, 1e-9)]
    return _between(a, b, share), _between(rates[0], rates[1], share)


def _keeps(one: LevelLatency, limit_s: float) -> bool:
    return one.latency_s is not None and one.latency_s <= limit_s


def _share(before_s: float | None, after_s: float | None, limit_s: float) -> float:
    """How far the limit lies between two quantiles, as logarithms: 0 at the first, 1 at the second."""
    if not before_s or not after_s or after_s <= before_s:
        return 0.0
    return min(1.0, max(0.0, math.log(limit_s / before_s) / math.log(after_s / before_s)))


def _between(a: float, b: float, share: float) -> float:
    return math.exp(math.log(a) + share * (math.log(b) - math.log(a)))
