"""What loadstone and a driver's program write to each other, one JSON object a line (`docs/driver-contract.md`).

Times of the load are in seconds since it began; `_unix_ns` is the wall clock. Histograms are HdrHistogram V2,
compressed, base64, in nanoseconds: 1 ns to 1 h, 3 significant digits. Unknown keys are ignored, so that a program can
write more than loadstone reads.
"""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter

from loadstone.drivers.outcome import Counts, Events, Phase
from loadstone.experiment.plan.drive_plan import Plan
from loadstone.safety.bounds.replies import shortened
from loadstone.safety.terminal import plain

ErrorKind = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
OperationName = Annotated[str, Field(max_length=80)]
CommandName = Annotated[str, Field(min_length=1, max_length=80)]
Plain = AfterValidator(plain)
"""Without control characters: what a program says of itself is printed and recorded."""
Name = Annotated[str, Field(max_length=80), Plain]
SAID_MAX = 500
OneLine = Annotated[str, AfterValidator(lambda text: shortened(text, SAID_MAX))]
"""What it says for people: of an error of 1 MB, which a server may send, its beginning."""
Count = Annotated[int, Field(ge=0, lt=2**63)]
Seconds = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
Histogram = Annotated[str, Field(min_length=1, max_length=1_000_000)]
ERROR_KINDS_MAX, COMMANDS_MAX = 100, 10_000


class _SentMessage(BaseModel):
    """What loadstone writes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class _ReceivedMessage(BaseModel):
    """What a program writes."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class PlanMessage(_SentMessage):
    """The first line to a program: what it is to do. Secrets travel here and nowhere else."""

    type: Literal["plan"] = "plan"
    format: Literal[1] = 1
    plan: Plan
    options: dict[str, str] = {}
    """The chosen value of every option of the manifest."""


class StopMessage(_SentMessage):
    """The load ends now. The end of the input means the same."""

    type: Literal["stop"] = "stop"


class ReadyMessage(_ReceivedMessage):
    """The pool's idle connections are open, and the load begins."""

    type: Literal["ready"]
    library: Annotated[Name, Field(min_length=1)]
    version: Annotated[Name, Field(min_length=1)]
    """Version of the library, as the program that runs has it."""
    runtime: Name = ""


class ProgramEvents(Events):
    """Events within bounds: what a program leaves out did not happen."""

    model_config = ConfigDict(extra="ignore")

    offered: Count
    sent: Count
    ok: Count
    errors: dict[ErrorKind, Count] = Field(default={}, max_length=ERROR_KINDS_MAX)
    timeouts: Count = 0
    dropped: Count = 0


class ProgramCounts(ProgramEvents, Counts):
    """Counts within bounds."""

    model_config = ConfigDict(extra="ignore")

    in_flight: Count = 0
    unsent: Count = 0


class ProgramIntervalOperation(ProgramEvents):
    """See `outcome.IntervalOperation`."""

    response_histogram: Histogram
    service_histogram: Histogram


class IntervalMessage(_ReceivedMessage):
    """What happened since the interval before. An interval ends early where a phase ends."""

    type: Literal["interval"]
    phase: Phase
    start_s: Seconds
    duration_s: Seconds
    start_unix_ns: Count
    operations: dict[OperationName, ProgramIntervalOperation]
    connections: Count = 0
    """Open at its end."""
    users: Count = 0
    """Started and not ended at its end; 0 in the open model."""
    backlog: Count = 0
    """Operations that wait for a connection at its end."""
    in_flight: Count = 0
    bytes_sent: Count | None = None
    bytes_received: Count | None = None


class ProgramPhaseTimes(_ReceivedMessage):
    """When a phase began and ended."""

    start_s: Seconds
    end_s: Seconds


class ProgramOperationRecord(_ReceivedMessage):
    """See `outcome.OperationRecord`."""

    counts: ProgramCounts
    window_completed: Count
    window_ok: Count
    response_sum_ns: Count
    earlier_ns: Count = 0
    response_histogram: Histogram
    service_histogram: Histogram


class ProgramCommand(_ReceivedMessage):
    """One command over the whole drive."""

    sent: Count
    replied: Count


class ProgramConnections(_ReceivedMessage):
    """See `outcome.Connections`."""

    opened: Count
    open_at_end: Count
    lost: Count = 0
    failed: Count = 0
    closed_idle: Count = 0


class ProgramReadBack(_ReceivedMessage):
    """See `outcome.ReadBack`."""

    checked: Count = 0
    wrong: Count = 0
    skipped: Count = 0


class RecordMessage(_ReceivedMessage):
    """The last line of a program that drove to the end, or was stopped."""

    type: Literal["record"]
    started_unix_ns: Count
    phases: dict[Phase, ProgramPhaseTimes]
    """All four of them; one that was not reached has no length."""
    operations: dict[OperationName, ProgramOperationRecord]
    total: ProgramCounts
    commands: dict[CommandName, ProgramCommand] = Field(max_length=COMMANDS_MAX)
    """Commands by their names in capitals, read-backs included."""
    connections: ProgramConnections
    pool_wait_histogram: Histogram | None
    """None where the library does not report how long an operation waits for its connection."""
    schedule_lag_histogram: Histogram
    read_back: ProgramReadBack = ProgramReadBack()
    bytes_sent: Count | None = None
    bytes_received: Count | None = None
    overflowed: Count = 0
    """Times that no histogram could hold."""
    clock_quantum_ns: Annotated[int, Field(ge=1, le=10**9)]
    """The smallest step between two different readings of the clock that latencies are measured by."""
    stopped: OneLine | None
    """None when the plan was done; else why it ended early."""


class Failed(_ReceivedMessage):
    """The last line of a program that could not drive."""

    type: Literal["failed"]
    kind: Literal["plan", "connect", "internal"]
    message: Annotated[OneLine, Field(min_length=1)]


ProgramMessage = Annotated[ReadyMessage | IntervalMessage | RecordMessage | Failed, Field(discriminator="type")]
MESSAGE: TypeAdapter[ProgramMessage] = TypeAdapter(ProgramMessage)
"""Reads a line of a program: `MESSAGE.validate_json(line)`."""
