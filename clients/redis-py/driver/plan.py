"""The plan as this driver uses it: what loadstone sends, checked for what redis-py cannot do."""

import json
from dataclasses import dataclass, fields
from typing import Any, Self


class PlanError(Exception):
    """The plan has something that this driver cannot carry out; names the field."""


class Part:
    """A part of the plan: takes its own fields out of the JSON and leaves the others."""

    @classmethod
    def of(cls, data: dict[str, Any], **read: Any) -> Self:
        """`read` holds the fields that are parts themselves."""
        own = {field.name: data[field.name] for field in fields(cls) if field.name not in read}  # type: ignore[arg-type]
        return cls(**own, **read)


@dataclass(frozen=True)
class Tls(Part):
    ca_file: str | None
    server_name: str | None
    verify: bool
    cert_file: str | None
    key_file: str | None


@dataclass(frozen=True)
class Endpoint(Part):
    host: str
    port: int
    unix_path: str | None
    username: str | None
    password: str | None
    database: int
    tls: Tls | None

    @property
    def label(self) -> str:
        return self.unix_path or f"{self.host}:{self.port}"


@dataclass(frozen=True)
class RampUp(Part):
    initial_users: int
    step_users: int
    step_every_s: float


@dataclass(frozen=True)
class Closed(Part):
    users: int
    think_time_ms: float
    think_time: str
    operations_per_user: int | None
    ramp_up: RampUp | None


@dataclass(frozen=True)
class RateStep(Part):
    rate_per_s: float
    duration_s: float


@dataclass(frozen=True)
class Open(Part):
    rate_per_s: float
    arrivals: str
    backlog_max: int
    schedule: tuple[RateStep, ...]


@dataclass(frozen=True)
class Pool(Part):
    connections: int
    min_idle: int | None
    max_idle: int | None
    order: str

    @property
    def opened_first(self) -> int:
        """Connections that are open before the load begins: one at least, so that a server that is gone is found."""
        required = self.connections if self.min_idle is None else self.min_idle
        return min(max(required, 1), self.connections)


@dataclass(frozen=True)
class Phases(Part):
    ramp_up_s: float
    warm_up_s: float
    measure_s: float
    measure_operations: int | None
    measure_max_s: float | None
    drain_s: float


@dataclass(frozen=True)
class Command(Part):
    args: list[str]
    expect: str

    @property
    def name(self) -> str:
        return self.args[0].upper()


@dataclass(frozen=True)
class Operation(Part):
    name: str
    weight: float
    writes: str
    commands: tuple[Command, ...]
    read_back: Command | None


@dataclass(frozen=True)
class Keys(Part):
    prefix: str
    count: int
    distribution: str
    zipf_exponent: float
    gaussian_sd: float
    loaded: bool


@dataclass(frozen=True)
class Documents(Part):
    payload_bytes: int
    field_bytes: int


@dataclass(frozen=True)
class Verify(Part):
    replies: bool
    count_mismatch: bool
    read_back_max: int


@dataclass(frozen=True)
class Timeouts(Part):
    connect_ms: float
    request_ms: float
    gone_s: float


@dataclass(frozen=True)
class Plan(Part):
    seed: int
    protocol: str
    pipeline_depth: int
    interval_s: float
    endpoint: Endpoint
    model: Closed | Open
    pool: Pool
    phases: Phases
    operations: tuple[Operation, ...]
    keys: Keys
    documents: Documents
    verify: Verify
    timeouts: Timeouts


def read_message(line: bytes) -> tuple[Plan, dict[str, str]]:
    """The plan and the options of the first line. Raises PlanError."""
    try:
        message = json.loads(line)
        plan, options = message["plan"], message["options"]
    except (ValueError, KeyError, TypeError) as error:
        raise PlanError(f"plan: the first line holds none ({error!r})") from None
    return read_plan(plan), options


def read_plan(data: dict[str, Any]) -> Plan:
    """The plan of a message.

    Raises:
        PlanError: it has something that this driver cannot do, or lacks a field; names it.
    """
    try:
        return _plan(data)
    except (KeyError, IndexError, TypeError) as error:
        raise PlanError(f"plan: it is not as docs/plan.schema.json has it ({error!r})") from None


def _plan(data: dict[str, Any]) -> Plan:
    _require_drivable(data)
    return Plan.of(
        data,
        endpoint=_endpoint(data["endpoints"][0]),
        model=_closed(data["model"]) if data["model"]["kind"] == "closed" else _open(data["model"]),
        pool=Pool.of(data["pool"]),
        phases=Phases.of(data["phases"]),
        operations=tuple(_operation(operation) for operation in data["operations"]),
        keys=Keys.of(data["keys"]),
        documents=Documents.of(data["documents"]),
        verify=Verify.of(data["verify"]),
        timeouts=Timeouts.of(data["timeouts"]),
    )


def _require_drivable(data: dict[str, Any]) -> None:
    if data["protocol"] not in ("resp2", "resp3"):
        raise PlanError(f"protocol: {data['protocol']}: redis-py speaks resp2 and resp3")
    if len(data["endpoints"]) > 1:
        raise PlanError(f"endpoints: {len(data['endpoints'])} of them: a pool of redis-py is for one server")
    if data["endpoints"][0]["slots"]:
        raise PlanError("endpoints[0].slots: this driver does not drive a cluster; leave them out")
    if data["acknowledged"]:
        raise PlanError("acknowledged: this driver does not report which writes were acknowledged; set it to false")
    if data["start_at_unix_ns"] is not None:
        raise PlanError("start_at_unix_ns: this driver begins at once; leave it out")
    if data["pipeline_depth"] > 1:
        if data["model"]["kind"] == "open":
            raise PlanError("pipeline_depth: with arrivals it must be 1: nothing waits to be sent together")
        for number, operation in enumerate(data["operations"]):
            if len(operation["commands"]) > 1:
                count = len(operation["commands"])
                raise PlanError(f"operations[{number}].commands: {count}: a pipeline takes 1; set pipeline_depth to 1")


def _endpoint(data: dict[str, Any]) -> Endpoint:
    return Endpoint.of(data, tls=None if data["tls"] is None else Tls.of(data["tls"]))


def _closed(data: dict[str, Any]) -> Closed:
    return Closed.of(data, ramp_up=None if data["ramp_up"] is None else RampUp.of(data["ramp_up"]))


def _open(data: dict[str, Any]) -> Open:
    return Open.of(data, schedule=tuple(RateStep.of(step) for step in data["schedule"]))


def _operation(data: dict[str, Any]) -> Operation:
    read_back = data["read_back"]
    return Operation.of(
        data,
        commands=tuple(Command.of(command) for command in data["commands"]),
        read_back=None if read_back is None else Command.of(read_back),
    )
