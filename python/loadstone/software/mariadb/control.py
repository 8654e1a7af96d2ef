"""The control of a MariaDB: the session of the room, and what the common code needs of it (`deploy.control`)."""

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from pymysql.constants import ER

from loadstone.deploy.capacity import says_full
from loadstone.deploy.control import Start, WriteRows
from loadstone.deploy.ledger import Kind, Made, Outcome, Place
from loadstone.deploy.row_files import Rows
from loadstone.deploy.settings_in_force import Spelling
from loadstone.deploy.traces import Traces
from loadstone.errors import UserError
from loadstone.plan.required import RequiredData
from loadstone.plan.run_plan import PlannedTrial
from loadstone.software.mariadb import capacity, row_writing
from loadstone.software.mariadb import traces as mariadb_traces
from loadstone.software.mariadb.confined import ConfinedSql
from loadstone.software.mariadb.declared import MARIADB
from loadstone.software.mariadb.session import MariaDbSession, error_code
from loadstone.software.mariadb.settings import SPELLING
from loadstone.software.mariadb.start import start_of
from loadstone.software.sql.scripts import new_tables
from loadstone.software.sql.tokens import statements_in

NO_ROOM = (ER.RECORD_FILE_FULL, ER.DISK_FULL)
"""Its numbers for a full disk: the text beside them may be in any language."""


class MariaDbControl(MariaDbSession):
    """See `deploy.control.Control` and `deploy.control.TableStore`, whose methods these are."""

    software: ClassVar[str] = MARIADB.name
    spelling: ClassVar[Spelling] = SPELLING
    removable: ClassVar[tuple[Kind, ...]] = mariadb_traces.REMOVABLE

    def keys(self) -> None:
        """None: it has tables."""

    def snapshot(self) -> None:
        """None: its figures are what the monitor reads."""

    def start(self) -> Start:
        """By how long it has been running."""
        return start_of(self)

    def row_writing(self, data: RequiredData, rows: Rows, traces: Traces, *, ours: bool) -> WriteRows:
        """What makes the table hold exactly these rows."""
        return row_writing.row_writing(self, data, rows, traces, ours=ours)

    def is_full(self, error: BaseException) -> bool:
        """Whether its disk or the table is full."""
        return error_code(error.__cause__) in NO_ROOM or says_full(error)

    def place(self, server: str) -> Place:
        """Where its database is."""
        return mariadb_traces.place_of_database(server, self.endpoint, self.database)

    def left_by_load(self, commands: Iterable[Sequence[str]], prefix: str) -> list[Made]:  # noqa: ARG002
        """Nothing: it takes no load."""
        return []

    def left_by_subjects(self) -> list[Made]:
        """Nothing but the tables that are made for them, which are noted when they are made."""
        return []

    def remove_traces(self, traces: Traces) -> None:
        """Remove the tables that were made, and empty those that were filled."""
        mariadb_traces.remove_traces(self, traces)

    def remove_left(self, run_id: str, things: Sequence[Made]) -> Iterator[Outcome]:
        """Remove what the server itself says is the run's."""
        return mariadb_traces.remove_left(self, run_id, things)

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
            mariadb_traces.note_tables(self, traces, [Made("table_made", table) for table in new])
