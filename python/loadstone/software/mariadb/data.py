"""Rows into a table of MariaDB: by LOAD DATA where the server takes it, otherwise by INSERTs of many rows."""

from collections.abc import Callable

from pymysql.constants import ER

from loadstone.deploy.row_files import Rows, Tell
from loadstone.errors import ServerRefused, UserError
from loadstone.software.mariadb.session import MariaDbSession

NO_FILES = (str(ER.NOT_ALLOWED_COMMAND), "3948", "4166")
"""The server, or its user, may not take files; MySQL's and MariaDB's newer numbers for it."""


def write_to_table(control: MariaDbSession, table: str, rows: Rows, tell: Tell, claim: Callable[[int], None]) -> bool:
    """Make the table hold exactly these rows; whether anything had to be written.

    `claim` gets how many other rows it holds, before it is changed; it raises where they must stay.

    Raises:
        LoadstoneError: the table is not ours, it is missing, or the server does not take a row.
    """
    control.require_our_table(table)
    for column in rows.columns:
        control.require_name(column)
    with control.patient(loads=True) as writer:
        there = writer.count_rows(table)
        if there == rows.count and _crc32_sum(writer, table, rows) == rows.crc32_sum:
            return False
        claim(there)
        if there:
            writer.truncate(table)
        try:
            _load(writer, table, rows, tell)
        except ServerRefused as refused:
            if refused.code not in NO_FILES:
                raise
            _insert(writer, table, rows, tell)
        found = writer.count_rows(table)
        if found != rows.count:
            raise UserError(
                f"table '{table}' holds {found:,} rows of {rows.count:,} that were written; "
                "make the values of its unique columns differ, e.g. with {number}"
            )
    return True


def _load(writer: MariaDbSession, table: str, rows: Rows, tell: Tell) -> None:
    done = 0
    for part in rows.parts:
        content = part.read_bytes()
        writer.load(
            f"LOAD DATA LOCAL INFILE %s INTO TABLE `{table}` CHARACTER SET utf8mb4 "
            rf"FIELDS TERMINATED BY '\t' ESCAPED BY '' LINES TERMINATED BY '\n' ({_columns(writer, rows)})",
            content,
        )
        warnings = [text for level, _, text in writer.table(3, "SHOW WARNINGS") if level != "Note"]
        if warnings:
            raise UserError(f"table '{table}': {warnings[0]}; make its columns and the data's fit")
        done = min(rows.count, done + content.count(b"\n"))
        tell(done)


def _insert(writer: MariaDbSession, table: str, rows: Rows, tell: Tell) -> None:
    places = ", ".join("%s" for _ in rows.columns)
    done = 0
    for lines in rows.lines():
        for start in range(0, len(lines), 5000):
            batch = lines[start : start + 5000]
            values = [line.decode().split("\t") for line in batch]
            writer.query_many(f"INSERT INTO `{table}` ({_columns(writer, rows)}) VALUES ({places})", values)
            done += len(batch)
            tell(done)


def _crc32_sum(writer: MariaDbSession, table: str, rows: Rows) -> int:
    return writer.number(rf"SELECT SUM(CRC32(CONCAT_WS('\t', {_columns(writer, rows)}))) FROM `{table}`")


def _columns(writer: MariaDbSession, rows: Rows) -> str:
    return ", ".join(map(writer.quoted, rows.columns))
