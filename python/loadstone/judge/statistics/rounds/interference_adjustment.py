"""What others on the machine add to the cost of a request, and the slices without it.

Random order gives a neighbour to both conditions of a pair alike, and yet the ratio of their costs moves: cold caches
and more switches cost a large request more than a small one. So ln(cost of B / cost of A) of each round is fitted as

    d = theta + gamma (x_a + x_b) / 2 + delta (x_b - x_a)

where x is the share of the machine's CPUs that nobody but the others used in the slice. gamma is by how much more B
suffers than A; theta is the ratio without others, to which every slice is extrapolated. The rule is exogenous: it is
the same for all slices, whatever they cost.

Both slopes are drawn towards none, as a normal prior of `SLOPE_SDS` does (ridge regression, Hoerl & Kennard 1970): a
calm run has no others to learn from and needs no correction, and under a neighbour who never pauses nothing tells what
it adds, which the interval then holds. Slices that a stall took are bounded in their weight (Huber 1964). Figures:
`scripts/bench cost-level`.
"""

import math
from typing import NamedTuple

import numpy as np

from loadstone.judge.statistics.effect import robust_spread
from loadstone.judge.statistics.rounds.slices import ROUNDS_MAX
from loadstone.judge.statistics.signed_rank import Floats

SLOPE_SDS = (0.07, 0.25)
"""Standard deviations of gamma and delta before anything is known: of nine ratios of strings, hashes, JSON and updates
beside busy loops on two CPUs, which used a third to four fifths of them, gamma was -.14 to .09."""
FEWEST = 8
"""Fewest rounds for which a slope is fitted."""
_PRIOR = np.diag(1 / np.square(SLOPE_SDS))
_HUBER = 1.345
_TURNS = 20
_LEAST = 1e-12
"""A smaller spread is none: the last digits differ."""


class InterferenceAdjustment(NamedTuple):
    """Amount (ln) by which each slice of A and of B was dearer than without others, and how uncertain that makes the
    ratio: two parts of a standard error, in ln."""

    a: Floats
    b: Floats
    noise: float
    """Error by the noise of the slices: equal conditions have it, too."""
    unknown: float
    """What slices cannot tell, by the prior: equal conditions suffer alike."""


def dearer_by_others(log_ratios: Floats, others_a: Floats, others_b: Floats) -> InterferenceAdjustment:
    """What others added to each slice.

    Args:
        log_ratios: ln(cost of B / cost of A) of each round.
        others_a: share of the machine's CPUs that others used in the slice of A, 0 to 1.
        others_b: the same of B.
    """
    nothing = np.zeros(len(log_ratios))
    if not len(log_ratios):
        return InterferenceAdjustment(nothing, nothing, 0.0, 0.0)
    shares = np.column_stack([(others_a + others_b) / 2, others_b - others_a])
    means = shares.mean(axis=0)
    if len(log_ratios) < FEWEST:
        return InterferenceAdjustment(nothing, nothing, 0.0, float(np.hypot(*(SLOPE_SDS * means))))
    together = math.ceil(len(log_ratios) / ROUNDS_MAX)
    slopes, information = _fit(_merged(shares - means, together), _merged(log_ratios, together))
    of_a, of_b = slopes[1] - slopes[0] / 2, slopes[1] + slopes[0] / 2
    reach = np.linalg.solve(information + _PRIOR, means)
    noise, unknown = (float(np.sqrt(reach @ part @ reach)) for part in (information, _PRIOR))
    return InterferenceAdjustment(of_a * others_a, of_b * others_b, noise, unknown)


def _merged(rounds: Floats, together: int) -> Floats:
    """Means of so many neighbouring rounds: the spread looks at every two of them."""
    kept = len(rounds) // together * together
    means: Floats = rounds[:kept].reshape(-1, together, *rounds.shape[1:]).mean(axis=1)
    return means


def _fit(shares: Floats, log_ratios: Floats) -> tuple[Floats, Floats]:
    """The two slopes, and what the rounds tell of them (their information), by weights that bound what one round can
    do."""
    middle = float(np.median(log_ratios))
    slopes: Floats = np.zeros(2)
    information: Floats = np.zeros((2, 2))
    for _ in range(_TURNS):
        left = log_ratios - middle - shares @ slopes
        spread = float(robust_spread(left))
        if spread < _LEAST:
            return slopes, information
        weights = np.minimum(1.0, _HUBER * spread / np.maximum(np.abs(left), 1e-12)) / spread**2
        middle += float(weights @ left / weights.sum())
        weighed = shares * weights[:, np.newaxis]
        before, information = slopes, np.asarray(weighed.T @ shares, dtype=np.float64)
        found = np.linalg.solve(information + _PRIOR, weighed.T @ (log_ratios - middle))
        slopes = np.asarray(found, dtype=np.float64)
        if np.allclose(before, slopes, atol=1e-5):
            break
    return slopes, information
