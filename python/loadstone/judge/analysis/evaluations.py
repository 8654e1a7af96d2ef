"""What add-ons find in a run beside its tables and comparisons: where they are asked, and what they are told."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadstone.judge.analysis.analysis import (
    Analysis,
    Answer,
    CheckSummary,
    EffectsAnswer,
    Family,
    GoalAnswer,
    ResultTable,
)
from loadstone.run_folder.reading import RecordedRun
from loadstone.run_folder.trial import TrialRecord
from loadstone.slot import Slot


@dataclass(frozen=True)
class RunFindings:
    """A run as the core has judged it."""

    run: RecordedRun
    trials: Sequence[TrialRecord]
    """Judged, all of them."""
    own_load: Sequence[TrialRecord]
    """Those under the loads of the tables and comparisons."""
    tables: Sequence[ResultTable]
    families: Sequence[Family]
    effects: Sequence[EffectsAnswer]
    checks: Sequence[CheckSummary]
    answers: Mapping[str, Answer]
    """What is known already: to `LATER_EVALUATIONS` the answers of all `EVALUATIONS`; empty to these."""


Evaluation = Callable[[RunFindings], Answer | None]
"""What an add-on finds in the run; None: the run asks nothing of it."""
EVALUATIONS: Slot[Evaluation] = Slot("evaluations", lambda: Analysis.model_fields)
"""Each has the key of its answer in `analysis.json` (`ANSWERS`)."""
LATER_EVALUATIONS: Slot[Evaluation] = Slot("later_evaluations", lambda: Analysis.model_fields)
"""Those that look at what the others answered."""


def evaluated(evaluations: Slot[Evaluation], judged: RunFindings) -> dict[str, Answer]:
    """Their answers, by their keys."""
    found = ((key, evaluate(judged)) for key, evaluate in evaluations.items())
    return {key: answer for key, answer in found if answer is not None}


GoalEvaluation = Callable[[Mapping[str, Any], Sequence[TrialRecord], RecordedRun], GoalAnswer]
"""Made of a goal's settings, as the experiment has them, of its judged trials, and of the run, for what else it has."""
GOAL_EVALUATIONS: Slot[GoalEvaluation] = Slot("goal_evaluations")
"""Those of the goals that experiments declare, by their kinds."""


def evaluated_goals(run: RecordedRun, judged: Sequence[TrialRecord]) -> dict[str, GoalAnswer]:
    """The answer of each goal that the experiment declares, by its name; without kinds that are not known here."""
    return {
        goal.name: evaluate(goal.settings, [trial for trial in judged if trial.group == goal.name], run)
        for goal in run.plan.goals
        if (evaluate := GOAL_EVALUATIONS.get(goal.kind)) is not None
    }
