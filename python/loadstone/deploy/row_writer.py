"""The rows of an experiment's data, written once to each server that must hold them."""

import json
import re
from collections.abc import Iterable, Mapping
from functools import partial

from pymysql.constants import ER

from loadstone.deploy.capacity_watch import RoomWatch
from loadstone.deploy.deployed import Deployed
from loadstone.deploy.ledger import Made
from loadstone.deploy.provider import DeployContext
from loadstone.deploy.rows import Rows, Tell, each_second, rows_of
from loadstone.errors import LoadstoneError, OutOfRoom, ServerGone, UserError
from loadstone.plan.wanted import WantedData
from loadstone.software.mariadb.control import MariaDbControl, error_code
from loadstone.software.mariadb.data import write_to_table
from loadstone.software.redis.control import RedisControl
from loadstone.software.redis.data import writing_of

PATIENCE_S = 60.0
"""How long a Redis may take for one batch, or one step of a removal."""
FULL = re.compile(r"\bOOM\b|maxmemory|[Nn]o space left|[Dd]isk full|is full|\berrno: 28\b|Errcode: 28")

NO_ROOM = (ER.RECORD_FILE_FULL, ER.DISK_FULL)
"""MariaDB's numbers for it."""


class DataWriter:
    """Makes rows, and writes those that a server does not hold yet."""

    def __init__(self, context: DeployContext) -> None:
        self._context = context

    def write(self, wanted: Iterable[WantedData], servers: Mapping[str, Deployed]) -> None:
        """Write what each server does not hold since its start.

        Raises:
            UserError: a template or a command is none, or a server does not take the rows; names the data.
            ServerGone: a server that is not ours does not answer any more.
            OutOfRoom: a server that is not ours is full, or threw keys away.
            Interrupted: the user asked to stop.
        """
        missing = [
            (data, servers[data.server])
            for data in wanted
            if servers[data.server].holds.get(_place(data)) != _identity(data)
        ]
        for data, deployed in missing:
            rows = rows_of(data, self._context)
            try:
                self._write(data, rows, deployed)
            except ServerGone as error:
                if not deployed.server.ours and not deployed.server.alive():
                    raise
                if not deployed.server.ours and _is_full(error):
                    raise OutOfRoom(_told(data, error)) from None
                raise UserError(_told(data, error)) from None
            except UserError as error:
                raise UserError(_told(data, error)) from None
            deployed.holds[_place(data)] = _identity(data)

    def _write(self, data: WantedData, rows: Rows, deployed: Deployed) -> None:
        with deployed.server.control(PATIENCE_S) as control:
            if isinstance(control, MariaDbControl):
                self._to_table(data, rows, deployed, control)
            else:
                self._to_keys(data, rows, deployed, control)

    def _to_table(self, data: WantedData, rows: Rows, deployed: Deployed, control: MariaDbControl) -> None:
        if data.table is None:
            raise UserError(f"'{data.server}' is a MariaDB: name a 'table', and leave 'commands' out")
        claim = partial(_claim, deployed, control, data.table)
        if not write_to_table(control, data.table, rows, self._telling(data, rows), claim):
            self._context.progress(f"{data.name}: {data.server} holds these rows already")

    def _to_keys(self, data: WantedData, rows: Rows, deployed: Deployed, control: RedisControl) -> None:
        if not data.commands:
            raise UserError(f"'{data.server}' is a Redis: name 'commands', and leave 'table' out")
        writing = writing_of(data.commands, rows)
        if control.keys():
            writing.remove(control)  # of an earlier run, or of other rows under these keys
        deployed.traces.note(
            *(Made("key", key) for key in sorted(writing.keys)),
            *(Made("keys_beginning", beginning) for beginning in sorted(writing.beginnings)),
        )
        telling = self._telling(data, rows)

        def tell(done: int) -> None:
            room.require()
            telling(done)

        with RoomWatch([deployed]) as room:
            writing.write(control, rows, tell)
        room.require()

    def _telling(self, data: WantedData, rows: Rows) -> Tell:
        self._context.progress(f"{data.name}: writing {rows.count:,} rows to {data.server}")
        return each_second(self._context, data.name, rows.count)


def _claim(deployed: Deployed, control: MariaDbControl, table: str, there: int) -> None:
    """The table may be written to, which holds so many rows. Raises UserError if they are the user's."""
    traces = deployed.traces
    if deployed.server.ours or traces.filled_table(table) or traces.made_table(table):
        return
    if there:
        raise UserError(
            f"table '{table}' was there before and holds {there:,} other rows, which are not touched; "
            "empty or remove it, or name another database in the server's URL"
        )
    traces.note_tables(control, [Made("table_filled", table)])


def _place(data: WantedData) -> str:
    """Where the rows go: other rows for the same place take the place of these."""
    return json.dumps([data.table, data.commands])


def _identity(data: WantedData) -> str:
    return json.dumps([data.rows, list(data.columns.items()), data.seed])


def _is_full(error: LoadstoneError) -> bool:
    """Whether a server has no room left; some tell it in their users' language, beside a number."""
    return error_code(error.__cause__) in NO_ROOM or FULL.search(str(error)) is not None


def _told(data: WantedData, error: LoadstoneError) -> str:
    """The server's words with the data's name, and what helps where there is no room."""
    words = str(error).rstrip(".")
    help_ = "; give it more room, or ask for fewer rows (--scale)" if _is_full(error) else ""
    return f"data.{data.name}: {words}{help_}"
