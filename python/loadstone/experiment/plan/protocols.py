"""What each wire protocol can do, as `Capabilities` of `engine/src/wire.rs` has it: all that Python knows of it.

A protocol is one line here; who needs to know what a load may do asks for it by what it can, never by its name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

ProtocolName = Literal["resp2", "resp3", "http1", "memcached"]


@dataclass(frozen=True)
class Protocol:
    """One wire protocol."""

    name: ProtocolName
    """In plans and messages."""
    operations: Literal["commands", "requests"]
    """What an operation is made of: commands, which name keys of the plan; or HTTP requests to an application."""
    null_server: Literal["resp", "http1", "memcached"]
    """As which the null server answers it."""
    of_redis: bool = False
    """Whether its commands are those of Redis: then their names say what they store and which of them read it."""
    pipelining: bool = False
    """Whether a connection takes further requests before earlier ones are answered."""
    slots: bool = False
    """Whether keys may decide on the endpoint, by hash slots."""
    data_file: bool = False
    """Whether requests may hold fields of a data file."""
    recordings: bool = False
    """Whether commands of a recording may be sent again."""
    receivers: bool = False
    """Whether connections may receive what others send: messages of channels, entries of streams."""
    databases: bool = False
    """Whether an endpoint may have a database of a number."""
    uncounted: frozenset[str] = frozenset()
    """Commands, in capitals, that its servers do not count, or not always."""

    @property
    def has_keys(self) -> bool:
        """Whether operations leave keys of the plan on the servers that get the load."""
        return self.operations == "commands"

    @property
    def is_http(self) -> bool:
        """Whether operations are HTTP requests: an application gets them, and what it stores is its own affair."""
        return self.operations == "requests"


def _of_redis(name: ProtocolName) -> Protocol:
    return Protocol(
        name, "commands", "resp",
        of_redis=True, pipelining=True, slots=True, databases=True, data_file=True, recordings=True,
        receivers=True,
    )  # fmt: skip


PROTOCOLS: Mapping[str, Protocol] = {
    one.name: one
    for one in (
        _of_redis("resp2"),
        _of_redis("resp3"),
        Protocol("http1", "requests", "http1", data_file=True),
        # An `ma` that makes its key is not counted.
        Protocol("memcached", "commands", "memcached", pipelining=True, uncounted=frozenset({"MA", "MN"})),
    )
}
"""Every wire protocol by its name."""
assert tuple(PROTOCOLS) == get_args(ProtocolName)


def with_data() -> tuple[str, ...]:
    """The protocols, by their names, whose requests may hold fields of a data file."""
    return tuple(name for name, one in PROTOCOLS.items() if one.data_file)


def for_requests() -> tuple[str, ...]:
    """The protocols, by their names, that a subject takes."""
    return tuple(name for name, one in PROTOCOLS.items() if one.is_http)
