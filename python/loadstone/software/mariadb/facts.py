"""What a MariaDB says about itself, and whether its settings are those that were requested."""

from collections.abc import Mapping

from loadstone.deploy import settings_in_force
from loadstone.deploy.provider import ConfigValue, ServerFacts
from loadstone.errors import UserError
from loadstone.software.mariadb.session import MariaDbSession
from loadstone.software.mariadb.settings import SPELLING, canonical

READ_BACK = (
    *("innodb_buffer_pool_size", "innodb_flush_log_at_trx_commit", "innodb_flush_method", "innodb_doublewrite"),
    *("innodb_log_file_size", "innodb_io_capacity", "log_bin", "sync_binlog", "query_cache_type", "query_cache_size"),
    *("max_connections", "thread_handling", "thread_cache_size", "table_open_cache", "tx_isolation"),
    *("character_set_server", "performance_schema"),
)
"""Settings that decide about speed and durability, recorded with every trial."""


def facts_of(control: MariaDbSession) -> ServerFacts:
    """Version and role.

    Raises:
        UserError: it is no MariaDB.
    """
    reported = control.settings(("version", "version_comment", "read_only"))
    version = reported.get("version", "")
    if "mariadb" not in (version + reported.get("version_comment", "")).lower():
        raise UserError(
            f"server {control.endpoint.label}: it is not a MariaDB but '{reported.get('version_comment', version)}'; "
            "give the URL of a MariaDB"
        )
    role = "replica" if reported.get("read_only", "OFF") != "OFF" else "primary"
    return ServerFacts(
        "mariadb", version.partition("-")[0], mode="standalone", role=role, details={"database": control.database}
    )


def differences(requested: Mapping[str, ConfigValue], got: Mapping[str, str]) -> list[str]:
    """What the server took otherwise than requested, and what has no effect: a line each."""
    lines = settings_in_force.differences(requested, got, SPELLING)
    if "sync_binlog" in map(canonical, requested) and got.get("log_bin") == "OFF":
        lines.append("sync_binlog has no effect without a binary log (log_bin: true)")
    return lines
