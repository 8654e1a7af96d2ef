"""What of a run may be sent to a server of the user's that speaks SQL; its grammar decides of each statement."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from loadstone.deploy.control import Refusal
from loadstone.software.sql.tokens import SqlProblem


@dataclass(frozen=True)
class Grammar:
    """What a server's room knows of its SQL. What it does not know raises SqlProblem, and is not sent."""

    require_counting: Callable[[str], None]
    """Returns if a statement reads tables of its connection's database alone."""
    tables_changed: Callable[[str], Collection[str]]
    """The tables that a statement of a file changes, in small letters."""
    new_tables: Callable[[str, str, Collection[str]], list[str]]
    """The tables that a script will make, by where it stands, itself, and the tables that were there before.

    Raises UserError where it would change one of these.
    """


class ConfinedSql:
    """See `deploy.control.Confinement`. The server is not consulted: what the grammar does not know is refused."""

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar

    def command(self, command: Sequence[str], prefix: str) -> None:  # noqa: ARG002 (the seam's signature)
        """It takes no load."""
        raise Refusal("it accepts no commands", "name another server as the target")

    def row_command(self, text: str) -> None:  # noqa: ARG002 (the seam's signature)
        """Its rows go into a table."""
        raise Refusal("it accepts no commands", "name a table")

    def count(self, text: str, *, of_application: bool) -> None:  # noqa: ARG002 (the database is the same)
        """A SELECT of the connection's own database."""
        try:
            self._grammar.require_counting(text)
        except SqlProblem as problem:
            raise _refusal(problem) from None

    def statement(self, text: str) -> None:
        """One that changes tables of the connection's own database."""
        try:
            self._grammar.tables_changed(text)
        except SqlProblem as problem:
            raise _refusal(problem) from None


def reaches_out(grammar: Grammar) -> Callable[[Sequence[str]], bool]:
    """Whether a statement is not known to work on tables alone: it may reach files or programs."""

    def reaches(statement: Sequence[str]) -> bool:
        for allowed in (grammar.require_counting, grammar.tables_changed):
            try:
                allowed(" ".join(statement))
            except SqlProblem:
                continue
            return False
        return True

    return reaches


def _refusal(problem: SqlProblem) -> Refusal:
    reason, _, remedy = str(problem).partition("; ")
    return Refusal(reason, remedy or "leave it out")
