"""Hodges-Lehmann estimate and exact signed-rank interval of log ratios, a row a comparison.

Sources: Hodges & Lehmann 1963 (estimate), Tukey's Walsh averages, and Hollander, Wolfe & Chicken,
Nonparametric Statistical Methods, 3.1-3.3 (interval by the exact distribution of Wilcoxon's T+).
Random order within a block makes the signs fair coins, so the level under no difference is exact
whatever the drift or the tails. All functions work along the last axis.
"""

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
INTERVAL_ALPHA = 0.05
"""Rows describe: each interval holds the typical figure 95 times in 100 for itself."""


class RankInterval(NamedTuple):
    """Estimate, interval and two-sided p-value, in the unit of the log ratios.

    `low` and `high` are None where the blocks are too few for the required level.
    """

    estimate: Floats
    low: Floats | None
    high: Floats | None
    p_value: Floats


@cache
def distribution(blocks: int) -> Floats:
    """P(T+ <= t) for t = 0 .. M = blocks (blocks + 1) / 2, exact, each sign a fair coin.

    By adding one rank after another: T+ holds rank r with probability one half.
    scipy has the p-value of a sample (`scipy.stats.wilcoxon`), not this distribution.
    """
    probability = np.ones(1)
    for rank in range(1, blocks + 1):
        without = np.pad(probability, (0, rank))
        probability = (without + np.pad(probability, (rank, 0))) / 2
    cumulative = np.cumsum(probability)
    cumulative.flags.writeable = False
    return cumulative


def critical_rank(blocks: int, alpha: float) -> int | None:
    """k of the interval [W(k), W(M + 1 - k)]: the largest with P(T+ <= k - 1) <= alpha / 2.

    None: even the widest interval, from the smallest to the largest Walsh average, misses the
    truth more often than alpha; more blocks are needed.
    """
    k = int(np.searchsorted(distribution(blocks), alpha / 2, side="right"))
    return k or None


def fewest_blocks(alpha: float) -> int:
    """The smallest number of blocks that gives an interval at all: 2 (1/2)^B <= alpha."""
    return int(np.ceil(1 - np.log2(alpha)))


@lru_cache(maxsize=16)
def _places(blocks: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """i and j of all pairs with i <= j: to write them down takes longer than the averages."""
    return np.triu_indices(blocks)


def walsh_averages(log_ratios: Floats) -> Floats:
    """All (d_i + d_j) / 2 with i <= j along the last axis."""
    i, j = _places(log_ratios.shape[-1])
    pairs: Floats = log_ratios[..., i] + log_ratios[..., j]
    pairs /= 2
    return pairs


def p_value(walsh: Floats, blocks: int, truth: float = 0.0) -> Floats:
    """Two-sided p of `truth`, at most alpha exactly where the interval at alpha excludes it.

    T+ is the number of Walsh averages above the truth. Ties count against the finding.
    """
    not_above = np.count_nonzero(walsh <= truth, axis=-1)
    not_below = np.count_nonzero(walsh >= truth, axis=-1)
    one_sided = distribution(blocks)[np.minimum(not_above, not_below)]
    return np.asarray(np.minimum(1.0, 2 * one_sided), dtype=np.float64)


def signed_rank(log_ratios: Floats, alpha: float) -> RankInterval:
    """Judge d = ln(B / A) of each block (last axis): [W(k), W(M + 1 - k)] around the median Walsh average."""
    log_ratios = np.asarray(log_ratios, dtype=np.float64)
    blocks = log_ratios.shape[-1]
    walsh = walsh_averages(log_ratios)
    count = walsh.shape[-1]
    middle = [(count - 1) // 2, count // 2]
    k = critical_rank(blocks, alpha)
    ends = [k - 1, count - k] if k else []
    walsh.partition(sorted({*middle, *ends}), axis=-1)
    return RankInterval(
        estimate=walsh[..., middle].mean(axis=-1),
        low=walsh[..., ends[0]] if k else None,
        high=walsh[..., ends[1]] if k else None,
        p_value=p_value(walsh, blocks),
    )


def typical_interval(figures: Sequence[float] | Floats) -> tuple[float, float] | None:
    """The 95 % interval of the typical figure of a trial, such as its rate; None from fewer than 6 trials.

    The signed-rank interval of the logarithms: trials are the replicates, since the seconds within one are not
    independent.
    """
    if not len(figures) or min(figures) <= 0:
        return None
    found = signed_rank(np.log(np.asarray(figures, dtype=np.float64)), INTERVAL_ALPHA)
    if found.low is None or found.high is None:
        return None
    return float(np.exp(found.low)), float(np.exp(found.high))
