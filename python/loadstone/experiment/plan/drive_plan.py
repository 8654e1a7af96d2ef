"""The plan: what a driver is ordered to do, and the one thing that crosses languages.

Its JSON Schema is generated from these classes (`docs/plan.schema.json`); Rust reads the
same JSON (`engine/src/plan.rs`), and both are tested against `tests/examples/plan/*.json`.
Units stand last in a name: `_s` seconds, `_ms` milliseconds, `_ns` nanoseconds, `_bytes`.
"""

from typing import Annotated, Literal

from pydantic import Field, model_validator
from pydantic.json_schema import SkipJsonSchema

from loadstone.experiment.plan.endpoints import Endpoint, wrong_in_replicas, wrong_in_sentinels, wrong_in_slots
from loadstone.experiment.plan.operations import (
    KEYS_OF_ONE_MAX,
    MESSAGE_LEAST_BYTES,
    DataFile,
    Operation,
    Receivers,
    Recording,
    commands_of,
    keys_of_one,
    uses_message,
    wrong_in_operation,
)
from loadstone.experiment.plan.protocols import PROTOCOLS, ProtocolName, for_requests, with_data
from loadstone.experiment.spec.part import PlanPart, is_left_out, is_none
from loadstone.text.language import translatable
from loadstone.text.message import AnyText, said
from loadstone.text.problem import Problem

LONGEST_S = 10 * 365 * 24 * 3600
"""The longest time that a plan may hold: ten years, which 64 bits hold in ns.

No number alone may make a run loop or allocate without end."""
PAYLOAD_MAX_BYTES = 64 * 1024 * 1024
KEYS_MAX = 10**12
"""Their number has 12 digits."""
OPERATIONS_MAX = 10**15
AGENTS_MAX = 10_000
RATE_MAX_PER_S = 1e9
_FOR_REQUESTS = " or ".join(for_requests())


class RampUp(PlanPart):
    """Users start in steps, as nGrinder does it."""

    initial_users: int = Field(ge=0, le=1_000_000)
    step_users: int = Field(gt=0, le=1_000_000)
    step_every_s: float = Field(gt=0, le=LONGEST_S)


class Closed(PlanPart):
    """Closed model: each virtual user waits for its reply, thinks, and sends again.

    Each user ends after `operations_per_user`; the first `operations_more` of them do one more, so that all together
    do a number that the users do not divide. `spin_us` is that of the open model; while replies
    to more than eight users of a thread are due, it sleeps.
    """

    kind: Literal["closed"] = "closed"
    users: int = Field(gt=0, le=1_000_000)
    think_time_ms: float = Field(default=0.0, ge=0, le=LONGEST_S * 1000)
    think_time: Literal["constant", "exponential"] = "constant"
    ramp_up: RampUp | None = None
    operations_per_user: int | None = Field(default=None, gt=0, le=OPERATIONS_MAX)
    operations_more: int = Field(default=0, ge=0, lt=1_000_000)
    spin_us: float | None = Field(default=None, ge=0, le=1000)

    @property
    def operations(self) -> int | None:
        """Return the operations of all users together; None where they do not end by themselves."""
        each = self.operations_per_user
        return None if each is None else self.users * each + self.operations_more

    @model_validator(mode="after")
    def _fewer_do_more(self) -> "Closed":
        more = self.operations_more
        if more and self.operations_per_user is None:
            raise Problem(
                "operations_more {more} needs operations_per_user; write it, or leave operations_more out", more=more
            )
        if more >= self.users:
            raise Problem("operations_more {more} must be smaller than users {users}", more=more, users=self.users)
        return self


class RateStep(PlanPart):
    """One stretch of a schedule of arrival rates; the last one lasts until the end."""

    rate_per_s: float = Field(gt=0, le=RATE_MAX_PER_S)
    duration_s: float = Field(gt=0, le=LONGEST_S)


SPIN_US = 200.0
"""J: a wake-up took 40 to 100 us on a virtual machine of two CPUs; what a halted virtual CPU polls at the longest."""


class Open(PlanPart):
    """Open model: operations arrive on their own schedule, whether or not replies came.

    Latency counts from the intended time. An arrival that finds `backlog_max` others waiting
    for a connection is dropped and counted. `spin_us` is the longest stretch of a wait that the
    native engine spends polling instead of asleep; None: `SPIN_US` where it has CPUs of its own,
    else nothing. `recorded` are arrivals as the plan's recording has them; `rate_per_s` is then
    their mean.
    """

    kind: Literal["open"] = "open"
    rate_per_s: float = Field(gt=0, le=RATE_MAX_PER_S)
    schedule: tuple[RateStep, ...] = Field(default=(), max_length=10_000)
    arrivals: Literal["constant", "poisson", "recorded"] = "constant"
    backlog_max: int = Field(default=1_000_000, gt=0, le=100_000_000)
    spin_us: float | None = Field(default=None, ge=0, le=1000)


class Pool(PlanPart):
    """A pool of connections shared by the users of a driver.

    `min_idle` connections are opened before the load starts (all of them when None); the
    others when a user finds none idle. A connection released while `max_idle` others are
    idle is closed (never when None).
    """

    connections: int = Field(gt=0, le=100_000)
    min_idle: int | None = Field(default=None, ge=0, le=100_000)
    max_idle: int | None = Field(default=None, ge=0, le=100_000)
    order: Literal["lifo", "fifo"] = "lifo"


class Phases(PlanPart):
    """Lengths of the phases, in order. Only operations intended in `measure` are measured.

    `measure_s` is the shortest measure phase. It goes on until `measure_operations` have
    completed, and ends at `measure_max_s` at the latest (default: `measure_s`).
    """

    ramp_up_s: float = Field(default=0.0, ge=0, le=LONGEST_S)
    warm_up_s: float = Field(default=1.0, ge=0, le=LONGEST_S)
    measure_s: float = Field(default=5.0, gt=0, le=LONGEST_S)
    measure_operations: int | None = Field(default=None, gt=0, le=OPERATIONS_MAX)
    measure_max_s: float | None = Field(default=None, gt=0, le=LONGEST_S)
    drain_s: float = Field(default=2.0, ge=0, le=LONGEST_S)

    @property
    def before_s(self) -> float:
        """Length of the phases before the measured one, in seconds."""
        return self.ramp_up_s + self.warm_up_s

    @property
    def longest_measure_s(self) -> float:
        """Length of the measured phase at most, in seconds."""
        return max(self.measure_s, self.measure_max_s or 0.0)

    @property
    def longest_s(self) -> float:
        """Longest time that operations are sent for, in seconds; the drain comes after it."""
        return self.before_s + self.longest_measure_s


class Keys(PlanPart):
    """The key space: `prefix` followed by a 12-digit number from 0 to `count` - 1."""

    prefix: str = "loadstone:"
    count: int = Field(default=1000, gt=0, le=KEYS_MAX)
    distribution: Literal["sequential", "uniform", "zipf", "gaussian", "exactly_once"] = "uniform"
    zipf_exponent: float = Field(default=0.99, gt=0, lt=10)
    gaussian_sd: float = Field(default=0.15, gt=0, description="as a share of the key space")
    loaded: bool = Field(default=False, description="every key already holds its version 1")


def numbered_key(prefix: str, number: int) -> str:
    """The key of a plan with this number, as the engine names it."""
    return f"{prefix}{number:012d}"


class Documents(PlanPart):
    """Generated documents: payload + 122 bytes of JSON; `field` is a part of the payload."""

    payload_bytes: int = Field(default=100, ge=2, le=PAYLOAD_MAX_BYTES)
    field_bytes: int = Field(default=10, ge=1)
    content: Literal["random", "repeat"] = Field(default="random", exclude_if=lambda content: content == "random")
    """`random`: each version of each key has its own text; `repeat`: all have the same, as redis-benchmark's."""

    @model_validator(mode="after")
    def _field_fits(self) -> "Documents":
        if self.field_bytes >= self.payload_bytes:
            raise Problem(
                "field_bytes {field_bytes} must be smaller than payload_bytes {payload_bytes}",
                field_bytes=self.field_bytes,
                payload_bytes=self.payload_bytes,
            )
        return self


class Verify(PlanPart):
    """Whether replies are held against what was written.

    With `count_mismatch` off the comparison is made (the same work) and its outcome ignored,
    as against the null server, which stores nothing.
    """

    replies: bool = True
    count_mismatch: bool = True
    read_back_max: int = Field(
        default=64, ge=0, le=1_000_000, description=translatable("keys read back after the drain")
    )
    reply_max_bytes: int | None = Field(
        default=None,
        ge=64 * 1024,
        le=1024 * 1024 * 1024,
        description="a longer reply of Redis, or a longer HTTP body that is checked, is an error; by default what the "
        "operations expect: four documents and 1 MiB, or 64 MiB where a reply may be anything",
    )


class Timeouts(PlanPart):
    """Limits after which waiting is given up and counted."""

    connect_ms: float = Field(default=2000.0, gt=0, le=LONGEST_S * 1000)
    request_ms: float = Field(default=5000.0, gt=0, le=LONGEST_S * 1000)
    gone_s: float = Field(
        default=2.0, gt=0, le=LONGEST_S, description="no connection at all for so long ends the drive"
    )


class Share(PlanPart):
    """Which of several agents this driver is: all of them get the same plan, and each does what falls to its number.

    Threads are numbered through all agents, each of which has as many, and all that the engine divides among threads is
    divided among all of them: users, arrivals, connections, keys, random numbers, clients of a recording. So all agents
    send together what one sends that has all their threads, but for the versions of keys, which each agent counts by
    itself: of a key that others write, too, any version is right. Of `exactly_once` keys each agent has every `of`th.
    With `measure_operations` the measure phase lasts until whoever started the agents ends it, or `measure_max_s`.
    """

    number: int = Field(ge=0, lt=AGENTS_MAX)
    of: int = Field(gt=0, le=AGENTS_MAX)

    @model_validator(mode="after")
    def _is_one_of_them(self) -> "Share":
        if self.number >= self.of:
            raise Problem("number {number} must be below {of}, the number of agents", number=self.number, of=self.of)
        return self


class Plan(PlanPart):
    """What a driver does in one trial; of several agents each has the whole plan, and does its `share`.

    Connection i goes to endpoint i mod n. Where several endpoints have a connection to spare they take turns: a pool
    of n times the users therefore gives each exactly the same load, while with one connection a user each endpoint
    has the same number of users.

    Endpoints with `slots` are the nodes of a cluster: an operation goes to the node that has its key's slot, over one
    of that node's connections. The pool is spread evenly over the nodes, with at least one connection to each in each
    thread; a pool of n times the users never makes one wait. Redirections (MOVED, ASK) to endpoints of the plan are
    followed and counted, and correct the table of slots; one to any other address is an error (`server_moved`,
    `server_ask`). An endpoint without slots is a node that slots may move to: it is connected to when they do.

    With a Sentinel among them the first endpoint is the primary, and gets all of the load. When a connection to it
    ends, or it says that it is a replica, a Sentinel is queried where the primary is now; only standbys are gone to.

    Endpoints with `replica_of` are read from: they take turns over the operations with `reads_only` that would go to
    their primary, which is among them unless it is `writes_only`. Everything else goes to the primary, as do reads when
    no replica of it can be reached. What a replica answers late is no error; it is counted as `stale`. In a cluster a
    connection to a replica begins with READONLY.
    """

    format: Literal[1] = 1
    seed: int = Field(default=1, ge=0, lt=2**63)
    protocol: ProtocolName = next(iter(PROTOCOLS.values())).name
    endpoints: tuple[Endpoint, ...] = Field(min_length=1)
    threads: int = Field(default=1, gt=0, le=256)
    cpus: tuple[int, ...] = Field(default=(), description="thread i is pinned to cpus[i mod n]; empty: not pinned")
    back_end: Literal["auto", "epoll", "io_uring"] = Field(
        default="auto",
        description="by which interface of the system the native engine sends, receives and waits; auto: as "
        "LOADSTONE_BACK_END says, or io_uring where the kernel has what it takes and connections have no TLS",
    )
    model: Annotated[Closed | Open, Field(discriminator="kind")]
    pool: Pool
    pipeline_depth: int = Field(default=1, gt=0, le=10_000)
    phases: Phases = Phases()
    operations: tuple[Operation, ...] = Field(min_length=1, max_length=1000)
    data: DataFile | None = Field(default=None, description="rows for {data.FIELD}")
    recording: Recording | None = Field(default=None, description="commands that are sent again, of Redis's protocol")
    receivers: Receivers | None = Field(
        default=None, description="connections that receive what is sent, of Redis's protocol", exclude_if=is_left_out
    )
    keys: Keys = Keys()
    documents: Documents = Documents()
    verify: Verify = Verify()
    acknowledged: bool = Field(
        default=False,
        description="report which writes were acknowledged, key by key; keys are exactly_once, or all operations "
        "write a document",
    )
    timeouts: Timeouts = Timeouts()
    misses: SkipJsonSchema[float | Literal["any"] | None] = Field(default=None, exclude=True)
    """The share of the reads that find nothing by design; None: as data are loaded. No driver needs it."""
    interval_s: float = Field(default=1.0, gt=0, le=LONGEST_S)
    start_at_unix_ns: int | None = None
    start_at_monotonic_ns: int | None = Field(
        default=None,
        ge=0,
        lt=2**63,
        description="on CLOCK_MONOTONIC of the driver's machine, at most a day ahead",
        exclude_if=is_none,
    )
    share: Share | None = Field(
        default=None, description="of several agents; of the native engine alone", exclude_if=is_none
    )

    @property
    def ends_by_itself(self) -> bool:
        """Whether each user, each key or a recording has its number of operations, with which measuring ends."""
        of_users = isinstance(self.model, Closed) and self.model.operations_per_user is not None
        return of_users or self.keys.distribution == "exactly_once" or self.recording is not None

    @property
    def receiving(self) -> int:
        """Connections that receive, beside the pool."""
        return 0 if self.receivers is None else self.receivers.connections

    @model_validator(mode="after")
    def _speaks_its_protocol(self) -> "Plan":
        wrong = self._wrong_in_requests() if PROTOCOLS[self.protocol].is_http else self._wrong_in_commands()
        wrong = wrong or self._wrong_in_keys() or self._wrong_in_recording() or self._wrong_in_receivers()
        wrong = wrong or wrong_in_slots([endpoint.slots for endpoint in self.endpoints])
        wrong = wrong or self._wrong_in_share()
        if wrong is not None:
            raise ValueError(wrong)
        return self

    def _wrong_in_share(self) -> AnyText | None:
        if self.start_at_unix_ns is not None and self.start_at_monotonic_ns is not None:
            return said("start_at_monotonic_ns stands beside start_at_unix_ns; leave one of them out")
        if self.share is None or self.share.of == 1:
            return None
        for field, is_there in (("receivers", self.receivers is not None), ("acknowledged", self.acknowledged)):
            if is_there:
                return said("{field} cannot be shared by several agents; use one agent", field=field)
        return None

    def _wrong_in_keys(self) -> AnyText | None:
        """Return what is wrong in operations with several keys, or None."""
        for operation in self.operations:
            keys = keys_of_one(operation)
            if keys <= 1:
                continue
            if keys > KEYS_OF_ONE_MAX:
                return said(
                    "operation '{operation}' names {keys} different keys; use at most {keys_of_one_max}",
                    operation=operation.name,
                    keys=keys,
                    keys_of_one_max=KEYS_OF_ONE_MAX,
                )
            if operation.writes != "nothing":
                return said(
                    "operation '{operation}' names {keys} different keys, and what is written is followed by "
                    "{{key}} alone; set writes to nothing",
                    operation=operation.name,
                    keys=keys,
                )
            if self.keys.distribution == "exactly_once":
                return said(
                    "operation '{operation}' names {keys} different keys, and keys are exactly_once; use another "
                    "distribution",
                    operation=operation.name,
                    keys=keys,
                )
            if self.keys.count < keys:
                return said(
                    "operation '{operation}' names {keys} different keys, and keys.count is {count}; set it to at "
                    "least {keys}",
                    operation=operation.name,
                    keys=keys,
                    count=self.keys.count,
                )
        return None

    def _wrong_in_recording(self) -> AnyText | None:
        is_recorded = isinstance(self.model, Open) and self.model.arrivals == "recorded"
        if self.recording is None:
            without = said("arrivals that are recorded need a recording; name its path")
            return without if is_recorded else None
        if isinstance(self.model, Open) and not is_recorded:
            return said(
                "arrivals {arrivals}: a recording has its own; set them to recorded", arrivals=self.model.arrivals
            )
        if not PROTOCOLS[self.protocol].recordings:
            return said("protocol {protocol} sends no recordings; leave the recording out", protocol=self.protocol)
        of_a_cluster = any(endpoint.slots for endpoint in self.endpoints)
        if len(self.endpoints) > 1 and not of_a_cluster:
            return said("a recording goes to one server, or to a cluster; name one")
        for operation in self.operations:
            names = [len(command.args) for command in operation.commands] == [1]
            if not names or operation.writes != "nothing" or operation.read_back is not None:
                return said(
                    "operation '{operation}': of a recording it is the name of one command, without arguments",
                    operation=operation.name,
                )
        return None

    def _wrong_in_receivers(self) -> AnyText | None:
        if self.receivers is None:
            sending = [one.name for one in self.operations if uses_message(commands_of(one))]
            if not sending:
                return None
            return said("operation '{sending}': {{message}} needs receivers that read it", sending=sending[0])
        if not PROTOCOLS[self.protocol].receivers:
            return said("protocol {protocol} has no receivers; leave them out", protocol=self.protocol)
        if self.receivers.connections % self.keys.count:
            return said(
                "receivers.connections {connections} must be a multiple of keys.count ({count}), so that each "
                "channel or stream has as many",
                connections=self.receivers.connections,
                count=self.keys.count,
            )
        if len(self.endpoints) > 1 or self.endpoints[0].slots:
            return said("receivers are of one server, and not of a cluster; name one")
        if self.recording is not None:
            return said("receivers read {{message}}, which no recording has; leave one of them out")
        if self.documents.payload_bytes < MESSAGE_LEAST_BYTES:
            return said(
                "payload_bytes {payload_bytes}: a message has at least {message_least_bytes} bytes",
                payload_bytes=self.documents.payload_bytes,
                message_least_bytes=MESSAGE_LEAST_BYTES,
            )
        for operation in self.operations:
            wrong = wrong_in_operation(self.receivers, operation.commands)
            if wrong is not None or operation.read_back is not None:
                wrong = wrong or said("what is received is not read back; leave it out")
                return said("operation '{operation}': {wrong}", operation=operation.name, wrong=wrong)
        return None

    def _wrong_in_requests(self) -> AnyText | None:
        if self.acknowledged:
            return said("acknowledged needs the protocol of Redis; set it to false")
        if self.pipeline_depth != 1 and not PROTOCOLS[self.protocol].pipelining:
            return said(
                "pipeline_depth {pipeline_depth} must be 1 with protocol {protocol}",
                pipeline_depth=self.pipeline_depth,
                protocol=self.protocol,
            )
        if any(endpoint.slots for endpoint in self.endpoints):
            return said("only a Redis Cluster has slots; leave them out")
        if not all(endpoint.in_service for endpoint in self.endpoints):
            return said("only a Redis has Sentinels; leave them out")
        if any(endpoint.replica_of is not None or endpoint.writes_only for endpoint in self.endpoints):
            return said("only a Redis has replicas to read from; leave replica_of and writes_only out")
        if any(endpoint.database for endpoint in self.endpoints):
            return said("an HTTP endpoint has no database; leave it out")
        for operation in self.operations:
            if (
                operation.commands
                or operation.read_back is not None
                or operation.writes != "nothing"
                or operation.reads_only
            ):
                return said(
                    "operation '{operation}' has parts of Redis; with protocol {protocol} it has only requests",
                    operation=operation.name,
                    protocol=self.protocol,
                )
            if not operation.requests:
                return said("operation '{operation}' has no requests; name at least one", operation=operation.name)
        return None

    def _wrong_in_commands(self) -> AnyText | None:
        if any(endpoint.base_path or endpoint.secret_headers for endpoint in self.endpoints):
            return said(
                "base_path and secret_headers need protocol {for_requests}; leave them out", for_requests=_FOR_REQUESTS
            )
        protocol = PROTOCOLS[self.protocol]
        if self.data is not None and not protocol.data_file:
            return said("a data file needs protocol {with_data}; leave it out", with_data=" or ".join(with_data()))
        if not protocol.slots and any(endpoint.slots for endpoint in self.endpoints):
            return said(
                "only a Redis Cluster has slots; leave them out with protocol {protocol}", protocol=self.protocol
            )
        wrong = wrong_in_sentinels(self.endpoints, of_redis=protocol.slots)
        wrong = wrong or wrong_in_replicas(self.endpoints, of_redis=protocol.slots and self.recording is None)
        if wrong is not None:
            return wrong
        if not protocol.databases and any(endpoint.database for endpoint in self.endpoints):
            return said("an endpoint has no database with protocol {protocol}; leave it out", protocol=self.protocol)
        if any(endpoint.slots and endpoint.database for endpoint in self.endpoints):
            return said("a cluster has database 0 alone; leave the database out")
        if self.acknowledged and self.keys.distribution != "exactly_once":
            loose = [operation.name for operation in self.operations if operation.writes != "document"]
            if loose:
                return said(
                    "acknowledged needs exactly_once keys, or documents; operation '{loose}' writes none",
                    loose=loose[0],
                )
        for operation in self.operations:
            if operation.reads_only and operation.writes != "nothing":
                return said(
                    "operation '{operation}' writes a {writes}; set reads_only to false",
                    operation=operation.name,
                    writes=operation.writes,
                )
            if operation.requests:
                return said(
                    "operation '{operation}' has HTTP requests; set protocol to {for_requests}",
                    operation=operation.name,
                    for_requests=_FOR_REQUESTS,
                )
            if not operation.commands:
                return said("operation '{operation}' has no commands; name at least one", operation=operation.name)
        return None
