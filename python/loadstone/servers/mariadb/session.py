"""The control connection to a MariaDB; see `sql.session`."""

import contextlib
import socket
import ssl
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import pymysql
from pymysql.constants import CR, ER

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.software import MARIADB, Software
from loadstone.run_folder.ledger import CreatedObject
from loadstone.safety.bounds.deadlines import bound_that_ended, step_s
from loadstone.safety.bounds.replies import typed
from loadstone.safety.errors import AccessRefused, ServerGone, ServerRefused, UserError
from loadstone.servers.mariadb.client import MariaDbClient, MariaDbProtocolViolation
from loadstone.servers.mariadb.dialect import DIALECT
from loadstone.servers.settings_in_force import SettingNotation
from loadstone.servers.sql.dialect import Dialect
from loadstone.servers.sql.session import SqlSession
from loadstone.servers.transport import certificate_problem
from loadstone.text.message import said

GONE = (CR.CR_CONN_HOST_ERROR, CR.CR_CONNECTION_ERROR, CR.CR_SERVER_GONE_ERROR, CR.CR_SERVER_LOST)
REFUSED = (ER.ACCESS_DENIED_ERROR, ER.DBACCESS_DENIED_ERROR)
NOT_ALLOWED = (str(ER.TABLEACCESS_DENIED_ERROR), str(ER.SPECIFIC_ACCESS_DENIED_ERROR))


def canonical(name: str) -> str:
    """A setting's name as the server prints it: `innodb-flush-method` is `innodb_flush_method`."""
    return name.lower().replace("-", "_")


SPELLING = SettingNotation(
    true="ON",
    false="OFF",
    nothing="",
    units={unit: 1024**power for power, unit in enumerate("kmgtpe", start=1)},
    name=canonical,
)


class MariaDbSession(SqlSession):
    """See `SqlSession`."""

    declared: ClassVar[Software] = MARIADB
    spelling: ClassVar[SettingNotation] = SPELLING
    dialect: ClassVar[Dialect] = DIALECT

    def __init__(self, endpoint: Endpoint, database: str = "", timeout_s: float = 5.0) -> None:
        super().__init__(endpoint, database, timeout_s)
        self._loads = False
        """Whether the server is offered uploads: by a connection that `load` made."""
        self._connection: MariaDbClient | None = None

    @typed(said("rows of a MariaDB"))
    def query(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows that a statement gives; `values` take the places of its `%s`."""
        try:
            with self._lock, self._connected().cursor() as cursor:
                cursor.execute(statement, values or None)
                return list(cursor.fetchall())
        except (pymysql.Error, OSError) as error:
            raise self._failed(error) from error

    def query_many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        """Run an INSERT for each row, many rows in one statement."""
        try:
            with self._lock, self._connected().cursor() as cursor:
                cursor.executemany(statement, rows)
        except (pymysql.Error, OSError) as error:
            raise self._failed(error) from error

    def load(self, statement: str, content: bytes) -> None:
        """Run a LOAD DATA LOCAL INFILE whose file's name is written `%s`; `content` is sent as that file.

        No file of this machine is read: the server can request these bytes alone.
        """
        try:
            with self._lock:
                if not self._loads:
                    self._drop()
                    self._loads = True
                self._connected().load(statement, content)
        except (pymysql.Error, OSError) as error:
            raise self._failed(error) from error

    def has_database(self) -> bool:
        """Whether the server has our database."""
        database, self.database = self.database, ""
        try:
            rows = self.query("SELECT 1 FROM information_schema.schemata WHERE schema_name = %s", database)
        finally:
            self.database = database
            self.close()
        return bool(rows)

    def database_comment(self) -> str:
        """See `SqlSession.database_comment`."""
        with MariaDbSession(self.endpoint) as anywhere:
            try:
                rows = anywhere.query(
                    "SELECT SCHEMA_COMMENT FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = %s", self.database
                )
            except ServerRefused as refused:
                if refused.code == str(ER.BAD_FIELD_ERROR):  # MariaDB before 10.5
                    return ""
                raise
        return str(rows[0][0]) if rows and rows[0] else ""

    def list_as_ours(self, listing: str, tables: Iterable[CreatedObject]) -> None:
        """See `SqlSession.list_as_ours`."""
        name = self.quoted(listing)
        try:
            self.query(
                f"CREATE TABLE IF NOT EXISTS {name} (name VARCHAR(64) NOT NULL, what VARCHAR(16) NOT NULL, "
                "PRIMARY KEY (name, what)) COMMENT = 'made by loadstone, which removes it at the end of its run'"
            )
            for table in tables:
                self.query(f"REPLACE INTO {name} VALUES (%s, %s)", table.name, table.kind)
        except AccessRefused:
            return
        except ServerRefused as refused:
            if refused.code not in NOT_ALLOWED:
                raise

    def truncate(self, *tables: str) -> None:
        """See `SqlSession.truncate`."""
        self._our_tables(tables)
        for table in tables:
            self.query(f"TRUNCATE TABLE {self.quoted(table)}")

    def remove_tables(self, made: Iterable[str], filled: Iterable[str]) -> None:
        """See `SqlSession.remove_tables`; from now on this connection ignores references between tables."""
        self.query("SET foreign_key_checks = 0")
        super().remove_tables(made, filled)

    def _create_database(self, comment: str) -> None:
        """With its comment, or without one on a server too old for it (before 10.5)."""
        create = f"CREATE DATABASE {self.database} CHARACTER SET utf8mb4"
        with MariaDbSession(self.endpoint, timeout_s=self._timeout_s) as anywhere:
            if not comment:
                anywhere.query(create)
                return
            try:
                anywhere.query(f"{create} COMMENT %s", comment)
            except ServerRefused as refused:
                if refused.code != str(ER.PARSE_ERROR):
                    raise
                anywhere.query(create)

    def _drop_database(self) -> None:
        self.query(f"DROP DATABASE IF EXISTS {self.database}")

    def _connected(self) -> MariaDbClient:
        if self._connection is None:
            endpoint = self.endpoint
            connection = MariaDbClient(endpoint, self.database, self._timeout_s, loads=self._loads)
            where, most_s = (endpoint.host, endpoint.port), step_s(self._timeout_s)
            connection.connect(socket.create_connection(where, most_s) if endpoint.tls is not None else None)
            self._connection = connection
        return self._connection

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(pymysql.Error, OSError):
                connection.close()

    def _failed(self, error: Exception) -> UserError | ServerGone:
        """The error as one line for a person; a connection that it broke is not used again."""
        broken = (
            not isinstance(error, pymysql.Error)
            or isinstance(error, MariaDbProtocolViolation)
            or error_code(error) in GONE
        )
        if broken or (self._connection is not None and not self._connection.open):
            self.close()
        return self._error_of(error)

    def _error_of(self, error: Exception) -> UserError | ServerGone:
        """The error as one line for a person."""
        code = error_code(error)
        text = " ".join(str(error.args[-1] if error.args else error).split()).rstrip(".") or type(error).__name__
        where = f"server {self.endpoint.label}"
        if (ended := bound_that_ended(error)) is not None:
            return ServerGone.of(f"{where}: {ended}")
        cause = getattr(error, "original_exception", None)
        if isinstance(error, MariaDbProtocolViolation):
            return UserError.of(f"{where}: {text}")
        if isinstance(cause, ssl.SSLCertVerificationError):
            return UserError.of(f"{where}: {certificate_problem(cause, '?verify=no')}")
        if code == CR.CR_SSL_CONNECTION_ERROR:
            return UserError(
                "{where}: {text}; turn TLS on there, or add ?ssl=no to its URL: then anyone on the network path "
                "can read the log-in and the data",
                where=where,
                text=text,
            )
        if code in REFUSED:
            tls = "" if self.endpoint.tls is not None else "; if it accepts TLS only, add ?ssl=yes"
            return AccessRefused(
                "{where}: {text}; check user, password and rights in its URL{tls}", where=where, text=text, tls=tls
            )
        if code in GONE or not isinstance(error, pymysql.Error):
            return ServerGone(
                "{where}: {text}; it no longer answers; its own log may give the reason", where=where, text=text
            )
        return ServerRefused.of(f"{where}: {text}").answered(str(code), text)


def error_code(error: BaseException | None) -> int:
    """The number that the server, or its library, gives to an error; 0 if none."""
    return error.args[0] if error is not None and error.args and isinstance(error.args[0], int) else 0
