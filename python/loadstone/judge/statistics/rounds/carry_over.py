"""Does a slice depend on which condition had the slice before it?

If it does, something carries over (a file that is still being written, a collection, a cold cache): the conditions
are no longer measured apart, and longer slices are needed. The rate of the slices that follow another condition is
compared with that of the slices that follow their own.

The null is the randomisation itself (Fisher 1935): the slices stay as they were, the order of each round is drawn
again. So the level holds under any drift and any stalls. Slow noise is taken off by a running median first (Tukey
1977), else it would hide what carries over; ranks keep stalls from deciding.

That check has false alarms in 1 % of the runs, and only a quarter of the slices follow their own condition, so it is
slow to warn, and a difference may be claimed long before. So a claim is checked by itself (`weighted_bias`): what makes
it must not be that slices follow others. The null is the same, that of the orders drawn again.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from loadstone.judge.statistics.rounds.round_interval import grades
from loadstone.judge.statistics.signed_rank import Floats

CARRY_ALPHA = 0.01
"""False alarms of a run, however often it is checked."""
WINDOW = 9
"""Slices of the running median: the rate of a machine holds for about so long, and one follower hardly moves it."""
REDRAWN = 2000
REDRAWN_BEYOND = 10
"""At a small level more orders are drawn, so that about so many lie beyond it; not where the first `REDRAWN` show that
the p-value is so many times the level."""
DRAWN_AT_ONCE = 500
"""Orders held in memory together."""
FOLLOWERS_MIN = 5
"""Fewer slices after its own condition (or after another one) say nothing of a condition."""
CLAIM_FOLLOWERS_MIN = 2
"""As many are enough to doubt a claim: if three of four slices of a condition are struck, the others stick out."""
STRUCK_OF = 3
"""Most conditions among which one that leaves something behind strikes more of another one's slices than a
Hodges-Lehmann estimate bears (29 %): 75 % of two, 44 % of three; of four 31 %, of six 19 %."""
_NONE = -1

Labels = NDArray[np.int8]


class CarryOver(NamedTuple):
    """Whether the predecessor matters, and how much. `shifts` are log ratios.

    A shift is the typical rate of a condition's slices that follow another condition, against those that follow
    its own; None where there are too few of either.
    """

    p_value: float
    shifts: tuple[float | None, ...]
    alpha: float
    """The level of this check."""

    @property
    def warn(self) -> bool:
        """Whether it is more than chance."""
        return self.p_value < self.alpha

    @property
    def largest(self) -> float:
        """The shift of the condition that has the largest one, 0 if none is known."""
        return max((shift for shift in self.shifts if shift is not None), key=abs, default=0.0)


def carry_over(
    conditions: Sequence[Sequence[int]],
    figures: Sequence[Sequence[float]],
    *,
    checks: int = 1,
    drifting: bool = True,
    seed: int = 0,
) -> CarryOver | None:
    """Test the slices of a run, one entry a block of rounds: what a block begins with has no predecessor.

    `conditions` holds 0 .. K - 1 for each slice in the order of time, each once in K neighbours (a round); `figures`
    the ln of its rate, or, with `drifting` off, the ln of its second half's rate over its first half's. `checks` is
    how often the run is checked: the level of each is `CARRY_ALPHA` / `checks`. None where too few slices follow
    their own condition. Raises ValueError if a block is not made of whole rounds.
    """
    labels = [np.asarray(block, dtype=np.int8) for block in conditions]
    count = 1 + max((int(block.max()) for block in labels if len(block)), default=_NONE)
    must_be_rounds(labels, [len(block) for block in figures], count)
    before = np.concatenate([follows(block) for block in labels]) if labels else np.zeros(0, np.int8)
    actual = np.concatenate(labels) if labels else before
    sides = [sides_of(actual, before, condition) for condition in range(count)]
    known = [bool(min(own.sum(), other.sum()) >= FOLLOWERS_MIN) for own, other in sides]
    if not any(known):
        return None
    residuals = residuals_of(labels, figures, count, drifting)
    alpha = CARRY_ALPHA / checks
    p_value = _p_value(labels, actual, before, grades(residuals), np.flatnonzero(known), alpha, seed)
    shifts = tuple(
        float(np.median(residuals[other]) - np.median(residuals[own])) if enough else None
        for (own, other), enough in zip(sides, known, strict=True)
    )
    return CarryOver(p_value, shifts, alpha)


def must_be_rounds(labels: Sequence[Labels], lengths: Sequence[int], count: int) -> None:
    if [len(block) for block in labels] != list(lengths):
        raise ValueError("conditions and figures differ in their number of slices: give one figure a slice")
    for number, block in enumerate(labels):
        whole = len(block) % count == 0 and (np.sort(block.reshape(-1, count)) == np.arange(count)).all()
        if not whole:
            raise ValueError(f"block {number}: each of the {count} conditions once a round, and whole rounds only")


def follows(labels: Labels) -> Labels:
    """The condition of the slice before each (last axis); none before the first."""
    moved = np.full_like(labels, _NONE)
    moved[..., 1:] = labels[..., :-1]
    return moved


def sides_of(labels: Labels, before: Labels, condition: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The condition's slices that follow its own, and those that follow another one."""
    is_its = labels == condition
    follows_own = before == condition
    return is_its & follows_own, is_its & ~follows_own & (before != _NONE)


def residuals_of(labels: Sequence[Labels], figures: Sequence[Sequence[float]], count: int, drifting: bool) -> Floats:
    """What is left of the figures without the conditions' own medians, and without the machine's slow noise."""
    values = [np.asarray(block, dtype=np.float64) for block in figures]
    actual, every = np.concatenate(labels), np.concatenate(values)
    medians = np.array([np.median(every[actual == condition]) for condition in range(count)])
    level = [block - medians[own] for block, own in zip(values, labels, strict=True)]
    return np.concatenate([block - _running_median(block) if drifting else block for block in level])


def _running_median(values: Floats) -> Floats:
    """The median of the WINDOW values around each; at the ends of those that there are."""
    padded = np.pad(values, WINDOW // 2, constant_values=np.nan)
    found: Floats = np.nanmedian(np.lib.stride_tricks.sliding_window_view(padded, WINDOW), axis=-1)
    return found


def _p_value(
    labels: Sequence[Labels],
    actual: Labels,
    before: Labels,
    scores: Floats,
    known: NDArray[np.intp],
    alpha: float,
    seed: int,
) -> float:
    """Return the p-value of the largest contrast, each in units of its own spread over the drawn orders."""
    rng = np.random.default_rng(seed)
    count = 1 + int(actual.max())
    found = _contrasts(actual, before, scores, known)
    null = np.zeros((len(found), 0))
    draws = REDRAWN
    while True:
        parts = [null]
        for _ in range(null.shape[1], draws, DRAWN_AT_ONCE):
            drawn = [drawn_orders(len(block), count, DRAWN_AT_ONCE, rng) for block in labels]
            redrawn_before = np.concatenate([follows(block) for block in drawn], axis=1)
            parts.append(_contrasts(np.concatenate(drawn, axis=1), redrawn_before, scores, known))
        null = np.concatenate(parts, axis=1)
        p_value = _share_beyond(null, found)
        enough = int(REDRAWN_BEYOND / alpha)
        if null.shape[1] >= enough or p_value > REDRAWN_BEYOND * alpha:
            return p_value
        draws = enough


def _share_beyond(null: Floats, found: Floats) -> float:
    """The p-value by these drawn orders (last axis)."""
    spreads = np.maximum(null.std(axis=1), np.finfo(np.float64).tiny)
    worst = np.max(np.abs(null) / spreads[:, np.newaxis], axis=0)
    beyond = int(np.count_nonzero(worst >= np.max(np.abs(found) / spreads) - 1e-12))
    return float((1 + beyond) / (1 + null.shape[1]))


def drawn_orders(slices: int, count: int, draws: int, rng: np.random.Generator) -> Labels:
    """Return `draws` fresh orders of a block's rounds, a row each."""
    dice = rng.random((draws, slices // count, count), dtype=np.float32)
    return dice.argsort(axis=-1).astype(np.int8).reshape(draws, slices)


def _contrasts(labels: Labels, before: Labels, scores: Floats, known: NDArray[np.intp]) -> Floats:
    """Those of the known conditions, and their mean: what all have in common shows there first."""
    each = np.array([contrast(labels, before, scores, condition) for condition in known])
    return np.concatenate([each, each.mean(axis=0, keepdims=True)])


def contrast(labels: Labels, before: Labels, scores: Floats, condition: int) -> Floats:
    """Mean score of the condition's slices after another one, less that after its own (last axis)."""
    own, other = sides_of(labels, before, condition)
    return np.asarray(_mean(other, scores) - _mean(own, scores), dtype=np.float64)


def _mean(chosen: NDArray[np.bool_], scores: Floats) -> Floats:
    """The mean score of the chosen slices of each row. No product of matrices: see `permutation.SwapTest`."""
    sums = np.einsum("...s,s->...", chosen, scores)
    return np.asarray(sums / np.maximum(chosen.sum(axis=-1), 1), dtype=np.float64)


WAITS_BELOW = 0.5
"""What carries over is no explanation where chance alone would speak as much for it more often than so. Where nothing
carries over, some 9 of 100 claims after 20 rounds wait for the next look, and 5 after 32; with .15 fewer do, and of
claims that are only carried over 3 of 100 were made after 20 rounds."""
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


def may_be_carried(bias: Bias | None, low: float, high: float, conditions: int) -> bool:
    """Whether a difference with this interval, without 0 in it, may be nothing but what carries over.

    `bias`: None where too few slices follow their own condition; of `conditions` up to `STRUCK_OF` a claim waits then.
    """
    return conditions <= STRUCK_OF if bias is None else bias.explains(low, high)


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
    nothing is said of it. None where too few slices (`CLAIM_FOLLOWERS_MIN`) follow their own condition. Raises
    ValueError if a block is not made of whole rounds.
    """
    labels = [np.asarray(block, dtype=np.int8) for block in conditions if len(block)]
    if not labels:
        return None
    count = 1 + max(int(block.max()) for block in labels)
    must_be_rounds(labels, [len(block) for block in statistics[0] if len(block)], count)
    actual, before = np.concatenate(labels), np.concatenate([follows(block) for block in labels])
    sides = [sides_of(actual, before, condition) for condition in weights]
    if any(min(own.sum(), other.sum()) < CLAIM_FOLLOWERS_MIN for own, other in sides):
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
