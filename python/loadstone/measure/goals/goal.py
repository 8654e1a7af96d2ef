"""The seam of a goal: a question that a run answers. It says what is measured next, and judges what was.

A goal knows what is planned, what was measured so far, and how much time is left; nothing of servers, engines and
files. One loop (`measure.loop`) asks all of them, measures and records what they say, and asks again. `TimeBudget` is
the clock of a run.
"""

import math
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import ClassVar, NamedTuple, Protocol

from loadstone.drivers.histogram import Histogram
from loadstone.experiment.plan.group import Group
from loadstone.experiment.plan.run_plan import Block, CrashTrial, PlannedTrial, RunPlan, preparation
from loadstone.experiment.spec.experiment import Experiment
from loadstone.judge.verdict import Verdict
from loadstone.measure.listener import Notice, ProgressListener
from loadstone.run_folder.crash import CrashRecord
from loadstone.run_folder.look import Look, LookVerdict, Reason
from loadstone.run_folder.trial import TrialRecord, lasted_s
from loadstone.text.message import Message


class TimeBudget:
    """The clock of a run, from its command to its report. Earlier sessions of a resumed run count."""

    def __init__(
        self,
        budget_s: float,
        earlier: Iterable[TrialRecord] = (),
        clock: Callable[[], float] = time.monotonic,
        *,
        began_s: float | None = None,
    ) -> None:
        """`budget_s` is for all sessions together; 0: there is no end. `earlier` are their trials, every attempt.

        `began_s`: when the command began, by `clock`; None: now.
        """
        self.budget_s = budget_s
        self._clock = clock
        self._began_s = clock() if began_s is None else began_s
        self._ending_s = 0.0
        self._earlier_s = lasted_s(earlier)

    def keep(self, ending_s: float) -> None:
        """Keep `ending_s` seconds from now on for what comes after the trials."""
        self._ending_s = ending_s

    def elapsed_s(self) -> float:
        """Seconds since the run began, all sessions together."""
        return self._earlier_s + self._clock() - self._began_s

    def left_s(self) -> float:
        """Seconds that are left for trials, 0 at least; infinite without a budget."""
        return max(0.0, self.budget_s - self._ending_s - self.elapsed_s()) if self.budget_s > 0 else math.inf

    def share_left(self) -> float:
        """Return the time left as a share of the whole budget; 1 without one."""
        return self.left_s() / self.budget_s if self.budget_s > 0 else 1.0


class GoalPhase(IntEnum):
    """When goals are asked: in this order, and within a turn in the order of the registry."""

    FIRST = 1
    """Each gets a first figure."""
    MORE = 2
    """Each goes on until it has its answer, as far as the time goes that is not kept for what comes after."""
    AFTER = 3
    """What follows the tables and comparisons, in the time that was kept for it."""
    LEFT = 4
    """What ran out of time goes on in what the others left."""


@dataclass(frozen=True)
class LabelledBlock:
    """A block, and what is shown of it while it is measured."""

    block: Block
    label: str
    """What is measured."""
    place: str
    """Where in the run it stands."""
    name: str = ""
    """Empty: that of its trial."""
    labels: tuple[str, ...] = ()
    """Labels of each trial, where several take turns and are shown apart."""
    in_round: Callable[[int, int], str] | None = None
    """The place in a round, which counts from 1, with so many users; None: it stays the same."""


@dataclass(frozen=True)
class MeasureBlocks:
    """These blocks are measured next, one after the other; the goal is not asked in between."""

    blocks: tuple[LabelledBlock, ...]
    notice: Notice | None = None
    """Told before."""
    then: Callable[[ProgressListener, Sequence[TrialRecord]], None] | None = None
    """Told when all are recorded, with their records."""
    whole: str | None = None
    """The place of them all, where they are reported as one; None: each trial by itself."""
    warms: bool = False
    """They only warm up: nothing is reported of their trials."""


@dataclass(frozen=True)
class CrashServer:
    """A server is killed next, under load: crash `number` of so many."""

    crash: CrashTrial
    number: int
    of: int


@dataclass(frozen=True)
class RecordLook:
    """What was measured was judged, or nothing more is: a line of `looks.jsonl`. The goal is asked again."""

    look: Look
    notice: Notice | None = None
    """Told once the look stands in the folder."""


@dataclass(frozen=True)
class NothingMore:
    """Nothing more in this turn."""

    notice: Notice | None = None


Step = MeasureBlocks | CrashServer | RecordLook | NothingMore


@dataclass
class RunHistory:
    """The run so far, by its records: earlier sessions of a resumed run are in it. Lines are only ever added."""

    trials: list[TrialRecord] = field(default_factory=list)
    """Every attempt, in the order in which they ended."""
    looks: list[Look] = field(default_factory=list)
    crashes: list[CrashRecord] = field(default_factory=list)
    more_time: bool = False
    """Whether a resumed run may last longer than it was given before."""

    def look(self, name: str, stage: int = 0) -> Look | None:
        """The newest look at this stage of a group, or at a condition that is saturated."""
        return next((look for look in reversed(self.looks) if (look.group, look.stage) == (name, stage)), None)


@dataclass
class RunClock:
    """The time of a run, which goes on: each question is answered as of now."""

    budget: TimeBudget
    unix_s: Callable[[], float]
    turn: GoalPhase = GoalPhase.FIRST
    kept_s: Callable[[], float] = lambda: 0.0
    """Seconds that the goals keep for first figures, see `Goal.first_s`."""
    _prepared: set[str] = field(default_factory=set)
    """What was started, warmed up and written for the trials so far, see `run_plan.preparation`."""

    @property
    def left_s(self) -> float:
        """Seconds that are left for trials; infinite without a budget."""
        return self.budget.left_s()

    def fits(self, seconds: float, planned: Sequence[PlannedTrial] = ()) -> bool:
        """Whether there is time for trials of so many seconds, with what must start for `planned`."""
        needed = {name: cost_s for trial in planned for name, cost_s in preparation(trial).items()}
        starts_s = sum(cost_s for name, cost_s in needed.items() if name not in self._prepared)
        return seconds + starts_s <= self.left_s

    def prepared(self, planned: PlannedTrial) -> None:
        """What a trial needs is started for it, and stays."""
        self._prepared |= preparation(planned).keys()

    def forget_prepared(self) -> None:
        """Others may have taken the places of what was started."""
        self._prepared.clear()

    def look(
        self,
        name: str,
        blocks: int,
        reason: Reason,
        *,
        stage: int = 0,
        verdicts: Sequence[LookVerdict] = (),
        answered: bool = False,
        carried: Message | None = None,
    ) -> Look:
        """A look as of now; every reason but `go on` ends what is looked at."""
        return Look(
            group=name,
            stage=stage,
            blocks=blocks,
            unix_s=round(self.unix_s(), 3),
            elapsed_s=round(self.budget.elapsed_s(), 3),
            verdicts=list(verdicts),
            stop=reason != "go on",
            reason=reason,
            answered=answered,
            carried=carried,
        )


class RemainingTime(NamedTuple):
    """Seconds that what is not measured yet takes: surely, and at most; infinite where nobody can say."""

    least_s: float = 0.0
    most_s: float = 0.0


class LookOutcome(Protocol):
    """What a look at a comparison brought."""

    @property
    def verdicts(self) -> Sequence[Verdict]:
        """Return the verdict of each of the group's pairs."""

    @property
    def costs(self) -> Sequence[Verdict | None]:
        """Return, for each pair, the verdict by what a request costs, where that alone answers its question; else
        None."""

    @property
    def decided(self) -> bool:
        """Whether more blocks would change no verdict."""

    @property
    def answered(self) -> bool:
        """Whether it is decided, or each pair has a verdict that more blocks may still change or narrow."""

    @property
    def exact(self) -> bool:
        """Return, for decided pairs, whether what a request costs is known as exactly as the experiment asks for; for a
        rule of an add-on, whether all is known that it asks for."""

    @property
    def forecast(self) -> Message | None:
        """What the next look would show, by the blocks measured so far; None where that is not known."""

    @property
    def carried(self) -> Message | None:
        """What reached from one slice into the next, where that leaves no verdict; None where nothing did."""

    @property
    def is_final(self) -> bool:
        """Return True if the outcome is final: no further block can change it."""

    @property
    def suspects_loss(self) -> bool:
        """Return True if the blocks so far make it likely that more blocks would show a loss."""


class JudgeGroup(Protocol):
    """Judges a group by its blocks so far; see `judge.analysis.looks.look_at`."""

    def __call__(
        self,
        group: Group,
        experiment: Experiment,
        trials: Sequence[TrialRecord],
        budget_minutes: float | None,
    ) -> LookOutcome: ...


@dataclass(frozen=True)
class GoalContext:
    """What a goal is made from: the plan of the run, and who judges."""

    experiment: Experiment
    run_plan: RunPlan
    look_at: JudgeGroup
    histogram: Callable[[str], Histogram]
    """All response times of a trial, by its name. Raises DriveFailed."""


class Goal(Protocol):
    """All questions of one kind. What it remembers is of this session; a resumed run goes on from the history alone."""

    turns: ClassVar[tuple[GoalPhase, ...]]
    """When it is asked."""
    takes_all_time: ClassVar[bool] = False
    """Whether it may take all the time there is, so that it is asked after what ends by itself."""

    @abstractmethod
    def next(self, history: RunHistory, time: RunClock) -> Step:
        """What comes next. What it said before stands in the history by now."""

    def first_s(self, history: RunHistory) -> Sequence[float]:  # noqa: ARG002 (a goal that keeps none needs none)
        """Seconds that others leave it for its first figures: of each of them, in their order."""
        return ()

    def expected(self, history: RunHistory, time: RunClock) -> RemainingTime:  # noqa: ARG002
        """Return how long it still takes."""
        return RemainingTime()
