"""The interval of a ratio over rounds: signed rank, widened by the effective number of rounds.

The signed-rank test at level alpha rejects where its z is beyond z(alpha). With tau rounds worth one, z spreads by
sqrt(tau): so it is tested at the level of z(alpha) sqrt(tau), and its p-value is that of z / sqrt(tau). Few rounds say
little about their tau, so z is stretched a little more (`stretch_of`). Both only ever widen: under no difference the
random order keeps the level of the exact test, whatever the machine does. Coverage: `bench/judge/replay_rounds.py`.

How many rounds are worth an independent one: in rounds the machine's slow noise is in both slices and leaves the ratio.
What remains may still follow the machine's state (string against JSON: autocorrelations of .18, .08, .20 at lags 1 to
3): the mean of n such ratios spreads like that of n / tau independent ones, tau = 1 + 2 (rho_1 + rho_2 + ...).

The estimate of Hodges & Lehmann depends on each d by its grade F(d) (its influence function: Hampel et al. 1986, 2.3),
so the autocorrelation that counts is that of the grades, here of the ranks; a stall moves a rank by little. For the
signed-rank test on dependent samples see Serfling 1968 and Dewan & Prakasa Rao 2005.
"""

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from loadstone.judge.statistics.signed_rank import Floats, signed_rank

FEWEST_EFFECTIVE = 4
"""Tau is at most so small a part of the rounds: fewer than four independent ones give no estimate of anything."""
LAGS_SHARE = 3
"""Autocorrelations are summed up to a third of the rounds: beyond, too few products are averaged."""
LAGS_MAX = 120
UNKNOWN_MEMORY = 30.0
"""Correction for memory that few rounds cannot show: n of them are taken for n / (1 + 30 / n).

Found by simulation together with the level of a look: with the recorded memory of the ratio, 5 % of the comparisons
of two that typically are alike found a difference with this, and 9 % without it.
"""


def stretch_of(rounds: int) -> float:
    """Return how much wider the interval of so many rounds is than they show a need for."""
    return math.sqrt(1 + UNKNOWN_MEMORY / rounds)


def grades(values: Floats) -> Floats:
    """Rank of each value among all, as a number between -1/2 and 1/2; values that tie share their middle rank."""
    _, place, times = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(times) - (times - 1) / 2
    return np.asarray(middle[place] / (len(values) + 1) - 0.5, dtype=np.float64)


def autocorrelations(values: Floats, lags: int) -> Floats:
    """At lags 0 to `lags`, each with the 1/n by which the mean of the sample itself lowers it (Kendall 1954)."""
    n = len(values)
    centred = values - values.mean()
    variance = float(centred @ centred)
    if not variance:
        return np.append(1.0, np.zeros(lags))
    products = np.array([centred[: n - lag] @ centred[lag:] for lag in range(lags + 1)])
    found = products / variance + 1 / n
    found[0] = 1.0
    return np.asarray(found, dtype=np.float64)


def rounds_in_one(log_ratios: Floats) -> float:
    """Tau >= 1: how many of the rounds are worth an independent one.

    After Geyer 1992, 3.3, the initial monotone sequence: sums of two neighbouring autocorrelations, as long as they
    are positive, none larger than the one before. Here the pairs begin at lag 1, so that nothing is added where the
    first one is not positive. Never below 1: a negative correlation would narrow the interval.
    Without memory sqrt(tau) is 1.10 on average for 32 rounds, 1.05 for 240: what the safety costs.
    """
    n = len(log_ratios)
    lags = min(n // LAGS_SHARE, LAGS_MAX) // 2 * 2
    if lags < 2:
        return 1.0
    found = autocorrelations(grades(log_ratios), lags)
    pairs = found[1::2] + found[2::2]
    ends = np.flatnonzero(pairs <= 0)
    positive = pairs[: ends[0]] if len(ends) else pairs
    tau = 1 + 2 * float(np.minimum.accumulate(positive).sum())
    return min(tau, max(1.0, n / FEWEST_EFFECTIVE))


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
