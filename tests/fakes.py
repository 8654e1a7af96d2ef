"""Fakes of the real seams around a measurement: parts, driver, monitor, display. None of them waits for anything."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, ClassVar

from hdrh.histogram import HdrHistogram

from loadstone.drivers.driver import OnInterval, OnRest, RoundsOptions, nothing
from loadstone.drivers.outcome import (
    Acknowledged,
    AgentState,
    CommandRecord,
    Connections,
    Counts,
    DriveRecord,
    Interval,
    IntervalOperation,
    Latency,
    OperationRecord,
    Phase,
    PhaseTimes,
    ReadBack,
    ThreadRecord,
)
from loadstone.drivers.slices import PartSlice, Slice
from loadstone.experiment.plan.drive_plan import Closed, Plan
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.protocols import PROTOCOLS
from loadstone.experiment.plan.run_plan import PlannedTrial, RunPlan
from loadstone.experiment.spec.experiment import Experiment
from loadstone.experiment.spec.levels import Condition
from loadstone.judge.verdict import CpuCost
from loadstone.machine import clock
from loadstone.machine.limits_in_force import PartLimits
from loadstone.machine.processes.resource_limits import Throttling
from loadstone.measure.goals.goal import CrashServer
from loadstone.monitors import catalogue
from loadstone.monitors.metric import by_name
from loadstone.monitors.monitor import Monitor, Sample
from loadstone.monitors.watch import MonitorTargets
from loadstone.programs.ready import RunningParts, RunningSubject
from loadstone.programs.subjects.replica import Worker
from loadstone.report.live.events import RunEvents
from loadstone.run_folder.crash import CrashRecord
from loadstone.run_folder.facts import Ceiling
from loadstone.run_folder.folder import RunFolder
from loadstone.run_folder.plan_summary import summarise_plan
from loadstone.run_folder.trial import TrialRecord
from loadstone.safety.errors import DriveFailed
from loadstone.servers.deployed import RunningServer
from loadstone.servers.server import DeployContext

from .fake_redis import FakeServer, numbered

DONE = 100
"""Operations in each interval of a fake drive."""
NONE = Latency(count=0, min=0, mean=0.0, p50=0, p90=0, p95=0, p99=0, p999=0, max=0)


@lru_cache(maxsize=64)
def latencies(count: int, each_ns: int) -> tuple[Latency, str]:
    """So many latencies, all alike: their summary and their histogram."""
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    if count:
        histogram.record_value(each_ns, count)
    names = ("min", "mean", "p50", "p90", "p95", "p99", "p999", "max")
    summary = Latency(count=count, **dict.fromkeys(names, each_ns)) if count else NONE  # type: ignore[arg-type]
    return summary, histogram.encode().decode()


@dataclass
class FakeDriver:
    """Does `DONE` operations an interval on servers that are up, and writes their keys; one that is down ends it."""

    servers: list[FakeServer] = field(default_factory=list)
    """Those that its endpoints may be."""
    shares: list[Plan] = field(default_factory=list)
    """What it drove, in order."""
    at: dict[str, Callable[[], object]] = field(default_factory=dict)
    """What the outside does, once: at `begin`, at the first interval of a phase, or at `end`."""
    rounds: list[RoundsOptions] = field(default_factory=list)
    stopped: bool = False
    stops: int = 0
    """How often it was stopped."""
    wrong: int = 0
    """Of how many operations an interval, at most, the reply is wrong."""
    unix_ns: Callable[[], int] = clock.unix_ns

    def drive(
        self,
        shares: Sequence[Plan],
        on_interval: OnInterval,
        rounds: RoundsOptions | None = None,
        on_rest: OnRest = nothing,
    ) -> list[DriveRecord]:
        """One after the other what the real one does in turns; the figures are spread over the slices then."""
        if rounds is None:
            alone = self._one(shares[0], partial(on_interval, 0))
            on_rest()
            return [alone]
        self.rounds.append(rounds)
        started_ns = self.unix_ns()
        found = [self._one(share, partial(on_interval, place)) for place, share in enumerate(shares)]
        on_rest()
        return [
            record.model_copy(update={"started_unix_ns": started_ns, "slices": _slices(record, place, rounds)})
            for place, record in enumerate(found)
        ]

    def _one(self, share: Plan, on_interval: Callable[[Interval], None]) -> DriveRecord:
        self.shares.append(share)
        self._happens("begin")
        reached = [one for one in self.servers if any(one._endpoint.port == to.port for to in share.endpoints)]
        if PROTOCOLS[share.protocol].has_keys and not any(one.store.up for one in reached):
            raise DriveFailed.of(f"driver: {share.endpoints[0].label}: Connection refused")
        run = _Run(share, reached, self.unix_ns())
        for phase, length_s in _lengths(share):
            if self.stopped or run.ended:
                break
            self._happens(phase)
            run.interval(phase, length_s, on_interval, self.wrong)
        self._happens("end")
        return run.record("stopped on request" if self.stopped else run.ended)

    def stop(self) -> None:
        self.stopped = True
        self.stops += 1

    def _happens(self, moment: str) -> None:
        self.at.pop(moment, lambda: None)()


def _lengths(share: Plan) -> list[tuple[Phase, float]]:
    """Phases with the lengths of their intervals."""
    phases = share.phases
    found: list[tuple[Phase, float]] = [("warm_up", phases.warm_up_s)] if phases.warm_up_s else []
    count = max(1, round(phases.measure_s))  # about a second each, however short the plan would have them
    return [*found, *[("measure", phases.measure_s / count)] * count]  # type: ignore[list-item]


def _slices(record: DriveRecord, place: int, options: RoundsOptions) -> tuple[Slice, ...]:
    """Slice after slice as ordered; all of a drive's do the same."""
    done = sum(one.window_ok for one in record.operations.values()) // max(1, len(options.orders))
    parts = {part: PartSlice(cpu_s=0.5 * options.slice_s) for part in (options.parts[place] if options.parts else ())}
    found = []
    for number, order in enumerate(options.orders):
        position = order.index(place)
        begin_s = (number * len(order) + position) * (options.settle_s + options.slice_s) + options.settle_s
        end_s = begin_s + options.slice_s
        found.append(
            Slice(
                round=number, position=position, begin_s=begin_s, end_s=end_s, drained_s=end_s, offered=done,
                completed=done, ok=done, failed=0, cpu_s=0.01, parts=parts,
            )
        )  # fmt: skip
    return tuple(found)


class _Run:
    """One drive of the fake."""

    def __init__(self, share: Plan, servers: list[FakeServer], started_ns: int) -> None:
        self.share, self.servers = share, servers
        self.intervals: list[Interval] = []
        self.started_ns = started_ns
        self.ended: str | None = None
        self.written = 0

    def interval(self, phase: Phase, length_s: float, on_interval: Callable[[Interval], None], wrong: int = 0) -> None:
        share = self.share
        if PROTOCOLS[share.protocol].has_keys and not any(one.store.up for one in self.servers):
            self.ended = "no connection for 2 s: Connection refused"
            return
        once = share.keys.distribution == "exactly_once"
        number = min(share.keys.count - self.written, 10 * DONE) if once else DONE
        self._write(number)
        ok = number - min(number, wrong)
        users = share.model.users if isinstance(share.model, Closed) else 1
        summary, histogram = latencies(ok, max(1, int(users * length_s / max(1, number) * 1e9)))
        start_s = sum(one.duration_s for one in self.intervals)
        operation = IntervalOperation(
            offered=number, sent=number, ok=ok, errors=_wrong(number - ok), timeouts=0, dropped=0,
            response_ns=summary, response_histogram=histogram, service_histogram=histogram,
        )  # fmt: skip
        interval = Interval(
            index=len(self.intervals), phase=phase, start_s=start_s, duration_s=length_s,
            start_unix_ns=self.started_ns + int(start_s * 1e9), operations={share.operations[0].name: operation},
            bytes_sent=50 * number, bytes_received=5 * number, connections=share.pool.connections, users=users,
            backlog=0, cpu_s=[0.1 * length_s],
        )  # fmt: skip
        self.intervals.append(interval)
        on_interval(interval)

    def _write(self, number: int) -> None:
        """Each operation takes the next key, and each server counts its commands."""
        for one in self.servers:
            if one.store.up:
                first = self.written
                names = (
                    numbered(self.share.keys.prefix, n % self.share.keys.count) for n in range(first, first + number)
                )
                one.store.keys.update(dict.fromkeys(names, "1"))
                for command in self.share.operations[0].commands:
                    one.store.calls[command.args[0].lower()] += number
        self.written += number

    def record(self, stopped: str | None) -> DriveRecord:
        measured = [one for one in self.intervals if one.phase == "measure"]
        done, failed = _done(measured)
        total, total_failed = _done(self.intervals)
        replies = total + total_failed
        first = next(iter(measured[0].operations.values())).response_ns.p50 if measured else 1
        summary, histogram = latencies(done, first)
        measure_s = sum(one.duration_s for one in measured)
        operation = OperationRecord(
            counts=counts(done, failed), window_completed=done + failed, window_ok=done, response_ns=summary,
            service_ns=summary, response_sum_ns=done * first, response_histogram=histogram, service_histogram=histogram,
        )  # fmt: skip
        sent = {command.args[0]: CommandRecord(sent=replies, replied=replies)
                for command in self.share.operations[0].commands}  # fmt: skip
        pool = self.share.pool.connections
        one_each = Acknowledged(begun=(total, 1), newest=(total, 1), certain=(total, 1))
        return DriveRecord(
            format=1, engine="fake", started_unix_ns=self.started_ns, phases=self._phases(), measure_s=measure_s,
            operations={self.share.operations[0].name: operation}, total=counts(total, total_failed), pool_wait_ns=NONE,
            schedule_lag_ns=NONE, commands=sent, bytes_sent=50 * replies, bytes_received=5 * replies,
            threads=[ThreadRecord(cpu=None, cpu_s=0.1 * measure_s, wall_s=measure_s)],
            connections=Connections(planned=pool, opened=pool, open_at_end=pool, lost=0, failed=0, closed_idle=0),
            read_back=ReadBack(checked=0, wrong=0, skipped=0), overflowed=0, clock_quantum_ns=30, stopped=stopped,
            acknowledged=one_each if self.share.acknowledged else None,
        )  # fmt: skip

    def _phases(self) -> dict[Phase, PhaseTimes]:
        found: dict[Phase, PhaseTimes] = {}
        for one in self.intervals:
            start_s = found[one.phase].start_s if one.phase in found else one.start_s
            found[one.phase] = PhaseTimes(start_s=start_s, end_s=one.start_s + one.duration_s)
        return found


def _done(intervals: Sequence[Interval]) -> tuple[int, int]:
    """Correct replies, and wrong ones."""
    operations = [next(iter(one.operations.values())) for one in intervals]
    return sum(one.ok for one in operations), sum(sum(one.errors.values()) for one in operations)


def _wrong(number: int) -> dict[str, int]:
    return {"wrong_reply": number} if number else {}


def counts(ok: int, wrong: int = 0) -> Counts:
    sent = ok + wrong
    return Counts(offered=sent, sent=sent, ok=ok, errors=_wrong(wrong), timeouts=0, dropped=0, in_flight=0, unsent=0)


class FakeSubject:
    """An application that runs until `words` says what its last ones were."""

    ours = True
    details: ClassVar[Mapping[str, str]] = {}
    limits: ClassVar[PartLimits] = {}
    metrics: ClassVar[Mapping[str, str]] = {}
    runtime = ""
    workers: ClassVar[Mapping[str, tuple[Worker, ...]]] = {}
    pids: ClassVar[Mapping[str, int]] = {}

    def __init__(self, name: str, warm_up_s: float = 0.0) -> None:
        self.name, self.warm_up_s, self.words = name, warm_up_s, ""

    def start(self, context: DeployContext) -> tuple[Endpoint, ...]:  # noqa: ARG002 (the seam's signature)
        return (Endpoint(),)

    def restart(self) -> tuple[Endpoint, ...]:
        self.words = ""
        return (Endpoint(),)

    def alive(self) -> bool:
        return not self.words

    def last_output(self) -> str:
        return self.words

    def throttling(self) -> Mapping[str, Throttling]:
        return {}

    def stop(self) -> None:
        """It is no process."""


def deployed(server: FakeServer) -> RunningServer:
    """A fake server, started, as `deploy/` hands it on."""
    endpoint = server.start(DeployContext())
    return RunningServer(server, endpoint, (endpoint,), server.control(), server.control(), dict(server.pids))


@dataclass
class FakeParts:
    """Makes the parts of a trial ready (`deploy.deployed.Parts`): those it was given, restarted if they died."""

    servers: dict[str, FakeServer]
    subjects: dict[str, FakeSubject] = field(default_factory=dict)
    needed: list[str] = field(default_factory=list)
    """The trials that needed them."""
    fails: Exception | None = None
    _running: dict[str, RunningServer] = field(default_factory=dict)

    def not_seen_at_work(self, subject: str) -> bool:  # noqa: ARG002 (the seam's signature)
        return False

    def look_behind(self, every: Sequence[RunningParts], asked_from_s: float | None = None) -> None:
        """Nothing stands behind them."""

    def need(self, planned: PlannedTrial) -> RunningParts:
        return self.need_all([planned])[0]

    def need_all(self, planned: Sequence[PlannedTrial], *, restarted: bool = False) -> list[RunningParts]:
        self.needed += [one.name for one in planned]
        for name, server in self.servers.items():
            if restarted and name in self._running:
                server.restart()
        return [self._ready() for _ in planned]

    def _ready(self) -> RunningParts:
        if self.fails is not None:
            raise self.fails
        for name, server in self.servers.items():
            if name not in self._running:
                self._running[name] = deployed(server)
            elif not server.alive():
                server.restart()
            if dict(server.pids) != self._running[name].pids:
                traces = self._running[name].traces
                self._running[name] = deployed_again(server)
                self._running[name].traces = traces
        subjects = {name: RunningSubject(one, (Endpoint(),), {}, one.warm_up_s) for name, one in self.subjects.items()}
        return RunningParts(dict(self._running), subjects)


def deployed_again(server: FakeServer) -> RunningServer:
    """A fake server that was restarted."""
    endpoint = server.control().endpoint
    return RunningServer(server, endpoint, (endpoint,), server.control(), server.control(), dict(server.pids))


@dataclass
class FakeProgress:
    """Keeps what is said."""

    steps: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    events: RunEvents = field(default_factory=RunEvents)

    def step(self, text: str) -> None:
        self.steps.append(text)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def sample(self, samples: Sequence[Sample]) -> None:
        """Passed over."""

    def cost(self, condition: str, trial: str, costs: Mapping[str, CpuCost]) -> None:
        """Passed over."""

    def agents(self, states: Sequence[AgentState]) -> None:
        """Passed over."""


@dataclass
class FakeLive:
    """Keeps what is shown."""

    intervals: list[Interval] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    trials: list[TrialRecord] = field(default_factory=list)

    def observe(self, interval: Interval, _: Condition) -> None:
        self.intervals.append(interval)

    def sample(self, samples: Iterable[Sample]) -> None:
        self.samples.extend(samples)

    def recorded(self, trial: TrialRecord) -> None:
        self.trials.append(trial)


class FakeMonitor:
    """Observes a machine that stands still."""

    METRICS = by_name([catalogue.METRICS["id"]])

    def sample(self, unix_s: float) -> Iterable[Sample]:
        return [Sample(unix_s, "host", "id", 100.0)]


def fake_monitors(_: MonitorTargets) -> list[Monitor]:
    """One monitor, whatever is to be watched."""
    return [FakeMonitor()]


@dataclass
class FakeGauge:
    """Says what every driver can do (`measure.ceiling.CeilingGauge`)."""

    measured: list[Plan] = field(default_factory=list)

    def measure(self, plan: Plan, reply_bytes: float = 0.0) -> Ceiling | None:  # noqa: ARG002 (the seam's signature)
        self.measured.append(plan)
        return Ceiling(throughput_per_s=1e6, users=64, hottest_thread_share=1.0, floor_p50_ns=20_000)


def crash_record(planned: CrashServer) -> CrashRecord:
    """Of a server that kept all of its writes."""
    crash = planned.crash
    return CrashRecord(
        name=crash.crash.name, trial=crash.trial.name, condition=crash.trial.condition, number=planned.number,
        acknowledged=9, unknown=0, found=9, restart_s=0.1, killed_after_s=1.0, started_unix_ns=1,
    )  # fmt: skip


def folder_of_run(root: Path, experiment: Experiment, environment: dict[str, Any], run_plan: RunPlan) -> RunFolder:
    """The folder of the only run below `root`: a new one, or that of the session before."""
    summary = summarise_plan(run_plan)
    existing = list(root.glob("*/plan.json"))
    if not existing:
        return RunFolder.create(root, experiment.name, experiment.model_dump(mode="json"), environment, summary)
    folder = RunFolder.resume(existing[0].parent)
    folder.write_plan(summary)
    return folder


class FullFile:
    """Stands for one file of a run's folder (`run_folder.lines.LineFile`) on a disk that is full."""

    def __init__(self, file: Any) -> None:
        self.path = file.path
        self._file = file

    def append_line(self, line: bytes) -> int:  # noqa: ARG002 (the signature of the real one)
        from loadstone.run_folder.lines import write_error

        raise write_error(OSError(28, "No space left on device"), self.path)

    def sync(self) -> None:
        self._file.sync()

    def close(self) -> None:
        self._file.close()
