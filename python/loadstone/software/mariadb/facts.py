"""What a MariaDB says about itself, and whether its settings are those that were requested."""

from collections.abc import Mapping

from loadstone.bounds.replies import shortened
from loadstone.deploy import settings_in_force
from loadstone.deploy.provider import ConfigValue, ServerFacts
from loadstone.errors import UserError
from loadstone.software.mariadb.declared import MARIADB
from loadstone.software.mariadb.session import SPELLING, MariaDbSession, canonical

MYSQL = "mysql"
MYSQL_LEAST = 8
READ_BACK = (
    *("innodb_buffer_pool_size", "innodb_flush_log_at_trx_commit", "innodb_flush_method", "innodb_doublewrite"),
    *("innodb_log_file_size", "innodb_io_capacity", "log_bin", "sync_binlog", "query_cache_type", "query_cache_size"),
    *("max_connections", "thread_handling", "thread_cache_size", "table_open_cache", "tx_isolation"),
    *("transaction_isolation", "innodb_redo_log_capacity"),  # MySQL's
    *("character_set_server", "performance_schema"),
)
"""Settings that decide about speed and durability, recorded with every trial."""


def facts_of(control: MariaDbSession) -> ServerFacts:
    """Version and role; of a MySQL, too, whose statements and figures are the same where they are used here.

    Raises:
        UserError: it is neither, or a MySQL before 8.
    """
    reported = control.settings(("version", "version_comment", "read_only"))
    version, comment = reported.get("version", ""), reported.get("version_comment", "")
    number = version.partition("-")[0]
    software = _software(version, comment)
    if software is None:
        raise UserError(
            f"server {control.endpoint.label}: it is not a MariaDB but '{shortened(comment or version)}'; "
            "give the URL of a MariaDB, or of a MySQL 8"
        )
    if software == MYSQL and _major(number) < MYSQL_LEAST:
        raise UserError(
            f"server {control.endpoint.label}: it is a MySQL {shortened(number)}; give one of version {MYSQL_LEAST} or "
            "newer, or a MariaDB"
        )
    role = "replica" if reported.get("read_only", "OFF") != "OFF" else "primary"
    return ServerFacts(software, number, mode="standalone", role=role, details={"database": control.database})


def _software(version: str, comment: str) -> str | None:
    """What a server is by what it says; a managed MySQL says no more than that it was built from its sources."""
    if MARIADB.name in (version + comment).lower():
        return MARIADB.name
    return MYSQL if MYSQL in comment.lower() or comment.startswith("Source distribution") else None


def _major(number: str) -> int:
    first = number.partition(".")[0]
    return int(first) if first.isdecimal() and len(first) < 5 else 0


def differences(requested: Mapping[str, ConfigValue], got: Mapping[str, str]) -> list[str]:
    """What the server took otherwise than requested, and what has no effect: a line each."""
    lines = settings_in_force.differences(requested, got, SPELLING)
    if "sync_binlog" in map(canonical, requested) and got.get("log_bin") == "OFF":
        lines.append("sync_binlog has no effect without a binary log (log_bin: true)")
    return lines
