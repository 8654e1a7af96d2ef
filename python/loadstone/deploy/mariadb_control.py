"""The control connection to a MariaDB: loadstone's own questions, and nothing but our own tables changed.

Ours are the databases `loadstone` and `loadstone_...`, and in any other database the tables `loadstone_...`.
"""

import contextlib
import re
import threading
from collections.abc import Iterable
from typing import Any, Self

import pymysql
from pymysql.constants import CR, ER

from loadstone.errors import ServerGone, UserError
from loadstone.plan.model import Endpoint

OURS = re.compile(r"loadstone(_\w*)?", re.ASCII)
NAME = re.compile(r"\w{1,64}", re.ASCII)
GONE = (CR.CR_CONN_HOST_ERROR, CR.CR_CONNECTION_ERROR, CR.CR_SERVER_GONE_ERROR, CR.CR_SERVER_LOST)
REFUSED = (ER.ACCESS_DENIED_ERROR, ER.DBACCESS_DENIED_ERROR)


class MariaDbControl:
    """One connection to `endpoint`, made when first needed; safe to use from several threads.

    Raises:
        ServerGone: the server does not answer, or answers with an error; one line with its words.
        UserError: it refuses the login, or the right to do what is asked.
    """

    def __init__(self, endpoint: Endpoint, database: str = "", timeout_s: float = 5.0) -> None:
        self.endpoint = endpoint
        self.database = database
        """Where our tables are; empty: none is needed."""
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._connection: pymysql.Connection[Any] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection. May be called more than once."""
        with self._lock:
            self._drop()

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows that a statement gives; `values` take the places of its `%s`."""
        try:
            with self._lock, self._connected().cursor() as cursor:
                cursor.execute(statement, values or None)
                return list(cursor.fetchall())
        except (pymysql.Error, OSError) as error:
            if not isinstance(error, pymysql.Error) or (error.args[:1] and error.args[0] in GONE):
                self.close()
            raise self._told(error) from error

    def ping(self) -> None:
        """Returns if the server answers."""
        self.rows("SELECT 1")

    def variables(self, names: Iterable[str]) -> dict[str, str]:
        """The server's settings of these names; without those that it does not have."""
        wanted = set(names)
        return {name: value for name, value in self.rows("SHOW GLOBAL VARIABLES") if name in wanted}

    def status(self) -> dict[str, int | float | str]:
        """SHOW GLOBAL STATUS, numbers as numbers. Counters count since the server's start."""
        return {name: _number(value) for name, value in self.rows("SHOW GLOBAL STATUS")}

    def set_global(self, name: str, value: str | int | float | bool) -> str:
        """Change a setting of a server of ours while it runs; what the server then says it is."""
        _require_name(name)
        self.rows(f"SET GLOBAL {name} = %s", value)
        return str(self.rows("SHOW GLOBAL VARIABLES LIKE %s", name.replace("_", r"\_"))[0][1])

    def create_database(self) -> bool:
        """Make our database where there is none; whether it was made.

        Raises:
            UserError: its name is not ours, or the user may not.
        """
        if self._has_database():
            return False
        if not OURS.fullmatch(self.database):
            raise UserError(
                f"server {self.endpoint.label}: it has no database '{self.database}'; create it, "
                "or name none, and 'loadstone' is created"
            )
        database, self.database = self.database, ""
        try:
            self.rows(f"CREATE DATABASE {database} CHARACTER SET utf8mb4")
        finally:
            self.database = database
        self.close()  # the next connection goes into it
        return True

    def drop_database(self) -> None:
        """Remove our database with all its tables; only for one that `create_database` made."""
        if not OURS.fullmatch(self.database):
            raise UserError(f"database '{self.database}': only databases that begin with 'loadstone' are removed")
        self.rows(f"DROP DATABASE IF EXISTS {self.database}")
        self.close()

    def run_script(self, statements: str) -> None:
        """Run the statements of a file such as `schema.sql`, each ended by a semicolon at the end of a line."""
        for statement in re.split(r";[ \t]*(?:\n|$)", statements):
            if statement.strip():
                self.rows(statement)

    def tables(self) -> list[str]:
        """The tables of our database."""
        return [str(row[0]) for row in self.rows("SHOW TABLES")]

    def count_rows(self, table: str) -> int:
        """How many rows a table has, counted."""
        _require_name(table)
        return int(self.rows(f"SELECT COUNT(*) FROM `{table}`")[0][0])

    def truncate(self, table: str) -> None:
        """Empty a table of ours; its ids begin anew.

        Raises:
            UserError: the table is not ours.
        """
        _require_name(table)
        if not OURS.fullmatch(self.database) and not OURS.fullmatch(table):
            raise UserError(
                f"table '{self.database}.{table}': only tables of the database 'loadstone', or that begin with "
                "'loadstone_', are emptied; take such a name"
            )
        self.rows(f"TRUNCATE TABLE `{table}`")

    def _has_database(self) -> bool:
        database, self.database = self.database, ""
        try:
            found = self.rows("SELECT 1 FROM information_schema.schemata WHERE schema_name = %s", database)
        finally:
            self.database = database
            self.close()
        return bool(found)

    def _connected(self) -> "pymysql.Connection[Any]":
        if self._connection is None:
            self._connection = pymysql.connect(
                host=self.endpoint.host,
                port=self.endpoint.port,
                unix_socket=self.endpoint.unix_path,
                user=self.endpoint.username,
                password=self.endpoint.password or "",
                database=self.database or None,
                connect_timeout=max(1, round(self._timeout_s)),
                read_timeout=self._timeout_s,
                write_timeout=self._timeout_s,
                autocommit=True,
                charset="utf8mb4",
            )
        return self._connection

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(pymysql.Error, OSError):
                connection.close()

    def _told(self, error: Exception) -> UserError | ServerGone:
        """The error as one line for a person."""
        code = error.args[0] if error.args and isinstance(error.args[0], int) else 0
        words = " ".join(str(error.args[-1] if error.args else error).split()).rstrip(".") or type(error).__name__
        where = f"server {self.endpoint.label}"
        if code in REFUSED:
            return UserError(f"{where}: {words}; check user, password and rights in its URL")
        if code in GONE or not isinstance(error, pymysql.Error):
            return ServerGone(f"{where}: {words}; it no longer answers, its log may say why")
        return ServerGone(f"{where}: {words}")


def _number(value: str) -> int | float | str:
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(value)
    return value


def _require_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise UserError(f"'{name}' is not a name of a table or setting: letters, digits and _ only")
