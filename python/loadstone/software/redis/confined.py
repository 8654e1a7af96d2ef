"""What of a run may be sent to a Redis of the user's; `commands.confinement` decides of each command."""

import shlex
from collections.abc import Sequence

from loadstone.deploy.control import Refusal
from loadstone.software.redis.commands.confinement import require_confined
from loadstone.software.redis.commands.info import ServerCommands
from loadstone.software.redis.commands.table import REACHING
from loadstone.software.redis.declared import COUNTING


class ConfinedCommands:
    """See `deploy.control.Confinement`. `server` is consulted, too; None: our table alone."""

    def __init__(self, server: ServerCommands | None) -> None:
        self._server = server

    def command(self, command: Sequence[str], prefix: str) -> None:
        """See `deploy.control.Confinement.command`."""
        require_confined(command, prefix, self._server)

    def row_command(self, text: str) -> None:
        """See `deploy.control.Confinement.row_command`."""
        require_confined(_split(text), None, self._server)

    def count(self, text: str, *, of_application: bool) -> None:
        """An application keeps what it stores where it likes; without one nothing but keys of ours can be counted."""
        parts = _split(text)
        reads_any_key = of_application and parts[0].upper() in COUNTING
        require_confined(parts, None, self._server, reads_any_key=reads_any_key)

    def statement(self, text: str) -> None:  # noqa: ARG002 (the seam's signature)
        """It has no tables."""
        raise Refusal("it accepts no statements", "leave it out")


def reaches_out(command: Sequence[str]) -> bool:
    """Whether a command sets or asks more than the data of a server of ours: its files, its modules, other servers.

    One whose name is not certain may be any, and one of a module other than JSON may do what the module can.
    """
    name = command[0].upper() if command else ""
    return name in REACHING or not name.removeprefix("JSON.").replace("_", "").replace("-", "").isalnum()


def _split(text: str) -> list[str]:
    """A command that is written as in a shell. Raises Refusal."""
    try:
        parts = shlex.split(text)
    except ValueError:
        raise Refusal("its quotes are not closed", "write it as in a shell") from None
    if not parts:
        raise Refusal("it is empty", "write a command")
    return parts
