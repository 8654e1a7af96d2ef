"""Which start of a PostgreSQL answers: it says when it was started."""

from loadstone.bounds.replies import read_as
from loadstone.deploy.control import Start
from loadstone.errors import LoadstoneError
from loadstone.software.postgresql.session import PostgresqlSession


def start_of(control: PostgresqlSession) -> Start:
    """By the moment of its start, to the microsecond; without one where the server does not answer."""
    try:
        rows = control.query("SELECT pg_postmaster_start_time()::text")
        with read_as(control.endpoint.label, "pg_postmaster_start_time()", "its start"):
            return Start(str(rows[0][0]))
    except LoadstoneError:
        return Start(None)
