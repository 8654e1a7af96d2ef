"""What each wire protocol can do, as `Capabilities` of `engine/src/wire.rs` has it: all that Python knows of it.

A protocol is one line here; who needs to know what a load may do asks for it by what it can, never by its name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

ProtocolName = Literal["resp2", "resp3", "http1"]


@dataclass(frozen=True)
class Protocol:
    """One wire protocol."""

    name: ProtocolName
    """In plans and messages."""
    operations: Literal["commands", "requests"]
    """What an operation is made of: commands, which name keys of the plan; or HTTP requests to an application."""
    of_redis: bool = False
    """Whether its commands are those of Redis: then their names say what they store and which of them read it."""
    pipelining: bool = False
    """Whether a connection takes further requests before earlier ones are answered."""
    slots: bool = False
    """Whether keys may decide on the endpoint, by hash slots."""
    data_file: bool = False
    """Whether requests may hold fields of a data file."""

    @property
    def has_keys(self) -> bool:
        """Whether operations leave keys of the plan on the servers that get the load."""
        return self.operations == "commands"

    @property
    def is_http(self) -> bool:
        """Whether operations are HTTP requests: an application gets them, and what it stores is its own affair."""
        return self.operations == "requests"


PROTOCOLS: Mapping[str, Protocol] = {
    one.name: one
    for one in (
        Protocol("resp2", "commands", of_redis=True, pipelining=True, slots=True),
        Protocol("resp3", "commands", of_redis=True, pipelining=True, slots=True),
        Protocol("http1", "requests", data_file=True),
    )
}
"""Every wire protocol by its name."""
assert tuple(PROTOCOLS) == get_args(ProtocolName)


def for_requests() -> tuple[str, ...]:
    """The protocols, by their names, that a subject takes."""
    return tuple(name for name, one in PROTOCOLS.items() if one.is_http)
