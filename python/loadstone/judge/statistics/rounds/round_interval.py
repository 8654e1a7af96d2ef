"""The interval of a ratio over rounds: signed rank, widened by the effective number of rounds.

The signed-rank test at level alpha rejects where its z is beyond z(alpha). With tau rounds worth one, z spreads by
sqrt(tau): so it is tested at the level of z(alpha) sqrt(tau), and its p-value is that of z / sqrt(tau). Few rounds say
little about their tau, so z is stretched a little more (`stretch_of`). Both only ever widen: under no difference the
random order keeps the level of the exact test, whatever the machine does. Coverage: `bench/replay_rounds.py`.
"""

import math
from statistics import NormalDist
from typing import NamedTuple

from loadstone.judge.statistics.rounds.effective_rounds import rounds_in_one, stretch_of
from loadstone.judge.statistics.signed_rank import Floats, signed_rank


class RoundInterval(NamedTuple):
    """ln(B / A) of the typical round. `low` and `high` are None where the rounds are too few for the level."""

    estimate: float
    low: float | None
    high: float | None
    p_value: float
    rounds_in_one: float
    """Tau: so many rounds are worth an independent one."""


def round_interval(log_ratios: Floats, alpha: float) -> RoundInterval:
    """Judge d = ln(B / A) of each round, in the order of time."""
    tau = rounds_in_one(log_ratios)
    stretch = math.sqrt(tau) * stretch_of(len(log_ratios))
    found = signed_rank(log_ratios, stretched_level(alpha, stretch))
    estimate = float(found.estimate)
    if found.low is None or found.high is None:
        low, high = _beyond_all(log_ratios, estimate, alpha, stretch)
    else:
        low, high = float(found.low), float(found.high)
    return RoundInterval(
        estimate=estimate,
        low=low,
        high=high,
        p_value=stretched_level(float(found.p_value), 1 / stretch),
        rounds_in_one=tau,
    )


def stretched_level(alpha: float, stretch: float) -> float:
    """The level whose two-sided normal quantile is `stretch` times that of `alpha`."""
    return math.erfc(_z(alpha) * stretch / math.sqrt(2))


def _beyond_all(log_ratios: Floats, estimate: float, alpha: float, stretch: float) -> tuple[float | None, float | None]:
    """Where even the range of all rounds is too narrow once it is widened: that range, stretched in proportion to z."""
    widest = 2.0 ** (1 - len(log_ratios))
    if widest > alpha:
        return None, None
    factor = _z(alpha) * stretch / _z(widest)
    return (
        estimate + factor * (float(log_ratios.min()) - estimate),
        estimate + factor * (float(log_ratios.max()) - estimate),
    )


def _z(alpha: float) -> float:
    """The two-sided normal quantile of a level; 0 for a level of 1."""
    return -NormalDist().inv_cdf(alpha / 2) if alpha < 1 else 0.0
