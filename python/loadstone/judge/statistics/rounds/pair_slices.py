"""The slices of two conditions in the same rounds, as arrays."""

from dataclasses import dataclass

import numpy as np

from loadstone.judge.statistics.signed_rank import Floats

NOTHING_DONE = 0.5
"""A slice without a single operation counts as half of one: a ratio needs more than zero, on either side alike."""
ROUNDS_MAX = 1000
"""The exact distribution and all Walsh averages of more rounds take seconds: neighbours are merged before."""


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
        for name in ("done_a", "seconds_a", "done_b", "seconds_b"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        shapes = {self.done_a.shape, self.seconds_a.shape, self.done_b.shape, self.seconds_b.shape}
        if len(shapes) > 1 or self.done_a.ndim != 1:
            raise ValueError(f"slices of {shapes}: give one entry a round for A and for B")
        for done, seconds, name in ((self.done_a, self.seconds_a, "A"), (self.done_b, self.seconds_b, "B")):
            bad = np.flatnonzero(~(np.isfinite(done) & (done >= 0) & np.isfinite(seconds) & (seconds > 0)))
            if len(bad):
                at = bad[0]
                raise ValueError(f"{name}, round {at}: {done[at]} operations in {seconds[at]} s give no rate")

    @property
    def rounds(self) -> int:
        """How many rounds there are."""
        return len(self.done_a)

    @property
    def log_ratios(self) -> Floats:
        """ln of B's rate over A's rate, of each round."""
        return log_rates(self.done_b, self.seconds_b) - log_rates(self.done_a, self.seconds_a)

    def merged(self, rounds: int) -> "PairSlices":
        """So many neighbouring rounds as one; the last ones are left out if they do not fill one."""
        kept = self.rounds // rounds * rounds
        sums = (
            values[:kept].reshape(-1, rounds).sum(axis=1)
            for values in (self.done_a, self.seconds_a, self.done_b, self.seconds_b)
        )
        return PairSlices(*sums)


def log_rates(done: Floats, seconds: Floats) -> Floats:
    """ln of the operations a second of each slice."""
    rates: Floats = np.log(np.maximum(done, NOTHING_DONE) / seconds)
    return rates
