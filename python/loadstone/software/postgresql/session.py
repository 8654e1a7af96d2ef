"""The control connection to a PostgreSQL: loadstone's own questions, and nothing but our own tables changed.

Ours are the databases `loadstone` and `loadstone_...`, and in any other database the tables `loadstone_...`. All that
is named without a schema is in `public`.
"""

import re
import threading
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any, Self

from pg8000.exceptions import Error

from loadstone.bounds.replies import typed
from loadstone.deploy.transport import error_text
from loadstone.errors import ServerGone, UserError
from loadstone.plan.drive_plan import Endpoint
from loadstone.software.postgresql.client import MAINTENANCE, PostgresqlClient, Untrusted
from loadstone.software.postgresql.settings import canonical
from loadstone.software.postgresql.tokens import statements_in

OURS = re.compile(r"loadstone(_\w*)?", re.ASCII)
NAME = re.compile(r"\w{1,63}", re.ASCII)
NO_DATABASE = "3D000"
REFUSED = ("28000", "28P01", "42501")
"""No such user, a wrong password, no right."""
DISK_FULL = "53100"
PATIENCE_S = 600.0
"""How long a statement may take that counts or writes many rows."""


class PostgresqlSession:
    """One connection to `endpoint`, made when first needed; safe to use from several threads.

    Raises:
        ServerGone: the server does not answer, or answers with an error; one line with its text.
        UserError: it refuses the login, or the right to do what is requested.
    """

    def __init__(self, endpoint: Endpoint, database: str = "", timeout_s: float = 5.0) -> None:
        self.endpoint = endpoint
        self.database = database
        """Where our tables are; empty: none is needed."""
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._connection: PostgresqlClient | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection. May be called more than once."""
        with self._lock:
            self._drop()

    @typed("rows of a PostgreSQL")
    def query(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows that one statement gives; `values` take the places of its `$1`, `$2`..."""
        found: list[tuple[Any, ...]] = self._run(lambda connection: connection.rows(statement, values))
        return found

    def table(self, columns: int, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """As `query`, for an answer of so many columns: a server may answer with anything."""
        rows = self.query(statement, *values)
        if any(len(row) != columns for row in rows):
            raise ServerGone(f"server {self.endpoint.label}: it answers '{statement}' as no PostgreSQL does")
        return rows

    def number(self, statement: str, *values: object) -> int:
        """The one whole number that a statement answers, as SELECT COUNT(*) does; 0 for NULL."""
        rows = self.table(1, statement, *values)
        try:
            (answer,) = rows
            return int(answer[0] or 0)
        except (ValueError, TypeError, OverflowError):
            raise ServerGone(f"server {self.endpoint.label}: it answers '{statement}' as no PostgreSQL does") from None

    def copy_in(self, statement: str, chunks: Iterable[bytes]) -> None:
        """Run a COPY FROM STDIN; no file of either machine is read."""
        self._run(lambda connection: connection.copy_in(statement, chunks))

    def copy_out(self, statement: str, take: Callable[[bytes], object]) -> None:
        """Run a COPY TO STDOUT; `take` is called with each line, its end included."""
        self._run(lambda connection: connection.copy_out(statement, take))

    def patient(self) -> "PostgresqlSession":
        """Another connection to the same database, for statements that may take minutes."""
        return PostgresqlSession(self.endpoint, self.database, PATIENCE_S)

    def ping(self) -> None:
        """Returns if the server answers."""
        self.query("SELECT 1")

    def settings(self, names: Iterable[str]) -> dict[str, str]:
        """The server's settings, with their units, under the names given; without those that it does not have."""
        found = {str(name): str(value) for name, value in self.table(2, _SETTINGS)}
        return {name: found[canonical(name)] for name in names if canonical(name) in found}

    def units(self) -> dict[str, str]:
        """The unit of a bare number of each setting that has one."""
        rows = self.table(2, "SELECT lower(name), unit FROM pg_settings WHERE unit IS NOT NULL")
        return {str(name): str(unit) for name, unit in rows}

    def create_database(self, comment: str = "") -> bool:
        """Make our database where there is none, with a comment if any; whether it was made.

        Raises:
            UserError: its name is not ours, or the user may not.
        """
        if self.has_database():
            return False
        self.require_creatable()
        with PostgresqlSession(self.endpoint, timeout_s=max(60.0, self._timeout_s)) as anywhere:
            anywhere.query(f"CREATE DATABASE \"{self.database}\" ENCODING 'UTF8' TEMPLATE template0")
            if comment:
                anywhere.query(f'COMMENT ON DATABASE "{self.database}" IS {literal(comment)}')
        return True

    def require_creatable(self) -> None:
        """Returns if a database that is missing may be made. Raises UserError if its name is not ours."""
        if not self.is_our_database():
            raise UserError(
                f"server {self.endpoint.label}: it has no database '{self.database}'; create it, "
                "or name none, and 'loadstone' is created"
            )

    def drop_database(self) -> None:
        """Remove our database with all its tables; only for one that `create_database` made."""
        if not self.is_our_database():
            raise UserError(f"database '{self.database}': only databases that begin with 'loadstone' are removed")
        self.close()
        with PostgresqlSession(self.endpoint, timeout_s=max(60.0, self._timeout_s)) as anywhere:
            anywhere.query(f'DROP DATABASE IF EXISTS "{self.database}" WITH (FORCE)')

    def run_script(self, statements: str) -> None:
        """Run the statements of a file such as `schema.sql`, each ended by a semicolon at the end of a line."""
        for statement in statements_in(statements):
            self.query(statement)

    def tables(self) -> list[str]:
        """The tables of our database."""
        rows = self.table(1, "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
        return [str(name) for (name,) in rows]

    def count(self, text: str) -> int:
        """The number that a SELECT answers, in a transaction that only reads; may take minutes.

        Raises:
            UserError: it is no SELECT that only reads, or does not answer one whole number.
        """
        words = re.findall(r"\w+", text.upper())
        if words[:1] != ["SELECT"] or {"INTO", "UPDATE"} & set(words):
            raise UserError(f"count '{text}': it must be a SELECT that only reads, as SELECT COUNT(*) FROM post")
        with self.patient() as patient:
            patient.query("BEGIN READ ONLY")
            try:
                answer = patient.query(text)
            except ServerGone as gone:
                if not sql_state(gone.__cause__):
                    raise
                raise UserError(f"count '{text}': {gone}") from None
        value = answer[0][0] if len(answer) == 1 and len(answer[0]) == 1 else None
        if value is None or not _is_whole(value):
            raise UserError(f"count '{text}': it does not answer one whole number; write SELECT COUNT(*) FROM ...")
        return int(value)

    def count_rows(self, table: str) -> int:
        """How many rows a table has, counted."""
        require_name(table)
        return self.number(f'SELECT COUNT(*) FROM "{table}"')

    def truncate(self, *tables: str) -> None:
        """Empty tables of ours, all at once, for they may refer to one another; their ids begin anew.

        Raises:
            UserError: a table is not ours.
        """
        self.query(f"TRUNCATE {self._our_tables(tables)} RESTART IDENTITY")

    def drop_table(self, *tables: str) -> None:
        """Remove tables of ours. Raises UserError as `truncate`."""
        self.query(f"DROP TABLE {self._our_tables(tables)}")

    def is_our_database(self) -> bool:
        """Whether all tables of the database are ours, by its name."""
        return OURS.fullmatch(self.database) is not None

    def require_our_table(self, table: str) -> None:
        """Returns if we may write to the table and empty it. Raises UserError if it is not ours."""
        require_name(table)
        if not self.is_our_database() and not OURS.fullmatch(table):
            raise UserError(
                f"table '{self.database}.{table}': only tables of the database 'loadstone', or that begin with "
                "'loadstone_', are written to and emptied; use such a name"
            )

    def has_database(self) -> bool:
        """Whether the server has our database."""
        self.close()
        try:
            self.query("SELECT 1")
        except ServerGone as gone:
            if sql_state(gone.__cause__) == NO_DATABASE:
                return False
            raise
        return True

    def _our_tables(self, tables: Sequence[str]) -> str:
        for table in tables:
            self.require_our_table(table)
        return ", ".join(f'"{table}"' for table in tables)

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
        text = _text(error)
        if state.startswith("57P") or state.startswith("08"):
            self.close()  # it is shutting down, or starting up
        if isinstance(error, Untrusted):
            return UserError(f"{where}: {text}")
        if not state:
            return ServerGone(f"{where}: {text}; it no longer answers; its log may give the reason")
        if state in REFUSED:
            tls = "" if self.endpoint.tls is not None else "; if it accepts TLS only, add ?sslmode=verify-full"
            return UserError(f"{where}: {text}; check user, password and rights in its URL{tls}")
        return ServerGone(f"{where}: {text}")


_SETTINGS = "SELECT lower(name), current_setting(name) FROM pg_settings"


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
    return " ".join(text.split()).rstrip(".")[:400] or type(error).__name__


def _is_whole(value: Any) -> bool:
    """Whether it is a whole number that fits into the record."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return False
    finite = isinstance(value, int) or value.is_finite()
    return finite and -(2**63) < value < 2**63 and value == int(value)


def literal(text: str) -> str:
    """A text as it stands in a statement that takes no parameters. Raises ValueError if it cannot."""
    if re.search(r"['\\\0]", text):
        raise ValueError(f"{text!r} cannot stand in a statement")
    return f"'{text}'"


def require_name(name: str) -> None:
    """Returns if `name` may stand in a statement, in double quotes. Raises UserError if not."""
    if not NAME.fullmatch(name):
        raise UserError(f"'{name}' is not a name of a table or setting: letters, digits and _ only")
