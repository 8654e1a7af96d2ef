"""The metrics of memcached: its own names of `stats`, but for `answers` and `item_bytes`."""

from loadstone.monitors.metric import ANSWERS, Format, Metric, MetricColumn, MetricTable, Series, StudyColumn, label
from loadstone.monitors.part_kind import ObservedSoftware, PartKind

PART = "memcached"
KIND = PartKind(
    PART,
    store=True,
    threads="many",
    threads_set_by="threads",
    connections="curr_connections",
    cpu_counters=("rusage_system", "rusage_user"),
    system_counters=("rusage_system",),
)
TABLE = MetricTable("memcached", (PART,))

_PROCESS_HAS_IT = "process_cpu_seconds_total, of a visible process"
_READS = ("memcached_reads", "Keys that were read")


def _column(place: int, title: str, text: str, format_: Format = "plain", *, always: bool = True) -> MetricColumn:
    return MetricColumn(TABLE, place, title, text, format_, always)


def _gauge(
    name: str, unit: str, text: str, series: Series | str, column: MetricColumn | None = None, *, kept: bool = True
) -> Metric:
    return Metric(name, PART, "gauge", unit, text, series, column, kept=kept)


def _counter(name: str, unit: str, text: str, series: Series | str) -> Metric:
    return Metric(name, PART, "counter", unit, f"{text} since the server began", series)


METRICS = (
    ANSWERS,
    _gauge(
        "curr_connections", "connections", "open connections, with loadstone's own",
        Series("memcached_connections", "Connections to memcached, loadstone's own among them"),
        _column(1, "connections", "Connections, loadstone's own two among them."),
    ),
    _counter("cmd_get", "commands", "reads of a key", Series("memcached_gets", "Reads of a key")),
    _counter("cmd_set", "commands", "writes of a key", Series("memcached_sets", "Writes of a key")),
    _counter("get_hits", "reads", "reads of keys that were there", Series(*_READS, label("found", "yes"))),
    _counter("get_misses", "reads", "reads of keys that were not there", Series(*_READS, label("found", "no"))),
    _counter("delete_hits", "commands", "keys deleted", Series("memcached_deletes", "Keys deleted")),
    _counter("evictions", "keys", "keys evicted because memory was full",
             Series("memcached_evicted_keys", "Keys evicted because memory was full")),
    _gauge("curr_items", "keys", "keys that it holds", Series("memcached_keys", "Keys that memcached holds"),
           kept=False),
    _gauge("item_bytes", "bytes", "memory that its items take",
           Series("memcached_item_bytes", "Memory that the items of memcached take"),
           _column(2, "memory of the data", "Memory that its items take.", "size")),
    _gauge("limit_maxbytes", "bytes", "memory that its items may take",
           Series("memcached_memory_limit_bytes", "Memory that the items of memcached may take"), kept=False),
    _counter("bytes_read", "bytes", "bytes that it read from clients",
             Series("memcached_received_bytes", "Bytes that memcached read from clients")),
    _counter("bytes_written", "bytes", "bytes that it sent to clients",
             Series("memcached_sent_bytes", "Bytes that memcached sent to clients")),
    _counter("total_connections", "connections", "connections that it accepted",
             Series("memcached_connections_received", "Connections to memcached")),
    _counter("listen_disabled_num", "times", "times that it accepted no connection because it had too many",
             Series("memcached_connections_full", "Times that memcached had too many connections")),
    _counter("conn_yields", "times", "times that a connection let others have their turn (max-reqs-per-event)",
             Series("memcached_connection_yields", "Times that a connection let others have their turn")),
    _counter("rusage_system", "s", "system time of all its threads", _PROCESS_HAS_IT),
    _counter("rusage_user", "s", "user time of all its threads", _PROCESS_HAS_IT),
)  # fmt: skip
STUDY_COLUMNS: tuple[StudyColumn, ...] = ()
OBSERVED = ObservedSoftware(METRICS, (KIND,), study_columns=STUDY_COLUMNS)
