"""The one thing that is measured: a block, of conditions that take turns in slices, or of one in a whole trial."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from loadstone.plan.rounds import Rounds
from loadstone.plan.run_plan import PlannedTrial


@dataclass(frozen=True)
class Block:
    """Its trials; in rounds also their places in the order of each round."""

    trials: tuple[PlannedTrial, ...]
    orders: tuple[tuple[int, ...], ...] = ()
    rounds: Rounds | None = None
    """None: a whole trial of one condition."""

    @classmethod
    def alone(cls, planned: PlannedTrial) -> Self:
        """One condition, in a whole trial."""
        return cls((planned,))

    @classmethod
    def shuffled(cls, trials: Sequence[PlannedTrial], rounds: Rounds, seed: int) -> Self:
        """Conditions in the rounds of one block, in an order of its own in each of them."""
        chance, places = random.Random(seed), range(len(trials))
        orders = tuple(tuple(chance.sample(places, len(places))) for _ in range(rounds.of(1)))
        return cls(tuple(trials), orders, rounds)
