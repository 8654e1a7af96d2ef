"""Does the outcome depend on which of the two ran first in its block?

If it does, something carries over from one trial to the next (a warm cache, a hot CPU, a log that
is still being written), and the randomisation no longer makes the signs fair coins.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from loadstone.judge.statistics.signed_rank import Floats
from loadstone.judge.statistics.two_sample import rank_sum_distribution

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
