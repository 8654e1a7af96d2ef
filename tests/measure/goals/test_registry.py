"""The contract of a goal, over all that are registered."""

from collections.abc import Callable

import pytest

from loadstone.experiment.plan.run_plan import RunPlan
from loadstone.measure.goals.crash import CrashGoal
from loadstone.measure.goals.goal import Goal, GoalContext, GoalPhase, NothingMore, RunClock, RunHistory, TimeBudget
from loadstone.measure.goals.registry import ALWAYS, GOALS
from loadstone.run_folder.reading import read_crashes, read_looks, read_trials

from .scripted_loop import Bench, ScriptedJudge, compared, no_histogram, table

Made = Callable[[GoalContext], Goal]
EVERY: list[Made] = [*ALWAYS, *(make for _, make in GOALS.items()), CrashGoal]


def asked(bench: Bench, plan: RunPlan) -> GoalContext:
    return GoalContext(bench.synthetic.make_experiment(), plan, ScriptedJudge(), no_histogram)


@pytest.mark.parametrize("made", EVERY)
def test_what_was_not_asked_for_is_not_measured(bench: Bench, made: Made) -> None:
    goal, time = made(asked(bench, bench.plan())), RunClock(TimeBudget(0.0), lambda: 0.0)
    assert goal.turns
    for time.turn in goal.turns:
        assert isinstance(goal.next(RunHistory(), time), NothingMore)
    assert goal.expected(RunHistory(), time) == (0.0, 0.0)


@pytest.mark.parametrize("made", EVERY)
def test_what_is_recorded_is_not_measured_again_by_a_new_session(bench: Bench, made: Made) -> None:
    bench.judge.decides, bench.others_take_s = {"storage": 12}, 1.0
    plan = bench.plan(table(), compared())
    assert bench.run(plan) is None
    (path,) = bench.root.glob("[!.]*")
    recorded = RunHistory(read_trials(path)[0], read_looks(path)[0], read_crashes(path)[0])
    assert len(recorded.trials) == 6 + 2 * 13
    assert len(recorded.looks) == 3
    assert len(recorded.crashes) == 1
    goal, time = made(asked(bench, plan)), RunClock(TimeBudget(0.0), lambda: bench.clock.now)
    for time.turn in GoalPhase:
        assert time.turn not in goal.turns or isinstance(goal.next(recorded, time), NothingMore)
