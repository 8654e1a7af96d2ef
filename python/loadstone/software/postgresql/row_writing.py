"""Rows of an experiment's data into a table of PostgreSQL, and no rows of the user's in their place."""

from loadstone.deploy.control import WriteRows
from loadstone.deploy.ledger import Made
from loadstone.deploy.row_files import Rows, Tell
from loadstone.deploy.traces import Traces
from loadstone.errors import UserError
from loadstone.plan.required import RequiredData
from loadstone.software.postgresql.data import write_to_table
from loadstone.software.postgresql.session import PostgresqlSession
from loadstone.software.postgresql.traces import note_tables


def row_writing(control: PostgresqlSession, data: RequiredData, rows: Rows, traces: Traces, *, ours: bool) -> WriteRows:
    """See `deploy.control.TakesRows.row_writing`."""
    table = data.table
    if table is None:
        raise UserError(f"'{data.server}' is a PostgreSQL: name a 'table', and leave 'commands' out")

    def claim(there: int) -> None:
        if not ours:
            _claim(control, traces, table, there)

    def write(tell: Tell) -> bool:
        return write_to_table(control, table, rows, tell, claim)

    return write


def _claim(control: PostgresqlSession, traces: Traces, table: str, there: int) -> None:
    """The table may be written to, which holds so many rows. Raises UserError if they are the user's."""
    if traces.filled_table(table) or traces.made_table(table):
        return
    if there:
        raise UserError(
            f"table '{table}' was there before and holds {there:,} other rows, which are not touched; "
            "empty or remove it, or name another database in the server's URL"
        )
    note_tables(control, traces, [Made("table_filled", table)])
