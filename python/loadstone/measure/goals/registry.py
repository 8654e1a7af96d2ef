"""The kinds of goals: those of every run, in the order in which they are asked within a turn, and the declared ones."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from loadstone.addons.capacity.full_server_goal import FullServerGoal
from loadstone.addons.saturation.goal import SaturationGoal
from loadstone.experiment.spec.experiment import Experiment
from loadstone.experiment.spec.problems import first_problem
from loadstone.measure.goals.comparison import ComparisonGoal
from loadstone.measure.goals.crash import CrashGoal
from loadstone.measure.goals.declared import AddOnGoal
from loadstone.measure.goals.fixed_rate import FixedRateGoal
from loadstone.measure.goals.goal import Goal, GoalContext
from loadstone.measure.goals.table import TableGoal
from loadstone.report.document import GoalAnswer
from loadstone.run_folder.reading import RecordedRun
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.language import said
from loadstone.text.wording import listed, nearest

BEFORE, AFTER = (TableGoal, ComparisonGoal, FixedRateGoal, FullServerGoal), (SaturationGoal, CrashGoal)
DECLARED: tuple[type[AddOnGoal[Any]], ...] = ()
"""What an experiment may declare under `goals`."""
KINDS = {goal.kind: goal for goal in DECLARED}


def goals_of(asked: GoalContext) -> list[Goal]:
    """All goals of a run. What the experiment declares comes before the searches that take all the time there is."""
    declared = [
        KINDS[planned.kind](asked, planned, KINDS[planned.kind].settings_type.model_validate(planned.settings))
        for planned in asked.run_plan.goals
    ]
    return [*(made(asked) for made in BEFORE), *declared, *(made(asked) for made in AFTER)]


def check_goals(experiment: Experiment) -> None:
    """Raises UserError for a goal whose kind is not known, or whose settings are not those of its kind."""
    for index, goal in enumerate(experiment.goals):
        kind = KINDS.get(goal.kind)
        if kind is None:
            unknown = said(
                "'{kind}' is not known; {hint}known kinds: {known}",
                kind=goal.kind,
                hint=nearest(goal.kind, KINDS),
                known=listed(KINDS) or said("none"),
            )
            raise experiment.source.error(("goals", index, "kind"), unknown)
        try:
            kind.settings_type.model_validate(goal.settings)
        except ValidationError as error:
            path, problem = first_problem(error, kind.settings_type, goal.settings)
            raise experiment.source.error(("goals", index, *path), problem) from None


def evaluate_goals(run: RecordedRun, judged: Sequence[TrialRecord]) -> dict[str, GoalAnswer]:
    """The answer of each goal that the experiment declares, by its name; without kinds of a later version."""
    return {
        goal.name: kind.answer(
            kind.settings_type.model_validate(goal.settings),
            [trial for trial in judged if trial.group == goal.name],
            run,
        )
        for goal in run.plan.goals
        if (kind := KINDS.get(goal.kind)) is not None
    }


def read_answer(value: object) -> object:
    """An answer that came back from a file, as the type that its kind has."""
    kind = KINDS.get(str(value.get("kind"))) if isinstance(value, Mapping) else None
    return value if kind is None else kind.answer_type.model_validate(value)
