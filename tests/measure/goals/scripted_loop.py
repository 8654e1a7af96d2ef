"""A loop by a script: trials take 10 s each by a clock of their own; the folder is a real one."""

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from rich.console import Console
from tests.fakes import crash_record, folder_of_run
from tests.verdicts import verdict

from loadstone.experiment.plan.group import Group, PairDesign
from loadstone.experiment.plan.required import PlannedCrash
from loadstone.experiment.plan.run_plan import TABLE_GROUP, Block, CrashTrial, PlannedTrial, RunPlan, Stage
from loadstone.judge.verdict import Verdict
from loadstone.measure.goals.goal import CrashServer, GoalContext
from loadstone.measure.loop import RunLoop
from loadstone.report.live.progress import RunProgress
from loadstone.run_folder.crash import CrashRecord
from loadstone.run_folder.facts import TrialFacts
from loadstone.run_folder.folder import RunFolder
from loadstone.run_folder.reading import read_looks, read_run
from loadstone.run_folder.trial import CheckResult, TrialRecord
from loadstone.safety.errors import LoadstoneError
from loadstone.text.message import Message, message, verbatim

TRIAL_S = 10.0
BLOCK_S = 2 * TRIAL_S
START_S = 1_790_000_000.0
LOOKS = (8, 12, 18, 27, 40)
FASTER = verdict("faster", -10.7, -13, -8.3, names=("A", "B"))
EQUIVALENT = verdict("equivalent", 0, -2, 2)
CARRIED = verdict("undecided", carried=message("carried_into_slices", shift=-0.0408), more_minutes=1.0, unit="round")
NOT_DECIDABLE = verdict("not_decidable", 3, -20, 30, noise_floor=0.26)


class Clock:
    """Seconds since 1970 that pass when a trial runs."""

    def __init__(self) -> None:
        self.now = START_S

    def __call__(self) -> float:
        return self.now


@dataclass
class Outcome:
    verdicts: list[Verdict]
    decided: bool
    forecast: Message | None = None
    carried: float | None = None
    exact: bool = True
    lost: bool = False
    answered: bool = False
    is_final: bool = False
    suspects_loss: bool = False
    costs: list[Verdict | None] = field(default_factory=list)


@dataclass
class ScriptedJudge:
    """Decides each group at the number of blocks that `decides` names, and remembers what it was called with."""

    decides: dict[str, int] = field(default_factory=dict)
    carries: dict[str, int] = field(default_factory=dict)
    """In how many of its stages each group finds that something reaches from one slice into the next."""
    exact: dict[str, int] = field(default_factory=dict)
    """After how many blocks each group is as exact as asked for; others are so at once."""
    suspects_loss: frozenset[str] = frozenset()
    """The groups that look like a loss for as long as they are open."""
    is_final: frozenset[str] = frozenset()
    """The groups that give the run its answer once they are decided."""
    verdict: Verdict = FASTER
    costs: dict[str, Verdict] = field(default_factory=dict)
    """What answers the question of each group that is not decided."""
    requested: list[tuple[str, int]] = field(default_factory=list)

    def __call__(
        self,
        group: Group,
        experiment: Any,  # noqa: ARG002 (the judge's signature)
        trials: Sequence[TrialRecord],
        budget_minutes: float | None,  # noqa: ARG002
    ) -> Outcome:
        blocks = len({trial.block for trial in trials} - {0})
        assert len(trials) == len({trial.trial for trial in trials})
        assert {(trial.group, trial.stage) for trial in trials} <= {(group.name, group.stage)}
        self.requested.append((group.name, blocks))
        if group.stage < self.carries.get(group.name, 0):
            return Outcome([CARRIED] * len(group.pairs), False, carried=CARRIED.carried)
        decided = blocks >= self.decides.get(group.name, 10**6)
        found = self.verdict if decided else verdict("undecided", 3, -1, 7)
        spread = message("forecast", blocks=12, spread=0.1133, effect=0.1)
        cost = None if decided else self.costs.get(group.name)
        return Outcome(
            [found] * len(group.pairs),
            decided,
            spread,
            exact=blocks >= self.exact.get(group.name, 0),
            answered=decided or cost is not None,
            is_final=decided and group.name in self.is_final,
            suspects_loss=not decided and group.name in self.suspects_loss,
            costs=[cost] * len(group.pairs),
        )


Script = Callable[[PlannedTrial, int], str | LoadstoneError | None]
"""What happens to a trial at its nth attempt: the name of a check that becomes invalid, or an error, or nothing."""


def quiet(planned: PlannedTrial, attempt: int) -> None:
    """Nothing happens."""


@dataclass
class ScriptedConductor:
    """Writes trials into the folder as a conductor does, without driving anything."""

    folder: RunFolder
    clock: Clock
    template: TrialRecord
    script: Script = quiet
    ran: list[str] = field(default_factory=list)
    rounds: list[int] = field(default_factory=list)
    """How many each block in rounds had."""
    rates: Callable[[PlannedTrial, int], float] | None = None
    """Correct replies a second of a trial at its nth attempt; None: the template's."""

    def run(self, block: Block, on_interval: Any) -> list[TrialRecord]:  # noqa: ARG002 (the conductor's signature)
        if block.rounds is not None:
            self.rounds.append(len(block.orders))
        return [self._one(planned) for planned in block.trials]

    def _one(self, planned: PlannedTrial) -> TrialRecord:
        writer = self.folder.begin_trial(planned.name)
        happens = self.script(planned, writer.attempt)
        if isinstance(happens, LoadstoneError):
            raise happens
        started_s = self.clock.now
        self.clock.now += TRIAL_S
        self.ran.append(planned.name)
        checks = [failed(happens)] if happens else []
        record = self.template.model_copy(
            update={
                "trial": planned.name,
                "condition": planned.condition,
                "group": planned.group,
                "stage": planned.stage,
                "block": planned.block,
                "order": planned.order,
                "started_unix_ns": int(started_s * 1e9),
                "phases": {"measure": (0.0, TRIAL_S)},
                "checks": checks,
                "verdict": "invalid" if checks else "valid",
                "facts": TrialFacts(),
                **({} if self.rates is None else {"goodput_per_s": self.rates(planned, writer.attempt)}),
            }
        )
        return writer.finish(record)


def failed(name: str) -> CheckResult:
    return CheckResult(
        name=name, verdict="invalid", measured=61, limit=50, unit="%", reason=verbatim("Others took 31 %.")
    )


def no_histogram(trial: str) -> Any:
    """No one needs any."""
    raise AssertionError(trial)


@dataclass
class ScriptedCrashes:
    """Takes its time, and kills nothing."""

    bench: "Bench"

    def run(self, planned: CrashServer) -> CrashRecord:
        self.bench.clock.now += self.bench.others_take_s or 0.0
        return crash_record(planned)


class Counting(RunProgress):
    """A display that remembers the counts that it showed."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.counted: list[tuple[int, int]] = []

    def decided(self, decided: int, of: int) -> None:
        super().decided(decided, of)
        if self.counted[-1:] != [self.events.known.decided]:
            self.counted.append(self.events.known.decided)


@dataclass
class Bench:
    """A run plan, and loops over it in one folder."""

    synthetic: ModuleType
    root: Path
    clock: Clock = field(default_factory=Clock)
    judge: ScriptedJudge = field(default_factory=ScriptedJudge)
    out: io.StringIO = field(default_factory=io.StringIO)
    ran: list[str] = field(default_factory=list)
    rounds: list[int] = field(default_factory=list)
    rates: Callable[[PlannedTrial, int], float] | None = None
    counted: list[tuple[int, int]] = field(default_factory=list)
    """How many of all comparisons were shown as decided, as that changed."""
    parts: dict[str, Any] = field(default_factory=dict)
    """What the experiment asks of add-ons, by its key."""
    others_take_s: float | None = None
    """What comes after tables and comparisons takes so long: a crash. None: nothing comes."""

    def plan(self, *groups: Group, budget_s: float = 1e6, stages: Sequence[Group] = ()) -> RunPlan:
        """A plan with a budget that leaves `budget_s` for trials; the rest is kept for the report.

        `stages`: the later ones of these groups.
        """
        trials = tuple(trial for group in groups for trial in self._trials(group))
        longer = [Stage(group, tuple(self._trials(group))) for group in stages]
        plan = self.synthetic.make_run_plan(groups=groups, trials=trials, budget_s=budget_s)
        plan = replace(plan, longer=tuple(longer), crashes=() if self.others_take_s is None else (self._crash(),))
        for _ in range(40):
            plan = replace(plan, budget_s=budget_s + plan.ending_s() + 1e-6)
        return plan

    def _trials(self, group: Group) -> Iterator[PlannedTrial]:
        plan = self.synthetic.make_plan()
        prefix = "" if group.name == TABLE_GROUP else f"{group.key}-"
        for block in range(0 if group.warm_block else 1, group.looks[-1] + 1):
            for order, condition in enumerate(group.conditions, start=1):
                name = f"{prefix}b{block:02d}-{order:03d}"
                yield PlannedTrial(name, condition, block, order, {}, plan, None, group.name, stage=group.stage)

    def _crash(self) -> CrashTrial:
        plan = self.synthetic.make_plan()
        trial = PlannedTrial("crash-kept-1-1", {"operation": "set"}, 1, 1, {}, plan, None, "crash")
        return CrashTrial(trial, PlannedCrash("kept", trial.name, "redis", "DBSIZE", 0.0, 1, ()))

    def run(self, plan: RunPlan, script: Script = quiet, began_s: float | None = None) -> LoadstoneError | None:
        """Run the plan in the folder, or go on with it; the error that it ended with."""
        template = self.synthetic.make_trial()
        experiment = self.synthetic.make_experiment().model_copy(update=self.parts)
        with folder_of_run(self.root, experiment, self.synthetic.ENVIRONMENT, plan) as folder:
            conductor = ScriptedConductor(folder, self.clock, template, script, rates=self.rates)
            console = Console(file=self.out, width=200, color_system=None)
            progress = Counting(console, self.clock, verbose=True)
            asked = GoalContext(experiment, plan, self.judge, no_histogram)
            loop = RunLoop(
                asked, conductor, ScriptedCrashes(self), folder, progress,
                clock=self.clock, unix_s=self.clock, began_s=began_s,
            )  # fmt: skip
            try:
                loop.run()
            except LoadstoneError as error:
                return error
            finally:
                self.ran, self.rounds, self.counted = conductor.ran, conductor.rounds, progress.counted
        return None

    def looks(self) -> list[tuple[str, int, str]]:
        (path,) = self.root.glob("[!.]*")
        return [(look.group, look.blocks, look.reason) for look in read_looks(path)[0]]

    def recorded(self) -> Any:
        (path,) = self.root.glob("[!.]*")
        return read_run(path)

    def blocks(self, group: str) -> list[int]:
        """The blocks of a comparison whose trials ran last, in order, each once."""
        found = [
            int(name.removeprefix(f"{group}-b").split("-")[0]) for name in self.ran if name.startswith(f"{group}-")
        ]
        return sorted(set(found))

    @property
    def said(self) -> str:
        return self.out.getvalue()


def table(blocks: int = 2, conditions: int = 3) -> Group:
    levels = tuple({"operation": "set", "payload": "1 kB", "workers": n, "idle": "few"} for n in range(conditions))
    return Group(
        name=TABLE_GROUP,
        conditions=levels,
        pairs=(),
        metric="goodput_per_s",
        margin=0.05,
        looks=(blocks,),
        sequential=False,
        warm_block=False,
        trial_s=8.0,
        overhead_s=2.0,
    )


def compared(
    name: str = "storage", sequential: bool = True, looks: tuple[int, ...] = LOOKS, warm: bool = True
) -> Group:
    a, b = ({"operation": name, "payload": "1 kB", "workers": 32, "idle": idle} for idle in ("few", "many"))
    return Group(
        name=name,
        conditions=(a, b),
        pairs=(PairDesign(a, b),),
        metric="goodput_per_s",
        margin=0.05,
        looks=looks,
        sequential=sequential,
        warm_block=warm,
        trial_s=8.0,
        overhead_s=2.0,
    )
