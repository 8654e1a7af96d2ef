"""Several comparisons at once: Holm's step-down procedure.

Source: Holm 1979, A simple sequentially rejective multiple test procedure; directions may be
claimed with it (Shaffer 1980). The interval that agrees with it is the one at alpha / m, cut off
at zero where only Holm rejects (Guilbaud 2008; Strassburger & Bretz 2008).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def holm_adjusted(p_values: ArrayLike) -> NDArray[np.float64]:
    """Adjusted p-values of the m comparisons along the last axis: real where <= alpha."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, axis=-1, kind="stable")
    factors = np.arange(p.shape[-1], 0, -1)
    steps = np.maximum.accumulate(np.take_along_axis(p, order, axis=-1) * factors, axis=-1)
    adjusted = np.empty_like(p)
    np.put_along_axis(adjusted, order, np.minimum(steps, 1.0), axis=-1)
    return adjusted


def holm_rejected(p_values: ArrayLike, alpha: float) -> NDArray[np.bool_]:
    """Which of the m comparisons along the last axis differ, with a family-wise error of alpha."""
    return holm_adjusted(p_values) <= alpha
