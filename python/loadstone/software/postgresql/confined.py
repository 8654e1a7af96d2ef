"""What of a run may be sent to a PostgreSQL of the user's; `confinement` decides of each statement."""

from collections.abc import Sequence

from loadstone.deploy.control import Refusal
from loadstone.software.postgresql.confinement import require_counting, tables_changed
from loadstone.software.sql.tokens import SqlProblem


class ConfinedSql:
    """See `deploy.control.Confinement`. The server is not consulted: what the grammar does not know is refused."""

    def command(self, command: Sequence[str], prefix: str) -> None:  # noqa: ARG002 (the seam's signature)
        """It takes no load."""
        raise Refusal("it accepts no commands", "name another server as the target")

    def row_command(self, text: str) -> None:  # noqa: ARG002 (the seam's signature)
        """Its rows go into a table."""
        raise Refusal("it accepts no commands", "name a table")

    def count(self, text: str, *, of_application: bool) -> None:  # noqa: ARG002 (the database is the same)
        """A SELECT of the connection's own database."""
        try:
            require_counting(text)
        except SqlProblem as problem:
            raise _refusal(problem) from None

    def statement(self, text: str) -> None:
        """One that changes tables of the connection's own database."""
        try:
            tables_changed(text)
        except SqlProblem as problem:
            raise _refusal(problem) from None


def _refusal(problem: SqlProblem) -> Refusal:
    reason, _, remedy = str(problem).partition("; ")
    return Refusal(reason, remedy or "leave it out")
