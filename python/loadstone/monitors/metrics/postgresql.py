"""The metrics of PostgreSQL, out of its statistics views. Those of databases are of all its databases together."""

from loadstone.monitors.metric import (
    ANSWERS,
    PERCENT,
    Format,
    Metric,
    MetricColumn,
    MetricKind,
    MetricTable,
    Series,
    StudyColumn,
    label,
)
from loadstone.monitors.part_kind import ObservedSoftware, PartKind

PART = "postgresql"
KIND = PartKind(
    PART,
    store=True,
    threads="many",
    many_processes=True,
    shows_machine=True,
    connections="client_sessions",
)
TABLE = MetricTable("PostgreSQL", (PART,))

_ROWS = ("postgresql_rows_per_second", "Rows that PostgreSQL handled")
_ENDS = ("postgresql_transactions_per_second", "Transactions that ended in PostgreSQL")
_CHECKPOINTS = ("postgresql_checkpoints", "Checkpoints since its statistics began")


def _column(place: int, title: str, text: str, format_: Format = "plain", *, always: bool = True) -> MetricColumn:
    return MetricColumn(TABLE, place, title, text, format_, always)


_WRITTEN = _column(5, "rows written /s", "Rows inserted, updated and deleted.")


def _metric(
    name: str, kind: MetricKind, unit: str, text: str, series: Series, column: MetricColumn | None = None
) -> Metric:
    return Metric(name, PART, kind, unit, text, series, column)


METRICS = (
    ANSWERS,
    _metric(
        "client_sessions", "gauge", "connections", "open connections, with loadstone's own",
        Series("postgresql_connections", "Connections to PostgreSQL, loadstone's own among them"),
        _column(1, "connections", "Connections, loadstone's own two among them."),
    ),
    _metric(
        "active_sessions", "gauge", "connections", "connections that work on a statement, the one that answers this "
        "among them",
        Series("postgresql_active_connections", "Connections of PostgreSQL that work on a statement"),
        _column(2, "working", "Connections that work on a statement."),
    ),
    _metric(
        "waiting_locks", "gauge", "locks", "locks that are waited for",
        Series("postgresql_waiting_locks", "Locks that are waited for"),
        _column(10, "lock waits", "Locks that are waited for.", always=False),
    ),
    _metric(
        "shared_buffer_hits", "rate", "% of the reads of blocks",
        "found in the shared buffers",
        Series("postgresql_buffer_hit_ratio", "Share of the reads of blocks that found them in memory", scale=PERCENT),
        _column(3, "buffer hits", "Reads of blocks that found them in the shared buffers.", "hit_rate"),
    ),
    _metric("transactions_committed_per_s", "rate", "transactions/s", "commits, each statement of its own among them",
            Series(*_ENDS, label("end", "commit"))),
    _metric("transactions_rolled_back_per_s", "rate", "transactions/s", "transactions that were rolled back",
            Series(*_ENDS, label("end", "rollback"))),
    _metric("tuples_read_per_s", "rate", "rows/s", "rows read from tables and indexes",
            Series(*_ROWS, label("kind", "read")),
            _column(4, "rows read /s", "Rows that it read from tables and indexes.")),
    _metric("tuples_inserted_per_s", "rate", "rows/s", "rows inserted", Series(*_ROWS, label("kind", "inserted")),
            _WRITTEN),
    _metric("tuples_updated_per_s", "rate", "rows/s", "rows updated", Series(*_ROWS, label("kind", "updated")),
            _WRITTEN),
    _metric("tuples_deleted_per_s", "rate", "rows/s", "rows deleted", Series(*_ROWS, label("kind", "deleted")),
            _WRITTEN),
    _metric("blocks_read_per_s", "rate", "blocks/s", "blocks of 8 kB that were not in the shared buffers",
            Series("postgresql_blocks_read_per_second", "Blocks that were not in the shared buffers"),
            _column(6, "blocks read /s", "Blocks of 8 kB that were not in its shared buffers.")),
    _metric("wal_written_bytes_per_s", "rate", "bytes/s", "written to the write-ahead log (from version 14 on)",
            Series("postgresql_wal_bytes_per_second", "Bytes of the write-ahead log"),
            _column(7, "log /s", "Written to the write-ahead log.", "size")),
    _metric("spilled_bytes_per_s", "rate", "bytes/s", "written to temporary files, for which work_mem was too small",
            Series("postgresql_temporary_bytes_per_second", "Bytes of temporary files"),
            _column(8, "temporary files /s", "Written to temporary files.", "size", always=False)),
    _metric("checkpoints_timed", "counter", "checkpoints", "checkpoints after checkpoint_timeout",
            Series(*_CHECKPOINTS, label("cause", "time"))),
    _metric("checkpoints_requested", "counter", "checkpoints",
            "checkpoints for another reason: the log reached max_wal_size, or someone requested one",
            Series(*_CHECKPOINTS, label("cause", "request"))),
    _metric("deadlocks", "counter", "deadlocks", "transactions that were ended because of a deadlock",
            Series("postgresql_deadlocks", "Transactions that were ended because of a deadlock")),
)  # fmt: skip
STUDY_COLUMNS: tuple[StudyColumn, ...] = ()
OBSERVED = ObservedSoftware(METRICS, (KIND,), study_columns=STUDY_COLUMNS)
