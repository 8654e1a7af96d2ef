"""The metrics of a Node process, out of what it exposes by the names of prom-client, and of its process."""

from loadstone.monitors.metric import Format, Metric, MetricColumn, MetricKind, MetricTable, Series, StudyColumn, label
from loadstone.monitors.part_kind import ObservedSoftware

PART = "node"
TABLE = MetricTable("The application's Node processes", ("subject",))

_DELAY = ("node_event_loop_delay_seconds", "How late timers fired")
_MEMORY = ("node_memory_bytes", "Memory of a Node process")
_CACHE = ("node_cache_gets_per_second", "Looks into the application's own cache")


def _metric(
    name: str,
    kind: MetricKind,
    unit: str,
    text: str,
    series: Series | str,
    place: int = 0,
    title: str = "",
    format_: Format = "plain",
    always: bool = True,
) -> Metric:
    column = MetricColumn(TABLE, place, title, f"{text[0].upper()}{text[1:]}.", format_, always) if title else None
    return Metric(name, PART, kind, unit, text, series, column)


METRICS = (
    Metric("node_answers", PART, "gauge", "1 or 0", "1 while the process answers its monitor",
           Series("node_up", "1 while the Node process answers"), kept=False),
    _metric("node_cpu_share", "rate", "cores", "user and system time of a worker",
            Series("node_cpu_cores", "CPUs that the worker took over the last second"), 1, "CPU", "percent"),
    _metric("event_loop_busy_share", "rate", "share of the time", "its event loop was busy",
            Series("node_event_loop_busy_ratio", "Share of the time in which the event loop was busy"), 2,
            "event loop busy", "percent"),
    _metric("event_loop_delay_mean_s", "rate", "s", "how late timers fired, on average",
            Series(*_DELAY, label("figure", "mean")), 3, "event loop delay", "seconds"),
    _metric("event_loop_delay_p99_s", "rate", "s", "how late timers fired, 99th percentile",
            Series(*_DELAY, label("figure", "p99")), 4, "delay P99", "seconds"),
    _metric("event_loop_delay_max_s", "rate", "s", "how late timers fired, at most",
            Series(*_DELAY, label("figure", "max"))),
    _metric("node_heap_used_bytes", "gauge", "bytes", "memory of its objects",
            Series(*_MEMORY, label("kind", "heap")), 5, "heap", "size"),
    _metric("node_heap_total_bytes", "gauge", "bytes", "memory of its heap",
            Series(*_MEMORY, label("kind", "heap committed"))),
    _metric("node_rss_bytes", "gauge", "bytes", "resident memory", Series(*_MEMORY, label("kind", "resident")), 6,
            "memory", "size"),
    _metric("node_gc_count", "counter", "collections", "garbage collections since the process began",
            Series("node_gc_runs", "Garbage collections")),
    _metric("node_gc_s", "counter", "s", "time in garbage collections since the process began",
            Series("node_gc_seconds", "Time in garbage collections")),
    _metric("node_gc_per_s", "rate", "collections/s", "garbage collections", "the rate of node_gc_runs_total"),
    _metric("node_gc_share", "rate", "share of the time", "share of the time in garbage collections",
            "the rate of node_gc_seconds_total", 7, "GC, of the time", "percent"),
    _metric("cache_hits_per_s", "rate", "reads/s", "reads that its cache answered",
            Series(*_CACHE, label("result", "hit")), 8, "cache hits /s", always=False),
    _metric("cache_misses_per_s", "rate", "reads/s", "reads that its cache could not answer",
            Series(*_CACHE, label("result", "miss")), 9, "cache misses /s", always=False),
    _metric("cache_hit_share", "rate", "share of the reads", "share of the reads that its cache answered",
            "the rates of node_cache_gets_per_second", 10, "hit rate", "percent", always=False),
)  # fmt: skip
STUDY_COLUMNS = (
    StudyColumn(
        "cache_hit_rate", "cache hit rate", "Reads that the application's cache answered, of all reads from it.",
        "subject", "cache_hit_share", "mean", "percent", drop=3,
    ),
    StudyColumn(
        "cache_hits", "cache hits /s", "Reads a second that the application's cache answered.",
        "subject", "cache_hits_per_s", "average", "rate", drop=4,
    ),
    StudyColumn(
        "cache_misses", "cache misses /s",
        "Reads a second that the application's cache could not answer.",
        "subject", "cache_misses_per_s", "average", "plain", drop=4,
    ),
    StudyColumn(
        "event_loop_delay", "event loop delay",
        "How late timers fired in the application's processes, on average: so long what is due waits for the thread.",
        "subject", "event_loop_delay_mean_s", "mean", "seconds", drop=4,
    ),
)  # fmt: skip
OBSERVED = ObservedSoftware(METRICS, study_columns=STUDY_COLUMNS)
