"""The control of a MariaDB; see `sql.control`."""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from pymysql.constants import ER

from loadstone.deploy.capacity import says_full
from loadstone.deploy.control import Start
from loadstone.deploy.provider import ConfigValue, ServerFacts
from loadstone.deploy.row_files import Rows, Tell
from loadstone.errors import ServerRefused
from loadstone.plan.run_plan import PlannedTrial
from loadstone.software.mariadb import capacity
from loadstone.software.mariadb.confinement import new_tables, require_counting, tables_changed
from loadstone.software.mariadb.data import write_to_table
from loadstone.software.mariadb.declared import MARIADB
from loadstone.software.mariadb.facts import READ_BACK, differences, facts_of
from loadstone.software.mariadb.session import MariaDbSession
from loadstone.software.mariadb.start import start_of
from loadstone.software.sql.confinement import Grammar
from loadstone.software.sql.control import SqlControl

NO_ROOM = (str(ER.RECORD_FILE_FULL), str(ER.DISK_FULL))
"""Its numbers for a full disk: the text beside them may be in any language."""


class MariaDbControl(MariaDbSession, SqlControl):
    """See `SqlControl`."""

    software: ClassVar[str] = MARIADB.name
    grammar: ClassVar[Grammar] = Grammar(require_counting, tables_changed, new_tables)
    read_back: ClassVar[tuple[str, ...]] = READ_BACK

    def facts(self) -> ServerFacts:
        """See `SqlControl.facts`."""
        return facts_of(self)

    def differences(self, requested: Mapping[str, ConfigValue], got: Mapping[str, str]) -> list[str]:
        """See `SqlControl.differences`."""
        return differences(requested, got)

    def start(self) -> Start:
        """By how long it has been running."""
        return start_of(self)

    def write_table(self, table: str, rows: Rows, tell: Tell, claim: Callable[[int], None]) -> bool:
        """See `SqlControl.write_table`."""
        return write_to_table(self, table, rows, tell, claim)

    def is_full(self, error: BaseException) -> bool:
        """Whether its disk or the table is full."""
        return (isinstance(error, ServerRefused) and error.code in NO_ROOM) or says_full(error)

    def shortage(self, trials: Sequence[PlannedTrial], server: str, pid: int | None) -> str:
        """By the disk under its files."""
        return capacity.shortage(self, trials, server, pid)
