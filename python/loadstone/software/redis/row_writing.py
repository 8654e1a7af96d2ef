"""Rows of an experiment's data into a Redis: earlier ones are removed, the keys noted, the commands sent."""

from loadstone.deploy.control import WriteRows
from loadstone.deploy.row_files import Rows, Tell
from loadstone.deploy.traces import Traces
from loadstone.errors import UserError
from loadstone.plan.required import RequiredData
from loadstone.software.redis.data.key_rows import writing_of
from loadstone.software.redis.session import RedisSession
from loadstone.software.redis.traces import keys_as_made


def row_writing(control: RedisSession, data: RequiredData, rows: Rows, traces: Traces) -> WriteRows:
    """See `deploy.control.TakesRows.row_writing`."""
    if not data.commands:
        raise UserError(f"'{data.server}' is a Redis: name 'commands', and leave 'table' out")
    writing = writing_of(data.commands, rows)
    if control.keys():
        writing.remove(control)  # of an earlier run, or of other rows under these keys
    traces.note(*keys_as_made(writing.keys, writing.beginnings))

    def write(tell: Tell) -> bool:
        writing.write(control, rows, tell)
        return True

    return write
