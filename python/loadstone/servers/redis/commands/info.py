"""What a server says of its own commands: COMMAND INFO and COMMAND GETKEYS.

Servers differ, and some users may not ask: whatever is no answer as Redis documents it counts as none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from loadstone.safety.errors import ServerRefused
from loadstone.servers.redis.commands.table import READING, SUBCOMMANDS
from loadstone.servers.redis.session import RedisSession

READ_ONLY = "readonly"
"""The flag of a command that a replica serves."""
NOT_OF_REPLICAS = frozenset({"PUBLISH", "SPUBLISH", "TOUCH", "WATCH"})
"""Leave no key, and are no reads."""


@dataclass(frozen=True)
class CommandInfo:
    """One command as a server describes it."""

    name: str
    """Its own name in capitals: a renamed command has another one than it is called by."""
    marks: frozenset[str]
    """Flags (`write`, `movablekeys`) and ACL categories (`@string`); of old servers flags alone."""


UNKNOWN = CommandInfo("", frozenset())
"""The server has no such command."""


class ServerCommands:
    """Queries the server behind `control`; each question once. Raises ServerGone if it does not answer any more."""

    def __init__(self, control: RedisSession) -> None:
        self._control = control
        self._infos: dict[str, CommandInfo | None] = {}

    def info(self, name: str) -> CommandInfo | None:
        """What it says of a command, or of a part of one (`xgroup|create`); None: it does not say."""
        if name not in self._infos:
            self._infos[name] = _info_of(self._reply("INFO", name))
        return self._infos[name]

    def keys(self, command: Sequence[str]) -> list[bytes] | None:
        """The keys that it finds in a command; None: it does not say, or finds none."""
        reply = self._reply("GETKEYS", *command)
        if not isinstance(reply, list) or not all(isinstance(key, bytes) for key in reply):
            return None
        return reply or None

    def _reply(self, *question: str) -> Any:
        try:
            return self._control.call(b"COMMAND", *question)  # as bytes: redis-py leaves the reply as it came
        except ServerRefused:
            return None


def _info_of(reply: Any) -> CommandInfo | None:
    if not isinstance(reply, list) or len(reply) != 1:
        return None
    (described,) = reply
    if described is None or described == []:
        return UNKNOWN
    if not isinstance(described, list) or len(described) < 6 or not isinstance(described[0], bytes):
        return None
    marks = [mark for part in (described[2], *described[6:7]) if isinstance(part, list) for mark in part]
    texts = (mark.decode(errors="replace").lower() for mark in marks if isinstance(mark, bytes))
    return CommandInfo(described[0].decode(errors="replace").upper(), frozenset(texts))


def only_reads(server: ServerCommands, command: Sequence[str]) -> bool:
    """Whether a command only reads, so that a replica serves it. Raises ServerGone.

    As the server says it; as our table has it where the server does not say.
    """
    name = command[0].upper()
    if "{" in name:
        return False
    part = f"|{command[1]}" if name in SUBCOMMANDS and len(command) > 1 else ""
    info = server.info(f"{command[0]}{part}".lower())
    if info is None or info is UNKNOWN:
        return name in READING - NOT_OF_REPLICAS
    return READ_ONLY in info.marks
