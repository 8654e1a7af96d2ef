"""What an analysis holds of a factorial: its effects, and every combination."""

from typing import Literal

from loadstone.judge.verdict import Level, Piece, Verdict
from loadstone.message import Message
from loadstone.record.trial import CheckResult


class EffectTerm(Piece):
    """A main effect, or an interaction of two factors."""

    kind: Literal["main", "interaction"]
    factors: list[str]
    levels: dict[str, Level]
    references: dict[str, Level]
    name: str
    """`cluster-2 against one`; an interaction by both of its factors."""
    message: Message
    """What may be said of it, with the places that it is an average over, and those that are left out."""
    verdict: Verdict
    """Of an interaction the ratio is one of ratios, and `faster` means that the factors depend on each other."""
    over: list[str]
    """The levels of the other factors that it is an average over; empty of an interaction of the only two factors."""
    left_out: list[Message]
    """Places that have no verdict, and why."""


class EffectCell(Piece):
    """One combination of levels."""

    condition: dict[str, Level]
    label: str
    levels: list[str]
    """What the levels of the factors are called, in their order."""
    figure: float | None
    low: float | None
    high: float | None
    """95 % interval beside the mean of all combinations of the same rounds or blocks."""
    refusal: CheckResult | None = None
    """Why it has no figure."""


class EffectsAnswer(Piece):
    """Declared effects: the question, the answer, and what it rests on. The comparison of its pairs has its name."""

    name: str
    question: str
    note: str
    metric: str
    factors: list[str]
    answer: Message
    terms: list[EffectTerm]
    cells: list[EffectCell]
    quick: bool = False
