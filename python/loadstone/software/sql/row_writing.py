"""Rows of an experiment's data into a table, and no rows of the user's in their place."""

from collections.abc import Callable

from loadstone.deploy.control import WriteRows
from loadstone.deploy.ledger import Made
from loadstone.deploy.row_files import Rows, Tell
from loadstone.deploy.traces import Traces
from loadstone.errors import UserError
from loadstone.plan.required import RequiredData
from loadstone.software.sql.session import SqlSession
from loadstone.software.sql.traces import note_tables

WriteTable = Callable[[str, Rows, Tell, Callable[[int], None]], bool]
"""Makes a table hold exactly these rows; whether anything had to be written.

The last argument is called with how many other rows it holds, before it is changed, and raises where they must stay.
"""


def row_writing(
    control: SqlSession, write_table: WriteTable, data: RequiredData, rows: Rows, traces: Traces, *, ours: bool
) -> WriteRows:
    """See `deploy.control.TakesRows.row_writing`."""
    table = data.table
    if table is None:
        raise UserError(f"'{data.server}' is {control.declared.one}: name a 'table', and leave 'commands' out")

    def claim(there: int) -> None:
        if not ours:
            _claim(control, traces, table, there)

    def write(tell: Tell) -> bool:
        return write_table(table, rows, tell, claim)

    return write


def _claim(control: SqlSession, traces: Traces, table: str, there: int) -> None:
    """The table may be written to, which holds so many rows. Raises UserError if they are the user's."""
    if traces.filled_table(table) or traces.made_table(table):
        return
    if there:
        raise UserError(
            f"table '{table}' was there before and holds {there:,} other rows, which are not touched; "
            "empty or remove it, or name another database in the server's URL"
        )
    note_tables(control, traces, [Made("table_filled", table)])
