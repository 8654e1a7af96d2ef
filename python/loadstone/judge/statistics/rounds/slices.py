"""The slices of two or more conditions in the same rounds, as arrays.

A round holds each condition once, in random order, so that the machine's slow noise is the same for all of them and
leaves a sum whose weights add up to nothing. Where the noise of each condition is the same, such a sum lies on either
side of the effect by a fair coin, as a pair's does. Level and power: `bench/judge/effects_level.py`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from loadstone.judge.statistics.effect import robust_spread
from loadstone.judge.statistics.signed_rank import Floats

NOTHING_DONE = 0.5
"""A slice without a single operation counts as half of one: a ratio needs more than zero, on either side alike."""
ROUNDS_MAX = 1000
"""The exact distribution and all Walsh averages of more rounds take seconds: neighbours are merged before."""

_FIELDS = ("done_a", "seconds_a", "done_b", "seconds_b")


class Slices(Protocol):
    """Rounds of slices, each with one log ratio: that of a pair of conditions, or of more with weights."""

    @property
    def rounds(self) -> int: ...
    @property
    def log_ratios(self) -> Floats: ...
    @property
    def typical(self) -> tuple[float, float]: ...
    @property
    def total(self) -> tuple[float, Floats]: ...
    @property
    def pairing(self) -> float | None: ...
    def merged(self, rounds: int) -> Self: ...
    @classmethod
    def joined(cls, blocks: Sequence[Self]) -> Self: ...


@dataclass(frozen=True)
class PairSlices:
    """What A and B did in each round (one entry a round, in the order of time), and how long their slices were.

    Raises ValueError if the arrays differ in length, a count is negative or a slice took no time.
    """

    done_a: Floats
    seconds_a: Floats
    done_b: Floats
    seconds_b: Floats

    def __post_init__(self) -> None:
        for name in _FIELDS:
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        shapes = {self.done_a.shape, self.seconds_a.shape, self.done_b.shape, self.seconds_b.shape}
        if len(shapes) > 1 or self.done_a.ndim != 1:
            raise ValueError(f"slices of {shapes}: give one entry a round for A and for B")
        for done, seconds, name in ((self.done_a, self.seconds_a, "A"), (self.done_b, self.seconds_b, "B")):
            must_give_rates(done, seconds, name)

    @property
    def rounds(self) -> int:
        """Return how many rounds there are."""
        return len(self.done_a)

    @property
    def log_ratios(self) -> Floats:
        """ln of B's rate over A's rate, of each round."""
        return log_rates(self.done_b, self.seconds_b) - log_rates(self.done_a, self.seconds_a)

    @property
    def typical(self) -> tuple[float, float]:
        """The rates of the typical slices of A and of B: their medians, in operations a second."""
        return float(np.median(self.done_a / self.seconds_a)), float(np.median(self.done_b / self.seconds_b))

    @property
    def total(self) -> tuple[float, Floats]:
        """ln of B's total rate over A's, and how much of it each round makes.

        Raises ValueError if one side did nothing at all.
        """
        done_a, seconds_a, done_b, seconds_b = (getattr(self, name).sum() for name in _FIELDS)
        if not done_a or not done_b:
            raise ValueError("a side without a single operation has no ratio")
        log_ratio = math.log(done_b / seconds_b) - math.log(done_a / seconds_a)
        parts: Floats = (self.done_b / done_b - self.seconds_b / seconds_b) - (
            self.done_a / done_a - self.seconds_a / seconds_a
        )
        return log_ratio, parts

    @property
    def pairing(self) -> float | None:
        """The spread of a round's ratio over that of two slices which meet the machine independently: below 1 taking
        turns took noise away, at 1 the noise was shorter than a slice. None of one round, or without any noise."""
        if self.rounds < 2:
            return None
        some = self.merged(math.ceil(self.rounds / ROUNDS_MAX))
        sides = (log_rates(some.done_a, some.seconds_a), log_rates(some.done_b, some.seconds_b))
        alone = math.hypot(*(float(robust_spread(side)) for side in sides))
        return float(robust_spread(some.log_ratios)) / alone if alone else None

    def merged(self, rounds: int) -> "PairSlices":
        """Merge each `rounds` neighbouring rounds into one; the last ones are left out if they do not fill one."""
        kept = self.rounds // rounds * rounds
        sums = (
            values[:kept].reshape(-1, rounds).sum(axis=1)
            for values in (self.done_a, self.seconds_a, self.done_b, self.seconds_b)
        )
        return PairSlices(*sums)

    @classmethod
    def joined(cls, blocks: Sequence["PairSlices"]) -> "PairSlices":
        """Those of several blocks, one after the other; at least one."""
        return cls(*(np.concatenate([getattr(block, name) for block in blocks]) for name in _FIELDS))


def must_give_rates(done: Floats, seconds: Floats, name: str) -> None:
    """Raises ValueError naming the first slice whose count is negative, or that took no time."""
    bad = np.flatnonzero(~(np.isfinite(done) & (done >= 0) & np.isfinite(seconds) & (seconds > 0)))
    if len(bad):
        at = bad[0]
        raise ValueError(f"{name}, round {at}: {done[at]} operations in {seconds[at]} s give no rate")


def log_rates(done: Floats, seconds: Floats) -> Floats:
    """ln of the operations a second of each slice."""
    rates: Floats = np.log(np.maximum(done, NOTHING_DONE) / seconds)
    return rates


@dataclass(frozen=True)
class ContrastSlices:
    """What each condition did in each round (a row a condition, an entry a round), how long its slices were, and how
    much the ln of its rate counts.

    Raises ValueError if the arrays differ in shape, a count is negative or a slice took no time.
    """

    done: Floats
    seconds: Floats
    weights: Floats

    def __post_init__(self) -> None:
        for name in ("done", "seconds", "weights"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        if self.done.ndim != 2 or self.done.shape != self.seconds.shape or len(self.weights) != len(self.done):
            shapes = f"{self.done.shape}, {self.seconds.shape}"
            raise ValueError(f"slices of {shapes} and {len(self.weights)} weights: give a row and a weight a condition")
        for number, (done, seconds) in enumerate(zip(self.done, self.seconds, strict=True)):
            must_give_rates(done, seconds, f"condition {number}")

    @property
    def rounds(self) -> int:
        """Return how many rounds there are."""
        return int(self.done.shape[1])

    @property
    def logs(self) -> Floats:
        """ln of the rate of each condition (a row) in each round."""
        return log_rates(self.done, self.seconds)

    @property
    def log_ratios(self) -> Floats:
        """The weighted sum of the ln of the rates, of each round."""
        found: Floats = self.weights @ self.logs
        return found

    @property
    def typical(self) -> tuple[float, float]:
        """The rates of the typical slices on either side: what counts negatively, and what counts positively.

        Of several conditions the geometric mean of their medians.
        """
        medians = np.log(np.median(self.done / self.seconds, axis=1).clip(np.finfo(np.float64).tiny))
        sides = (np.maximum(-self.weights, 0), np.maximum(self.weights, 0))
        a, b = (float(np.exp(side @ medians / side.sum())) if side.any() else 0.0 for side in sides)
        return a, b

    @property
    def total(self) -> tuple[float, Floats]:
        """The weighted sum of the ln of the conditions' total rates, and how much of it each round makes."""
        done, seconds = self.done.sum(axis=1), self.seconds.sum(axis=1)
        if not done.all():
            raise ValueError("a side without a single operation has no ratio")
        parts: Floats = self.weights @ (self.done / done[:, None] - self.seconds / seconds[:, None])
        return float(self.weights @ np.log(done / seconds)), parts

    @property
    def pairing(self) -> None:
        """Return None: an effect has no pairing, since it is a sum over pairs."""
        return None

    def merged(self, rounds: int) -> "ContrastSlices":
        """Merge each `rounds` neighbouring rounds into one; the last ones are left out if they do not fill one."""
        kept = self.rounds // rounds * rounds
        shape = (len(self.weights), -1, rounds)
        done, seconds = (values[:, :kept].reshape(shape).sum(axis=2) for values in (self.done, self.seconds))
        return ContrastSlices(done, seconds, self.weights)

    @classmethod
    def joined(cls, blocks: Sequence["ContrastSlices"]) -> "ContrastSlices":
        """Those of several blocks, one after the other; at least one, all with the same weights."""
        done, seconds = (
            np.concatenate([getattr(block, name) for block in blocks], axis=1) for name in ("done", "seconds")
        )
        return cls(done, seconds, blocks[0].weights)
