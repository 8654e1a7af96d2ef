"""The facts of a trial: all that its checks are made from, kept in its line so that they can be made again."""

import operator
import re
from collections.abc import Collection, Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SerializationInfo, ValidationError, field_serializer, model_validator
from pydantic.dataclasses import dataclass

from loadstone.drivers.outcome import CommandRecord, DriveRecord
from loadstone.experiment.plan.drive_plan import Closed, Open, Plan
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.run_plan import StudiedPart
from loadstone.machine.limits_in_force import LimitInForce, LimitName, PartLimits
from loadstone.machine.placement import Placement
from loadstone.monitors.snapshot import Snapshot

DRIVER = "generator"
"""The part that makes the load: the driver's own threads."""
OWN = "loadstone"
"""The rest of loadstone's process: monitors, progress, record."""
LINK = "link"
"""The kind of a line to a server. Its part is named after the server: `redis.link`."""
OTHERS = "others"
"""The part under which the monitors record, by name, who else used the servers' CPUs."""
HOST = "host"
"""The part under which the machine is recorded."""
_NUMBERED = re.compile(r"(-replica|-worker)?-\d+$")


def owner_of(part: str, names: Collection[str]) -> str | None:
    """Which of these servers or subjects a part belongs to: `app` has `app-1`, `app-replica-1`, `app-1-worker-2`..."""
    while part not in names:
        stem = _NUMBERED.sub("", part)
        if stem == part:
            return None
        part = stem
    return part


class Facts(BaseModel):
    """Base of every part: immutable. Keys of later versions are passed over."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Ceiling(Facts):
    """What the same driver did against the null server, which answers at once and stores nothing."""

    throughput_per_s: float
    """Completions a second with `users` users, enough to keep the driver busy."""
    users: int
    hottest_thread_share: float
    """CPU of the driver's busiest thread as a share of one core, during that."""
    floor_p50_ns: int | None = None
    """P50 of the response time with a single user: the round trip and the driver, and nothing else."""

    @property
    def capacity_per_s(self) -> float:
        """The driver's capacity: its rate against the null server, at a fully busy thread.

        A driver that still had time left was held up by the null server or by too few users, and could
        have done more in proportion.
        """
        return self.throughput_per_s / min(1.0, max(self.hottest_thread_share, 0.05))

    @classmethod
    def of(cls, plan: Plan, busy: DriveRecord, single: DriveRecord | None = None) -> "Ceiling":
        """The ceiling from two drives of one load against the null server.

        Args:
            plan: what `busy` was driven by; a closed model with enough users to keep the driver busy.
            busy: as many users as that.
            single: the same with one user; None if that was not driven.
        """
        completed = sum(operation.window_completed for operation in busy.operations.values())
        floor = [o.response_ns.p50 for o in single.operations.values() if o.response_ns.count] if single else []
        return cls(
            throughput_per_s=completed / busy.measure_s if busy.measure_s > 0 else 0.0,
            users=plan.model.users if isinstance(plan.model, Closed) else 0,
            hottest_thread_share=max((t.working_s / t.wall_s for t in busy.threads if t.wall_s > 0), default=1.0),
            floor_p50_ns=min(floor, default=None),
        )


class ServerCounters(Facts):
    """A server's own counters at one moment."""

    calls: dict[str, int]
    """Command as the server names it (`json.set`) -> calls, refused ones included."""
    counters: dict[str, float]
    """Its other figures by their INFO names, e.g. `total_net_input_bytes`."""
    run_id: str | None = None
    settings: dict[str, str] = {}
    """Those that may distort a figure, as the server reports them: `loglevel`, `slowlog-log-slower-than`."""
    monitor_clients: int | None = None
    slow_log_entries: int | None = None
    latency_events: dict[str, int] = {}
    """Event that its latency monitor saw -> the longest so far in ms."""

    @classmethod
    def of(cls, snapshot: Snapshot) -> "ServerCounters":
        """The counters of a snapshot."""
        calls = {name: stat.calls + stat.rejected_calls for name, stat in snapshot.commands.items()}
        return cls(
            calls=calls,
            counters=dict(snapshot.figures),
            run_id=snapshot.run_id,
            settings=dict(snapshot.settings),
            monitor_clients=snapshot.monitor_clients,
            slow_log_entries=snapshot.slow_log_entries,
            latency_events=dict(snapshot.latency_events),
        )


class ServerTrial(Facts):
    """A server right before and right after the drive. None: it could not be queried."""

    before: ServerCounters | None = None
    after: ServerCounters | None = None


SnapshotPair = tuple[Snapshot | None, Snapshot | None]
"""Right before and right after a drive; None: the server could not be queried."""


class SeriesPoint(Facts):
    """One interval of the measure phase."""

    start_s: float
    duration_s: float
    completed: int
    ok: int
    connections: int
    backlog: int = 0
    """Arrivals that waited for a connection at its end."""


class HostFacts(Facts):
    """The machine in the measure phase, as far as the monitors saw it."""

    steal_share: float | None = None
    """CPU time taken by other machines, as a share of all CPU time."""
    idle_share: float | None = None
    swapped_bytes: float | None = None
    """Moved in from and out to swap."""
    listen_drops: float | None = None
    """Connections that servers on this machine did not accept since too many waited for that."""
    throttled_s: float | None = None
    """How long the driver's control group was throttled."""
    huge_pages_always: bool | None = None
    """Whether the kernel gives huge pages to every process, requested or not."""
    overcommit_memory: int | None = None
    """The kernel's setting of that name."""


def cpus_in_force(limits: Mapping[LimitName, LimitInForce]) -> float | None:
    """Return how many CPUs' worth of time the limits allow; None where no CPU limit is in force."""
    limit = limits.get("cpu")
    return None if limit is None else limit.value


class PartCpu(Facts):
    """CPU of one part in the measure phase, as shares of one core."""

    mean_share: float
    max_share: float | None = None
    """In the busiest second."""
    main_thread_share: float | None = None
    """The thread that executes the commands, where there is one and it can be observed."""
    system_share: float | None = None
    """Kernel part of `mean_share`; the rest is user time. None where conditions took turns on a server elsewhere."""
    children_s: float | None = None
    """CPU seconds of processes that it started, such as a Redis's that writes a snapshot: beside `mean_share`. Where
    several conditions took turns nobody knows whose they are, and each has a part by its time."""
    wait_share: float | None = None
    """How long that thread, or the driver's hottest, was ready to run and had no CPU, as a share of the time."""
    disk_share: float | None = None
    """How long the main thread waited for the disk, as a share of the time."""
    cpu_limit: float | None = None
    """For a server, how many CPUs' worth of time it was held to; None without a limit that was in force."""


@dataclass(config=ConfigDict(extra="ignore"), frozen=True, slots=True, kw_only=True)
class AvgMax:
    """A figure over the measure phase, in the unit of its monitor."""

    avg: float
    max: float


class StoredFacts(Facts):
    """What a server held before and after the drive, of what one operation stores."""

    operation: str
    server: str
    before: int | None = None
    """None: it could not be counted."""
    after: int | None = None
    answered: int = 0
    """Correct replies of the operation in the whole drive, warm-up and drain included."""
    unknown: int = 0
    """Operations that may have stored it or not: errors, time-outs, replies that never came."""
    keys_before: int | None = None
    """Keys in the server's database; None where it has none."""
    keys_after: int | None = None


class SubjectFacts(Facts):
    """A subject during the trial."""

    replicas: int
    ours: bool
    limits: PartLimits = {}
    throttled_s: float | None = None
    """How long its CPU limit throttled it during the drive, summed over replicas and CPUs; None without a limit."""
    restless_cores: float | None = None
    """What it still took without load after its warm-up, after the longest wait; None: it became idle."""
    addresses: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)
    """For a user's application, the address and port of each of its URLs, as the system resolved them. Left out of
    others, and where a name could not be resolved."""


class PartStart(Facts):
    """Which start of a part answered right before the drive, and which right after it. None: it is not known."""

    before: str | None = None
    """Another text for each start: a Redis's run id, or a process and when it began."""
    after: str | None = None
    uptime_before_s: float | None = None
    """How long it had been running, by its own clock."""
    uptime_after_s: float | None = None
    between_s: float = 0.0
    """From the one to the other, by loadstone's monotonic clock."""


class ConcurrentLoadFacts(Facts):
    """What other drives did on the same servers meanwhile, of a condition that was measured in rounds with others."""

    drives: int
    commands: dict[str, CommandRecord]
    """As `DriveRecord.commands`."""
    bytes_sent: int
    keys: tuple[int, int] | None
    """The least and the most keys that they can have added; None: not known."""
    loaded: bool
    """Whether every key of theirs was stored before."""


class StallFacts(Facts):
    """A server that answered nothing for a while, with what was seen of its process meanwhile."""

    begin_s: float
    """Since the load began."""
    length_s: float
    waiting: int
    """Requests that waited, at most."""
    part: str | None = None
    """Whose process that was; None: none could be observed."""
    state: Literal["stopped", "busy", "no_cpu", "idle"] | None = None
    """It was stopped (a signal), it used a CPU all the while, it was ready to run and others had its CPU, or it did no
    work; None where that is not known."""


class PortFacts(Facts):
    """The ports for connections that this machine makes, right after the drive."""

    first: int
    last: int
    count: int
    """Less than the range where some are reserved."""
    in_use: int
    """TCP sockets that were open."""
    time_wait: int
    """Connections that were closed here and still kept their ports."""


class LinkFacts(Facts):
    """The line to a server: what it was to add to a round trip, and what it did."""

    requested_ns: int
    """Added to a round trip on average, without what the bandwidth adds."""
    part: str
    """Its part among `TrialFacts.parts`."""
    pings: int = 0
    """Right before the drive, each once through the line and once beside it; 0: they were not answered."""
    through_ns: tuple[float, float, float] | None = None
    """P10, P50 and P90 of their round trips."""
    beside_ns: tuple[float, float, float] | None = None
    added_ns: tuple[float, float, float] | None = None
    """What a round trip through the line took more: the median, and its interval (95 %)."""
    unrecorded_ns: tuple[float, float, float] | None = None
    """What of `added_ns` is neither the delay nor what the line recorded as its own lateness, with the same interval:
    what its two connections cost more than one. None: the line did not say."""
    late_ns: tuple[float, float] | None = None
    """Time by which pieces came later than they were to, during the drive, on both ways together: mean, and P99 of the
    worse one; less than 0: earlier. None: the line did not say."""
    pieces: int = 0
    """That it carried during the drive."""
    busy_share: float | None = None
    """Share of the drive's time for which the line's thread ran or waited for a CPU; None: the line did not say."""
    dropped: int = 0
    """Connections that were lost on command since the line began."""
    bits_per_s: float | None = None
    """The bandwidth of each way; None: not limited."""
    carried_bytes: tuple[int, int] | None = None
    """To the server and back, during the drive and in all of its phases; None as written before that was counted."""

    @property
    def added_in_drive_ns(self) -> tuple[float, float, float] | None:
        """What it added to a round trip during the drive, and the interval of that (95 %).

        The delay, how late the line was by its own record, and what it does not record as the pings had it. None
        where one of these is not known.
        """
        if self.late_ns is None or self.unrecorded_ns is None:
            return None
        value, low, high = (self.requested_ns + self.late_ns[0] + part for part in self.unrecorded_ns)
        return value, low, high

    @property
    def excess_ns(self) -> tuple[float, float, float] | None:
        """Return by how much that was more than required. A line without a delay adds what passing on takes: there it
        is what the drive's round trips took more than the pings before it."""
        added = self.added_in_drive_ns
        if added is None:
            return None
        required_ns = self.requested_ns if self.requested_ns or self.added_ns is None else self.added_ns[0]
        value, low, high = (ns - required_ns for ns in added)
        return value, low, high


class TrialFacts(Facts):
    """Everything about a trial that its checks need."""

    attempt: int = 1
    """At the same trial of the plan: a later one counts in the place of an earlier one."""
    failure: str | None = None
    """Why the trial could not be driven to its end, in one line; None if it was."""
    plan: Plan | None = None
    """What the driver was given (`plan.schema.json`), without addresses. None: the facts were damaged."""
    drive: DriveRecord | None = None
    """What the driver reported, without histograms: counts, threads, connections, redirections, failovers, stalls."""
    kinds: dict[str, str] = {}
    """What each part is: a software such as `redis`, `subject`, `host`, `driver`; of what stands behind a subject
    `watched redis` and the like, or `watched program`. Nodes and replicas (`app-1`) are of the kind of their part."""
    servers: dict[str, ServerTrial] = {}
    """Server -> its own counters right before and after the drive."""
    starts: dict[str, PartStart] = {}
    """Every process that can be observed and every server, by its part."""
    ceiling: Ceiling | None = None
    """What the same driver did against the null server."""
    series: tuple[SeriesPoint, ...] = ()
    """The intervals of the measure phase."""
    response_dispersion: float | None = None
    """Mean square of the response times over the square of their mean: 1 if all are alike, 2 if exponential."""
    host: HostFacts = HostFacts()
    parts: dict[str, PartCpu] = {}
    """CPU of each part as shares of one core."""
    stored: tuple[StoredFacts, ...] = ()
    """What `workload.stored` counted before and after."""
    subjects: dict[str, SubjectFacts] = {}
    target: str | None = None
    """The server or subject that got the load; None: every server."""
    settings: dict[str, dict[str, str]] = {}
    """Server -> settings that the experiment gives it, as read back right before the trial."""
    unlike: dict[str, dict[str, str]] = {}
    """Server -> what was requested of those that differ."""
    limits: dict[str, PartLimits] = {}
    """Server -> the limits that it has, or was to have."""
    seen: dict[str, dict[str, AvgMax]] = {}
    """Part -> metric -> average and maximum in the measure phase, of every monitor (`host` has vmstat's columns)."""
    speed: dict[str, tuple[int, int]] = {}
    """`cpu<number>` -> nanoseconds that a fixed piece of work took on it right before and right after the drive."""
    server_connections: dict[str, tuple[float, float, float]] = {}
    """Server -> connections that it had open, on average in each third of the measure phase."""
    ports: PortFacts | None = None
    """Local ports of this machine right after the drive; None where the system does not tell."""
    placement: Placement | None = None
    """Which CPUs servers and driver were given; None: no one placed them."""
    stalls: tuple[StallFacts, ...] = ()
    """Stalls of servers; `drive` has the driver's own, too."""
    replica_of: tuple[int | None, ...] = ()
    """Number of the primary of each of `drive.endpoints`; None: it is one."""
    company: ConcurrentLoadFacts | None = None
    """What other drives did on the same servers in the block; None: there were none."""
    links: dict[str, LinkFacts] = {}
    """Server -> its delay line: requested, and really added."""
    studied: tuple[StudiedPart, ...] = ()
    """What of the generator differs between the conditions of its table or comparison."""
    misses: float | Literal["any"] | None = None
    """The share of the reads that find nothing by design; None: as data are loaded."""
    lab_share: float | None = None
    """For which share of the time loadstone's threads that make no load ran on the servers' CPUs while it was measured;
    None: these CPUs are not known, or an older version did not look."""
    rate_share: float | None = None
    """The share of the condition's own capacity that the plan's rate is; None: it is not one."""
    one_process_with: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)
    """Parts of other conditions that are the same processes as this trial's, under other names, and that get the same
    requests. It follows from all trials together (`judge/compare/one_process.py`); a run's folder does not have it."""

    @model_validator(mode="before")
    @classmethod
    def _without_addresses(cls, data: Any) -> Any:
        """A plan stands here as it is written, without its endpoints and their passwords: with a placeholder."""
        plan = data.get("plan") if isinstance(data, dict) else None
        if isinstance(plan, Plan):
            return {**data, "plan": plan.model_copy(update={"endpoints": (Endpoint(),)})}
        return {**data, "plan": {"endpoints": [{}], **plan}} if isinstance(plan, dict) else data

    @field_serializer("plan")
    def _plan_without_addresses(self, plan: Plan | None, info: SerializationInfo) -> dict[str, Any] | None:
        return None if plan is None else plan.model_dump(mode=info.mode, exclude={"endpoints"})

    @classmethod
    def read(cls, written: object) -> "TrialFacts":
        """The facts that a trial's line holds. Of damaged ones the attempt alone is left, so that it still counts.

        Raises:
            ValueError: they are no facts at all, or their attempt is no number.
        """
        try:
            return cls.model_validate(written)
        except ValidationError:
            attempt = written.get("attempt", 1) if isinstance(written, dict) else None
            if not isinstance(attempt, int):
                raise
            return cls(attempt=attempt)

    @property
    def closed(self) -> Closed | None:
        """The closed model, if that is the plan's."""
        return self.plan.model if self.plan is not None and isinstance(self.plan.model, Closed) else None

    @property
    def open(self) -> Open | None:
        """The open model, if that is the plan's."""
        return self.plan.model if self.plan is not None and isinstance(self.plan.model, Open) else None

    @property
    def measured_times(self) -> tuple[tuple[float, float], ...]:
        """When it was measured, since the load began: from when to when, each slice for itself."""
        if self.drive is None:
            return ()
        if self.drive.slices:
            return tuple((one.begin_s, one.end_s) for one in self.drive.slices)
        measure = self.drive.phases.get("measure")
        return () if measure is None else ((measure.start_s, measure.end_s),)

    def kind_of(self, part: str) -> str | None:
        """What a part is; None of what belongs to nothing that has a kind."""
        owner = owner_of(part, self.kinds)
        return None if owner is None else self.kinds[owner]
