"""The metrics of MariaDB, out of its SHOW GLOBAL STATUS."""

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

PART = "mariadb"
KIND = PartKind(
    PART,
    store=True,
    threads="many",
    shows_machine=True,
    connections="threads_connected",
    disk_rates=("disk_reads_per_s", "disk_writes_per_s", "fsyncs_per_s"),
    fsyncs="fsyncs_per_s",
)
TABLE = MetricTable("MariaDB", (PART,))

_POOL = ("mariadb_buffer_pool_bytes", "Pages in MariaDB's buffer pool, and those among them that wait to be written")
_STATEMENTS = ("mariadb_statements_per_second", "Statements that MariaDB carried out")
_ROWS = ("mariadb_rows_per_second", "Rows that MariaDB handled")
_FILES = ("mariadb_disk_operations_per_second", "What MariaDB did with InnoDB's files")
_FILE_BYTES = (
    "mariadb_disk_bytes_per_second",
    "Bytes that MariaDB read from and wrote to InnoDB's files, and to its redo log",
)
_CLIENTS = ("mariadb_network_bytes_per_second", "Bytes between MariaDB and its clients")


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
        "threads_connected", "gauge", "connections", "open connections, with loadstone's own",
        Series("mariadb_connections", "Connections to MariaDB, loadstone's own among them"),
        _column(1, "connections", "Connections, loadstone's own two among them."),
    ),
    _metric(
        "threads_running", "gauge", "threads", "threads that work on a statement, this query's among them",
        Series("mariadb_running_threads", "Threads of MariaDB that work on a statement"),
        _column(2, "working", "Threads that work on a statement."),
    ),
    _metric("buffer_pool_data_bytes", "gauge", "bytes", "part of the buffer pool that holds pages",
            Series(*_POOL, label("kind", "data"))),
    _metric("buffer_pool_dirty_bytes", "gauge", "bytes", "part of the buffer pool that waits to be written",
            Series(*_POOL, label("kind", "dirty"))),
    _metric(
        "buffer_pool_hits", "rate", "% of the reads of pages",
        "found in the buffer pool",
        Series("mariadb_buffer_pool_hit_ratio", "Share of the reads of pages that found them in memory", scale=PERCENT),
        _column(3, "buffer pool hits", "Reads of pages that found them in memory.", "hit_rate"),
    ),
    _metric("queries_per_s", "rate", "statements/s", "statements of all kinds",
            Series("mariadb_queries_per_second", "Statements of every kind")),
    _metric("selects_per_s", "rate", "statements/s", "SELECT, with those of the query cache",
            Series(*_STATEMENTS, label("kind", "select"))),
    _metric("writes_per_s", "rate", "statements/s", "INSERT, UPDATE, DELETE and REPLACE",
            Series(*_STATEMENTS, label("kind", "write"))),
    _metric("commits_per_s", "rate", "statements/s", "COMMIT, without autocommit",
            Series(*_STATEMENTS, label("kind", "commit"))),
    _metric(
        "query_cache_hits_per_s", "rate", "statements/s", "SELECT answered from the query cache",
        Series("mariadb_query_cache_hits_per_second", "Answered from the query cache"),
        _column(11, "query cache hits /s", "Answered from the query cache.", always=False),
    ),
    _metric("rows_inserted_per_s", "rate", "rows/s", "rows inserted", Series(*_ROWS, label("kind", "inserted")),
            _WRITTEN),
    _metric("rows_read_per_s", "rate", "rows/s", "rows read from a storage engine",
            Series(*_ROWS, label("kind", "read")),
            _column(4, "rows read /s", "Rows that it read from its storage.")),
    _metric("rows_updated_per_s", "rate", "rows/s", "rows updated", Series(*_ROWS, label("kind", "updated")), _WRITTEN),
    _metric("rows_deleted_per_s", "rate", "rows/s", "rows deleted", Series(*_ROWS, label("kind", "deleted")), _WRITTEN),
    _metric(
        "row_lock_waits_per_s", "rate", "waits/s", "waits for a row that another transaction had locked",
        Series("mariadb_row_lock_waits_per_second", "Waits for a row that another one had locked"),
        _column(10, "lock waits /s", "For a row that another transaction had locked.", always=False),
    ),
    _metric("disk_reads_per_s", "rate", "reads/s", "reads of InnoDB's files", Series(*_FILES, label("kind", "read")),
            _column(6, "disk reads /s", "Reads of InnoDB's files.")),
    _metric("disk_writes_per_s", "rate", "writes/s", "writes to InnoDB's files",
            Series(*_FILES, label("kind", "write")),
            _column(7, "disk writes /s", "Writes to InnoDB's files.")),
    _metric("fsyncs_per_s", "rate", "fsyncs/s", "calls of fsync on InnoDB's files",
            Series(*_FILES, label("kind", "fsync")),
            _column(8, "fsyncs /s", "Calls of fsync on InnoDB's files.")),
    _metric("disk_read_bytes_per_s", "rate", "bytes/s", "read from InnoDB's files",
            Series(*_FILE_BYTES, label("kind", "read"))),
    _metric("disk_written_bytes_per_s", "rate", "bytes/s", "written to InnoDB's files",
            Series(*_FILE_BYTES, label("kind", "written"))),
    _metric("log_written_bytes_per_s", "rate", "bytes/s", "written to the redo log",
            Series(*_FILE_BYTES, label("kind", "redo log")),
            _column(9, "redo log /s", "Written to the redo log.", "size")),
    _metric("received_bytes_per_s", "rate", "bytes/s", "received from clients",
            Series(*_CLIENTS, label("direction", "received"))),
    _metric("sent_bytes_per_s", "rate", "bytes/s", "sent to clients", Series(*_CLIENTS, label("direction", "sent"))),
)  # fmt: skip
STUDY_COLUMNS = (
    StudyColumn(
        "mariadb_reads", "MariaDB reads/s", "Rows a second that MariaDB read from its storage, on average.",
        PART, "rows_read_per_s", "average", "rate", drop=3,
    ),
)  # fmt: skip
OBSERVED = ObservedSoftware(METRICS, (KIND,), study_columns=STUDY_COLUMNS)
