"""What every driver returns: an `Interval` about once a second, and one `DriveRecord`.

Both come as JSON from the driver (native engine, client program, agent); these classes are the
contract of that JSON. Histograms are HdrHistogram V2, compressed, base64, in nanoseconds.

Whose phase an operation is counted in is reported by its *intended* time; `Interval` counts tell
what happened *within* the interval, whatever phase the operation belonged to.

Kinds of errors: `server_*` (the first word of a Redis error, or the meaning of a memcached's), `wrong_reply`,
`wrong_type`, `missing`, `nil_reply`, `not_positive`, `not_stored` (memcached's NS and EX), `protocol` (bytes that are
no reply); of HTTP `status_2xx`, `status_4xx`, `status_5xx` and `redirect`
(a status that was not expected), `body_mismatch`, `truncated_reply`, `malformed_reply` (no HTTP); of both
`connection_reset`, `connection_closed` (before a reply began), `connection_failed`. A connection that cannot be opened
is the failure of the HTTP operation that waits for it: `connection_refused`, `connect_timeout`, `no_local_port` (this
machine had none left), `connection_failed`; an operation on Redis waits on.
"""

from collections.abc import Callable, Sequence
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.dataclasses import dataclass

from loadstone.drivers.slices import Slice
from loadstone.safety.errors import DriveFailed
from loadstone.text.message import AnyText

Phase = Literal["ramp_up", "warm_up", "measure", "drain"]


_STRICT = ConfigDict(extra="forbid")
"""Configuration of the dataclasses, too: what a record has dozens of takes a tenth of the memory as one with slots."""


class WireModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(config=_STRICT, frozen=True, slots=True, kw_only=True)
class Latency:
    """A summary in nanoseconds of the correct replies; 0 everywhere if there were none."""

    count: int
    min: int
    mean: float
    p50: int
    p90: int
    p95: int
    p99: int
    p999: int
    max: int


class Quantiles(WireModel):
    """Latency in ns. None: not measurable (too few samples, or the rank falls among the failures)."""

    min: int | None
    mean: float | None
    p50: int | None
    p90: int | None
    p95: int | None
    p99: int | None
    p999: int | None
    max: int | None


class Events(WireModel):
    """What became of operations."""

    offered: int
    sent: int
    ok: int
    errors: dict[str, int]
    timeouts: int
    dropped: int


class Counts(Events):
    """`offered = sent + dropped + unsent`; `sent = ok + sum(errors) + timeouts + in_flight`.

    `unsent` still waited for a connection when the drive ended.
    """

    in_flight: int
    unsent: int = 0

    @classmethod
    def sum(cls, parts: Sequence["Counts"]) -> "Counts":
        """All of them together."""
        errors: dict[str, int] = {}
        for counts in parts:
            for kind, number in counts.errors.items():
                errors[kind] = errors.get(kind, 0) + number
        return cls(
            offered=sum(c.offered for c in parts),
            sent=sum(c.sent for c in parts),
            ok=sum(c.ok for c in parts),
            errors=errors,
            timeouts=sum(c.timeouts for c in parts),
            dropped=sum(c.dropped for c in parts),
            in_flight=sum(c.in_flight for c in parts),
            unsent=sum(c.unsent for c in parts),
        )


class IntervalOperation(Events):
    """One operation within one interval: events counted by the time they happened.

    The histograms and the summary hold the operations of the interval's own phase
    (in `drain`: those of `measure`).
    """

    response_ns: Latency
    response_histogram: str
    service_histogram: str
    least_histogram: str | None = None
    """As `OperationRecord` has it."""


@dataclass(config=_STRICT, frozen=True, slots=True, kw_only=True)
class AgentInterval:
    """What one agent of a fleet did in an interval."""

    name: str
    duration_s: float
    offered: int
    ok: int
    errors: int
    """Timeouts, too."""
    p99_ns: int
    """P99 of the response time of the operation whose P99 is the largest; 0 without a correct reply."""
    cpu_s: float
    """CPU time of its threads."""
    late_s: float | None = None
    """How long after its end it came to the command; None in slices."""

    @classmethod
    def of(cls, name: str, interval: "Interval", late_s: float | None) -> "AgentInterval":
        """Return the summary of an interval as the agent delivered it."""
        operations = interval.operations.values()
        return cls(
            name=name,
            duration_s=interval.duration_s,
            offered=sum(one.offered for one in operations),
            ok=sum(one.ok for one in operations),
            errors=sum(one.timeouts + sum(one.errors.values()) for one in operations),
            p99_ns=max((one.response_ns.p99 for one in operations), default=0),
            cpu_s=sum(interval.cpu_s),
            late_s=None if interval.first_round is not None else late_s,
        )


@dataclass(config=_STRICT, frozen=True, slots=True, kw_only=True)
class AgentState:
    """State of an agent of a fleet."""

    name: str
    state: Literal["ready", "silent", "lost"]
    """silent: a heartbeat of it is missing."""
    why: AnyText = ""
    """Reason of the loss, for an agent that was lost."""


OnStates = Callable[[Sequence[AgentState]], None]
"""Gets how each agent is. Must not block."""


class Interval(WireModel):
    """About one second of a drive; an interval ends early where a phase ends.

    Of a drive in slices it is gathered over several of them: in `measure` their windows, whose length is `duration_s`;
    in `drain` all that lay outside of these.
    """

    index: int
    phase: Phase
    start_s: float
    duration_s: float
    joined: int = Field(default=0, exclude=True)
    """Number of intervals before it that are in it, too: see `DriveRecord.joined_intervals`."""
    first_round: int | None = None
    """For a drive in slices, the first and the last round of which it holds any. All drives that take turns end their
    intervals at the same rounds."""
    last_round: int | None = None
    start_unix_ns: int
    operations: dict[str, IntervalOperation]
    bytes_sent: int
    bytes_received: int
    connections: int
    users: int
    backlog: int
    cpu_s: list[float]
    agents: tuple[AgentInterval, ...] = Field(default=(), exclude=True)
    """Intervals of a fleet's agents, for whoever looks on: kept in no file of intervals."""


@dataclass(config=_STRICT, frozen=True, slots=True, kw_only=True)
class PhaseTimes:
    """When a phase began and ended, in seconds since the load started."""

    start_s: float
    end_s: float


class OperationRecord(WireModel):
    """One operation over the measure phase.

    `counts` follows the operations *intended* in the measure phase to their end.
    `window_completed` and `window_ok` count what *completed* within it: TPS and goodput.
    """

    counts: Counts
    window_completed: int
    window_ok: int
    response_ns: Latency
    service_ns: Latency
    response_sum_ns: int
    earlier_ns: int = 0
    """Time of the measure phase that went to operations which had begun before it."""
    response_histogram: str
    service_histogram: str
    least_ns: Latency | None = None
    """Response times of the native engine's open model without all that the engine itself may have added to them. The
    true one lies between the two."""
    least_histogram: str | None = None


class ThreadCalls(WireModel):
    """Counts of what a thread did at once: how often it woke up, received and sent, for how many replies and requests.

    For a drive in slices: within their windows.
    """

    wakeups: int
    """Waits for events that ended: with events, or because something was due."""
    receives: int
    """That brought bytes."""
    replies: int
    sends: int
    """That took bytes."""
    requests: int
    spun_ns: int = 0
    """Time spent polling again and again instead of asleep (`spin_us`): part of its CPU time, and no work."""


class ThreadRecord(WireModel):
    """One engine thread in the measure phase."""

    cpu: int | None
    cpu_s: float
    wall_s: float
    waited_s: float | None = None
    """Ready to run, and no CPU for it: other programs had it. None where the system does not tell."""
    calls: ThreadCalls | None = None
    """None of a client library's program, and as written before that was counted."""

    @property
    def working_s(self) -> float:
        """CPU seconds without those that it stayed awake for: that is no limit, as it gives the time up to any work."""
        return max(0.0, self.cpu_s - (self.calls.spun_ns / 1e9 if self.calls is not None else 0.0))


class Connections(WireModel):
    """`planned` is the size of the pool; `lost` ended without being ordered to.

    `no_local_port`: those of `failed` for which this machine had no port of its own left.

    `closed_by_server`: closed by an HTTP server in good order, with a reply that said so or while nothing was
    requested, and opened again. `unrequested`: replies that came on a connection with no request to answer.
    """

    planned: int
    opened: int
    open_at_end: int
    lost: int
    failed: int
    no_local_port: int = 0
    closed_idle: int
    closed_by_server: int = 0
    unrequested: int = 0


class Redirections(WireModel):
    """What the nodes of a cluster sent on, over the whole drive.

    `moved` and `ask` were followed: none of them is an error. The others ended as errors: requests that were sent on
    too often, were within a transaction, or were to go to an address that is no endpoint of the plan.
    """

    moved: int
    ask: int
    too_many: int = 0
    in_transaction: int = 0
    unknown: int = 0
    unknown_address: str | None = None
    """The first such address."""


class Failover(WireModel):
    """When a primary that Sentinel watches did not answer, in seconds since the load began.

    From the first request that failed with its connection to the first reply on a connection that was opened since.
    """

    lost_s: float
    answered_s: float | None
    """None: no server answered before the end."""
    primary: int
    """The endpoint that answered, by its number in the plan."""


class Stall(WireModel):
    """A quarter of a second or more in which something stood still, in seconds since the load began, in any phase.

    `server`: nothing came back although requests waited, and the driver's threads ran. `driver`: these did not run.
    """

    of: Literal["server", "driver"]
    begin_s: float
    end_s: float
    waiting: int
    """Requests in flight, at most."""
    no_cpu_s: float = 0.0
    """For the driver's stalls, how long its thread was ready to run and had no CPU; 0: it was stopped."""

    @property
    def length_s(self) -> float:
        return self.end_s - self.begin_s


class EndpointRecord(WireModel):
    """Operations of the whole drive that went to one endpoint, and those of them that ended right."""

    sent: int
    ok: int
    stale: int = 0
    """For a replica, replies without a key, or with an older version, than what was acknowledged when they were begun.
    No errors."""


class ReceiversRecord(WireModel):
    """What the receivers of the plan got.

    `published` are the messages that were intended in the measure phase and answered rightly, `expected` their
    deliveries, and `delivered` those that came, each once. Latency counts from the time that a message was intended.
    """

    kind: Literal["subscribe", "stream_group"]
    connections: int
    disconnected: int
    """Connections that ended before the drive did."""
    why_disconnected: str | None
    """Reason of the first disconnection."""
    published: int
    expected: int
    delivered: int
    missing: int
    """Expected, and not delivered before the drain was over."""
    repeated: int
    """Deliveries of a message that had come before."""
    unreadable: int
    """Messages that others sent."""
    window_delivered: int
    """Deliveries that came within the measure phase, whenever the message was intended."""
    delivery_ns: Latency
    delivery_histogram: str
    overflowed: int
    bytes_sent: int
    """Bytes of all their connections, over the whole drive; the drive's own sums hold them, too."""
    bytes_received: int


class ReadBack(WireModel):
    """Keys read back after the drain: `skipped` had a newer write whose reply never came, or were on another node."""

    checked: int
    wrong: int
    skipped: int


class Acknowledged(WireModel):
    """Versions of all keys, from key 0 on, as runs: so many keys, then the version of each of them; 0 for none.

    A key that is written once has version 1. `certain` is the highest acknowledged version that was written while no
    other write of its key was in flight: no earlier one can stand in its place. A later one that was acknowledged may
    have been overtaken by a write that was in flight beside it.
    """

    begun: tuple[int, ...]
    """The newest version that was begun, acknowledged or not."""
    newest: tuple[int, ...]
    """The highest version that was acknowledged."""
    certain: tuple[int, ...]


@dataclass(config=_STRICT, frozen=True, slots=True, kw_only=True)
class CommandRecord:
    """One command or request over the whole drive, every phase and the read-back: sent, and answered."""

    sent: int
    replied: int
    missed: int = 0
    """Answered commands for which there was no such key, or no such part of it (nil). An error or not, as the plan has
    it."""

    def __add__(self, other: "CommandRecord") -> "CommandRecord":
        return CommandRecord(
            sent=self.sent + other.sent, replied=self.replied + other.replied, missed=self.missed + other.missed
        )


class CpuTimes(WireModel):
    """What one CPU did, in seconds, to the system's tick (10 ms); `steal_s` is what its host gave to others."""

    busy_s: float
    idle_s: float
    steal_s: float


WhyNot = Literal[
    "not_requested",
    "tls",
    "stamps",
    "long_texts",
    "missing",
    "disabled",
    "forbidden",
    "too_old",
    "no_room",
    "unsuitable",
]


class BackEndRecord(WireModel):
    """Interface of the system by which the engine's threads sent, received and waited."""

    name: Literal["epoll", "kqueue", "io_uring"]
    why_not_io_uring: WhyNot | None
    """`not_requested`: the plan or the environment requires epoll; `tls`: connections have TLS; `stamps`: an open
    load, for which epoll says when each reply came; `long_texts`: contents of 16 KiB and more, which epoll sends from
    where they are; `missing`: the kernel has none; `disabled`: it is switched off; `forbidden`: this process may not
    use it (seccomp, as in containers); `too_old`: it lacks what is required; `no_room`: too little memory or too few
    files; `unsuitable`: it failed when it was tried."""


class ProgramRecord(WireModel):
    """The client library's program that drove, where it was one."""

    name: str
    """Name of the driver."""
    library: str
    version: str
    runtime: str
    options: dict[str, str] = {}
    reports_pool_wait: bool
    """Whether the library reports how long an operation waits for its connection."""
    peak_memory_bytes: int | None = None
    """The most resident memory of its processes, from its start on; None as written before that was observed."""


class ErrorExample(WireModel):
    """The first reply of an operation that was counted as an error of this kind, of the measure phase if it can be."""

    operation: str
    kind: str
    reply: str
    """Its beginning: Redis's text; of HTTP the status line and the beginning of the body."""


def _is_left_out(value: object) -> bool:
    """What no fleet has, and what stands in no run's folder, takes no room in a line."""
    return not value


class AgentRecord(WireModel):
    """What one agent of a fleet did in the measure phase, of what the sums of all do not tell."""

    name: str
    host: str
    """The name of its machine."""
    here: bool = False
    """Whether that is the machine of the command."""
    cpus: int | None = None
    """That it may use."""
    skew_ns: int | None = None
    """How much later it began than was set for all; less than 0: earlier. None: not known."""
    skew_bound_ns: int | None = None
    """Greatest error of `skew_ns`: half of the round trip by which the clocks were compared."""
    edge_ns: int | None = None
    """In rounds: for so long its load goes on before and after each window, in which a skew does no harm."""
    start_lag_ns: int | None = None
    """How much later than that the last of its threads began."""
    counts: Counts
    measure_s: float
    threads: int
    """Number of the record's threads that are its own; those of all agents stand there in the same order."""
    response_ns: Latency
    least_ns: Latency | None = None
    schedule_lag_ns: Latency
    stalls: tuple[Stall, ...] = ()
    clock_quantum_ns: int
    clock_set_s: float = 0.0
    stopped: str | None = None


class DriveRecord(WireModel):
    """One share of one trial, driven to its end; or all of a fleet's, merged."""

    format: Literal[1]
    engine: str
    started_unix_ns: int
    started_monotonic_ns: int | None = None
    """Time of the start on CLOCK_MONOTONIC of the driver's machine; None for a client library's program."""
    start_lag_ns: int | None = None
    """How much later the last of the driver's threads began."""
    phases: dict[Phase, PhaseTimes]
    measure_s: float
    operations: dict[str, OperationRecord]
    total: Counts
    """Every operation of the drive, ramp-up and warm-up included."""
    pool_wait_ns: Latency
    schedule_lag_ns: Latency
    """Send delay caused by the driver itself: picked up late after its intended time."""
    notice_lag_ns: Latency | None = None
    """How long replies lay before the driver noticed them, at most; where it is measured, as `least_ns` is."""
    pool_wait_histogram: str | None = Field(default=None, exclude_if=_is_left_out)
    """Histogram that the summaries above are made of; None for a client library's program, and in a run's folder."""
    schedule_lag_histogram: str | None = Field(default=None, exclude_if=_is_left_out)
    notice_lag_histogram: str | None = Field(default=None, exclude_if=_is_left_out)
    commands: dict[str, CommandRecord]
    """Records by the command's name; for HTTP by method and path as the plan has them, e.g. `GET /post/{number}`."""
    bytes_sent: int
    bytes_received: int
    threads: list[ThreadRecord]
    back_end: BackEndRecord | None = None
    """None of a client library's program, and as written before it was recorded."""
    slices: tuple[Slice, ...] = ()
    """Slices of a drive in slices; `measure_s` is the sum of their windows, the phase `measure` is the time of all of
    them."""
    cpus: dict[str, CpuTimes] = {}
    """For a drive in slices, what each CPU of this machine did within its windows, by the CPU's number."""
    connections: Connections
    redirections: Redirections | None = None
    """None where keys do not decide on the endpoint, and of drivers that do not count them."""
    failovers: tuple[Failover, ...] = ()
    stalls: tuple[Stall, ...] = ()
    """In their order; of client libraries' programs, which do not notice them, none."""
    endpoints: list[EndpointRecord] = []
    """In the order of the plan's endpoints."""
    read_back: ReadBack
    examples: tuple[ErrorExample, ...] = ()
    """Examples by operation and kind; none for a client library's program."""
    receivers: ReceiversRecord | None = None
    """None if the plan has none."""
    acknowledged: Acknowledged | None = None
    """None if the plan does not require it."""
    overflowed: int
    joined_intervals: int = Field(default=0, exclude_if=_is_left_out)
    """Number of times that a thread of the driver went on with an interval, because the ones before had not been
    collected."""
    clock_quantum_ns: int
    clock_set_s: float = 0.0
    """How far the wall clock was set forward meanwhile; less than 0: back. No figure rests on that clock."""
    stopped: str | None
    """None when the plan was done; else why it ended early."""
    program: ProgramRecord | None = None
    """None of the native engine."""
    agents: tuple[AgentRecord, ...] = Field(default=(), exclude_if=_is_left_out)
    """Records of a fleet's agents, in the order of their shares."""


def read_interval(text: str) -> Interval:
    """An interval as a driver writes it. Raises DriveFailed if it cannot be read."""
    return _read(Interval, "interval", text)


def read_record(text: str) -> DriveRecord:
    """A drive's record as a driver writes it. Raises DriveFailed if it cannot be read."""
    return _read(DriveRecord, "record", text)


P = TypeVar("P", bound=WireModel)


def _read(kind: type[P], name: str, text: str) -> P:
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        problem = f"{place}: {first['msg']}" if place else first["msg"]
        raise DriveFailed("driver: its {name} cannot be read ({problem})", name=name, problem=problem) from None
