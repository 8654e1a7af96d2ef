"""The metrics of a JVM, out of what Micrometer tells of it at Spring Boot's `/actuator/prometheus`."""

from loadstone.monitors.metric import Format, Metric, MetricColumn, MetricKind, MetricTable, Series, label
from loadstone.monitors.part_kind import LockMetrics, ObservedSoftware, PoolMetrics

PART = "jvm"
TABLE = MetricTable("The application's JVM", ("subject",))
POOLS = (
    PoolMetrics("hikari", "hikari_active", "hikari_idle", "hikari_pending"),
    PoolMetrics("redis_pool", "redis_pool_active", "redis_pool_idle", "redis_pool_pending"),
)

_MEMORY = ("jvm_memory_bytes", "Memory of the JVM")
_POOL = ("pool_connections", "Connections of a pool of the subject")
_WAITING = ("pool_waiting_threads", "Threads of the subject that wait for a connection of a pool")


def _column(place: int, title: str, text: str, format_: Format = "plain") -> MetricColumn:
    return MetricColumn(TABLE, place, title, text, format_)


def _metric(
    name: str, kind: MetricKind, unit: str, text: str, series: Series | str, column: MetricColumn | None = None
) -> Metric:
    return Metric(name, PART, kind, unit, text, series, column)


def _pool(name: str, database: str, state: str, text: str, column: MetricColumn | None = None) -> Metric:
    """Connections of a pool in a state."""
    series = Series(*_POOL, (("pool", database), ("state", state)))
    return _metric(name, "gauge", "connections", text, series, column)


METRICS = (
    Metric("jvm_answers", PART, "gauge", "1 or 0", "1 while the JVM answers its monitor",
           Series("jvm_up", "1 while the JVM answers"), kept=False),
    _metric("heap_used_bytes", "gauge", "bytes", "memory of its objects", Series(*_MEMORY, label("kind", "heap")),
            _column(1, "heap", "Memory of its objects.", "size")),
    _metric("heap_committed_bytes", "gauge", "bytes", "memory of its heap",
            Series(*_MEMORY, label("kind", "heap committed"))),
    _metric("nonheap_used_bytes", "gauge", "bytes", "memory of code and classes",
            Series(*_MEMORY, label("kind", "other"))),
    _metric("jvm_threads", "gauge", "threads", "threads of Java", Series("jvm_threads", "Threads of Java"),
            _column(4, "threads", "Threads of Java.")),
    _metric("jvm_blocked", "gauge", "threads", "threads that wait for the lock of an object (`synchronized`)",
            Series("jvm_blocked_threads", "Threads that wait for the lock of an object")),
    _metric("gc_pause_count", "counter", "pauses", "pauses of the garbage collector since the JVM began",
            Series("jvm_gc_pauses", "Pauses of the garbage collector")),
    _metric("gc_pause_s", "counter", "s", "time in pauses of the garbage collector since the JVM began",
            Series("jvm_gc_pause_seconds", "Time in pauses of the garbage collector")),
    _metric("gc_pauses_per_s", "rate", "pauses/s", "pauses of the garbage collector",
            "the rate of jvm_gc_pauses_total"),
    _metric("gc_pause_share", "rate", "share of the time", "in pauses of the garbage collector",
            "the rate of jvm_gc_pause_seconds_total",
            _column(2, "GC, of the time", "Share of the time in pauses of the garbage collector.", "percent")),
    _metric("gc_pause_max_s", "gauge", "s", "the longest pause of the last minutes",
            Series("jvm_gc_longest_pause_seconds", "The longest pause of the last minutes"),
            _column(3, "longest GC", "The longest pause of the last minutes.", "seconds")),
    _pool("hikari_active", "database", "active", "of its pool to the database, in use",
          _column(7, "MariaDB pool active", "Connections to MariaDB in use.")),
    _pool("hikari_idle", "database", "idle", "of its pool to the database, free"),
    _metric("hikari_pending", "gauge", "threads", "threads that wait for a connection to the database",
            Series(*_WAITING, label("pool", "database")),
            _column(8, "MariaDB pool pending", "Threads that wait for a connection to MariaDB.")),
    _pool("redis_pool_active", "redis", "active", "of the pool of Lettuce or Jedis, in use",
          _column(9, "Redis pool active", "Connections of Jedis' or Lettuce's pool in use.")),
    _pool("redis_pool_idle", "redis", "idle", "of the pool of Lettuce or Jedis, free"),
    _metric("redis_pool_pending", "gauge", "threads", "threads that wait for a connection of the pool of Lettuce or "
            "Jedis",
            Series(*_WAITING, label("pool", "redis")),
            _column(10, "Redis pool pending", "Threads that wait for one of that pool.")),
    _metric("tomcat_busy", "gauge", "threads", "threads that work on a request, this query's among them",
            Series("tomcat_busy_threads", "Threads of Tomcat that work on a request"),
            _column(5, "requests at work", "Threads of Tomcat that work on a request.")),
    _metric("tomcat_threads", "gauge", "threads", "threads for requests",
            Series("tomcat_threads", "Threads of Tomcat for requests")),
    _metric("tomcat_connections", "gauge", "connections", "connections from clients",
            Series("tomcat_connections", "Connections to Tomcat"),
            _column(6, "clients", "Connections from clients.")),
)  # fmt: skip
OBSERVED = ObservedSoftware(METRICS, pools=POOLS, locks=(LockMetrics("jvm_blocked"),))
