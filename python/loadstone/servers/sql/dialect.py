"""Describes as data how a server writes SQL; and the statements that follow from it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from loadstone.servers.declared_table import ColumnType, DeclaredColumn, Table


@dataclass(frozen=True)
class Dialect:
    """What of SQL differs between servers. Each room has its own, `DIALECT`."""

    quote: str
    """What stands on both sides of a name."""
    name_length_max: int
    settings: str
    """The statement that answers the names and values of all settings."""
    tables: str
    """The statement that answers the names of the database's tables."""
    types: Mapping[ColumnType, str]
    """The type of a declared column, with a place for each size."""
    long_text: str
    """The type of a text without a length."""
    auto: str
    """What makes the server number the rows of a column."""
    indexes_within: bool
    """Whether indexes are part of the statement that makes a table; else each is made by one of its own."""
    table_end: str = ""
    """What follows the columns of a table."""
    read_only: str = ""
    """The statement after which a connection cannot write, where there is one."""

    def quoted(self, names: Iterable[str]) -> str:
        """Names with commas between, which are known to be names."""
        return ", ".join(f"{self.quote}{name}{self.quote}" for name in names)

    def table_statements(self, name: str, table: Table) -> list[str]:
        """What makes a table and its indexes, each where it is missing."""
        own = self.quoted([name])
        lines = [f"{self.quoted([column])} {self._type(spec)}" for column, spec in table.columns.items()]
        lines.append(f"PRIMARY KEY ({self.quoted(table.key)})")
        indexes = [(self.quoted([f"{name}_index_{n}"]), self.quoted(on)) for n, on in enumerate(table.indexes, start=1)]
        if self.indexes_within:
            lines += [f"INDEX {index} ({columns})" for index, columns in indexes]
            indexes = []
        made = f"CREATE TABLE IF NOT EXISTS {own} ({', '.join(lines)}){self.table_end}"
        return [made, *(f"CREATE INDEX IF NOT EXISTS {index} ON {own} ({columns})" for index, columns in indexes)]

    def _type(self, column: DeclaredColumn) -> str:
        is_long = column.type == "text" and not column.sizes
        kind = self.long_text if is_long else self.types[column.type].format(*column.sizes)
        return " ".join([kind, "NULL" if column.null else "NOT NULL", *([self.auto] if column.auto else [])])
