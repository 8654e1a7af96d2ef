"""What loadstone asks of a MariaDB, and has it do: where it differs from other servers that speak SQL."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pymysql.constants import ER

from loadstone.experiment.plan.run_plan import PlannedTrial
from loadstone.experiment.plan.stored_bytes import disk_of
from loadstone.experiment.software import MARIADB
from loadstone.safety.bounds.replies import read_as, shortened
from loadstone.safety.errors import LoadstoneError, ServerRefused, UserError
from loadstone.servers.control import RowFiles, RowProgress, Start
from loadstone.servers.free_space import disk_shortage, free_here, is_out_of_space, is_under
from loadstone.servers.mariadb.session import MariaDbSession, canonical
from loadstone.servers.server import ConfigValue, ServerFacts
from loadstone.servers.sql.control import SqlControl
from loadstone.text.message import AnyText, said

MYSQL = "mysql"
MYSQL_LEAST = 8
NO_ROOM = (str(ER.RECORD_FILE_FULL), str(ER.DISK_FULL))
"""Its numbers for a full disk: the text beside them may be in any language."""
NO_FILES = (str(ER.NOT_ALLOWED_COMMAND), "3948", "4166")
"""The server, or its user, may not take files; MySQL's and MariaDB's newer numbers for it."""
INSERTED = 5000
"""Rows of one INSERT."""


@dataclass(frozen=True)
class DiskRoom:
    """The disk under a database's files."""

    folder: str
    free_bytes: int | None
    """None: nothing reports it."""
    binary_log: bool


class MariaDbControl(MariaDbSession, SqlControl):
    """See `SqlControl`. A MySQL is taken, too: its statements and figures are the same where they are used here."""

    software: ClassVar[str] = MARIADB.name
    RECORDED: ClassVar[tuple[str, ...]] = (
        *("innodb_buffer_pool_size", "innodb_flush_log_at_trx_commit", "innodb_flush_method", "innodb_doublewrite"),
        *("innodb_log_file_size", "innodb_io_capacity", "log_bin", "sync_binlog", "query_cache_type"),
        *("query_cache_size", "max_connections", "thread_handling", "thread_cache_size", "table_open_cache"),
        *("tx_isolation", "transaction_isolation", "innodb_redo_log_capacity"),  # the last two are MySQL's
        *("character_set_server", "performance_schema"),
    )

    def facts(self) -> ServerFacts:
        """Version and role. Raises UserError if it is neither a MariaDB nor a MySQL of version 8 or newer."""
        reported = self.settings(("version", "version_comment", "read_only"))
        version, comment = reported.get("version", ""), reported.get("version_comment", "")
        number = version.partition("-")[0]
        software = _software(version, comment)
        if software is None:
            raise UserError(
                "server {endpoint_label}: it is not a MariaDB but '{comment}'; give the URL of a MariaDB, or of "
                "a MySQL 8",
                endpoint_label=self.endpoint.label,
                comment=shortened(comment or version),
            )
        if software == MYSQL and _major(number) < MYSQL_LEAST:
            raise UserError(
                "server {endpoint_label}: it is a MySQL {number}; give one of version {mysql_least} or newer, or "
                "a MariaDB",
                endpoint_label=self.endpoint.label,
                number=shortened(number),
                mysql_least=MYSQL_LEAST,
            )
        role = "replica" if reported.get("read_only", "OFF") != "OFF" else "primary"
        return ServerFacts(software, number, mode="standalone", role=role, details={"database": self.database})

    def differences(self, requested: Mapping[str, ConfigValue], reported: Mapping[str, str]) -> list[AnyText]:
        """See `SqlControl.differences`."""
        lines = super().differences(requested, reported)
        if "sync_binlog" in map(canonical, requested) and reported.get("log_bin") == "OFF":
            lines.append(said("sync_binlog has no effect without a binary log (log_bin: true)"))
        return lines

    def start(self) -> Start:
        """Return the start by its uptime in whole seconds: it has no number for each start. Without one where it does
        not answer."""
        try:
            rows = self.query("SHOW GLOBAL STATUS LIKE 'Uptime'")
            with read_as(self.endpoint.label, "SHOW GLOBAL STATUS", said("its uptime")):
                uptime_s = float(rows[0][1])
        except LoadstoneError:
            return Start(None)
        return Start(None, uptime_s if math.isfinite(uptime_s) else None, time.monotonic())

    def load_rows(self, table: str, rows: RowFiles, tell: RowProgress) -> None:
        """Load rows by LOAD DATA where the server takes it, otherwise by INSERTs of many rows."""
        try:
            self._load_files(table, rows, tell)
        except ServerRefused as refused:
            if refused.code not in NO_FILES:
                raise
            self._insert(table, rows, tell)

    def _load_files(self, table: str, rows: RowFiles, tell: RowProgress) -> None:
        loading = (
            f"LOAD DATA LOCAL INFILE %s INTO TABLE `{table}` CHARACTER SET utf8mb4 FIELDS TERMINATED BY '\\t' "
            f"ESCAPED BY '' LINES TERMINATED BY '\\n' ({self.quoted_names(rows.columns)})"
        )
        done = 0
        for part in rows.parts:
            content = part.read_bytes()
            self.load(loading, content)
            warnings = [text for level, _, text in self.table(3, "SHOW WARNINGS") if level != "Note"]
            if warnings:
                raise UserError(
                    "table '{table}': {warnings}; make its columns and the data's fit",
                    table=table,
                    warnings=warnings[0],
                )
            done = min(rows.count, done + content.count(b"\n"))
            tell(done)

    def _insert(self, table: str, rows: RowFiles, tell: RowProgress) -> None:
        places = ", ".join("%s" for _ in rows.columns)
        done = 0
        for lines in rows.lines():
            for start in range(0, len(lines), INSERTED):
                batch = lines[start : start + INSERTED]
                values = [line.decode().split("\t") for line in batch]
                self.query_many(f"INSERT INTO `{table}` ({self.quoted_names(rows.columns)}) VALUES ({places})", values)
                done += len(batch)
                tell(done)

    def crc32_sum(self, table: str, columns: Sequence[str]) -> int:
        """See `SqlControl.crc32_sum`; computed by the server."""
        return self.number(rf"SELECT SUM(CRC32(CONCAT_WS('\t', {self.quoted_names(columns)}))) FROM `{table}`")

    def is_full(self, error: BaseException) -> bool:
        """Whether its disk or the table is full."""
        return (isinstance(error, ServerRefused) and error.code in NO_ROOM) or is_out_of_space(error)

    def shortage(self, trials: Sequence[PlannedTrial], server: str, pid: int | None) -> AnyText:
        """Return what is short, by the disk under its files."""
        disk = self.disk_room(pid)
        return disk_shortage(disk.folder, disk.free_bytes, disk_of(trials, server, binary_log=disk.binary_log))

    def disk_room(self, pid: int | None) -> DiskRoom:
        """The disk that it writes to; `pid`: its process, where that is one of this machine and can be observed.

        Raises:
            LoadstoneError: the server does not answer.
        """
        with MariaDbControl(self.endpoint) as anywhere:  # our database may not be made yet
            settings = anywhere.settings(("datadir", "log_bin"))
            folder = settings.get("datadir", "")
            free = anywhere.free_by_plugin(folder)
        if free is None and pid is not None and folder.startswith("/"):
            free = free_here(pid, folder)
        return DiskRoom(folder, free, settings.get("log_bin", "OFF") not in ("OFF", "0", ""))

    def free_by_plugin(self, folder: str) -> int | None:
        """Return the free bytes of the file system under `folder`, from the DISKS plugin. Few servers have it, and it
        answers only users with the FILE privilege."""
        try:
            rows = self.table(2, "SELECT Path, Available FROM information_schema.DISKS")
            with read_as(self.endpoint.label, "information_schema.DISKS", said("paths and figures")):
                under = [(str(path), int(kib)) for path, kib in rows if is_under(folder, str(path))]
        except LoadstoneError:
            return None
        return max(under, key=lambda disk: len(disk[0]))[1] * 1024 if under else None


def _software(version: str, comment: str) -> str | None:
    """What a server is by what it reports; a managed MySQL reports only that it was built from its sources."""
    if MARIADB.name in (version + comment).lower():
        return MARIADB.name
    return MYSQL if MYSQL in comment.lower() or comment.startswith("Source distribution") else None


def _major(number: str) -> int:
    first = number.partition(".")[0]
    return int(first) if first.isdecimal() and len(first) < 5 else 0
