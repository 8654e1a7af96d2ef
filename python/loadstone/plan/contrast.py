"""An effect of a factorial, as a weighted sum of the log ratios of pairs of conditions."""

from dataclasses import dataclass
from typing import Literal

from loadstone.spec.levels import Condition

Place = tuple[int, ...]
"""Pairs of a group by their numbers: of a main effect one, of an interaction that at the reference and that at the
level of its second factor."""


def signs_of(kind: Literal["main", "interaction"]) -> tuple[int, ...]:
    """How the pairs of a place count: the second of an interaction, less the first."""
    return (1,) if kind == "main" else (-1, 1)


@dataclass(frozen=True)
class Contrast:
    """What a level of a factor changes on average, or how much of that depends on the level of another factor."""

    kind: Literal["main", "interaction"]
    levels: Condition
    """Factor -> the level that is compared; of an interaction two, whose pairs differ in the first."""
    references: Condition
    """Factor -> the level that it is compared with."""
    places: tuple[Place, ...]
    """One for each combination of the levels of the other factors; all count alike."""

    @property
    def signs(self) -> tuple[int, ...]:
        """How the pairs of a place count."""
        return signs_of(self.kind)
