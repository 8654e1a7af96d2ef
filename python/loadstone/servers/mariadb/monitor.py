"""A MariaDB (or MySQL) server as its SHOW GLOBAL STATUS reports it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from loadstone.experiment.software import MARIADB
from loadstone.monitors.metric import by_name
from loadstone.monitors.metrics import mariadb
from loadstone.monitors.monitor import CounterRates, Monitor, Sample
from loadstone.monitors.watch import MonitorTargets
from loadstone.safety.bounds.replies import read_as
from loadstone.safety.errors import LoadstoneError
from loadstone.text.message import said

ROWS_READ = tuple(
    f"Handler_read_{way}" for way in ("first", "key", "last", "next", "prev", "rnd", "rnd_deleted", "rnd_next")
)
RATES: dict[str, tuple[str, ...]] = {
    "queries_per_s": ("Queries",),
    "selects_per_s": ("Com_select", "Qcache_hits"),
    "writes_per_s": ("Com_insert", "Com_insert_select", "Com_update", "Com_delete", "Com_replace"),
    "commits_per_s": ("Com_commit",),
    "query_cache_hits_per_s": ("Qcache_hits",),
    "rows_inserted_per_s": ("Handler_write",),
    "rows_read_per_s": ROWS_READ,
    "rows_updated_per_s": ("Handler_update",),
    "rows_deleted_per_s": ("Handler_delete",),
    "row_lock_waits_per_s": ("Innodb_row_lock_waits",),
    "disk_reads_per_s": ("Innodb_data_reads",),
    "disk_writes_per_s": ("Innodb_data_writes",),
    "fsyncs_per_s": ("Innodb_data_fsyncs",),
    "disk_read_bytes_per_s": ("Innodb_data_read",),
    "disk_written_bytes_per_s": ("Innodb_data_written",),
    "log_written_bytes_per_s": ("Innodb_os_log_written",),
    "received_bytes_per_s": ("Bytes_received",),
    "sent_bytes_per_s": ("Bytes_sent",),
}
"""Rate -> the server's counters whose sum it is of. A server that has none of them does not report the rate."""
GAUGES = {
    "threads_connected": "Threads_connected",
    "threads_running": "Threads_running",
    "buffer_pool_data_bytes": "Innodb_buffer_pool_bytes_data",
    "buffer_pool_dirty_bytes": "Innodb_buffer_pool_bytes_dirty",
}
POOL_REQUESTS = "Innodb_buffer_pool_read_requests"
POOL_MISSES = "Innodb_buffer_pool_reads"
NAMES = sorted({name for names in RATES.values() for name in names} | {*GAUGES.values(), POOL_REQUESTS, POOL_MISSES})
QUESTION = f"SHOW GLOBAL STATUS WHERE Variable_name IN ({', '.join(repr(name) for name in NAMES)})"


class MariaDbQueries(Protocol):
    """What the monitor needs of a control; `MariaDbControl` is one."""

    def query(self, sql: str) -> Sequence[Sequence[Any]]:
        """The rows of the answer, each the values of its columns; ServerGone if there is none."""


class MariaDbMonitor:
    """The server of `part`; `answers` alone is reported while it does not answer."""

    METRICS = by_name(mariadb.METRICS)

    def __init__(self, part: str, control: MariaDbQueries) -> None:
        self._part = part
        self._control = control
        self._rates = CounterRates(_counters(self._status()))

    @classmethod
    def watching(cls, watch: MonitorTargets) -> list[Monitor]:
        """One for each server."""
        return [cls(part, control) for part, control in watch.controls_of(MARIADB.name).items()]

    def sample(self, unix_s: float) -> Iterator[Sample]:
        """Gauges now, rates since they were last reported; sends one statement."""
        status = self._status()
        reported = {"answers": float(bool(status))}
        if status:
            reported |= {name: status[theirs] for name, theirs in GAUGES.items() if theirs in status}
            rates = self._rates.of(_counters(status))
            requests = rates.pop(POOL_REQUESTS, 0.0)
            misses = rates.pop(POOL_MISSES, 0.0)
            if requests > 0:
                reported["buffer_pool_hits"] = 100.0 * max(0.0, 1.0 - misses / requests)
            reported |= rates
        for name, value in reported.items():
            yield Sample(unix_s, self._part, name, value)

    def _status(self) -> dict[str, float]:
        """The server's own names and values; empty while it does not answer."""
        try:
            rows = self._control.query(QUESTION)
            with read_as(self._part, "SHOW GLOBAL STATUS", said("names and figures")):
                return {str(name): float(value) for name, value in rows}
        except LoadstoneError:
            return {}


def _counters(status: Mapping[str, float]) -> dict[str, float]:
    """What only grows: `RATES` by our names, the buffer pool's by the server's."""
    sums = {
        name: sum(status.get(theirs, 0.0) for theirs in counters)
        for name, counters in RATES.items()
        if any(theirs in status for theirs in counters)
    }
    return sums | {name: status[name] for name in (POOL_REQUESTS, POOL_MISSES) if name in status}


WATCHING = (MariaDbMonitor.watching,)
