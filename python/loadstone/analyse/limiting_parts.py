"""Which part is the limit at the saturation point and beyond it, and how full each part was at three loads."""

from collections.abc import Mapping, Sequence
from math import log

from loadstone.analyse.bottleneck import bottleneck_of, typical_load
from loadstone.analyse.limiting_part import Bottleneck
from loadstone.analyse.saturation_answer import Limiting, PartShare
from loadstone.judge.statistics.saturation import TAIL_FROM
from loadstone.record.trial import TrialRecord

NEAR_LIMIT = 0.95
"""Rates from so much of the limit on show what the limit is."""


def limiting_levels(trials: Mapping[int, Sequence[TrialRecord]], point: float | None) -> Limiting | None:
    """Of the closed model: at twice the saturation point and beyond; where there is none, at the most users.

    At the point itself nothing need be full: some users wait there, and some servers, by chance. `trials` are those
    that were driven, by users.
    """
    levels = sorted(trials)
    if not levels:
        return None
    beyond = [users for users in levels if point is not None and users >= TAIL_FROM * point] or levels[-1:]
    knee = min(levels, key=lambda users: abs(log(users / point))) if point else levels[-1]
    found = bottleneck_of([trial for users in beyond for trial in trials[users]])
    shares = [
        _shares(trials[levels[0]]),
        _shares(trials[knee]),
        _shares([t for users in beyond for t in trials[users]]),
    ]
    return _limiting(found, shares, users=beyond[0], rate_per_s=None)


def limiting_rates(trials: Sequence[TrialRecord], limit_per_s: float | None) -> Limiting | None:
    """Of the open model: from nearly the limit on; where there is none, at the highest rates."""
    rated = sorted(
        ((one.saturation.rate_per_s or 0.0, one) for one in trials if one.saturation), key=lambda two: two[0]
    )
    if not rated:
        return None
    from_per_s = NEAR_LIMIT * limit_per_s if limit_per_s else rated[-1][0]
    near = [one for rate, one in rated if rate >= from_per_s] or [rated[-1][1]]
    knee = near if limit_per_s is None else [one for rate, one in rated if from_per_s <= rate <= limit_per_s] or near
    shares = [_shares([rated[0][1]]), _shares(knee), _shares(near)]
    return _limiting(bottleneck_of(near), shares, users=None, rate_per_s=from_per_s)


def _shares(trials: Sequence[TrialRecord]) -> Mapping[str, float]:
    load = typical_load(trials)
    return {} if load is None else load.shares


def _limiting(
    found: Bottleneck | None, shares: Sequence[Mapping[str, float]], *, users: int | None, rate_per_s: float | None
) -> Limiting | None:
    if found is None:
        return None
    unloaded, knee, beyond = shares
    names = sorted({name for one in shares for name in one}, key=lambda name: -beyond.get(name, 0.0))
    rows = [
        PartShare(part=name, unloaded=unloaded.get(name), knee=knee.get(name), beyond=beyond.get(name))
        for name in names
    ]
    runner_up = _runner_up(found, names)
    return Limiting(
        bottleneck=found,
        users=users,
        rate_per_s=rate_per_s,
        runner_up=runner_up,
        runner_up_share=None if runner_up is None else beyond.get(runner_up),
        shares=rows,
    )


def _runner_up(found: Bottleneck, names: Sequence[str]) -> str | None:
    """The fullest part that the line on the bottleneck does not name already."""
    return next((name for name in names if name not in found.named), None)
