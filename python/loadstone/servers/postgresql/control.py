"""What loadstone asks of a PostgreSQL, and has it do: where it differs from other servers that speak SQL."""

import os
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from loadstone.experiment.plan.run_plan import PlannedTrial
from loadstone.experiment.plan.stored_bytes import disk_of
from loadstone.experiment.software import POSTGRESQL
from loadstone.safety.bounds.replies import read_as, shortened
from loadstone.safety.errors import LoadstoneError, ServerRefused, UserError
from loadstone.servers.control import RowFiles, RowProgress, Start
from loadstone.servers.free_space import disk_shortage, free_here, is_out_of_space
from loadstone.servers.postgresql.session import DISK_FULL, PostgresqlSession, canonical
from loadstone.servers.server import ConfigValue, ServerFacts
from loadstone.servers.sql.control import SqlControl
from loadstone.text.message import AnyText, said

VERSION_MAX = 40
"""Number of characters of its version that are recorded."""
CHUNK_BYTES = 64 * 1024
ESCAPED = re.compile(rb"\\(.)", re.DOTALL)
ESCAPES = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
OPEN = "/proc/self/fd/"
"""How a path begins that leads through a folder that a process has open."""


class PostgresqlControl(PostgresqlSession, SqlControl):
    """See `SqlControl`."""

    software: ClassVar[str] = POSTGRESQL.name
    RECORDED: ClassVar[tuple[str, ...]] = (
        *("shared_buffers", "effective_cache_size", "work_mem", "wal_buffers", "max_wal_size", "min_wal_size"),
        *("fsync", "synchronous_commit", "full_page_writes", "wal_level", "wal_sync_method", "commit_delay"),
        *("checkpoint_timeout", "checkpoint_completion_target", "autovacuum", "max_connections", "jit"),
        *("default_transaction_isolation", "server_encoding", "data_checksums", "huge_pages"),
    )

    def facts(self) -> ServerFacts:
        """Version and role. Raises UserError if it is no PostgreSQL."""
        reported = self.settings(("server_version", "server_version_num", "in_hot_standby"))
        if not reported.get("server_version_num", "").isdecimal():
            raise UserError(
                "server {endpoint_label}: it is no PostgreSQL; give the URL of a PostgreSQL",
                endpoint_label=self.endpoint.label,
            )
        role = "replica" if reported.get("in_hot_standby", "off") == "on" else "primary"
        version = shortened(reported.get("server_version", "").partition(" ")[0], VERSION_MAX)
        return ServerFacts(POSTGRESQL.name, version, "standalone", role, details={"database": self.database})

    def differences(self, requested: Mapping[str, ConfigValue], reported: Mapping[str, str]) -> list[AnyText]:
        """See `SqlControl.differences`."""
        lines = super().differences(requested, reported)
        if reported.get("fsync") == "off" and "synchronous_commit" in map(canonical, requested):
            lines.append(said("synchronous_commit keeps nothing safe without fsync (fsync: true)"))
        return lines

    def start(self) -> Start:
        """Return the start by its moment, to the microsecond; without one where it does not answer."""
        try:
            rows = self.query("SELECT pg_postmaster_start_time()::text")
            with read_as(self.endpoint.label, "pg_postmaster_start_time()", said("its start")):
                return Start(str(rows[0][0]))
        except LoadstoneError:
            return Start(None)

    def load_rows(self, table: str, rows: RowFiles, tell: RowProgress) -> None:
        """Load rows by COPY."""
        done = 0
        for part in rows.parts:
            content = part.read_bytes()
            self.copy_in(f'COPY "{table}" ({self.quoted_names(rows.columns)}) FROM STDIN', _chunks(content))
            done = min(rows.count, done + content.count(b"\n"))
            tell(done)
        self._count_on(table, rows.columns)
        self.query(f'ANALYZE "{table}"')

    def _count_on(self, table: str, columns: Sequence[str]) -> None:
        """The numbers that the table gives to later rows begin after those that were written: COPY counts none."""
        for column in columns:
            rows = self.table(1, "SELECT pg_get_serial_sequence($1, $2)", f'"{table}"', column)
            with read_as(self.endpoint.label, "pg_get_serial_sequence()", said("one row")):
                ((sequence,),) = rows
            if sequence is not None:
                largest = f'MAX("{column}")'
                self.query(
                    f'SELECT setval($1::regclass, GREATEST({largest}, 1), {largest} >= 1) FROM "{table}"', sequence
                )

    def crc32_sum(self, table: str, columns: Sequence[str]) -> int:
        """See `SqlControl.crc32_sum`; before version 18 PostgreSQL cannot compute it, so the rows are read."""
        total = 0

        def take(line: bytes) -> None:
            nonlocal total
            text = line.removesuffix(b"\n")
            total += _crc32_of_escaped(text) if b"\\" in text else zlib.crc32(text)

        self.copy_out(f'COPY (SELECT {self.quoted_names(columns)} FROM "{table}") TO STDOUT', take)
        return total

    def is_full(self, error: BaseException) -> bool:
        """Whether its disk is full."""
        return (isinstance(error, ServerRefused) and error.code == DISK_FULL) or is_out_of_space(error)

    def shortage(self, trials: Sequence[PlannedTrial], server: str, pid: int | None) -> AnyText:
        """Return what is short, by the disk under its files, where it runs on this machine: no statement reports how
        much is free there.

        The write-ahead log has every row once more.
        """
        with PostgresqlSession(self.endpoint, self.database if self.has_database() else "") as anywhere:
            try:
                rows = anywhere.query("SELECT current_setting('data_directory')")
            except UserError:  # which only users may read who may read all settings
                return ""
        folder = str(rows[0][0]) if rows and rows[0] else ""
        if pid is not None and folder.startswith(OPEN):  # one of ours, see `programs.reached_by`
            folder = os.path.realpath(folder.replace("self", str(pid), 1))
        free = free_here(pid, folder) if pid is not None and folder.startswith("/") else None
        return disk_shortage(folder, free, disk_of(trials, server, binary_log=True))


def _crc32_of_escaped(text: bytes) -> int:
    """As `zlib.crc32` of a line of COPY with its escapes read, piece by piece: a line may consist of them."""
    crc, at = 0, 0
    while at < len(text):
        piece = text[at : at + CHUNK_BYTES]
        if (len(piece) - len(piece.rstrip(b"\\"))) % 2:  # an escape begins at its end
            piece = text[at : at + CHUNK_BYTES + 1]
        at += len(piece)
        crc = zlib.crc32(ESCAPED.sub(lambda escaped: ESCAPES.get(escaped[1], escaped[1]), piece), crc)
    return crc


def _chunks(content: bytes) -> Iterator[bytes]:
    """A backslash means something to COPY, and to no row."""
    view = memoryview(content)
    for start in range(0, len(content), CHUNK_BYTES):
        yield bytes(view[start : start + CHUNK_BYTES]).replace(b"\\", b"\\\\")
