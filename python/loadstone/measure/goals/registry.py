"""The kinds of goals: those of every run, in the order in which they are asked within a turn, and the declared ones."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from loadstone.addons.capacity.full_server_goal import MoreUsers
from loadstone.addons.saturation.goal import Saturate
from loadstone.experiment.spec.experiment import Experiment
from loadstone.experiment.spec.problems import first_problem
from loadstone.measure.goals.comparison import Comparison
from loadstone.measure.goals.crash import Crash
from loadstone.measure.goals.declared import DeclaredGoal
from loadstone.measure.goals.fixed_rate import FixedRate
from loadstone.measure.goals.goal import Asked, Goal
from loadstone.measure.goals.table import Table
from loadstone.report.document import GoalAnswer
from loadstone.run_folder.reading import RecordedRun
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.language import said
from loadstone.text.wording import listed, nearest

BEFORE, AFTER = (Table, Comparison, FixedRate, MoreUsers), (Saturate, Crash)
DECLARED: tuple[type[DeclaredGoal[Any]], ...] = ()
"""What an experiment may declare under `goals`."""
KINDS = {goal.kind: goal for goal in DECLARED}


def goals_of(asked: Asked) -> list[Goal]:
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


def answers_of(run: RecordedRun, judged: Sequence[TrialRecord]) -> dict[str, GoalAnswer]:
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
