"""`loadstone redis --subscribers`, `--consumers`: the load is messages, and connections of their own receive them."""

from dataclasses import dataclass
from typing import Literal

from loadstone.commands.load_rows import LoadRow, operation
from loadstone.commands.redis_rows import RedisWork
from loadstone.commands.targets import Fields, size_bytes
from loadstone.errors import UserError
from loadstone.plan.operations import MESSAGE, MESSAGE_LEAST_BYTES

STREAM_ENTRIES = 100_000
"""About so many a stream keeps: what its consumers do not read in time is gone."""
COLUMNS = (
    *("goodput", "interval", "delivered", "delivery_p50", "delivery_p99", "delivery_p999", "delivery_max", "missing"),
    *("errors", "redis_cpu", "generator_cpu", "held_back"),
)
Kind = Literal["subscribe", "stream_group"]
_OPTIONS: dict[Kind, tuple[str, str]] = {
    "subscribe": ("--subscribers", "--channels"),
    "stream_group": ("--consumers", "--streams"),
}


@dataclass(frozen=True)
class Receiving:
    """Who receives, and what is sent to them."""

    kind: Kind
    connections: int
    channels: int
    message_bytes: int

    @property
    def row(self) -> LoadRow:
        """One row: messages to any of the channels, or entries of any of the streams."""
        if self.kind == "subscribe":
            return LoadRow("publish", (operation("publish", f"PUBLISH {{key}} {MESSAGE}", "integer"),))
        args = f"XADD {{key}} MAXLEN ~ {STREAM_ENTRIES} * message {MESSAGE}"
        return LoadRow("xadd", (operation("xadd", args, "any"),))

    @property
    def workload(self) -> Fields:
        """What of the workload is theirs."""
        receivers = {"kind": self.kind, "connections": self.connections}
        return {"receivers": receivers, "documents": {"payload_bytes": self.message_bytes}}

    @property
    def question(self) -> str:
        """Behind the name of the server."""
        if self.kind == "subscribe":
            return f"deliver to {self.connections} subscribers of {self.channels} channels, and how late?"
        return f"hand to {self.connections} consumers of {self.channels} streams, and how late?"


def receiving_of(
    subscribers: int | None, channels: int | None, consumers: int | None, streams: int | None, size: str
) -> Receiving | None:
    """The receivers that the options say; None if none. Raises UserError that names the option."""
    if subscribers is not None and consumers is not None:
        raise UserError("--subscribers, --consumers: leave one of them out")
    for given, option, needed in ((channels, "--channels", subscribers), (streams, "--streams", consumers)):
        if given is not None and needed is None:
            who = "subscribers" if option == "--channels" else "consumers"
            raise UserError(f"{option}: needs who receives; add --{who} NUMBER")
    if subscribers is not None:
        return _receiving("subscribe", subscribers, channels or 1, size)
    return None if consumers is None else _receiving("stream_group", consumers, streams or 1, size)


def _receiving(kind: Kind, connections: int, channels: int, size: str) -> Receiving:
    option, of = _OPTIONS[kind]
    if connections % channels:
        remedy = f"write a multiple of {channels}, or fewer {of.removeprefix('--')}"
        raise UserError(f"{option} {connections}: {of} {channels} could not have as many each; {remedy}")
    message_bytes = MESSAGE_LEAST_BYTES if size == RedisWork.size else size_bytes("-d", size)
    if message_bytes < MESSAGE_LEAST_BYTES:
        why = "a message holds its time and its number"
        raise UserError(f"-d {size}: with {option} {why}; write at least {MESSAGE_LEAST_BYTES}")
    return Receiving(kind, connections, channels, message_bytes)


def check_alone(receiving: Receiving, given: dict[str, bool]) -> None:
    """Raises UserError for the first option that has no meaning with receivers."""
    option = _OPTIONS[receiving.kind][0]
    for other, is_given in given.items():
        if is_given:
            raise UserError(f"{option}, {other}: cannot be measured together; leave one of them out")
