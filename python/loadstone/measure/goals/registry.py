"""The kinds of goals: those of every run, in the order in which they are asked within a turn, and the declared ones."""

from collections.abc import Callable
from typing import Any, Protocol

from pydantic import ValidationError

from loadstone.experiment.spec.experiment import Experiment
from loadstone.experiment.spec.problems import first_problem
from loadstone.measure.goals.comparison import ComparisonGoal
from loadstone.measure.goals.crash import CrashGoal
from loadstone.measure.goals.declared import AddOnGoal
from loadstone.measure.goals.fixed_rate import FixedRateGoal
from loadstone.measure.goals.goal import Goal, GoalContext
from loadstone.measure.goals.table import TableGoal
from loadstone.slot import Slot
from loadstone.text.message import said
from loadstone.text.wording import listed, nearest


class GoalType(Protocol):
    """A goal that every run has, made of what it is asked for."""

    takes_all_time: bool
    """See `Goal`."""

    def __call__(self, asked: GoalContext, /) -> Goal: ...


ALWAYS: tuple[Callable[[GoalContext], Goal], ...] = (TableGoal, ComparisonGoal, FixedRateGoal)
"""Those of the core that come first."""
GOALS: Slot[GoalType] = Slot("goals")
"""Those of add-ons."""
DECLARED: Slot[type[AddOnGoal[Any]]] = Slot("declared_goals")
"""What an experiment may declare under `goals`, by its kind."""


def goals_of(asked: GoalContext) -> list[Goal]:
    """All goals of a run. What the experiment declares comes before the searches that take all the time there is."""
    declared = [
        kind(asked, planned, kind.settings_type.model_validate(planned.settings))
        for planned in asked.run_plan.goals
        if (kind := DECLARED.get(planned.kind)) is not None
    ]
    short, long = ([make for _, make in GOALS.items() if make.takes_all_time is last] for last in (False, True))
    before: list[Callable[[GoalContext], Goal]] = [*ALWAYS, *short]
    return [*(make(asked) for make in before), *declared, *(make(asked) for make in long), CrashGoal(asked)]


def check_goals(experiment: Experiment) -> None:
    """Raises UserError for a goal whose kind is not known, or whose settings are not those of its kind."""
    for index, goal in enumerate(experiment.goals):
        kind = DECLARED.get(goal.kind)
        if kind is None:
            known = DECLARED.names()
            unknown = said(
                "'{kind}' is not known; {hint}known kinds: {known}",
                kind=goal.kind,
                hint=nearest(goal.kind, known),
                known=listed(known) or said("none"),
            )
            raise experiment.source.error(("goals", index, "kind"), unknown)
        try:
            kind.settings_type.model_validate(goal.settings)
        except ValidationError as error:
            path, problem = first_problem(error, kind.settings_type, goal.settings)
            raise experiment.source.error(("goals", index, *path), problem) from None
