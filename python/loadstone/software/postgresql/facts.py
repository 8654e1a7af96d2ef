"""What a PostgreSQL says about itself, and whether its settings are those that were requested."""

from collections.abc import Mapping

from loadstone.bounds.replies import shortened
from loadstone.deploy import settings_in_force
from loadstone.deploy.provider import ConfigValue, ServerFacts
from loadstone.errors import UserError
from loadstone.software.postgresql.session import SPELLING, PostgresqlSession

READ_BACK = (
    *("shared_buffers", "effective_cache_size", "work_mem", "wal_buffers", "max_wal_size", "min_wal_size"),
    *("fsync", "synchronous_commit", "full_page_writes", "wal_level", "wal_sync_method", "commit_delay"),
    *("checkpoint_timeout", "checkpoint_completion_target", "autovacuum", "max_connections", "jit"),
    *("default_transaction_isolation", "server_encoding", "data_checksums", "huge_pages"),
)
"""Settings that decide about speed and durability, recorded with every trial."""
VERSION_MAX = 40
"""So many characters of its version are recorded."""


def facts_of(control: PostgresqlSession) -> ServerFacts:
    """Version and role.

    Raises:
        UserError: it is no PostgreSQL.
    """
    reported = control.settings(("server_version", "server_version_num", "in_hot_standby"))
    if not reported.get("server_version_num", "").isdecimal():
        raise UserError(f"server {control.endpoint.label}: it is no PostgreSQL; give the URL of a PostgreSQL")
    role = "replica" if reported.get("in_hot_standby", "off") == "on" else "primary"
    version = shortened(reported.get("server_version", "").partition(" ")[0], VERSION_MAX)
    return ServerFacts("postgresql", version, "standalone", role, details={"database": control.database})


def differences(requested: Mapping[str, ConfigValue], got: Mapping[str, str]) -> list[str]:
    """What the server took otherwise than requested, and what has no effect: a line each."""
    lines = settings_in_force.differences(requested, got, SPELLING)
    if got.get("fsync") == "off" and "synchronous_commit" in {name.lower() for name in requested}:
        lines.append("synchronous_commit keeps nothing safe without fsync (fsync: true)")
    return lines
