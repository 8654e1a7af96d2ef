"""What the estimate over rounds does not notice: slices that one side loses, and work that was not done in total.

A neighbour eats one slice in twenty on a busy machine, by chance on either side. So other than whole trials (see
`drift_guard`), slices are counted as lost by their own spread, the two sides are compared as counts, and the ratio of
the totals is taken with its noise: it says little as long as few slices make it.
"""

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from loadstone.judge.statistics.drift_guard import STALL_RESIDUAL, stall_counts
from loadstone.judge.statistics.rounds.pair_slices import Slices
from loadstone.judge.statistics.signed_rank import Floats

LOST_SPREADS = 4.0
"""A round this many robust spreads off its estimate holds a lost slice: one in 16,000 of normal ones is so far off."""
UNEQUAL_BELOW = 0.01
"""The sides lose unequally many where chance does so less often."""
OPPOSED_LEVEL = 0.01
"""The total is opposed to the estimate where chance makes it so less often."""


class Total(NamedTuple):
    """ln of B's total rate over A's, and how far off chance may put it (at `OPPOSED_LEVEL`, one side)."""

    log_ratio: float
    noise: float


def lost_slices(
    log_ratios: Floats, estimate: float, spread: float, *, larger_is_faster: bool = True
) -> tuple[int, int]:
    """Slices that A lost, and that B lost: of a rate those that are too low, of a latency those that are too high."""
    beyond = max(STALL_RESIDUAL, LOST_SPREADS * spread)
    a, b = stall_counts(log_ratios, np.asarray(estimate), larger_is_faster=larger_is_faster, beyond=beyond)
    return int(a), int(b)


def lost_alike(lost_a: int, lost_b: int) -> bool:
    """Whether a fair coin may have dealt out the lost slices: the sign test, exact (Arbuthnot 1710)."""
    n, fewer = lost_a + lost_b, min(lost_a, lost_b)
    at_most = math.fsum(math.comb(n, k) / 2**n for k in range(fewer + 1))
    return 2 * at_most >= UNEQUAL_BELOW


def total_of(slices: Slices) -> Total:
    """The ratio of the totals, with the standard error of a ratio of sums (Cochran 1977, 6.4-6.5, in logarithms).

    Raises ValueError if one side did nothing at all.
    """
    log_ratio, parts = slices.total
    n = slices.rounds
    error = math.sqrt(n / (n - 1) * float(parts @ parts)) if n > 1 else math.inf
    return Total(log_ratio, NormalDist().inv_cdf(1 - OPPOSED_LEVEL) * error)


def total_allows_equivalence(total: Total, lost_a: int, lost_b: int, margin: float) -> bool:
    """Whether equivalence may be claimed: the totals within the margin (a log ratio), and losses by chance alone."""
    return abs(total.log_ratio) <= margin and lost_alike(lost_a, lost_b)
