"""Crashes: a server is killed under load so many times, and each time what it kept is looked up."""

from loadstone.measure.goals.goal import (
    CrashServer,
    Goal,
    GoalContext,
    GoalPhase,
    NothingMore,
    RunClock,
    RunHistory,
    Step,
)


class CrashGoal(Goal):
    """All crashes of a run, after its trials."""

    turns = (GoalPhase.AFTER,)

    def __init__(self, asked: GoalContext) -> None:
        self._planned = asked.run_plan.crashes

    def next(self, history: RunHistory, time: RunClock) -> Step:  # noqa: ARG002 (the time for it was kept)
        """The first that is not recorded yet."""
        done = {record.trial for record in history.crashes}
        for number, planned in enumerate(self._planned, 1):
            if planned.crash.trial not in done:
                return CrashServer(planned, number, len(self._planned))
        return NothingMore()
