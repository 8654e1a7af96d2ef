"""The rows of an experiment's data, written once to each server that must hold them."""

import json
from collections.abc import Iterable, Mapping

from loadstone.bounds.conversation import ROWS, conversation
from loadstone.deploy.capacity_watch import RoomWatch
from loadstone.deploy.deployed import Deployed
from loadstone.deploy.provider import DeployContext
from loadstone.deploy.row_files import Rows, Tell
from loadstone.deploy.rows import each_second, rows_of
from loadstone.errors import LoadstoneError, OutOfRoom, ServerGone, UserError
from loadstone.plan.required import RequiredData

PATIENCE_S = 60.0
"""How long a server may take for one batch, or one step of a removal."""


class DataWriter:
    """Makes rows, and writes those that a server does not hold yet."""

    def __init__(self, context: DeployContext) -> None:
        self._context = context

    def write(self, required: Iterable[RequiredData], servers: Mapping[str, Deployed]) -> None:
        """Write what each server does not hold since its start.

        Raises:
            UserError: a template or a command is none, or a server does not take the rows; names the data.
            ServerGone: a server that is not ours does not answer any more.
            OutOfRoom: a server that is not ours is full, or evicted keys.
            Interrupted: the user requested a stop.
        """
        missing = [
            (data, servers[data.server])
            for data in required
            if servers[data.server].holds.get(_place(data)) != _identity(data)
        ]
        for data, deployed in missing:
            rows = rows_of(data, self._context)
            try:
                self._write(data, rows, deployed)
            except (ServerGone, UserError) as error:
                if isinstance(error, ServerGone) and not deployed.server.ours and not deployed.server.alive():
                    raise
                full = deployed.control.is_full(error)
                text = _explained(data, error, full=full)
                if isinstance(error, ServerGone) and not deployed.server.ours and full:
                    raise OutOfRoom(text) from None
                raise UserError(text) from None
            deployed.holds[_place(data)] = _identity(data)

    def _write(self, data: RequiredData, rows: Rows, deployed: Deployed) -> None:
        with deployed.server.control(PATIENCE_S) as control:
            write = control.row_writing(data, rows, deployed.traces, ours=deployed.server.ours)
            telling = self._telling(data, rows)

            def tell(done: int) -> None:
                room.require()
                telling(done)

            with RoomWatch([deployed]) as room, conversation(ROWS, rows.count):
                written = write(tell)
            room.require()
        if not written:
            self._context.progress(f"{data.name}: {data.server} holds these rows already")

    def _telling(self, data: RequiredData, rows: Rows) -> Tell:
        self._context.progress(f"{data.name}: writing {rows.count:,} rows to {data.server}")
        return each_second(self._context, data.name, rows.count)


def _place(data: RequiredData) -> str:
    """Where the rows go: other rows for the same place take the place of these."""
    return json.dumps([data.table, data.commands])


def _identity(data: RequiredData) -> str:
    return json.dumps([data.rows, list(data.columns.items()), data.seed])


def _explained(data: RequiredData, error: LoadstoneError, *, full: bool) -> str:
    """The server's own text with the data's name, and what helps where it has no room."""
    remedy = "; give it more room, or ask for fewer rows (--scale)" if full else ""
    return f"data.{data.name}: {str(error).rstrip('.')}{remedy}"
