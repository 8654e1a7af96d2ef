"""Connections that receive what the load sends: subscribers of channels, consumers of streams."""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from loadstone.plan.part import PlanPart

MESSAGE = "{message}"
"""The placeholder that receivers read: when the operation was intended, its number, and letters."""
MESSAGE_LEAST_BYTES = 32
_COMMANDS = {"subscribe": "PUBLISH", "stream_group": "XADD"}


class Receivers(PlanPart):
    """Receivers beside the pool, evenly over the plan's keys, each of which is a channel or a stream.

    `subscribe`: each has one channel, and gets every message of it. `stream_group`: each reads one stream as a consumer
    of its one group, which shares the entries out, and acknowledges them. All operations are one command that ends with
    `{message}`: `PUBLISH {key} {message}`, or `XADD {key} MAXLEN ~ 100000 * m {message}`.
    """

    kind: Literal["subscribe", "stream_group"]
    connections: int = Field(gt=0, le=100_000)
    count: int = Field(default=100, gt=0, le=100_000, description="entries of a stream that one read takes, at most")


def uses_message(commands: Sequence[Command]) -> bool:
    """Whether one of the commands sends a message that receivers read."""
    return any(MESSAGE in argument for command in commands for argument in command.args)


def wrong_in_operation(receivers: Receivers, commands: Sequence[Command]) -> str | None:
    """Why the commands of an operation cannot be received; None if they can."""
    name = _COMMANDS[receivers.kind]
    args = commands[0].args if len(commands) == 1 else ()
    if len(args) > 2 and (args[0].upper(), args[1], args[-1]) == (name, "{key}", MESSAGE):
        return None
    return f"with these receivers it is one command: {name} {{key}} ... {MESSAGE}"
