"""The control of a PostgreSQL: the session of the room, and what the common code needs of it (`deploy.control`)."""

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from loadstone.deploy.capacity import says_full
from loadstone.deploy.control import Start, WriteRows
from loadstone.deploy.ledger import Kind, Made, Outcome, Place
from loadstone.deploy.row_files import Rows
from loadstone.deploy.settings_in_force import Spelling
from loadstone.deploy.traces import Traces
from loadstone.errors import UserError
from loadstone.plan.required import RequiredData
from loadstone.plan.run_plan import PlannedTrial
from loadstone.software.postgresql import capacity, row_writing
from loadstone.software.postgresql import traces as postgresql_traces
from loadstone.software.postgresql.confined import ConfinedSql
from loadstone.software.postgresql.confinement import new_tables
from loadstone.software.postgresql.declared import POSTGRESQL
from loadstone.software.postgresql.session import DISK_FULL, PostgresqlSession, sql_state
from loadstone.software.postgresql.settings import SPELLING
from loadstone.software.postgresql.start import start_of
from loadstone.software.postgresql.tokens import statements_in


class PostgresqlControl(PostgresqlSession):
    """See `deploy.control.Control` and `deploy.control.TableStore`, whose methods these are."""

    software: ClassVar[str] = POSTGRESQL.name
    spelling: ClassVar[Spelling] = SPELLING
    removable: ClassVar[tuple[Kind, ...]] = postgresql_traces.REMOVABLE

    def keys(self) -> None:
        """None: it has tables."""

    def snapshot(self) -> None:
        """None: its figures are what the monitor reads."""

    def start(self) -> Start:
        """By the moment at which it started."""
        return start_of(self)

    def row_writing(self, data: RequiredData, rows: Rows, traces: Traces, *, ours: bool) -> WriteRows:
        """What makes the table hold exactly these rows."""
        return row_writing.row_writing(self, data, rows, traces, ours=ours)

    def is_full(self, error: BaseException) -> bool:
        """Whether its disk is full."""
        return sql_state(error.__cause__) == DISK_FULL or says_full(error)

    def place(self, server: str) -> Place:
        """Where its database is."""
        return postgresql_traces.place_of_database(server, self.endpoint, self.database)

    def left_by_load(self, commands: Iterable[Sequence[str]], prefix: str) -> list[Made]:  # noqa: ARG002
        """Nothing: it takes no load."""
        return []

    def left_by_subjects(self) -> list[Made]:
        """Nothing but the tables that are made for them, which are noted when they are made."""
        return []

    def remove_traces(self, traces: Traces) -> None:
        """Remove the tables that were made, and empty those that were filled."""
        postgresql_traces.remove_traces(self, traces)

    def remove_left(self, run_id: str, things: Sequence[Made]) -> Iterator[Outcome]:
        """Remove what the server itself says is the run's."""
        return postgresql_traces.remove_left(self, run_id, things)

    def confinement(self, *, ask: bool) -> ConfinedSql:  # noqa: ARG002 (the seam's signature)
        """Statements on tables of its own database."""
        return ConfinedSql()

    def shortage(self, trials: Sequence[PlannedTrial], server: str, pid: int | None) -> str:
        """By the disk under its files."""
        return capacity.shortage(self, trials, server, pid)

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
                "leave the database out of the server's URL, or name one that begins with 'loadstone_'"
            )
        if not ours:
            theirs = [table for table in self.tables() if not traces.made_table(table)]
            new = new_tables(where, script, theirs)
            postgresql_traces.note_tables(self, traces, [Made("table_made", table) for table in new])
