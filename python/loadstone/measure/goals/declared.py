"""A goal that an experiment declares under `goals`: a kind with its settings, and what it measures.

To add one: an `AddOnGoal` in an add-on, which names it under `declared_goals`, and an answer with its evaluation, its
section and its sentences, as any other.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Generic, TypeVar

from loadstone.experiment.plan.design.randomisation import derived_seed
from loadstone.experiment.plan.drive_plan import Plan
from loadstone.experiment.plan.labels import label_of
from loadstone.experiment.plan.run_plan import Block, GoalPlan, PlannedTrial, expected_measure_s, expected_overhead_s
from loadstone.experiment.spec.part import SpecPart
from loadstone.measure.goals.goal import (
    Goal,
    GoalContext,
    GoalPhase,
    LabelledBlock,
    MeasureBlocks,
    NothingMore,
    RecordLook,
    RemainingTime,
    RunClock,
    RunHistory,
    Step,
)
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.language import _

S = TypeVar("S", bound=SpecPart)


class AddOnGoal(Goal, Generic[S]):
    """One goal of the experiment; its trials are a group of its name. Budget, resume and end are the same for all."""

    kind: ClassVar[str]
    """As the experiment names it."""
    settings_type: ClassVar[type[SpecPart]]
    """What the experiment says of it beside name, kind, `vary`, `time` and `quick`: an `S`."""
    turns = (GoalPhase.AFTER,)

    def __init__(self, asked: GoalContext, planned: GoalPlan, settings: S) -> None:
        self.planned, self.settings = planned, settings
        self._asked = asked

    @abstractmethod
    def following(self, trials: Sequence[TrialRecord]) -> PlannedTrial | None:
        """The trial that is measured next, by those so far (every attempt, as they ended); None: no more is needed."""

    def next(self, history: RunHistory, time: RunClock) -> Step:
        """Its next trial, if there is time for it; a look when there are no more."""
        look = history.look(self.planned.name)
        if look is not None and look.reason != "out of budget":
            return NothingMore()
        trials = [trial for trial in history.trials if trial.group == self.planned.name]
        trial = self.following(trials)
        if trial is None:
            return RecordLook(time.look(self.planned.name, len(trials), "last look"))
        if not time.fits(expected_measure_s(trial.plan) + expected_overhead_s(trial.plan), [trial]):
            return (
                NothingMore()
                if look is not None
                else RecordLook(time.look(self.planned.name, len(trials), "out of budget"))
            )
        label = label_of(self._asked.experiment, trial.condition)
        return MeasureBlocks(
            (
                LabelledBlock(
                    Block.alone(trial),
                    label,
                    _("{name}: trial {number}", name=self.planned.name, number=len(trials) + 1),
                ),
            )
        )

    def trial(self, template: PlannedTrial, number: int, plan: Plan) -> PlannedTrial:
        """A trial of the template's condition under this plan: the one of this number, from 1, with its own seed."""
        seed = {"seed": derived_seed(self._asked.run_plan.seed, template.name, number)}
        return replace(
            template,
            name=f"{template.name}-{number}",
            block=number,
            plan=plan.model_copy(update=seed),
            load=None if template.load is None else template.load.model_copy(update=seed),
        )

    def expected(self, history: RunHistory, time: RunClock) -> RemainingTime:
        """What is kept for it, until it has its answer."""
        if history.look(self.planned.name) is not None:
            return RemainingTime()
        kept_s = min(self.planned.time_s, time.left_s)
        return RemainingTime(kept_s, kept_s)
