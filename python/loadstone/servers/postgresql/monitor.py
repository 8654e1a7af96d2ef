"""A PostgreSQL as its statistics views report it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from loadstone.experiment.software import POSTGRESQL
from loadstone.monitors.metric import by_name
from loadstone.monitors.metrics import postgresql
from loadstone.monitors.monitor import CounterRates, Monitor, Sample
from loadstone.monitors.watch import MonitorTargets
from loadstone.safety.bounds.replies import read_as
from loadstone.safety.errors import LoadstoneError
from loadstone.text.message import said

RATES = {
    "transactions_committed_per_s": "xact_commit",
    "transactions_rolled_back_per_s": "xact_rollback",
    "tuples_read_per_s": "tup_returned",
    "tuples_inserted_per_s": "tup_inserted",
    "tuples_updated_per_s": "tup_updated",
    "tuples_deleted_per_s": "tup_deleted",
    "blocks_read_per_s": "blks_read",
    "spilled_bytes_per_s": "temp_bytes",
    "wal_written_bytes_per_s": "wal_bytes",
}
"""Rate -> the column of a view that it is of."""
PLAIN = (
    "client_sessions",
    "active_sessions",
    "waiting_locks",
    "checkpoints_timed",
    "checkpoints_requested",
    "deadlocks",
)
HITS, MISSES = "blks_hit", "blks_read"
_SUMS = ("xact_commit", "xact_rollback", "tup_returned", "tup_inserted", "tup_updated", "tup_deleted")
_DATABASES = ", ".join(f"sum({name}) AS {name}" for name in (*_SUMS, HITS, MISSES, "temp_bytes", "deadlocks"))
CHECKPOINTER, WAL = 17, 14
"""The versions from which on there are `pg_stat_checkpointer` and `pg_stat_wal`."""


class PostgresqlQueries(Protocol):
    """What the monitor needs of a control; `PostgresqlControl` is one."""

    def query(self, sql: str) -> Sequence[Sequence[Any]]:
        """The rows of the answer, each the values of its columns; ServerGone if there is none."""


def question(version: int) -> str:
    """One statement for a server of this version, whose only value is a JSON object of numbers."""
    checkpoints = (
        "num_timed AS checkpoints_timed, num_requested AS checkpoints_requested FROM pg_stat_checkpointer"
        if version >= CHECKPOINTER
        else "checkpoints_timed, checkpoints_req AS checkpoints_requested FROM pg_stat_bgwriter"
    )
    parts = [
        f"(SELECT {_DATABASES} FROM pg_stat_database) d",
        f"(SELECT {checkpoints}) c",
        "(SELECT count(*) AS client_sessions, count(*) FILTER (WHERE state = 'active') AS active_sessions "
        "FROM pg_stat_activity WHERE backend_type = 'client backend') s",
        "(SELECT count(*) AS waiting_locks FROM pg_locks WHERE NOT granted) l",
    ]
    if version >= WAL:
        parts.append("(SELECT wal_bytes FROM pg_stat_wal) w")
    return f"SELECT row_to_json(a) FROM (SELECT * FROM {', '.join(parts)}) a"


class PostgresqlMonitor:
    """The server of `part`; `answers` alone is reported while it does not answer."""

    METRICS = by_name(postgresql.METRICS)

    def __init__(self, part: str, control: PostgresqlQueries) -> None:
        self._part = part
        self._control = control
        self._question = ""
        self._rates = CounterRates(_counters(self._status()))

    @classmethod
    def watching(cls, watch: MonitorTargets) -> list[Monitor]:
        """One for each server."""
        return [cls(part, control) for part, control in watch.controls_of(POSTGRESQL.name).items()]

    def sample(self, unix_s: float) -> Iterator[Sample]:
        """Gauges and counters now, rates since they were last reported; sends one statement."""
        status = self._status()
        reported = {"answers": float(bool(status))}
        if status:
            reported |= {name: status[name] for name in PLAIN if name in status}
            rates = self._rates.of(_counters(status))
            hits = rates.pop(HITS, 0.0)
            read = hits + rates.get("blocks_read_per_s", 0.0)
            if read > 0:
                reported["shared_buffer_hits"] = 100.0 * hits / read
            reported |= rates
        for name, value in reported.items():
            yield Sample(unix_s, self._part, name, value)

    def _status(self) -> dict[str, float]:
        """The views' columns; empty while it does not answer."""
        try:
            if not self._question:
                rows = self._control.query("SELECT current_setting('server_version_num')")
                with read_as(self._part, "server_version_num", said("a number")):
                    self._question = question(int(rows[0][0]) // 10_000)
            rows = self._control.query(self._question)
            with read_as(self._part, "pg_stat_database", said("names and figures")):
                return {str(name): float(value) for name, value in rows[0][0].items() if value is not None}
        except LoadstoneError:
            return {}


def _counters(status: Mapping[str, float]) -> dict[str, float]:
    """What only grows: `RATES` by our names, the buffers' hits by the server's."""
    growing = {name: status[theirs] for name, theirs in RATES.items() if theirs in status}
    return growing | ({HITS: status[HITS]} if HITS in status else {})


WATCHING = (PostgresqlMonitor.watching,)
