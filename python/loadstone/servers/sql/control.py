"""What loadstone asks of a server that speaks SQL, and has it do (`servers.control`): all that the dialects share."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

from loadstone.experiment.plan.required import RequiredData
from loadstone.run_folder.ledger import CreatedObject, CreatedObjects, ObjectKind, RemovalResult, ServerIdentity
from loadstone.safety.errors import UserError
from loadstone.servers import settings_in_force
from loadstone.servers.control import RowFiles, RowProgress, WriteRows
from loadstone.servers.declared_table import Table
from loadstone.servers.server import ConfigValue, ServerFacts
from loadstone.servers.sql import traces as sql_traces
from loadstone.servers.sql.confinement import ConfinedSql
from loadstone.servers.sql.session import DATABASE, SqlSession
from loadstone.text.message import AnyText

Claim = Callable[[int], None]
"""Called with how many other rows a table holds, before it is changed; raises UserError where they must stay."""


class SqlControl(SqlSession):
    """See `servers.control.Control` and `servers.control.TableStore`, of whose methods these are all that are
    common."""

    removable: ClassVar[tuple[ObjectKind, ...]] = sql_traces.REMOVABLE
    RECORDED: ClassVar[tuple[str, ...]]
    """Settings that decide about speed and durability, recorded with every trial."""

    @abstractmethod
    def facts(self) -> ServerFacts:
        """Version and role. Raises UserError if it is a server of another kind."""

    @abstractmethod
    def load_rows(self, table: str, rows: RowFiles, tell: RowProgress) -> None:
        """Write all rows into an empty table of ours. Raises LoadstoneError if the server does not take one."""

    @abstractmethod
    def crc32_sum(self, table: str, columns: Sequence[str]) -> int:
        """As `RowFiles.crc32_sum`, of the rows that a table holds."""

    def keys(self) -> None:
        """None: it has tables."""

    def snapshot(self) -> None:
        """None: its figures are what the monitor reads."""

    def read_back(self, requested: Mapping[str, ConfigValue]) -> tuple[ServerFacts, dict[str, str], list[AnyText]]:
        """What the server is, its settings, and a line for each that is not in force as it was requested."""
        facts = self.facts()
        reported = self.settings({*self.RECORDED, *map(self.spelling.name, requested)})
        return facts, reported, self.differences(requested, reported)

    def differences(self, requested: Mapping[str, ConfigValue], reported: Mapping[str, str]) -> list[AnyText]:
        """What the server took otherwise than requested, and what has no effect: a line each."""
        return settings_in_force.differences(requested, reported, self.spelling)

    def row_writing(self, data: RequiredData, rows: RowFiles, traces: CreatedObjects, *, ours: bool) -> WriteRows:
        """What makes the table hold exactly these rows, and no rows of the user's in their place."""
        table = data.table
        if table is None:
            raise UserError(
                "'{server}' is {one}: name a 'table', and leave 'commands' out",
                server=data.server,
                one=self.declared.one,
            )

        def claim(there: int) -> None:
            if ours or traces.filled_table(table) or traces.made_table(table):
                return
            if there:
                raise UserError(
                    "table '{table}' was there before and holds {there:,} other rows, which are not touched; empty "
                    "or remove it, or name another database in the server's URL",
                    table=table,
                    there=there,
                )
            sql_traces.note_tables(self, traces, [CreatedObject("table_filled", table)])

        return lambda tell: self.write_table(table, rows, tell, claim)

    def write_table(self, table: str, rows: RowFiles, tell: RowProgress, claim: Claim) -> bool:
        """Make a table hold exactly these rows; whether anything had to be written.

        Raises:
            LoadstoneError: the table is not ours, it is missing, or the server does not take a row.
        """
        self.require_our_table(table)
        for column in rows.columns:
            self.require_name(column)
        with self.patient() as writer:
            there = writer.count_rows(table)
            if there == rows.count and writer.crc32_sum(table, rows.columns) == rows.crc32_sum:
                return False
            claim(there)
            if there:
                writer.truncate(table)
            writer.load_rows(table, rows, tell)
            written = writer.count_rows(table)
            if written != rows.count:
                raise UserError(
                    "table '{table}' holds {written:,} rows of {count:,} that were written; make the values of its "
                    "unique columns differ, e.g. with {{number}}",
                    table=table,
                    written=written,
                    count=rows.count,
                )
        return True

    def place(self, server: str) -> ServerIdentity:
        """Where its database is."""
        return sql_traces.place_of_database(self.declared, server, self.endpoint, self.database)

    def left_by_load(self, commands: Iterable[Sequence[str]], prefix: str) -> list[CreatedObject]:  # noqa: ARG002
        """Nothing: it takes no load."""
        return []

    def left_by_subjects(self, prefixes: Iterable[str] = ()) -> list[CreatedObject]:  # noqa: ARG002 (the seam's signature)
        """Nothing but the tables that are made for them, which are noted when they are made."""
        return []

    def remove_traces(self, traces: CreatedObjects) -> None:
        """Remove the tables that were made, and empty those that were filled."""
        sql_traces.remove_traces(self, traces)

    def remove_left(self, run_id: str, things: Sequence[CreatedObject]) -> Iterator[RemovalResult]:
        """Remove what the server itself says is the run's."""
        return sql_traces.remove_left(self, run_id, things)

    def confinement(self) -> ConfinedSql:
        """Names of tables alone."""
        return ConfinedSql(type(self))

    def loss_watch(self, server: str) -> None:
        """None: it throws nothing away, and what it refuses its writer reports."""

    def make_tables(self, where: str, tables: Mapping[str, Table], traces: CreatedObjects, *, ours: bool) -> None:
        """See `servers.control.TableStore.make_tables`."""
        if not self.is_our_database():
            raise UserError(
                "{where}: its tables are made in a database of loadstone's only, not in '{database}'; leave the "
                "database out of the server's URL, or name one that begins with '{prefix}_'",
                where=where,
                database=self.database,
                prefix=DATABASE,
            )
        if not ours:
            theirs = {table.lower() for table in self.tables() if not traces.made_table(table)}
            tables = {name: table for name, table in tables.items() if name not in theirs}
            sql_traces.note_tables(self, traces, [CreatedObject("table_made", name) for name in tables])
        for name, table in tables.items():
            for statement in self.dialect.table_statements(name, table):
                self.query(statement)
