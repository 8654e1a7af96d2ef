"""What of a run may be sent to a server of the user's that speaks SQL: loadstone's own statements, and no others.

What a user names is a table or a column, which stands in a statement in quotes. A file of SQL is run on servers that
loadstone started alone (`programs.subjects.schema`), so nobody's SQL is read here.
"""

from collections.abc import Sequence

from loadstone.servers.control import CommandRefusal
from loadstone.servers.sql.session import SqlSession
from loadstone.text.message import said


class ConfinedSql:
    """See `servers.control.Confinement`."""

    def __init__(self, session: type[SqlSession]) -> None:
        self._session = session

    def command(self, command: Sequence[str], prefix: str) -> None:  # noqa: ARG002 (the seam's signature)
        """It takes no load."""
        raise CommandRefusal(said("it accepts no commands"), said("name another server as the target"))

    def row_command(self, text: str) -> None:  # noqa: ARG002 (the seam's signature)
        """Its rows go into a table."""
        raise CommandRefusal(said("it accepts no commands"), said("name a table"))

    def count(self, text: str, *, of_application: bool) -> None:  # noqa: ARG002 (the database is the same)
        """The rows of a table of the connection's own database."""
        if not self._session.is_name(text):
            raise CommandRefusal(said("it is not the name of a table"), said("use letters, digits and _ only"))


def reaches_out(command: Sequence[str]) -> bool:  # noqa: ARG001 (the room's signature)
    """Return whether something of an experiment reaches beyond a server of ours: names of tables do not."""
    return False
