"""The control connection to a MariaDB: loadstone's own questions, and nothing but our own tables changed.

Ours are the databases `loadstone` and `loadstone_...`, and in any other database the tables `loadstone_...`.
"""

import contextlib
import re
import socket
import ssl
import threading
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, Self

import pymysql
from pymysql.constants import CR, ER

from loadstone.bounds.replies import typed
from loadstone.errors import ServerGone, UserError
from loadstone.plan.drive_plan import Endpoint
from loadstone.software.mariadb.client import MariaDbClient, Untrusted
from loadstone.software.sql.tokens import statements_in

OURS = re.compile(r"loadstone(_\w*)?", re.ASCII)
NAME = re.compile(r"\w{1,64}", re.ASCII)
GONE = (CR.CR_CONN_HOST_ERROR, CR.CR_CONNECTION_ERROR, CR.CR_SERVER_GONE_ERROR, CR.CR_SERVER_LOST)
REFUSED = (ER.ACCESS_DENIED_ERROR, ER.DBACCESS_DENIED_ERROR)
PATIENCE_S = 600.0
"""How long a statement may take that counts or writes many rows."""


def canonical(name: str) -> str:
    """A setting's name as the server prints it: `innodb-flush-method` is `innodb_flush_method`."""
    return name.lower().replace("-", "_")


class MariaDbSession:
    """One connection to `endpoint`, made when first needed; safe to use from several threads.

    Raises:
        ServerGone: the server does not answer, or answers with an error; one line with its message.
        UserError: it refuses the login, or the right to do what is requested.
    """

    def __init__(self, endpoint: Endpoint, database: str = "", timeout_s: float = 5.0, *, loads: bool = False) -> None:
        """`loads`: whether `load` will be used."""
        self.endpoint = endpoint
        self.database = database
        """Where our tables are; empty: none is needed."""
        self._timeout_s = timeout_s
        self._loads = loads
        self._lock = threading.Lock()
        self._connection: MariaDbClient | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection. May be called more than once."""
        with self._lock:
            self._drop()

    @typed("rows of a MariaDB")
    def query(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows that a statement gives; `values` take the places of its `%s`."""
        try:
            with self._lock, self._connected().cursor() as cursor:
                cursor.execute(statement, values or None)
                return list(cursor.fetchall())
        except (pymysql.Error, OSError) as error:
            raise self._failed(error) from error

    def table(self, columns: int, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """As `query`, for an answer of so many columns: a server may answer with anything."""
        rows = self.query(statement, *values)
        if any(len(row) != columns for row in rows):
            raise ServerGone(f"server {self.endpoint.label}: it answers '{statement}' as no MariaDB does")
        return rows

    def number(self, statement: str) -> int:
        """The one whole number that a statement answers, as SELECT COUNT(*) does; 0 for NULL."""
        rows = self.table(1, statement)
        try:
            (answer,) = rows
            return int(answer[0] or 0)
        except (ValueError, TypeError, OverflowError):
            raise ServerGone(f"server {self.endpoint.label}: it answers '{statement}' as no MariaDB does") from None

    def query_many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        """Run an INSERT for each row, many rows in one statement."""
        try:
            with self._lock, self._connected().cursor() as cursor:
                cursor.executemany(statement, rows)
        except (pymysql.Error, OSError) as error:
            raise self._failed(error) from error

    def load(self, statement: str, content: bytes) -> None:
        """Run a LOAD DATA LOCAL INFILE whose file's name is written `%s`; `content` is sent as that file.

        No file of this machine is read: the server can ask for these bytes alone.
        """
        try:
            with self._lock:
                self._connected().load(statement, content)
        except (pymysql.Error, OSError) as error:
            raise self._failed(error) from error

    def patient(self, *, loads: bool = False) -> "MariaDbSession":
        """Another connection to the same database, for statements that may take minutes."""
        return MariaDbSession(self.endpoint, self.database, PATIENCE_S, loads=loads)

    def ping(self) -> None:
        """Returns if the server answers."""
        self.query("SELECT 1")

    def settings(self, names: Iterable[str]) -> dict[str, str]:
        """The server's settings under the names that they are requested by; without those that it does not have."""
        reported = {str(name): str(value) for name, value in self.table(2, "SHOW GLOBAL VARIABLES")}
        return {name: reported[canonical(name)] for name in names if canonical(name) in reported}

    def status(self) -> dict[str, int | float | str]:
        """SHOW GLOBAL STATUS, numbers as numbers. Counters count since the server's start."""
        return {str(name): _number(str(value)) for name, value in self.table(2, "SHOW GLOBAL STATUS")}

    def set_global(self, name: str, value: str | int | float | bool) -> str:
        """Change a setting of a server of ours while it runs; what the server then says it is."""
        require_name(name)
        self.query(f"SET GLOBAL {name} = %s", value)
        return self.settings([name]).get(name, "")

    def create_database(self, comment: str = "") -> bool:
        """Make our database where there is none, with a comment if any (MariaDB 10.5); whether it was made.

        Raises:
            UserError: its name is not ours, or the user may not.
        """
        if self.has_database():
            return False
        self.require_creatable()
        database, self.database = self.database, ""
        commented = ("COMMENT %s", comment) if comment else ("",)
        try:
            self.query(f"CREATE DATABASE {database} CHARACTER SET utf8mb4 {commented[0]}", *commented[1:])
        finally:
            self.database = database
        self.close()  # the next connection goes into it
        return True

    def require_creatable(self) -> None:
        """Returns if a database that is missing may be made. Raises UserError if its name is not ours."""
        if not OURS.fullmatch(self.database):
            raise UserError(
                f"server {self.endpoint.label}: it has no database '{self.database}'; create it, "
                "or name none, and 'loadstone' is created"
            )

    def drop_database(self) -> None:
        """Remove our database with all its tables; only for one that `create_database` made."""
        if not OURS.fullmatch(self.database):
            raise UserError(f"database '{self.database}': only databases that begin with 'loadstone' are removed")
        self.query(f"DROP DATABASE IF EXISTS {self.database}")
        self.close()

    def run_script(self, statements: str) -> None:
        """Run the statements of a file such as `schema.sql`, each ended by a semicolon at the end of a line."""
        for statement in statements_in(statements):
            self.query(statement)

    def tables(self) -> list[str]:
        """The tables of our database."""
        return [str(name) for (name,) in self.table(1, "SHOW TABLES")]

    def count(self, text: str) -> int:
        """The number that a SELECT answers; may take minutes.

        Raises:
            UserError: it is no SELECT that only reads, or does not answer one whole number.
        """
        words = re.findall(r"\w+", text.upper())
        if words[:1] != ["SELECT"] or {"INTO", "UPDATE"} & set(words):
            raise UserError(f"count '{text}': it must be a SELECT that only reads, as SELECT COUNT(*) FROM post")
        with self.patient() as patient:
            try:
                answer = patient.query(text)
            except ServerGone as gone:
                if error_code(gone.__cause__) in GONE:
                    raise
                raise UserError(f"count '{text}': {gone}") from None
        value = answer[0][0] if len(answer) == 1 and len(answer[0]) == 1 else None
        if value is None or not _is_whole(value):
            raise UserError(f"count '{text}': it does not answer one whole number; write SELECT COUNT(*) FROM ...")
        return int(value)

    def count_rows(self, table: str) -> int:
        """How many rows a table has, counted."""
        require_name(table)
        return self.number(f"SELECT COUNT(*) FROM `{table}`")

    def truncate(self, table: str) -> None:
        """Empty a table of ours; its ids start again.

        Raises:
            UserError: the table is not ours.
        """
        self.require_our_table(table)
        self.query(f"TRUNCATE TABLE `{table}`")

    def drop_table(self, table: str) -> None:
        """Remove a table of ours. Raises UserError as `truncate`."""
        self.require_our_table(table)
        self.query(f"DROP TABLE `{table}`")

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
        database, self.database = self.database, ""
        try:
            found = self.query("SELECT 1 FROM information_schema.schemata WHERE schema_name = %s", database)
        finally:
            self.database = database
            self.close()
        return bool(found)

    def _connected(self) -> MariaDbClient:
        if self._connection is None:
            endpoint = self.endpoint
            connection = MariaDbClient(endpoint, self.database, self._timeout_s, loads=self._loads)
            where = (endpoint.host, endpoint.port)
            connection.connect(socket.create_connection(where, self._timeout_s) if endpoint.tls is not None else None)
            self._connection = connection
        return self._connection

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(pymysql.Error, OSError):
                connection.close()

    def _failed(self, error: Exception) -> UserError | ServerGone:
        """The error as one line for a person; a connection that it broke is not used again."""
        broken = not isinstance(error, pymysql.Error) or isinstance(error, Untrusted) or error_code(error) in GONE
        if broken or (self._connection is not None and not self._connection.open):
            self.close()
        return self._error_of(error)

    def _error_of(self, error: Exception) -> UserError | ServerGone:
        """The error as one line for a person."""
        code = error_code(error)
        words = " ".join(str(error.args[-1] if error.args else error).split()).rstrip(".") or type(error).__name__
        where = f"server {self.endpoint.label}"
        cause = getattr(error, "original_exception", None)
        if isinstance(error, Untrusted):
            return UserError(f"{where}: {words}")
        if isinstance(cause, ssl.SSLCertVerificationError):
            return UserError(
                f"{where}: its certificate is not accepted ({cause.verify_message.rstrip('.')}); "
                "name the CA that signed it with ?ca_file=FILE, the name that it is made for with ?server_name=NAME, "
                "or give up verification with ?verify=no"
            )
        if code == CR.CR_SSL_CONNECTION_ERROR:
            return UserError(
                f"{where}: {words}; turn TLS on there, or add ?ssl=no to its URL: then anyone on the network path "
                "can read "
                "the log-in and the data"
            )
        if code in REFUSED:
            tls = "" if self.endpoint.tls is not None else "; if it accepts TLS only, add ?ssl=yes"
            return UserError(f"{where}: {words}; check user, password and rights in its URL{tls}")
        if code in GONE or not isinstance(error, pymysql.Error):
            return ServerGone(f"{where}: {words}; it no longer answers; its log may give the reason")
        return ServerGone(f"{where}: {words}")


def error_code(error: BaseException | None) -> int:
    """The number that the server, or its library, gives to an error; 0 if none."""
    return error.args[0] if error is not None and error.args and isinstance(error.args[0], int) else 0


def _is_whole(value: Any) -> bool:
    """Whether it is a whole number that fits into the record."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return False
    finite = isinstance(value, int) or value.is_finite()
    return finite and -(2**63) < value < 2**63 and value == int(value)


def _number(value: str) -> int | float | str:
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(value)
    return value


def require_name(name: str) -> None:
    """Returns if `name` may stand in a statement. Raises UserError if not."""
    if not NAME.fullmatch(name):
        raise UserError(f"'{name}' is not a name of a table or setting: letters, digits and _ only")
