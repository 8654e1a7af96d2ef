"""Whether a command only reads, so that a replica serves it."""

from collections.abc import Sequence

from loadstone.software.redis.commands.info import UNKNOWN, ServerCommands
from loadstone.software.redis.commands.table import READING, SUBCOMMANDS

READ_ONLY = "readonly"
"""The flag of a command that a replica serves."""
NOT_OF_REPLICAS = frozenset({"PUBLISH", "SPUBLISH", "TOUCH", "WATCH"})
"""Leave no key, and are no reads."""


def only_reads(server: ServerCommands, command: Sequence[str]) -> bool:
    """As the server says it; as our table has it where the server does not say. Raises ServerGone."""
    name = command[0].upper()
    if "{" in name:
        return False
    part = f"|{command[1]}" if name in SUBCOMMANDS and len(command) > 1 else ""
    info = server.info(f"{command[0]}{part}".lower())
    if info is None or info is UNKNOWN:
        return name in READING - NOT_OF_REPLICAS
    return READ_ONLY in info.marks
