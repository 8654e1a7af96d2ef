"""A group: conditions that are measured together and judged together, with the pairs and effects that are judged.

What of it stands in `plan.json` is `GroupDesign`; the judge knows a group by that, during a run and after it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Literal

from pydantic import ConfigDict

from loadstone.experiment.plan.fixed_rate import FixedRate
from loadstone.experiment.plan.look_schedule import BLOCKS_MIN
from loadstone.experiment.plan.rounds import Rounds, unit_of
from loadstone.experiment.spec.experiment import AA_FACTOR
from loadstone.experiment.spec.levels import Condition
from loadstone.text.message import Message

PairPlace = tuple[int, ...]
"""Pairs of a group by their numbers: of a main effect one, of an interaction that at the reference and that at the
level of its second factor."""
_NOTHING_ELSE = ConfigDict(extra="forbid")


@dataclass(frozen=True)
class PairDesign:
    """Two conditions that are compared."""

    __pydantic_config__ = _NOTHING_ELSE

    a: Condition
    b: Condition

    @property
    def is_twin(self) -> bool:
        """Whether it is one condition twice, by `--twin`: that asks nothing, and shows the noise of the machine."""
        return self.a.get(AA_FACTOR) != self.b.get(AA_FACTOR) and self.a | {AA_FACTOR: ""} == self.b | {AA_FACTOR: ""}


@dataclass(frozen=True)
class Contrast:
    """An effect of a factorial, as a weighted sum of the log ratios of pairs.

    It is what a level of a factor changes on average, or how much of that depends on the level of another factor.
    """

    __pydantic_config__ = _NOTHING_ELSE

    kind: Literal["main", "interaction"]
    levels: Condition
    """Factor -> the level that is compared; of an interaction two, whose pairs differ in the first."""
    references: Condition
    """Factor -> the level that it is compared with."""
    places: tuple[PairPlace, ...]
    """One for each combination of the levels of the other factors; all count alike."""

    @property
    def signs(self) -> tuple[int, ...]:
        """Return how the pairs of a place count: the second of an interaction, less the first."""
        return (1,) if self.kind == "main" else (-1, 1)


@dataclass(frozen=True, kw_only=True)
class GroupDesign:
    """Plan by which a group is measured and judged; its conditions are those of its pairs, or named by its trials."""

    __pydantic_config__ = _NOTHING_ELSE

    name: str
    pairs: tuple[PairDesign, ...]
    metric: str
    """The primary metric, which decides."""
    margin: float
    """A share: 0.05 means that less than 5 % does not matter."""
    looks: tuple[int, ...]
    """Numbers of blocks, not counting the warm one, after which the pairs are judged; the last is the most."""
    sequential: bool
    """Whether it ends at the first look that decides every pair; otherwise there is one look."""
    warm_block: bool
    trial_s: float
    """Mean length of the measure phase of its trials in seconds."""
    overhead_s: float
    """Mean of what a trial takes in addition to that: warm-up, loading, drain, start."""
    rounds: Rounds | None = None
    """How its blocks are measured in rounds of slices; None: trial after trial."""
    whole_trials: Message | None = None
    """Why it is compared by whole trials; None where it is measured in rounds, or compares nothing."""
    fixed_rate: FixedRate | None = None
    """The one rate of its blocks, of a comparison of latencies whose own load is at full speed: a share is one of the
    slowest condition's capacity, which the warm-up block measures. None: each has the load that is planned."""
    stage: int = 0
    """How often its slices were made longer, see `experiment.plan.run_plan.Stage`."""
    longer_s: float | None = None
    """For a group in rounds, the seconds up to the first look of its next stage."""
    contrasts: tuple[Contrast, ...] = ()
    """The effects of a factorial, as sums over `pairs`: they decide when it ends."""


@dataclass(frozen=True, kw_only=True)
class Group(GroupDesign):
    """A group of a run that is planned: its design, and the conditions of a block.

    A declared comparison is a group of its own name, and so are declared effects, with the pairs of their conditions;
    what only stands in tables is `TABLE_GROUP`, without pairs.
    """

    conditions: tuple[Condition, ...]
    carried_before: float = 0.0
    """For a later stage in rounds, ln of what may still reach into its slices, by what the stage before found."""

    @property
    def design(self) -> GroupDesign:
        """What of it stands in `plan.json`."""
        return GroupDesign(**{field.name: getattr(self, field.name) for field in fields(GroupDesign)})

    @property
    def key(self) -> str:
        """A name of its own for each stage: `storage`, `storage.400ms`, `storage.trials`."""
        if not self.stage:
            return self.name
        return f"{self.name}.{'trials' if self.rounds is None else f'{1000 * self.rounds.slice_s:g}ms'}"

    @property
    def unit(self) -> Literal["block", "round"]:
        """What gives one ratio of a pair."""
        return unit_of(self.rounds)

    def replicates(self, blocks: int) -> int:
        """Return how many ratios of a pair so many blocks give: one each, or one a round."""
        return self.rounds.upto(blocks) if self.rounds is not None and self.unit == "round" else blocks

    @property
    def blocks_min(self) -> int:
        """The fewest blocks that get a verdict: one of rounds holds many pairs."""
        return BLOCKS_MIN if self.unit == "block" else 1

    @property
    def block_s(self) -> float:
        """Seconds that one block is expected to take, on average."""
        return self.seconds(range(1, self.looks[-1] + 1)) / self.looks[-1]

    def seconds(self, blocks: Iterable[int]) -> float:
        """Seconds that these blocks are expected to take."""
        conditions = len(self.conditions)
        if self.rounds is not None:
            return sum(self.rounds.block_s(block, conditions) for block in blocks)
        return sum(conditions * (self.trial_s + self.overhead_s) for _ in blocks)
