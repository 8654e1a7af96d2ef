"""The control of a server that speaks SQL: what the common code needs of its session (`deploy.control`)."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

from loadstone.deploy.control import WriteRows
from loadstone.deploy.ledger import Kind, Made, Outcome, Place
from loadstone.deploy.provider import ConfigValue, ServerFacts
from loadstone.deploy.row_files import Rows, Tell
from loadstone.deploy.traces import Traces
from loadstone.errors import UserError
from loadstone.plan.required import RequiredData
from loadstone.software.sql import row_writing
from loadstone.software.sql import traces as sql_traces
from loadstone.software.sql.confinement import ConfinedSql, Grammar
from loadstone.software.sql.session import DATABASE, SqlSession, statements_in


class SqlControl(SqlSession):
    """See `deploy.control.Control` and `deploy.control.TableStore`, of whose methods these are all that are common."""

    removable: ClassVar[tuple[Kind, ...]] = sql_traces.REMOVABLE
    grammar: ClassVar[Grammar]
    read_back: ClassVar[tuple[str, ...]]
    """Settings that decide about speed and durability, recorded with every trial."""

    @abstractmethod
    def facts(self) -> ServerFacts:
        """Version and role. Raises UserError if it is a server of another kind."""

    @abstractmethod
    def differences(self, requested: Mapping[str, ConfigValue], got: Mapping[str, str]) -> list[str]:
        """What the server took otherwise than requested, and what has no effect: a line each."""

    @abstractmethod
    def write_table(self, table: str, rows: Rows, tell: Tell, claim: Callable[[int], None]) -> bool:
        """See `row_writing.WriteTable`. Raises LoadstoneError if the table is not ours, or does not take a row."""

    def keys(self) -> None:
        """None: it has tables."""

    def snapshot(self) -> None:
        """None: its figures are what the monitor reads."""

    def row_writing(self, data: RequiredData, rows: Rows, traces: Traces, *, ours: bool) -> WriteRows:
        """What makes the table hold exactly these rows."""
        return row_writing.row_writing(self, self.write_table, data, rows, traces, ours=ours)

    def place(self, server: str) -> Place:
        """Where its database is."""
        return sql_traces.place_of_database(self.declared, server, self.endpoint, self.database)

    def left_by_load(self, commands: Iterable[Sequence[str]], prefix: str) -> list[Made]:  # noqa: ARG002
        """Nothing: it takes no load."""
        return []

    def left_by_subjects(self) -> list[Made]:
        """Nothing but the tables that are made for them, which are noted when they are made."""
        return []

    def remove_traces(self, traces: Traces) -> None:
        """Remove the tables that were made, and empty those that were filled."""
        sql_traces.remove_traces(self, traces)

    def remove_left(self, run_id: str, things: Sequence[Made]) -> Iterator[Outcome]:
        """Remove what the server itself says is the run's."""
        return sql_traces.remove_left(self, run_id, things)

    def confinement(self) -> ConfinedSql:
        """Statements on tables of its own database."""
        return ConfinedSql(self.grammar)

    def loss_watch(self, server: str) -> None:
        """None: it throws nothing away, and what it refuses its writer reports."""

    def statements(self, script: str) -> list[str]:
        """See `deploy.control.TableStore.statements`."""
        return statements_in(script)

    def prepare_tables(self, where: str, script: str, traces: Traces, *, ours: bool) -> None:
        """See `deploy.control.TableStore.prepare_tables`."""
        if not self.is_our_database():
            raise UserError(
                f"{where}: its tables are made in a database of loadstone's only, not in '{self.database}'; "
                f"leave the database out of the server's URL, or name one that begins with '{DATABASE}_'"
            )
        if not ours:
            theirs = [table for table in self.tables() if not traces.made_table(table)]
            new = self.grammar.new_tables(where, script, theirs)
            sql_traces.note_tables(self, traces, [Made("table_made", table) for table in new])
