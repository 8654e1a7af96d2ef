"""Crashes: a server is killed under load so many times, and each time what it kept is looked up."""

from loadstone.measure.goals.goal import Asked, Done, Goal, History, Kill, Step, TimeLeft, Turn


class Crash(Goal):
    """All crashes of a run, after its trials."""

    turns = (Turn.AFTER,)

    def __init__(self, asked: Asked) -> None:
        self._planned = asked.run_plan.crashes

    def next(self, history: History, time: TimeLeft) -> Step:  # noqa: ARG002 (the time for it was kept)
        """The first that is not recorded yet."""
        done = {record.trial for record in history.crashes}
        for number, planned in enumerate(self._planned, 1):
            if planned.crash.trial not in done:
                return Kill(planned, number, len(self._planned))
        return Done()
