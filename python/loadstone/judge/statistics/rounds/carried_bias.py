"""How much of a difference between conditions may be due to what carries over from one slice into the next.

The check on all slices (`carry_over.py`) is slow to warn: it has false alarms in 1 % of the runs, and only a quarter of
the slices follow their own condition. A difference may be claimed long before. So a claim is checked by itself: what
makes it must not be that slices follow others. The null is the same, that of the orders drawn again.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from loadstone.judge.statistics.rounds.carry_over import (
    DRAWN_AT_ONCE,
    FOLLOWERS_MIN,
    REDRAWN,
    Labels,
    contrast,
    drawn_orders,
    follows,
    must_be_rounds,
    residuals_of,
    sides_of,
)
from loadstone.judge.statistics.rounds.effective_rounds import grades
from loadstone.judge.statistics.signed_rank import Floats

WAITS_BELOW = 0.15
"""What carries over is no explanation where chance alone would speak as much for it more often than so."""
_SIGNS = (1.0, -1.0)
"""What slows the beginning of a slice lowers its rate, and raises its second half against its first."""


class Bias(NamedTuple):
    """What carries over, as a part of ln(B / A)."""

    log_ratio: float
    p_value: float
    """How often chance alone would speak as much for the claim."""

    def explains(self, low: float, high: float) -> bool:
        """Whether it may be all that there is to a difference whose interval is this one, without 0 in it."""
        nearer, size = (low, self.log_ratio) if low >= 0 else (-high, -self.log_ratio)
        return self.p_value < WAITS_BELOW and size >= nearer


def carried_bias(
    conditions: Sequence[Sequence[int]],
    statistics: Sequence[Sequence[Sequence[float]]],
    a: int,
    b: int,
    *,
    claim: float | None,
    seed: int = 0,
) -> Bias | None:
    """What carries over, for conditions `a` and `b`; see `weighted_bias`."""
    return weighted_bias(conditions, statistics, {a: -1.0, b: 1.0}, claim=claim, seed=seed)


def weighted_bias(
    conditions: Sequence[Sequence[int]],
    statistics: Sequence[Sequence[Sequence[float]]],
    weights: Mapping[int, float],
    *,
    claim: float | None,
    seed: int = 0,
) -> Bias | None:
    """What carries over, for conditions with these weights: their slices after others against those after their own.

    `conditions` as for `carry_over`; of `statistics` the first are ln of the rates, and a second one, if there is one,
    ln of the second halves' over the first halves'. `claim` has the sign that the weighted sum is said to have; None:
    nothing is said of it. None where too few slices follow their own condition. Raises ValueError if a block is not
    made of whole rounds.
    """
    labels = [np.asarray(block, dtype=np.int8) for block in conditions if len(block)]
    if not labels:
        return None
    count = 1 + max(int(block.max()) for block in labels)
    must_be_rounds(labels, [len(block) for block in statistics[0] if len(block)], count)
    actual, before = np.concatenate(labels), np.concatenate([follows(block) for block in labels])
    sides = [sides_of(actual, before, condition) for condition in weights]
    if any(min(own.sum(), other.sum()) < FOLLOWERS_MIN for own, other in sides):
        return None
    residuals = [residuals_of(labels, one, count, not number) for number, one in enumerate(statistics)]
    moved = [
        (np.median(residuals[0][other]) - np.median(residuals[0][own])) * other.sum() / (own.sum() + other.sum())
        for own, other in sides
    ]
    found, null = _sums(labels, actual, before, [grades(one) for one in residuals], weights, seed)
    sign = np.sign(found if claim is None else claim)
    beyond = (1 if claim is not None else 2) * np.count_nonzero(sign * null >= sign * found)
    log_ratio = float(sum(weight * one for weight, one in zip(weights.values(), moved, strict=True)))
    return Bias(log_ratio, min(1.0, float((1 + beyond) / (1 + len(null)))))


def _sums(
    labels: Sequence[Labels],
    actual: Labels,
    before: Labels,
    scores: Sequence[Floats],
    weights: Mapping[int, float],
    seed: int,
) -> tuple[float, Floats]:
    """All statistics together, each in units of its spread over the drawn orders: as it is, and of each drawn order."""
    rng = np.random.default_rng(seed)
    count = 1 + int(actual.max())
    parts: list[list[Floats]] = [[] for _ in scores]
    for _ in range(0, REDRAWN, DRAWN_AT_ONCE):
        drawn = [drawn_orders(len(block), count, DRAWN_AT_ONCE, rng) for block in labels]
        drawn_before = np.concatenate([follows(block) for block in drawn], axis=1)
        orders = np.concatenate(drawn, axis=1)
        for part, one in zip(parts, scores, strict=True):
            part.append(_lead(orders, drawn_before, one, weights))
    null = [np.concatenate(part) for part in parts]
    scales = [sign / max(float(one.std()), np.finfo(np.float64).tiny) for sign, one in zip(_SIGNS, null, strict=False)]
    found = [float(_lead(actual, before, one, weights)) for one in scores]
    total = sum(scale * one for scale, one in zip(scales, found, strict=True))
    drawn_totals = np.sum([scale * one for scale, one in zip(scales, null, strict=True)], axis=0)
    return total, np.asarray(drawn_totals, dtype=np.float64)


def _lead(labels: Labels, before: Labels, scores: Floats, weights: Mapping[int, float]) -> NDArray[np.float64]:
    """The weighted sum of the conditions' contrasts (last axis)."""
    found = [weight * contrast(labels, before, scores, condition) for condition, weight in weights.items()]
    return np.asarray(np.sum(found, axis=0), dtype=np.float64)
