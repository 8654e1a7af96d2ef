"""The control of a PostgreSQL; see `sql.control`."""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from loadstone.deploy.capacity import says_full
from loadstone.deploy.control import Start
from loadstone.deploy.provider import ConfigValue, ServerFacts
from loadstone.deploy.row_files import Rows, Tell
from loadstone.errors import ServerRefused
from loadstone.plan.run_plan import PlannedTrial
from loadstone.software.postgresql import capacity
from loadstone.software.postgresql.confinement import new_tables, require_counting, tables_changed
from loadstone.software.postgresql.data import write_to_table
from loadstone.software.postgresql.declared import POSTGRESQL
from loadstone.software.postgresql.facts import READ_BACK, differences, facts_of
from loadstone.software.postgresql.session import DISK_FULL, PostgresqlSession
from loadstone.software.postgresql.start import start_of
from loadstone.software.sql.confinement import Grammar
from loadstone.software.sql.control import SqlControl


class PostgresqlControl(PostgresqlSession, SqlControl):
    """See `SqlControl`."""

    software: ClassVar[str] = POSTGRESQL.name
    grammar: ClassVar[Grammar] = Grammar(require_counting, tables_changed, new_tables)
    read_back: ClassVar[tuple[str, ...]] = READ_BACK

    def facts(self) -> ServerFacts:
        """See `SqlControl.facts`."""
        return facts_of(self)

    def differences(self, requested: Mapping[str, ConfigValue], got: Mapping[str, str]) -> list[str]:
        """See `SqlControl.differences`."""
        return differences(requested, got)

    def start(self) -> Start:
        """By the moment at which it started."""
        return start_of(self)

    def write_table(self, table: str, rows: Rows, tell: Tell, claim: Callable[[int], None]) -> bool:
        """See `SqlControl.write_table`."""
        return write_to_table(self, table, rows, tell, claim)

    def is_full(self, error: BaseException) -> bool:
        """Whether its disk is full."""
        return (isinstance(error, ServerRefused) and error.code == DISK_FULL) or says_full(error)

    def shortage(self, trials: Sequence[PlannedTrial], server: str, pid: int | None) -> str:
        """By the disk under its files."""
        return capacity.shortage(self, trials, server, pid)
