"""Tables that an application declares in its manifest, whatever the server; each dialect of SQL writes them its way.

Names are small letters, digits and _: every server takes these without quotes as they are written.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from loadstone.text.problem import Problem

ColumnType = Literal["int", "bigint", "decimal", "double", "boolean", "text", "timestamp"]
TYPES: tuple[ColumnType, ...] = get_args(ColumnType)
TEXT_MAX, DIGITS_MAX, DECIMALS_MAX = 16_000, 65, 30
"""What MariaDB takes of a text with a length, and of a number with decimals; PostgreSQL takes more."""
COLUMNS_MAX, INDEXES_MAX, TABLES_MAX = 200, 20, 100
_COLUMN = re.compile(r"(?P<type>[a-z]+)(?P<sizes>( [0-9]{1,5}){0,2})(?P<auto> auto)?(?P<null> null)?")


def _name(written: str) -> str:
    if re.fullmatch(r"[a-z_][a-z0-9_]{0,47}", written) is None:
        raise Problem("'{written}' is no name; use small letters, digits and _, at most 48", written=written[:60])
    return written


Name = Annotated[str, AfterValidator(_name)]
"""Name of a table or column. It is shorter than any server's bound: an index has the table's name in its own."""


@dataclass(frozen=True)
class DeclaredColumn:
    """One column. It is never NULL unless it says so."""

    type: ColumnType
    sizes: tuple[int, ...] = ()
    """Length of `text` in characters, if it has one; of `decimal` its digits, and those behind the point."""
    auto: bool = False
    """Whether the server numbers rows that are written without a value."""
    null: bool = False


def column_of(written: Any) -> DeclaredColumn:
    """`bigint auto`, `text 100`, `decimal 10 2 null`: a type, its sizes, and what else holds. Raises ValueError."""
    if isinstance(written, DeclaredColumn):
        return written
    match = _COLUMN.fullmatch(" ".join(str(written).split()))
    if match is None or match["type"] not in TYPES:
        raise Problem(
            "'{written}' is no column; write a type ({types}), then sizes, `auto` and `null`: 'bigint auto', "
            "'text 100', 'decimal 10 2 null'",
            written=str(written)[:60],
            types=", ".join(TYPES),
        )
    column = DeclaredColumn(
        next(one for one in TYPES if one == match["type"]),
        tuple(map(int, match["sizes"].split())),
        match["auto"] is not None,
        match["null"] is not None,
    )
    if not _fits(column):
        raise Problem(
            "'{written}': text takes a length from 1 to {text_max:,} or none, decimal its digits (up to "
            "{digits_max}) and those behind the point (up to {decimals_max}), and auto is for int and bigint alone",
            written=match[0],
            text_max=TEXT_MAX,
            digits_max=DIGITS_MAX,
            decimals_max=DECIMALS_MAX,
        )
    return column


def _fits(column: DeclaredColumn) -> bool:
    if column.auto and (column.type not in ("int", "bigint") or column.null):
        return False
    match column.type, column.sizes:
        case "text", ():
            return True
        case "text", (length,):
            return 1 <= length <= TEXT_MAX
        case "decimal", (digits, decimals):
            return 1 <= digits <= DIGITS_MAX and decimals <= min(digits, DECIMALS_MAX)
        case "decimal", _:
            return False
        case _, sizes:
            return not sizes


def _names(written: Any) -> Any:
    return (written,) if isinstance(written, str) else written


class Table(BaseModel):
    """`columns` by their names; `key` is a column or several, and no two rows have the same."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    columns: Annotated[
        dict[Name, Annotated[DeclaredColumn, BeforeValidator(column_of)]], Field(min_length=1, max_length=COLUMNS_MAX)
    ]
    key: Annotated[tuple[Name, ...], BeforeValidator(_names), Field(min_length=1)]
    indexes: Annotated[tuple[Annotated[tuple[Name, ...], Field(min_length=1)], ...], Field(max_length=INDEXES_MAX)] = ()
    """The columns of each index, beside the key."""

    @model_validator(mode="after")
    def _known_columns(self) -> "Table":
        for name in self._indexed():
            column = self.columns.get(name)
            if column is None:
                raise Problem(
                    "key and indexes: there is no column '{name}'; there are {columns}",
                    name=name,
                    columns=", ".join(self.columns),
                )
            if column.type == "text" and not column.sizes:
                raise Problem("key and indexes: the text '{name}' needs a length, as 'text 100'", name=name)
        for name, column in self.columns.items():
            if column.auto and self.key != (name,):
                raise Problem("columns.{name}: a column that is auto must be the key by itself", name=name)
            if column.null and name in self.key:
                raise Problem("columns.{name}: a column of the key cannot be null", name=name)
        return self

    def _indexed(self) -> Iterator[str]:
        yield from self.key
        for index in self.indexes:
            yield from index
