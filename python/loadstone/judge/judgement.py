"""What a verdict is as data: one metric of a pair, its two sides, its blocks, and what bounds its figures."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

Level = str | int | float | bool


class Piece(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


UNBOUNDED = 10.0
"""A bound from here on is none: eleven times the figure."""


class Bound(Piece):
    """How much more a condition would do at most if nothing had disturbed it, as shares of its figure.

    0.04: up to 4 % more. `UNBOUNDED` and beyond: nothing is known of the limit. None: it could not be observed.
    """

    generator: float | None
    """With a generator that costs nothing (the gain rule)."""
    taken: float | None
    """If nothing else had taken time from its CPUs: neighbours on the host, other programs here."""
    round_trip: bool = False
    """One user: the figure is the round trip of this client, no capacity, and not judged by the gain."""

    @property
    def total(self) -> float:
        """Both together; what is not known counts as nothing."""
        return (1 + (self.generator or 0.0)) * (1 + (self.taken or 0.0)) - 1


VerdictKind = Literal["invalid", "equivalent", "faster", "mixed", "undecided", "not_decidable"]
DECIDED: frozenset[VerdictKind] = frozenset({"faster", "equivalent", "mixed"})
"""Verdicts that answer a question: others say that this run cannot."""


class Side(Piece):
    """One of the two conditions of a comparison."""

    condition: dict[str, Level]
    name: str
    """What tells it from the other one, e.g. `json`: the words of the verdict call it that."""
    typical: float | None
    """Median of its blocks' figures (a quantile: that of all blocks merged), in the metric's unit."""
    gain: float = 0.0
    """By how much the interval was widened on this side: what a generator that costs nothing would gain at most."""


class BlockPoint(Piece):
    """One block of a comparison."""

    block: int
    trial_a: str
    trial_b: str
    a: float | None
    b: float | None
    """Figures of the metric; None where the trial gives none."""
    log_ratio: float | None
    """ln(b / a)."""
    used: bool
    why: str
    """Why the block is not used; empty when it is."""


class Judgement(Piece):
    """One metric of a comparison: its verdict, and what it rests on. Ratios are ln(B / A)."""

    metric: str
    metric_words: str
    larger_is_faster: bool
    role: Literal["primary", "exploratory"]
    margin: float
    """A share: 0.05 means that less than 5 % does not matter."""
    kind: VerdictKind
    words: str
    """The verdict's sentence, in fixed words."""
    winner: Literal["a", "b"] | None
    materially: bool
    negligible: bool
    blocks: int
    """Blocks used."""
    estimate: float | None
    low: float | None
    high: float | None
    level: float | None
    """Level of the interval: 0.95 holds 95 times in 100."""
    p_value: float | None
    stalls_a: int
    stalls_b: int
    total: float | None
    detectable: float | None
    """Minimum detectable effect as a log ratio."""
    more_minutes: float | None
    noise_floor: float | None
    a: Side
    b: Side
    points: list[BlockPoint]
    """Empty for exploratory metrics: the primary one shows the same trials."""
