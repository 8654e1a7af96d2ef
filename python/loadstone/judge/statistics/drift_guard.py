"""What the Hodges-Lehmann estimate does not notice: rare stalls, and work that was not done in total.

The limits are ours, from simulation: a block residual beyond .2 is a stall; equivalence needs a
total ratio inside the margin, stall counts that differ by less than 2, and 12 blocks.
"""

import numpy as np
from numpy.typing import NDArray

from loadstone.judge.statistics.signed_rank import Floats

STALL_RESIDUAL = 0.2
STALL_DIFFERENCE = 2
EQUIVALENCE_BLOCKS = 12


def stall_counts(
    log_ratios: Floats, estimate: Floats, *, larger_is_faster: bool, beyond: float = STALL_RESIDUAL
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Blocks (last axis) in which A stalled, and in which B did: ln(B / A) off its estimate by more than `beyond`."""
    residual = log_ratios - np.asarray(estimate)[..., np.newaxis]
    high = np.count_nonzero(residual > beyond, axis=-1)
    low = np.count_nonzero(residual < -beyond, axis=-1)
    return (np.asarray(high), np.asarray(low)) if larger_is_faster else (np.asarray(low), np.asarray(high))


def total_log_ratio(work_a: Floats, work_b: Floats) -> Floats:
    """ln of B's total over A's total along the last axis: other than an estimate, it feels every stall."""
    totals: Floats = np.log(np.sum(work_b, axis=-1) / np.sum(work_a, axis=-1))
    return totals


def passes_drift_guard(
    total: Floats, stalls_a: NDArray[np.int64], stalls_b: NDArray[np.int64], blocks: int, margin: float
) -> NDArray[np.bool_]:
    """Whether equivalence may be claimed. `total` and `margin` are log ratios."""
    alike = np.abs(stalls_a - stalls_b) < STALL_DIFFERENCE
    return np.asarray((np.abs(total) <= margin) & alike & (blocks >= EQUIVALENCE_BLOCKS))
