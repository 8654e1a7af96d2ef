"""Rows into a table of PostgreSQL by COPY, and whether it holds them already."""

import re
import zlib
from collections.abc import Callable, Iterator

from loadstone.deploy.row_files import Rows, Tell
from loadstone.errors import UserError
from loadstone.software.postgresql.session import PostgresqlSession

CHUNK_BYTES = 64 * 1024
ESCAPED = re.compile(rb"\\(.)", re.DOTALL)
ESCAPES = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


def write_to_table(
    control: PostgresqlSession, table: str, rows: Rows, tell: Tell, claim: Callable[[int], None]
) -> bool:
    """Make the table hold exactly these rows; whether anything had to be written.

    `claim` is called with how many other rows it holds, before it is changed; it raises where they must stay.

    Raises:
        LoadstoneError: the table is not ours, it is missing, or the server does not take a row.
    """
    control.require_our_table(table)
    for column in rows.columns:
        control.require_name(column)
    with control.patient() as writer:
        there = writer.count_rows(table)
        if there == rows.count and crc32_sum(writer, table, rows) == rows.crc32_sum:
            return False
        claim(there)
        if there:
            writer.truncate(table)
        _copy(writer, table, rows, tell)
        found = writer.count_rows(table)
        if found != rows.count:
            raise UserError(f"table '{table}' holds {found:,} rows of {rows.count:,} that were written")
        _count_on(writer, table, rows)
        writer.query(f'ANALYZE "{table}"')
    return True


def _copy(writer: PostgresqlSession, table: str, rows: Rows, tell: Tell) -> None:
    done = 0
    for part in rows.parts:
        content = part.read_bytes()
        writer.copy_in(f'COPY "{table}" ({_columns(writer, rows)}) FROM STDIN', _chunks(content))
        done = min(rows.count, done + content.count(b"\n"))
        tell(done)


def _count_on(writer: PostgresqlSession, table: str, rows: Rows) -> None:
    """The numbers that the table gives to later rows begin after those that were written: COPY counts none of them."""
    for column in rows.columns:
        ((sequence,),) = writer.table(1, "SELECT pg_get_serial_sequence($1, $2)", f'"{table}"', column)
        if sequence is not None:
            largest = f'MAX("{column}")'
            writer.query(
                f'SELECT setval($1::regclass, GREATEST({largest}, 1), {largest} >= 1) FROM "{table}"', sequence
            )


def _chunks(content: bytes) -> Iterator[bytes]:
    """A backslash means something to COPY, and to no row."""
    view = memoryview(content)
    for start in range(0, len(content), CHUNK_BYTES):
        yield bytes(view[start : start + CHUNK_BYTES]).replace(b"\\", b"\\\\")


def crc32_sum(writer: PostgresqlSession, table: str, rows: Rows) -> int:
    """As `Rows.crc32_sum`, of the table's rows: before version 18 PostgreSQL cannot compute it, so we read them."""
    total = 0

    def take(line: bytes) -> None:
        nonlocal total
        text = line.removesuffix(b"\n")
        if b"\\" in text:
            text = ESCAPED.sub(lambda found: ESCAPES.get(found[1], found[1]), text)
        total += zlib.crc32(text)

    writer.copy_out(f'COPY (SELECT {_columns(writer, rows)} FROM "{table}") TO STDOUT', take)
    return total


def _columns(writer: PostgresqlSession, rows: Rows) -> str:
    return ", ".join(map(writer.quoted, rows.columns))
