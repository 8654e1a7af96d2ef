"""The control connection to a PostgreSQL; see `sql.session`. All that is named without a schema is in `public`."""

import re
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from pg8000.exceptions import Error

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.software import POSTGRESQL, Software
from loadstone.run_folder.ledger import CreatedObject
from loadstone.safety.bounds.deadlines import bound_that_ended
from loadstone.safety.bounds.replies import shortened, typed
from loadstone.safety.errors import AccessRefused, ServerGone, ServerRefused, UserError
from loadstone.servers.postgresql.client import MAINTENANCE, PostgresqlClient, PostgresqlProtocolViolation
from loadstone.servers.postgresql.dialect import DIALECT
from loadstone.servers.settings_in_force import SettingNotation
from loadstone.servers.sql.dialect import Dialect
from loadstone.servers.sql.session import SqlSession
from loadstone.servers.transport import error_text
from loadstone.text.message import said
from loadstone.text.problem import Problem

BYTES = {"b": 1} | {f"{unit}b": 1024**power for power, unit in enumerate("kmgt", start=1)}
MICROSECONDS = {"us": 1, "ms": 10**3, "s": 10**6, "min": 60 * 10**6, "h": 3600 * 10**6, "d": 86400 * 10**6}
NO_DATABASE = "3D000"
REFUSED = ("28000", "28P01", "42501")
"""No such user, a wrong password, no right."""
DISK_FULL = "53100"


def canonical(name: str) -> str:
    """A setting's name as `pg_settings` has it; they are compared without regard to capitals."""
    return name.lower()


SPELLING = SettingNotation(true="on", false="off", nothing="''", units=BYTES | MICROSECONDS, name=canonical)


class PostgresqlSession(SqlSession):
    """See `SqlSession`. A count runs in a transaction that only reads; settings are reported with their units."""

    declared: ClassVar[Software] = POSTGRESQL
    spelling: ClassVar[SettingNotation] = SPELLING
    dialect: ClassVar[Dialect] = DIALECT

    def __init__(self, endpoint: Endpoint, database: str = "", timeout_s: float = 5.0) -> None:
        super().__init__(endpoint, database, timeout_s)
        self._connection: PostgresqlClient | None = None

    @typed(said("rows of a PostgreSQL"))
    def query(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows that one statement gives; `values` take the places of its `$1`, `$2`..."""
        rows: list[tuple[Any, ...]] = self._run(lambda connection: connection.rows(statement, values))
        return rows

    def copy_in(self, statement: str, chunks: Iterable[bytes]) -> None:
        """Run a COPY FROM STDIN; no file of either machine is read."""
        self._run(lambda connection: connection.copy_in(statement, chunks))

    def copy_out(self, statement: str, take: Callable[[bytes], object]) -> None:
        """Run a COPY TO STDOUT; `take` is called with each line, its end included."""
        self._run(lambda connection: connection.copy_out(statement, take))

    def units(self) -> dict[str, str]:
        """The unit of a bare number of each setting that has one."""
        rows = self.table(2, "SELECT lower(name), unit FROM pg_settings WHERE unit IS NOT NULL")
        return {str(name): str(unit) for name, unit in rows}

    def has_database(self) -> bool:
        """Whether the server has our database."""
        self.close()
        try:
            self.query("SELECT 1")
        except ServerRefused as refused:
            if refused.code == NO_DATABASE:
                return False
            raise
        return True

    def database_comment(self) -> str:
        """See `SqlSession.database_comment`."""
        if not self.has_database():
            return ""
        rows = self.query(
            "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = current_database()"
        )
        return str(rows[0][0]) if rows and rows[0] else ""

    def list_as_ours(self, listing: str, tables: Iterable[CreatedObject]) -> None:
        """See `SqlSession.list_as_ours`."""
        name = self.quoted(listing)
        try:
            self.query(
                f"CREATE TABLE IF NOT EXISTS {name} "
                "(name VARCHAR(64) NOT NULL, what VARCHAR(16) NOT NULL, PRIMARY KEY (name, what))"
            )
            self.query(f"COMMENT ON TABLE {name} IS 'made by loadstone, which removes it at the end of its run'")
            for table in tables:
                self.query(f"INSERT INTO {name} VALUES ($1, $2) ON CONFLICT DO NOTHING", table.name, table.kind)
        except AccessRefused:
            return

    def truncate(self, *tables: str) -> None:
        """See `SqlSession.truncate`; all at once, for they may refer to one another."""
        self.query(f"TRUNCATE {self._our_tables(tables)} RESTART IDENTITY")

    def _create_database(self, comment: str) -> None:
        with self._anywhere() as anywhere:
            anywhere.query(f"CREATE DATABASE \"{self.database}\" ENCODING 'UTF8' TEMPLATE template0")
            if comment:
                anywhere.query(f'COMMENT ON DATABASE "{self.database}" IS {literal(comment)}')

    def _drop_database(self) -> None:
        self.close()
        with self._anywhere() as anywhere:
            anywhere.query(f'DROP DATABASE IF EXISTS "{self.database}" WITH (FORCE)')

    def _anywhere(self) -> "PostgresqlSession":
        """A connection that is not in our database, for what may take a while."""
        return PostgresqlSession(self.endpoint, timeout_s=max(60.0, self._timeout_s))

    def _run(self, do: "Callable[[PostgresqlClient], Any]") -> Any:
        try:
            with self._lock:
                if self._connection is None:
                    self._connection = PostgresqlClient(self.endpoint, self.database or MAINTENANCE, self._timeout_s)
                return do(self._connection)
        except (Error, OSError) as error:
            if not sql_state(error):
                self.close()
            raise self._failed(error) from error
        except BaseException:
            self.close()  # a reply was not read to its end
            raise

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.end()

    def _failed(self, error: Exception) -> UserError | ServerGone:
        """The error as one line for a person."""
        where, state = f"server {self.endpoint.label}", sql_state(error)
        if (ended := bound_that_ended(error)) is not None:
            return ServerGone.of(f"{where}: {ended}")
        text = _text(error)
        if state.startswith("57P") or state.startswith("08"):
            self.close()  # it is shutting down, or starting up
        if isinstance(error, PostgresqlProtocolViolation):
            return UserError.of(f"{where}: {text}")
        if not state:
            return ServerGone(
                "{where}: {text}; it no longer answers; its own log may give the reason", where=where, text=text
            )
        if state in REFUSED:
            tls = "" if self.endpoint.tls is not None else "; if it accepts TLS only, add ?sslmode=verify-full"
            return AccessRefused(
                "{where}: {text}; check user, password and rights in its URL{tls}", where=where, text=text, tls=tls
            )
        return ServerRefused.of(f"{where}: {text}").answered(state, text)


def sql_state(error: BaseException | None) -> str:
    """The code that the server gives to an error; empty if none."""
    reported = error.args[0] if isinstance(error, Error) and error.args else None
    return str(reported.get("C", "")) if isinstance(reported, dict) else ""


def _text(error: Exception) -> str:
    reported = error.args[0] if error.args else None
    if isinstance(reported, dict):
        text = ". ".join(str(reported[key]).rstrip(".") for key in ("M", "D") if reported.get(key))
    elif isinstance(error, Error):
        text = str(reported or error)
    else:
        text = error_text(error)
    return shortened(" ".join(text.split()).rstrip("."), 400) or type(error).__name__


def literal(text: str) -> str:
    """A text as it stands in a statement that takes no parameters. Raises ValueError if it cannot."""
    if re.search(r"['\\\0]", text):
        raise Problem("{text!r} cannot stand in a statement", text=text)
    return f"'{text}'"
