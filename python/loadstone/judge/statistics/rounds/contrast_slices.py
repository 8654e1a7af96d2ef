"""The slices of several conditions in the same rounds, and a weighted sum of their log rates: an effect of a factorial.

A round holds each condition once, in random order, so that the machine's slow noise is the same for all of them and
leaves a sum whose weights add up to nothing. Where the noise of each condition is the same, such a sum lies on either
side of the effect by a fair coin, as a pair's does. Level and power: `bench/effects_level.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from loadstone.judge.statistics.rounds.pair_slices import log_rates, must_give_rates
from loadstone.judge.statistics.signed_rank import Floats


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
        """How many rounds there are."""
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

    def merged(self, rounds: int) -> "ContrastSlices":
        """So many neighbouring rounds as one; the last ones are left out if they do not fill one."""
        kept = self.rounds // rounds * rounds
        shape = (len(self.weights), -1, rounds)
        done, seconds = (values[:, :kept].reshape(shape).sum(axis=2) for values in (self.done, self.seconds))
        return ContrastSlices(done, seconds, self.weights)

    @classmethod
    def joined(cls, blocks: Sequence["ContrastSlices"]) -> "ContrastSlices":
        """Those of several blocks, one after the other; at least one, all with the same weights."""
        done, seconds = (np.concatenate([getattr(one, name) for one in blocks], axis=1) for name in ("done", "seconds"))
        return cls(done, seconds, blocks[0].weights)
