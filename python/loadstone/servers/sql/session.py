"""A control connection to a server that speaks SQL: loadstone's own questions, and nothing but our own tables changed.

Ours are the databases `loadstone` and `loadstone_...`, and in any other database the tables `loadstone_...`.
"""

import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Self

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.software import Software
from loadstone.run_folder.ledger import CreatedObject
from loadstone.safety.bounds.replies import recordable
from loadstone.safety.errors import ServerGone, ServerRefused, UserError
from loadstone.servers.settings_in_force import SettingNotation
from loadstone.servers.sql.dialect import Dialect

DATABASE = "loadstone"
"""Our database, and the user that the load logs in as where the server is ours."""
OURS = re.compile(rf"{DATABASE}(_\w*)?", re.ASCII)
PATIENCE_S = 600.0
"""How long a statement may take that counts or writes many rows."""


class SqlSession(ABC):
    """One connection to `endpoint`, made when first needed; safe to use from several threads.

    A room's own session has the connection, and the statements in which its server differs.

    Raises:
        ServerGone: the server does not answer; one line with the reason.
        ServerRefused: it answers with an error; one line with its text.
        AccessRefused: it refuses the login, or the right to do what is requested.
    """

    declared: ClassVar[Software]
    spelling: ClassVar[SettingNotation]
    dialect: ClassVar[Dialect]

    def __init__(self, endpoint: Endpoint, database: str = "", timeout_s: float = 5.0) -> None:
        self.endpoint = endpoint
        self.database = database
        """Where our tables are; empty: none is needed."""
        self._timeout_s = timeout_s
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection. May be called more than once."""
        with self._lock:
            self._drop()

    @abstractmethod
    def _drop(self) -> None:
        """Close the connection if there is one, while the lock is held."""

    @abstractmethod
    def query(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows that one statement gives; `values` take the places that the server has for them."""

    @abstractmethod
    def has_database(self) -> bool:
        """Whether the server has our database."""

    @abstractmethod
    def database_comment(self) -> str:
        """The comment of our database; empty: it is not there, has none, or the server knows none."""

    @abstractmethod
    def list_as_ours(self, listing: str, tables: Iterable[CreatedObject]) -> None:
        """Add names and kinds to the table `listing`, which is made if missing. A user who may not make it cannot."""

    @abstractmethod
    def truncate(self, *tables: str) -> None:
        """Empty tables of ours; their ids begin anew.

        Raises:
            UserError: a table is not ours.
        """

    @abstractmethod
    def _create_database(self, comment: str) -> None: ...

    @abstractmethod
    def _drop_database(self) -> None: ...

    def table(self, columns: int, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """As `query`, for an answer of so many columns: a server may answer with anything."""
        rows = self.query(statement, *values)
        if any(len(row) != columns for row in rows):
            raise self._odd_answer(statement)
        return rows

    def number(self, statement: str, *values: object) -> int:
        """The one whole number that a statement answers, as SELECT COUNT(*) does; 0 for NULL."""
        rows = self.table(1, statement, *values)
        try:
            (answer,) = rows
            return recordable(int(answer[0] or 0))
        except (ValueError, TypeError, OverflowError):
            raise self._odd_answer(statement) from None

    def _odd_answer(self, statement: str) -> ServerGone:
        return ServerGone(
            "server {endpoint_label}: it answers '{statement}' as no {title} does",
            endpoint_label=self.endpoint.label,
            statement=statement,
            title=self.declared.title,
        )

    def by_way_of(self, endpoint: Endpoint) -> Self:
        """See `servers.control.ServerQueries`."""
        return type(self)(endpoint, self.database, self._timeout_s)

    def patient(self) -> Self:
        """Another connection to the same database, for statements that may take minutes."""
        return type(self)(self.endpoint, self.database, PATIENCE_S)

    def ping(self) -> None:
        """Returns if the server answers."""
        self.query("SELECT 1")

    def settings(self, names: Iterable[str]) -> dict[str, str]:
        """The server's settings under the names that they are requested by; without those that it does not have."""
        reported = {str(name): str(value) for name, value in self.table(2, self.dialect.settings)}
        canonical = self.spelling.name
        return {name: reported[canonical(name)] for name in names if canonical(name) in reported}

    def create_database(self, comment: str = "") -> bool:
        """Make our database where there is none, with a comment if any; whether it was made.

        Raises:
            UserError: its name is not ours, or the user may not.
        """
        if self.has_database():
            return False
        self.require_creatable()
        self._create_database(comment)
        self.close()  # the next connection goes into it
        return True

    def require_creatable(self) -> None:
        """Returns if a database that is missing may be made. Raises UserError if its name is not ours."""
        if not self.is_our_database():
            raise UserError(
                "server {server}: it has no database '{database}'; create it, or name none, and '{own}' is created",
                server=self.endpoint.label,
                database=self.database,
                own=DATABASE,
            )

    def drop_database(self) -> None:
        """Remove our database with all its tables; only for one that `create_database` made."""
        if not self.is_our_database():
            raise UserError(
                "database '{database}': only databases that begin with '{prefix}' are removed",
                database=self.database,
                prefix=DATABASE,
            )
        self._drop_database()
        self.close()

    def run_script(self, statements: str) -> None:
        """Run the statements of a file such as `schema.sql`, each ended by a semicolon at the end of a line."""
        for statement in re.split(r";[ \t]*(?:\n|$)", statements):
            if statement.strip():
                self.query(statement)

    def tables(self) -> list[str]:
        """The tables of our database."""
        return [str(name) for (name,) in self.table(1, self.dialect.tables)]

    def count(self, text: str) -> int:
        """The rows of a table, by a connection that cannot write where the server has such; may take minutes.

        Raises:
            UserError: it is not the name of a table, or there is none of this name.
        """
        if not self.is_name(text):
            raise UserError("count '{text}': it is not the name of a table; write {{table: NAME}}", text=text)
        with self.patient() as patient:
            if self.dialect.read_only:
                patient.query(self.dialect.read_only)
            try:
                return patient.count_rows(text)
            except ServerRefused as refused:
                raise UserError("count '{text}': {refused}", text=text, refused=refused) from None

    def count_rows(self, table: str) -> int:
        """Return the number of rows of a table, counted."""
        return self.number(f"SELECT COUNT(*) FROM {self.quoted(table)}")

    def drop_table(self, *tables: str) -> None:
        """Remove tables of ours. Raises UserError as `truncate`."""
        self.query(f"DROP TABLE {self._our_tables(tables)}")

    def remove_tables(self, made: Iterable[str], filled: Iterable[str]) -> None:
        """Remove tables of ours that were made, and empty those that were filled; they may refer to one another."""
        if made := list(made):
            self.drop_table(*made)
        if filled := list(filled):
            self.truncate(*filled)

    def _our_tables(self, tables: Iterable[str]) -> str:
        """Their names for a statement. Raises UserError if one is not ours."""
        names = list(tables)
        for table in names:
            self.require_our_table(table)
        return self.quoted_names(names)

    def is_our_database(self) -> bool:
        """Whether all tables of the database are ours, by its name."""
        return OURS.fullmatch(self.database) is not None

    def require_our_table(self, table: str) -> None:
        """Returns if we may write to the table and empty it. Raises UserError if it is not ours."""
        self.quoted(table)
        if not self.is_our_database() and not OURS.fullmatch(table):
            raise UserError(
                "table '{database}.{table}': only tables of the database '{own}', or that begin with "
                "'{own}_', are written to and emptied; use such a name",
                database=self.database,
                table=table,
                own=DATABASE,
            )

    @classmethod
    def is_name(cls, name: str) -> bool:
        """Whether `name` may stand in a statement."""
        return re.fullmatch(rf"\w{{1,{cls.dialect.name_length_max}}}", name, re.ASCII) is not None

    @classmethod
    def require_name(cls, name: str) -> None:
        """Returns if `name` may stand in a statement. Raises UserError if not."""
        if not cls.is_name(name):
            raise UserError("'{name}' is not a name of a table or setting: letters, digits and _ only", name=name)

    @classmethod
    def quoted(cls, name: str) -> str:
        """A name as it stands in a statement. Raises UserError if it may not."""
        cls.require_name(name)
        return cls.dialect.quoted([name])

    @classmethod
    def quoted_names(cls, names: Iterable[str]) -> str:
        """Names with commas between, as they stand in a statement. Raises UserError if one may not."""
        return ", ".join(map(cls.quoted, names))
