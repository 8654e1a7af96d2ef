"""Which effect a comparison can detect, and what it still needs.

The constants come from simulation (`bench/judge/detectable_effect.py`): the signed-rank interval on
normal log ratios, and on such with 6 % of the blocks off by 3 to 12 spreads.
"""

import math
from statistics import NormalDist

import numpy as np

from loadstone.experiment.plan.look_schedule import LOOKS
from loadstone.judge.statistics.signed_rank import Floats, critical_rank
from loadstone.text.message import Message, message

NORMAL_DIFFERENCE = 0.954
"""Median |d_i - d_j| of normal d over their standard deviation: sqrt(2) times the quartile .6745."""
EFFICIENCY = 1.1
"""Blocks that the ranks and the unknown spread cost beyond the normal formula."""
OUTLIER_SPREADS = 3.0
OUTLIER_SHARE = 0.03
"""From this share of outliers on, the table with 6 % of them is the nearer one."""

_ALPHAS = (0.05, 0.0157, 0.0157 / 3, 0.0157 / 15)
_NORMAL = (
    (1.246, 0.934, 0.718, 0.573, 0.464),
    (1.549, 1.159, 0.870, 0.680, 0.548),
    (1.337, 0.998, 0.774, 0.617),
    (1.751, 1.181, 0.901, 0.713),
)
_OUTLIERS = (
    (2.082, 1.238, 0.876, 0.675, 0.538),
    (2.484, 3.013, 1.125, 0.820, 0.642),
    (3.365, 1.366, 0.956, 0.732),
    (4.108, 3.618, 1.185, 0.868),
)
"""c for 80 % power: a row a level, a column a look; a row without the first look has no interval there."""


def robust_spread(log_ratios: Floats) -> Floats:
    """Standard deviation of d (last axis) by the median of all |d_i - d_j|, i < j: a stall hardly moves it.

    Source: the median version of Rousseeuw & Croux 1993. On 8 blocks it is 4 % too large on average.
    """
    i, j = np.triu_indices(log_ratios.shape[-1], 1)
    spread: Floats = np.median(np.abs(log_ratios[..., i] - log_ratios[..., j]), axis=-1) / NORMAL_DIFFERENCE
    return spread


def has_outliers(log_ratios: Floats, estimate: float, spread: float) -> bool:
    """Whether the blocks are closer to the table with 6 % outliers than to the normal one."""
    beyond = np.abs(log_ratios - estimate) > OUTLIER_SPREADS * spread
    return bool(np.mean(beyond) >= OUTLIER_SHARE)


def detectable_effect(blocks: int, spread: float, alpha: float, outliers: bool = False) -> float | None:
    """The log ratio c_B s that shows 8 times in 10 at level `alpha`.

    Interpolated over blocks and level, carried on as 1/sqrt(B) beyond 40 blocks. None where the
    blocks are too few for any interval.
    """
    if critical_rank(blocks, alpha) is None:
        return None
    table = _OUTLIERS if outliers else _NORMAL
    at_levels = [_log_constant(blocks, row) for row in table]
    levels = [_z(level) for level in _ALPHAS]
    z = _z(alpha)
    place = min(max(int(np.searchsorted(levels, z)), 1), len(levels) - 1)
    share = (z - levels[place - 1]) / (levels[place] - levels[place - 1])
    log_c = at_levels[place - 1] + share * (at_levels[place] - at_levels[place - 1])
    return math.exp(log_c) * spread


def forecast(blocks: int, spread: float, alpha: float, outliers: bool = False, unit: str = "block") -> Message | None:
    """What the next look, after so many blocks, would show if blocks go on to spread as those measured so far.

    None where so few blocks give no interval.
    """
    effect = detectable_effect(blocks, spread, alpha, outliers)
    return None if effect is None else message("forecast", blocks=blocks, spread=spread, effect=effect, unit=unit)


def blocks_needed(estimate: float, spread: float, margin: float, alpha: float) -> int:
    """B' = 1.1 (z s / h)^2: blocks until the interval leaves 0 or fits into the margin.

    h = max(|theta|, m - |theta|) is the nearer of the two goals; z is 2.42 at the level of a look.
    All but `alpha` are log ratios.
    """
    nearer = max(abs(estimate), margin - abs(estimate))
    return math.ceil(EFFICIENCY * (_z(alpha) * spread / nearer) ** 2)


def _z(alpha: float) -> float:
    """The two-sided normal quantile of a level."""
    return NormalDist().inv_cdf(1 - alpha / 2)


def _log_constant(blocks: int, row: tuple[float, ...]) -> float:
    """ln c at a number of blocks, between the looks of one row of the table."""
    nodes = LOOKS[-len(row) :]
    if blocks > nodes[-1]:
        return math.log(row[-1] * math.sqrt(nodes[-1] / blocks))
    if blocks < nodes[0]:
        return math.log(row[0] * nodes[0] / blocks)
    return float(np.interp(math.log(blocks), np.log(nodes), np.log(row)))
