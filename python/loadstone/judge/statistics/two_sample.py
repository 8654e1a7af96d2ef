"""Two samples that are not interleaved: two runs compared, and blocks by which of their trials ran first.

Within a run the blocks hold both conditions, so a slow drift of the machine is in both. Two runs have
no block in common: the drift between them is in the difference and in neither run's spread. So
the interval has two parts, added as independent errors are (by their squares).

1. Between single trials: the Hodges-Lehmann shift with the exact rank-sum interval. Sources: Hodges &
   Lehmann 1963; Moses 1953 for the interval; Mann & Whitney 1947 for the distribution; Hollander,
   Wolfe & Chicken, Nonparametric Statistical Methods, 4.1-4.3.
2. Between the runs: what a run's own trials, half a run or more apart, differ by, carried over to the
   mean of a whole run as for a drift that forgets itself in ten minutes (Ornstein-Uhlenbeck); at
   least 4 % a run. Ours, by simulation: `bench/judge/between_runs.py`, figures in `docs/proofs.md`.

A machine that is faster on one day for a reason that shows within neither run is not noticed by any of
this beyond those 4 %.

Within a run the same rank sums show whether the outcome depends on which of two conditions ran first in its block: then
something carries over from one trial to the next (a warm cache, a hot CPU, a log that is still being written), and
the randomisation no longer makes the signs fair coins.
"""

import math
from collections.abc import Sequence
from functools import cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from loadstone.judge.statistics.signed_rank import Floats

DRIFT_TAU_S = 600.0
"""Time in which a drift forgets itself."""
DRIFT_FLOOR = 0.04
"""Two runs of the same thing differ by at least so much (standard deviation of one run, a log ratio)."""
SHORTEST_S = 1.0
"""Trials are taken to be at least so far apart: shorter ones say nothing about a drift."""
FAR_QUANTILE = 0.75
"""Quantile of the differences of distant trials: high enough to notice a machine with two speeds, low enough for
stalls."""
_FAR_NORMAL = math.sqrt(2) * NormalDist().inv_cdf((1 + FAR_QUANTILE) / 2)
"""Quantile `FAR_QUANTILE` of |x - y| for normal x and y with a standard deviation of one."""
EXACT_PRODUCT = 2500
"""Up to so many pairs of trials the rank-sum distribution is exact, beyond that normal."""
P_SMALLEST = 1e-12
POWER_80 = NormalDist().inv_cdf(0.8)


class TwoSampleInterval(NamedTuple):
    """ln(B / A) of the typical trials; `low` and `high` are None where the trials are too few for the level."""

    estimate: float
    low: float | None
    high: float | None
    p_value: float
    detectable: float | None
    """The log ratio that such trials would show 8 times in 10."""


@cache
def rank_sum_distribution(trials_a: int, trials_b: int) -> Floats:
    """P(U <= u) for u = 0 .. trials_a trials_b when both samples come from one distribution, exact.

    The largest of all is one of A's with probability a / (a + b), and then adds b to U. scipy has the
    p-value of a sample (`scipy.stats.mannwhitneyu`), not this distribution.
    """
    rows: list[Floats] = [np.ones(1)] * (trials_b + 1)
    for a in range(1, trials_a + 1):
        row = [np.ones(1)]
        for b in range(1, trials_b + 1):
            probability = np.zeros(a * b + 1)
            probability[b:] += rows[b] * (a / (a + b))
            probability[: a * (b - 1) + 1] += row[-1] * (b / (a + b))
            row.append(probability)
        rows = row
    cumulative = np.cumsum(rows[trials_b])
    cumulative.flags.writeable = False
    return cumulative


def critical_rank(trials_a: int, trials_b: int, alpha: float) -> int | None:
    """k of the interval [D(k), D(ab + 1 - k)] of the ordered differences: the largest with P(U <= k - 1) <= alpha / 2.

    None: even the widest interval misses the truth more often than alpha.
    """
    product = trials_a * trials_b
    if product <= EXACT_PRODUCT:
        k = int(np.searchsorted(rank_sum_distribution(trials_a, trials_b), alpha / 2, side="right"))
    else:
        spread = math.sqrt(product * (trials_a + trials_b + 1) / 12)
        k = math.floor(product / 2 + 0.5 + NormalDist().inv_cdf(alpha / 2) * spread)
    return k if k > 0 else None


def rank_sum(logs_a: Floats, logs_b: Floats, alpha: float) -> tuple[Floats, Floats | None, Floats | None]:
    """Shift from A to B with its interval, along the last axis; nothing about what happened between the samples."""
    differences = (logs_b[..., :, np.newaxis] - logs_a[..., np.newaxis, :]).reshape(*logs_a.shape[:-1], -1)
    count = differences.shape[-1]
    middle = [(count - 1) // 2, count // 2]
    k = critical_rank(logs_a.shape[-1], logs_b.shape[-1], alpha)
    ends = [k - 1, count - k] if k else []
    differences.partition(sorted({*middle, *ends}), axis=-1)
    estimate = differences[..., middle].mean(axis=-1)
    return estimate, (differences[..., ends[0]] if k else None), (differences[..., ends[1]] if k else None)


def drift_variance(logs: Floats, times_s: Floats) -> Floats:
    """Variance of a whole run's level against that of another day, from the run's own trials (last axis).

    `times_s` are the starts of the trials, ascending; a pause between them counts as what it is. The drift forgets
    itself in `DRIFT_TAU_S`; its standard deviation is `DRIFT_FLOOR` or more. The mean of a drift has the mean of its
    correlations as variance, and two of its values differ by what their correlation leaves. The spread of single
    trials is in it too, which makes the interval wider than it had to be, and never narrower.
    """
    gaps_s = np.maximum(np.abs(times_s[:, np.newaxis] - times_s), SHORTEST_S * ~np.eye(len(times_s), dtype=bool))
    kept = np.exp(-gaps_s / DRIFT_TAU_S)
    i, j = np.triu_indices(len(times_s), max(1, len(times_s) // 2))
    far = np.quantile(np.abs(logs[..., i] - logs[..., j]), FAR_QUANTILE, axis=-1) / _FAR_NORMAL
    of_the_mean, between_far = np.mean(kept), np.mean(1 - kept[i, j])
    return np.asarray(np.maximum(DRIFT_FLOOR**2, far**2 * of_the_mean / between_far), dtype=np.float64)


def between_interval(
    logs_a: Floats, logs_b: Floats, drift: Floats, alpha: float
) -> tuple[Floats, Floats | None, Floats | None]:
    """Shift from A to B with the interval that counts the drift between the runs: `drift`, both variances added."""
    estimate, low, high = rank_sum(logs_a, logs_b, alpha)
    if low is None or high is None:
        return estimate, None, None
    between = NormalDist().inv_cdf(1 - alpha / 2) * np.sqrt(drift)
    return estimate, estimate - np.hypot(estimate - low, between), estimate + np.hypot(high - estimate, between)


def two_sample(
    logs_a: Floats, times_a_s: Floats, logs_b: Floats, times_b_s: Floats, alpha: float
) -> TwoSampleInterval | None:
    """Compare the log figures of one run's trials with those of another's, each in the order of its times.

    None with fewer than two trials on a side. The p-value is the smallest level whose interval leaves out 0.
    """
    if min(len(logs_a), len(logs_b)) < 2:
        return None
    drift = drift_variance(logs_a, times_a_s) + drift_variance(logs_b, times_b_s)
    estimate, low, high = between_interval(logs_a, logs_b, drift, alpha)
    if low is None or high is None:
        return TwoSampleInterval(float(estimate), None, None, 1.0, None)
    more = 1 + POWER_80 / NormalDist().inv_cdf(1 - alpha / 2)
    return TwoSampleInterval(
        estimate=float(estimate),
        low=float(low),
        high=float(high),
        p_value=_p_value(logs_a, logs_b, drift),
        detectable=float(high - low) / 2 * more,
    )


def _p_value(logs_a: Floats, logs_b: Floats, drift: Floats) -> float:
    """The smallest level whose interval leaves out 0, by bisection of its logarithm; 1 if none does."""
    inside, outside = math.log(P_SMALLEST), 0.0
    if not _leaves_out_zero(logs_a, logs_b, drift, 1 - 1e-9):
        return 1.0
    while outside - inside > 1e-3:
        middle = (inside + outside) / 2
        if _leaves_out_zero(logs_a, logs_b, drift, math.exp(middle)):
            outside = middle
        else:
            inside = middle
    return math.exp(outside)


def _leaves_out_zero(logs_a: Floats, logs_b: Floats, drift: Floats, alpha: float) -> bool:
    _, low, high = between_interval(logs_a, logs_b, drift, alpha)
    return low is not None and high is not None and bool((low > 0) | (high < 0))


WARN_BELOW = 0.01


class OrderEffect(NamedTuple):
    """`shift` is the median of ln(B / A) with A first, less that with B first."""

    p_value: float
    shift: float
    warn: bool


def order_effect(log_ratios: Floats, a_first: Sequence[bool]) -> OrderEffect | None:
    """Compare blocks with A before B to those with B before A (Mann & Whitney 1947, exact; ties count against it).

    None where one of the two orders has not happened.
    """
    first = np.asarray(a_first, dtype=bool)
    d = np.asarray(log_ratios, dtype=np.float64)
    if first.all() or not first.any():
        return None
    differences = d[first][:, np.newaxis] - d[~first]
    fewer = min(int(np.count_nonzero(differences <= 0)), int(np.count_nonzero(differences >= 0)))
    one_sided = float(rank_sum_distribution(len(differences), differences.shape[1])[fewer])
    p_value = min(1.0, 2 * one_sided)
    return OrderEffect(p_value, float(np.median(d[first]) - np.median(d[~first])), p_value < WARN_BELOW)
