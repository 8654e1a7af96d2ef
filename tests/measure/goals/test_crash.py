"""Which crash comes next."""

from dataclasses import replace
from types import ModuleType

import pytest
from tests.fakes import crash_record

from loadstone.experiment.plan.required import PlannedCrash
from loadstone.experiment.plan.run_plan import CrashTrial, PlannedTrial
from loadstone.measure.goals.crash import CrashGoal
from loadstone.measure.goals.goal import (
    CrashServer,
    GoalContext,
    GoalPhase,
    NothingMore,
    RunClock,
    RunHistory,
    TimeBudget,
)

from .scripted_loop import ScriptedJudge, no_histogram

TIME = RunClock(TimeBudget(0.0), lambda: 0.0, GoalPhase.AFTER)


@pytest.fixture
def crash(synthetic: ModuleType) -> CrashGoal:
    """The goal of two crashes."""
    trials = [
        PlannedTrial(f"crash-kept-1-{number}", {"n": 1}, number, 1, {}, synthetic.make_plan(), None, "crash")
        for number in (1, 2)
    ]
    planned = tuple(
        CrashTrial(trial, PlannedCrash("kept", trial.name, "redis", "DBSIZE", 0.0, number, ()))
        for number, trial in enumerate(trials, 1)
    )
    run_plan = replace(synthetic.make_run_plan(), crashes=planned)
    return CrashGoal(GoalContext(synthetic.make_experiment(), run_plan, ScriptedJudge(), no_histogram))


def test_each_comes_once_and_what_is_recorded_not_again(crash: CrashGoal) -> None:
    history, named = RunHistory(), []
    while isinstance(step := crash.next(history, TIME), CrashServer):
        named.append((step.crash.crash.trial, step.number, step.of))
        assert crash.next(history, TIME) == step, "as long as it is not recorded it comes next"
        history.crashes.append(crash_record(step))
    assert named == [("crash-kept-1-1", 1, 2), ("crash-kept-1-2", 2, 2)]
    assert isinstance(step, NothingMore)
