"""The loop of a run: asks the goals what is measured next, measures, records and shows it, and asks again."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from loadstone.drivers.outcome import Interval
from loadstone.experiment.plan.run_plan import first_looks_s
from loadstone.judge.checks.checks import failed_checks, forbidding
from loadstone.machine import clock as steady_clock
from loadstone.measure.conductor import BlockRunner
from loadstone.measure.crashes import Crashes
from loadstone.measure.goals.goal import (
    CrashServer,
    Goal,
    GoalContext,
    GoalPhase,
    LabelledBlock,
    MeasureBlocks,
    NothingMore,
    RecordLook,
    RunClock,
    RunHistory,
    TimeBudget,
)
from loadstone.measure.goals.registry import goals_of
from loadstone.measure.listener import Listener, Notice
from loadstone.run_folder.folder import RunFolder
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.message import Message


class RunLoop:
    """All goals of one run, one budget, one folder."""

    def __init__(
        self,
        asked: GoalContext,
        conductor: BlockRunner,
        crashes: Crashes,
        folder: RunFolder,
        display: Listener,
        *,
        clock: Callable[[], float] = time.monotonic,
        unix_s: Callable[[], float] = steady_clock.unix_s,
        began_s: float | None = None,
    ) -> None:
        """`began_s`: when the command began, by `clock`; None: now."""
        self._run_plan = asked.run_plan
        self._conductor, self._crashes, self._folder, self._display = conductor, crashes, folder, display
        self._history = RunHistory(
            list(folder.earlier_trials), list(folder.earlier_looks), list(folder.earlier_crashes), folder.more_time
        )
        budget = TimeBudget(self._run_plan.budget_s, folder.earlier_trials, clock, began_s=began_s)
        self._time = RunClock(budget, unix_s, kept_s=self._kept_s)
        self._goals = goals_of(asked)
        self._started = False

    def run(self) -> None:
        """Measure what is not measured yet.

        Raises:
            LoadstoneError: the run cannot go on; what was finished is kept, and no goal is ended by it.
        """
        try:
            for step, shown in self._asked():
                for record in self._conductor.run(shown.block, partial(self._show, shown)):
                    self._history.trials.append(record)
                    if not step.warms:
                        self._display.finished(record.verdict, _reasons(record), in_block=step.whole is not None)
        finally:
            self._display.stop()

    def _asked(self) -> Iterator[tuple[MeasureBlocks, LabelledBlock]]:
        """What is measured next, until no goal has anything left; what else they say is done on the way.

        Whoever measures it adds its records to the history before the next one is asked for.
        """
        for turn in GoalPhase:
            if self._begins(turn):
                for goal in self._goals:
                    if turn in goal.turns:
                        yield from self._asked_of(goal)

    def _asked_of(self, goal: Goal) -> Iterator[tuple[MeasureBlocks, LabelledBlock]]:
        """The blocks of one goal, until it has nothing more in this turn."""
        while not isinstance(step := goal.next(self._history, self._time), NothingMore):
            if isinstance(step, MeasureBlocks):
                for shown in self._announced(step):
                    yield step, shown
            elif isinstance(step, CrashServer):
                self._kill(step)
            else:
                self._note(step)
        self._tell(step.notice)

    def _begins(self, turn: GoalPhase) -> bool:
        """Begin a turn; whether there is time for it."""
        ending_s, report_s = self._run_plan.ending_s(), self._run_plan.report_s()
        if turn is GoalPhase.LEFT and ending_s <= report_s:  # nothing was kept for others
            return False
        self._time.turn = turn
        self._time.budget.keep(ending_s if turn in (GoalPhase.FIRST, GoalPhase.MORE) else report_s)
        if turn in (GoalPhase.AFTER, GoalPhase.LEFT):
            self._pause()
            self._time.forget_prepared()
        return True

    def _announced(self, step: MeasureBlocks) -> Iterator[LabelledBlock]:
        """Each block of a step, shown as it begins; when all are recorded, what they came to."""
        self._start()
        self._tell(step.notice)
        recorded = len(self._history.trials)
        for shown in step.blocks:
            block = shown.block
            self._display.left(*self._left())
            self._display.trial(shown.name or block.trials[0].name, shown.label, shown.place)
            for planned in block.trials:
                self._time.prepared(planned)
            yield shown
        if step.whole is not None:
            self._display.block(step.whole)
        if step.then is not None:
            step.then(self._display, self._history.trials[recorded:])

    def _kill(self, step: CrashServer) -> None:
        self._pause()
        record = self._crashes.run(step)
        self._folder.add_crash(record)
        self._history.crashes.append(record)

    def _note(self, step: RecordLook) -> None:
        self._folder.add_look(step.look)
        self._history.looks.append(step.look)
        self._tell(step.notice)

    def _kept_s(self) -> float:
        """What the goals keep for first figures: of each of them in their order, as far as there is time for it."""
        parts = [part for goal in self._goals for part in goal.first_s(self._history)]
        return first_looks_s(parts, self._time.left_s)

    def _left(self) -> tuple[float, bool]:
        """Seconds that what is measured before the next pause still takes, and whether it may well take less; infinite
        where that is not known."""
        together = (
            (GoalPhase.FIRST, GoalPhase.MORE)
            if self._time.turn in (GoalPhase.FIRST, GoalPhase.MORE)
            else (self._time.turn,)
        )
        asked = [goal for goal in self._goals if any(turn in goal.turns for turn in together)]
        expected = [goal.expected(self._history, self._time) for goal in asked]
        if any(math.isinf(part.most_s) for part in expected):
            return math.inf, True
        least_s, most_s = sum(part.least_s for part in expected), sum(part.most_s for part in expected)
        return min(most_s, max(least_s, self._time.left_s)), most_s > least_s

    def _show(self, shown: LabelledBlock, place: int, interval: Interval) -> None:
        """An interval as the person at the terminal is shown it."""
        if shown.in_round is not None and interval.last_round is not None:
            self._display.place(shown.in_round(interval.last_round + 1, interval.users))
        self._display.interval(interval, shown.labels[place] if shown.labels else "")

    def _tell(self, tell: Notice | None) -> None:
        if tell is not None:
            tell(self._display)

    def _start(self) -> None:
        if not self._started:
            self._display.start()
            self._started = True

    def _pause(self) -> None:
        self._display.stop()
        self._started = False


def _reasons(record: TrialRecord) -> Sequence[Message]:
    """Why the trial is not valid: what forbids its figures first."""
    first = forbidding(record)
    failed = (*first, *(check for check in failed_checks(record) if check not in first))
    return [check.reason for check in failed if check.reason is not None]
