"""Whether figures in the order of time have a trend, and how far it goes.

Source: Mann 1945, Kendall 1975 (the test), Theil 1950, Sen 1968 (the slope).
"""

import math
from statistics import NormalDist

import numpy as np

from loadstone.judge.statistics.signed_rank import Floats

LEVEL = 0.01
POINTS_MAX = 256
"""All pairs of more points take time for nothing: neighbours are averaged before."""


def trend(values: Floats, level: float = LEVEL) -> float | None:
    """Return by how much the values rise (or fall, below 0) from the first to the last one; None where that may be
    chance.

    At least 8 values are needed for the normal approximation of the test.
    """
    points = _merged(np.asarray(values, dtype=np.float64))
    n = len(points)
    if n < 8:
        return None
    i, j = np.triu_indices(n, 1)
    score = float(np.sum(np.sign(points[j] - points[i])))
    z = (abs(score) - 1) / math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    if z <= NormalDist().inv_cdf(1 - level / 2):
        return None
    return float(np.median((points[j] - points[i]) / (j - i))) * (n - 1)


def _merged(values: Floats) -> Floats:
    each = math.ceil(len(values) / POINTS_MAX)
    if each <= 1:
        return values
    kept = len(values) // each * each
    return np.asarray(values[:kept].reshape(-1, each).mean(axis=1), dtype=np.float64)
