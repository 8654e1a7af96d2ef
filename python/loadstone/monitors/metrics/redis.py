"""The metrics of Redis: its own names of INFO, but for `answers` and `keys`."""

from loadstone.monitors.metric import (
    ANSWERS,
    Format,
    Metric,
    MetricColumn,
    MetricTable,
    OverNodes,
    Series,
    StudyColumn,
    label,
)
from loadstone.monitors.part_kind import WATCHED, ObservedSoftware, PartKind

PART = "redis"
KIND = PartKind(
    PART,
    store=True,
    threads="one",
    threads_set_by="io-threads",
    connections="connected_clients",
    cpu_counters=("used_cpu_sys", "used_cpu_user"),
    system_counters=("used_cpu_sys",),
    children_counters=("used_cpu_sys_children", "used_cpu_user_children"),
    main_thread_counters=("used_cpu_sys_main_thread", "used_cpu_user_main_thread"),
    disk_file="aof_current_size",
)
TABLE = MetricTable("Redis", (PART, f"{WATCHED}{PART}"))
OWN_CONNECTIONS = 2
"""loadstone's own to each Redis in addition to the load: its control, and its monitor."""

_CHILD = "1 while a child of Redis writes"
_PROCESS_HAS_IT = "process_cpu_seconds_total, of a visible process"
_CHILDREN_HAVE_IT = "process_children_cpu_seconds_total, of a visible process"
_MAIN_THREAD_HAS_IT = "process_main_thread_cores, of a visible process"


def _column(place: int, title: str, text: str, format_: Format = "plain", *, always: bool = True) -> MetricColumn:
    return MetricColumn(TABLE, place, title, text, format_, always)


def _gauge(
    name: str, over_nodes: OverNodes, unit: str, text: str, series: Series | str, column: MetricColumn | None = None,
    *, kept: bool = True,
) -> Metric:  # fmt: skip
    return Metric(name, PART, "gauge", unit, text, series, column, kept=kept, over_nodes=over_nodes)


def _counter(name: str, over_nodes: OverNodes, unit: str, text: str, series: Series | str) -> Metric:
    return Metric(name, PART, "counter", unit, f"{text} since the server began", series, over_nodes=over_nodes)


METRICS = (
    ANSWERS,
    _gauge(
        "connected_clients", "sum", "connections", "open connections, with loadstone's own",
        Series("redis_connections", "Connections to Redis, loadstone's own for control among them"),
        _column(1, "connections", "Connections, loadstone's own two among them."),
    ),
    _gauge(
        "blocked_clients", "sum", "connections", "clients that wait in a blocking command",
        Series("redis_blocked_clients", "Clients of Redis that wait in a blocking command"),
    ),
    _counter("rejected_connections", "sum", "connections", "connections that it refused",
             Series("redis_rejected_connections", "Connections that Redis refused")),
    _counter("total_connections_received", "sum", "connections", "connections that it accepted",
             Series("redis_connections_received", "Connections to Redis")),
    _counter("total_commands_processed", "sum", "commands", "commands that it processed",
             Series("redis_commands", "Commands that Redis processed")),
    _gauge("instantaneous_ops_per_sec", "sum", "commands/s", "commands that it processed, as it reports",
           "the rate of redis_commands_total", _column(2, "commands /s", "Commands that it carried out.")),
    _gauge("instantaneous_input_kbps", "sum", "KiB/s", "read from clients, as it reports",
           "the rate of redis_received_bytes_total"),
    _gauge("instantaneous_output_kbps", "sum", "KiB/s", "sent to clients, as it reports",
           "the rate of redis_sent_bytes_total"),
    _counter("total_net_input_bytes", "sum", "bytes", "bytes that it read from clients",
             Series("redis_received_bytes", "Bytes that Redis read from clients")),
    _counter("total_net_output_bytes", "sum", "bytes", "bytes that it sent to clients",
             Series("redis_sent_bytes", "Bytes that Redis sent to clients")),
    _counter("total_error_replies", "sum", "replies", "errors that it answered with",
             Series("redis_error_replies", "Errors that Redis answered with")),
    _counter("keyspace_hits", "sum", "reads", "reads of keys that were there",
             Series("redis_keyspace_hits", "Reads of keys that were there")),
    _counter("keyspace_misses", "sum", "reads", "reads of keys that were not there",
             Series("redis_keyspace_misses", "Reads of keys that were not there")),
    _counter("evicted_keys", "sum", "keys", "keys evicted because memory was full",
             Series("redis_evicted_keys", "Keys evicted because memory was full")),
    _counter("expired_keys", "sum", "keys", "keys removed because their time was over",
             Series("redis_expired_keys", "Keys removed because their time was over")),
    _gauge("keys", "sum", "keys", "keys in all databases", Series("redis_keys", "Keys in all databases"), kept=False),
    _gauge(
        "used_memory", "sum", "bytes", "memory that it uses", Series("redis_memory_bytes", "Memory that Redis uses"),
        _column(3, "memory of the data", "Memory in use, as it reports.", "size"),
    ),
    _gauge("used_memory_rss", "sum", "bytes", "resident memory",
           Series("redis_resident_memory_bytes", "Memory that Redis has of the system")),
    _gauge("maxmemory", "sum", "bytes", "memory that it may use; 0 without a limit",
           Series("redis_memory_limit_bytes", "Memory that Redis may use; 0 without a limit"), kept=False),
    _gauge("mem_fragmentation_ratio", "highest", "ratio", "resident memory over used memory",
           Series("redis_memory_fragmentation_ratio", "Memory of the system over memory in use")),
    _counter("used_cpu_sys", "sum", "s", "system time of all its threads", _PROCESS_HAS_IT),
    _counter("used_cpu_user", "sum", "s", "user time of all its threads", _PROCESS_HAS_IT),
    _counter("used_cpu_sys_children", "sum", "s", "system time of its children that ended", _CHILDREN_HAVE_IT),
    _counter("used_cpu_user_children", "sum", "s", "user time of its children that ended", _CHILDREN_HAVE_IT),
    _counter("used_cpu_sys_main_thread", "highest", "s", "system time of its main thread", _MAIN_THREAD_HAS_IT),
    _counter("used_cpu_user_main_thread", "highest", "s", "user time of its main thread", _MAIN_THREAD_HAS_IT),
    _gauge("loading", "highest", "1 or 0", "1 while it loads its data",
           Series("redis_loading", "1 while Redis loads its data"), kept=False),
    _gauge("rdb_bgsave_in_progress", "highest", "1 or 0", "1 while a snapshot is saved",
           Series("redis_background_save", _CHILD, label("kind", "snapshot")),
           _column(8, "snapshots", "1 while a snapshot is saved.", always=False)),
    _gauge("aof_rewrite_in_progress", "highest", "1 or 0", "1 while the append-only file is rewritten",
           Series("redis_background_save", _CHILD, label("kind", "rewrite")),
           _column(7, "rewrites", "1 while the append-only file is rewritten.", always=False)),
    _counter("aof_delayed_fsync", "sum", "writes", "writes that waited for an fsync",
             Series("redis_aof_delayed_fsyncs", "Writes that waited for an fsync")),
    _gauge("aof_current_size", "sum", "bytes", "size of the append-only files",
           Series("redis_aof_bytes", "Size of the append-only files"),
           _column(4, "AOF", "Size of the append-only files.", "size", always=False)),
    _gauge("aof_buffer_length", "sum", "bytes", "bytes that wait to be written to the append-only file",
           Series("redis_aof_buffer_bytes", "Bytes that wait to be written to the append-only file"),
           _column(5, "AOF to write", "Waiting to be written to the append-only file.", "size", always=False)),
    _gauge("aof_pending_bio_fsync", "sum", "fsyncs", "calls of fsync that wait in the background",
           Series("redis_aof_pending_fsyncs", "Calls of fsync that wait in the background"),
           _column(6, "fsyncs waiting", "In the background.", always=False)),
    _gauge("latest_fork_usec", "highest", "us", "how long the latest fork took",
           Series("redis_latest_fork_seconds", "How long the latest fork took", scale=1e-6)),
    _counter("total_forks", "sum", "forks", "forks", Series("redis_forks", "Forks of Redis")),
    _gauge("connected_slaves", "sum", "replicas", "Redis servers that follow it",
           Series("redis_replicas", "Redis servers that follow this one"),
           _column(9, "replicas", "Redis servers that follow it.", always=False)),
)  # fmt: skip
STUDY_COLUMNS = (
    StudyColumn(
        "redis_cpu", "Redis CPU", "CPU of Redis, average and maximum; 100 % is one core.",
        PART, "cpu_share", "average_and_maximum", "percent", drop=3,
    ),
    StudyColumn(
        "connections", "connections",
        "The most connections to Redis, without loadstone's own two; not known where Redis is not ours.",
        PART, "connected_clients", "maximum", "count", drop=2, own=OWN_CONNECTIONS,
    ),
)  # fmt: skip
OBSERVED = ObservedSoftware(METRICS, (KIND,), study_columns=STUDY_COLUMNS)
