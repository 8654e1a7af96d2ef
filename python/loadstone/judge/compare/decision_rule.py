"""The rule by which a group ends, and what its verdicts are held to: the core has one, an add-on may bring another."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from loadstone.experiment.plan.group import GroupDesign
from loadstone.experiment.spec.experiment import COST_MARGIN, Experiment
from loadstone.judge.metrics import is_rate
from loadstone.judge.statistics.pair_evidence import Evidence
from loadstone.judge.statistics.settings import Settings
from loadstone.judge.verdict import DECIDED, Verdict
from loadstone.slot import Slot
from loadstone.text.message import Message


@dataclass(frozen=True)
class JudgedQuestion:
    """A pair as a look found it."""

    verdict: Verdict
    """The one by the comparison's metric."""
    cost: Verdict | None
    """The one by what a request costs, where that has a say in when the group ends; None: none, or it is not known."""
    leading: Verdict
    """The one that answers the question: by the metric, or else by what a request costs alone."""
    settings: Settings
    evidence: Evidence
    is_one_process: bool
    """Whether both sides are one process, so that nothing is compared."""


@dataclass(frozen=True)
class Ending:
    """Whether a group ends at a look."""

    decided: bool
    answered: bool = False
    """Whether each pair has a verdict that more blocks may still change or narrow."""
    is_known: bool = True
    """Whether all is known that time which is left over could tell."""
    is_final: bool = False
    """Whether no further block, of another group neither, can change the outcome."""
    suspects_loss: bool = False
    """Whether the blocks so far make it likely that more blocks would show a loss."""


@dataclass(frozen=True)
class OpenGroup:
    """A group that is to be measured further, in the order of the plan."""

    name: str
    complete: int
    """Number of its complete blocks."""
    first_look: int
    """The blocks at which it is first looked at."""
    is_looked_at: bool
    """Whether it had a look."""
    suspects_loss: bool
    """As its newest look has it."""


@dataclass(frozen=True)
class NextGroup:
    """The one group that is measured next."""

    name: str
    blocks: int | None = None
    """Up to how many blocks, if it is a glance; None: up to its next look."""


class DecisionRule(Protocol):
    """What decides when a group ends."""

    @property
    def cost_margin(self) -> float:
        """A smaller difference in what a request costs does not matter, as a share."""

    @property
    def compares_runs(self) -> bool:
        """Whether a verdict is to hold in the next run, too; else it is of the two sides here and now."""

    def asks_costs(self, design: GroupDesign, verdicts: Sequence[Verdict]) -> bool:
        """Whether what a request costs has a say in when this group ends."""

    def cost(self, costs: Sequence[Verdict]) -> Verdict | None:
        """Which of the verdicts by cost has that say; the dearest part comes first. None where none is known."""

    def ending(self, design: GroupDesign, judged: Sequence[JudgedQuestion], *, decided: bool) -> Ending:
        """Whether a group ends; `decided`: whether its pairs are, each by itself."""

    def level_note(self, design: GroupDesign, level: float) -> Message | None:
        """Return how sure an interval of this level is, and why; None: that is left to the looks and pairs."""

    def turn(self, groups: Sequence[OpenGroup]) -> NextGroup | None:
        """Which of these groups, one at least, is measured next; None: they take turns."""


class OrdinaryRule:
    """A group ends when each of its pairs is decided."""

    cost_margin = COST_MARGIN
    compares_runs = True

    def asks_costs(self, design: GroupDesign, verdicts: Sequence[Verdict]) -> bool:  # noqa: ARG002 (as the protocol)
        """Only of rates in rounds."""
        return all(is_rate_in_rounds(verdict) for verdict in verdicts)

    def cost(self, costs: Sequence[Verdict]) -> Verdict | None:
        """That of the dearest part."""
        return next(iter(costs), None)

    def ending(
        self,
        design: GroupDesign,  # noqa: ARG002 (as the protocol)
        judged: Sequence[JudgedQuestion],
        *,
        decided: bool,
    ) -> Ending:
        """Once its pairs are decided."""
        return Ending(decided, all(one.leading.kind in DECIDED for one in judged))

    def level_note(self, design: GroupDesign, level: float) -> Message | None:  # noqa: ARG002 (as the protocol)
        """There is nothing to add."""
        return None

    def turn(self, groups: Sequence[OpenGroup]) -> NextGroup | None:  # noqa: ARG002 (as the protocol)
        """They take turns."""
        return None


RULES: Slot[Callable[[Any, Experiment], DecisionRule]] = Slot("decision_rules")
"""Key of an experiment -> the rule where something is written under it, made of its `AddOnPart` and the experiment."""


def rule_of(experiment: Experiment) -> DecisionRule:
    """The rule by which the comparisons of an experiment end."""
    made = (make(part, experiment) for key, part in experiment.parts.items() if (make := RULES.get(key)) is not None)
    return next(made, OrdinaryRule())


def is_rate_in_rounds(verdict: Verdict) -> bool:
    """Whether what a request costs can be seen as exactly as the rate."""
    return verdict.unit == "round" and is_rate(verdict.metric)
