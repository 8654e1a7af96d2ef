"""A whole search for saturation points by a script: a system of known truth in the place of servers and engine."""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from rich.console import Console
from tests.addons.saturation.trials import STARTED_NS, System, run_plan_of, with_slices
from tests.changed_facts import written
from tests.fakes import folder_of_run

from loadstone.addons.saturation.levels import users_at
from loadstone.addons.saturation.recorded_steps import phase_of, rate_of, step_of, users_of
from loadstone.drivers.histogram import decode
from loadstone.drivers.outcome import Counts, Interval, Latency
from loadstone.experiment.plan.drive_plan import Closed
from loadstone.experiment.plan.run_plan import Block, PlannedTrial, RunPlan
from loadstone.experiment.spec.experiment import Experiment
from loadstone.measure.goals.goal import CrashServer, GoalContext
from loadstone.measure.loop import RunLoop
from loadstone.report.live.progress import RunProgress
from loadstone.run_folder.crash import CrashRecord
from loadstone.run_folder.folder import RunFolder
from loadstone.run_folder.reading import RecordedRun, read_histogram, read_looks, read_run
from loadstone.run_folder.trial import TrialRecord

Spoiled = Callable[[TrialRecord], TrialRecord]
LATE_NS, EARLY_NS = 20e6, 1e6


@dataclass
class ScriptedSystem:
    """Writes trials into the folder as a conductor does. In the open model it is late beyond `limit_per_s`."""

    folder: RunFolder
    system: System
    synthetic: ModuleType
    spoiled: Spoiled = field(default=lambda trial: trial)
    limit_per_s: float = 5000.0
    ran: list[str] = field(default_factory=list)
    planned: list[PlannedTrial] = field(default_factory=list)

    def __post_init__(self) -> None:
        drive = self.synthetic.make_drive(self.synthetic.make_plan(), measure_intervals=1)
        self._interval: Interval = next(one for one in drive.intervals if one.phase == "measure")

    def run(self, block: Block, on_interval: Any) -> list[TrialRecord]:
        if block.rounds is not None:
            return self._in_rounds(block, on_interval)
        return [self._alone(block.trials[0], partial(on_interval, 0))]

    def _alone(self, planned: PlannedTrial, on_interval: Any) -> TrialRecord:
        step = step_of(planned)
        assert step is not None
        users, rate = users_of(planned) or 1, rate_of(planned)
        record = self.system.trial(step, planned.name)
        if phase_of(planned) == "ramp":
            intervals = self._ramp(planned)
        elif rate is not None:
            intervals = [self._made(rate, LATE_NS if rate > self.limit_per_s else EARLY_NS)]
        else:
            intervals = [self._made(self.system.per_s(users), 1e9 * self.system.response_s(users))]
        on_interval(intervals[-1])
        return self._written(planned, record, intervals)

    def _in_rounds(self, block: Block, on_interval: Any) -> list[TrialRecord]:
        steps = [step for one in block.trials if (step := step_of(one)) is not None]
        users = [one.users or 1 for one in steps]
        each = steps[0].rounds_a_sweep
        trials = self.system.rounds(users, steps[0].number, len(block.orders), each)
        found = []
        for planned, trial, of in zip(block.trials, trials, users, strict=True):
            slices = [
                {**one, "position": order.index(block.trials.index(planned))}
                for one, order in zip(written(trial)["drive"]["slices"], block.orders, strict=True)
            ]
            intervals = [
                self._made(self.system.per_s(of), 1e9 * self.system.response_s(of), rounds=(first, first + each - 1))
                for first in range(0, len(block.orders), each)
            ]
            on_interval(len(found), intervals[-1])
            found.append(self._written(planned, with_slices(trial, slices), intervals))
        return found

    def _written(self, planned: PlannedTrial, record: TrialRecord, intervals: Sequence[Interval]) -> TrialRecord:
        writer = self.folder.begin_trial(planned.name)
        for one in intervals:
            writer.add_interval(one)
        self.ran.append(planned.name)
        self.planned.append(planned)
        changes = {"trial": planned.name, "condition": planned.condition, "search": planned.search}
        changes["counts"] = self._logged(record.counts, intervals)
        return writer.finish(self.spoiled(record.model_copy(update=changes)))

    def _logged(self, counts: Counts, intervals: Sequence[Interval]) -> Counts:
        """With as many correct replies as the log has."""
        operations = [one for interval in intervals for one in interval.operations.values()]
        ok = sum(decode(one.response_histogram).total for one in operations)
        more = {name: getattr(counts, name) + ok - counts.ok for name in ("offered", "sent")}
        return counts.model_copy(update={"ok": ok, **more})

    def _made(
        self, per_s: float, response_ns: float, rounds: tuple[int, int] | None = None, **changes: Any
    ) -> Interval:
        """A second of it; P99 is twice the mean, since 2 of 100 take twice as long."""
        whole = self.system.template.counts.offered
        values = [response_ns] * (whole - whole // 50) + [2 * response_ns] * (whole // 50)
        (name,) = self._interval.operations
        latency: Latency = self.synthetic.summary([round(value) for value in values])
        histogram = self.synthetic.encoded(self.synthetic.recorded(values))
        operation = self._interval.operations[name].model_copy(
            update={"ok": round(per_s), "response_ns": latency, "response_histogram": histogram}
        )
        first, last = rounds or (None, None)
        given = {"operations": {name: operation}, "first_round": first, "last_round": last, "duration_s": 1.0}
        return self._interval.model_copy(update={**given, **changes})

    def _ramp(self, planned: PlannedTrial) -> list[Interval]:
        model = planned.plan.model
        assert isinstance(model, Closed)
        assert model.ramp_up is not None
        step_s = planned.plan.interval_s
        count = round(planned.plan.phases.measure_s / step_s)
        found = []
        for index in range(count):
            users = users_at(model.ramp_up, model.users, (index + 0.5) * step_s)
            times = {"index": index, "start_s": index * step_s, "duration_s": step_s}
            found.append(self._made(step_s * self.system.per_s(users), 1e6, **times))
        return found


class NoCrashes:
    """None is planned."""

    def run(self, planned: CrashServer) -> CrashRecord:
        raise AssertionError(planned)


def no_look(*_: Any) -> Any:
    """No comparison is planned."""
    raise AssertionError


@dataclass
class Session:
    """Searches in one folder, each going on where the one before ended."""

    root: Path
    synthetic: ModuleType
    system: System
    experiment: Experiment
    quick: bool = False
    budget_s: float = 0.0
    spoiled: Spoiled = field(default=lambda trial: trial)
    out: io.StringIO = field(default_factory=io.StringIO)
    ran: list[str] = field(default_factory=list)
    planned: list[PlannedTrial] = field(default_factory=list)

    @property
    def plan(self) -> RunPlan:
        return run_plan_of(self.experiment, quick=self.quick)

    def run(self, *, verbose: bool = False) -> RecordedRun:
        """Go on until it ends; what it ran stands in `ran`. A pause of an hour lies before."""
        plan = replace(self.plan, budget_s=self.budget_s)
        self.system.clock_s += 3600.0
        with folder_of_run(self.root, self.experiment, self.synthetic.ENVIRONMENT, plan) as folder:
            conductor = ScriptedSystem(folder, self.system, self.synthetic, self.spoiled)
            console = Console(file=self.out, width=200, color_system=None)
            progress = RunProgress(console, self._now_s, verbose=verbose)
            try:
                histogram = partial(read_histogram, folder.path, kind="response")
                asked = GoalContext(self.experiment, plan, no_look, histogram)
                RunLoop(asked, conductor, NoCrashes(), folder, progress, clock=self._now_s).run()
            finally:
                self.ran, self.planned = conductor.ran, conductor.planned
        return self.recorded()

    def _now_s(self) -> float:
        return STARTED_NS / 1e9 + self.system.clock_s

    def recorded(self) -> RecordedRun:
        (path,) = self.root.glob("*")
        return read_run(path)

    def ends(self) -> list[tuple[str, int, str]]:
        """The looks at which conditions ended."""
        (path,) = self.root.glob("*")
        return [(look.group, look.blocks, look.reason) for look in read_looks(path)[0]]

    @property
    def said(self) -> str:
        return self.out.getvalue()
