"""What monitors tell, by the names that Prometheus's users expect: base units, `_total` for what only grows."""

from typing import NamedTuple


class Series(NamedTuple):
    """What a monitor's metric is called for Prometheus, and by how much its value is multiplied."""

    name: str
    """Without the `_total` that a counter ends in."""
    help: str
    scale: float = 1.0
    labels: tuple[tuple[str, str], ...] = ()
    counter: bool = False


KIB = 1024.0
PERCENT = 0.01
_MODE = "Share of the time of all CPUs that they spent so"
_MEMORY = "Memory of the host"
_SWAP = "Memory swapped in and out"
_BLOCKS = "Bytes read from and written to block devices"
_STATEMENTS = "Statements that MariaDB carried out"
_ROWS = "Rows that MariaDB handled"
_POOL = "Connections of a pool of the subject"
_WAITING = "Threads of the subject that wait for a connection of a pool"


def _of(label: str, value: str) -> tuple[tuple[str, str], ...]:
    return ((label, value),)


SERIES: dict[str, Series] = {
    # each process
    "alive": Series("process_up", "1 while the process lives"),
    "cpu_s": Series("process_cpu_seconds", "User and system time of the process", counter=True),
    "cpu_share": Series("process_cpu_cores", "CPUs that the process took over the last second"),
    "rss_bytes": Series("process_resident_memory_bytes", "Memory of the process"),
    "threads": Series("process_threads", "Threads of the process"),
    "fds": Series("process_open_fds", "Open files of the process, sockets among them"),
    "sockets": Series("process_sockets", "Open sockets of the process"),
    "voluntary_per_s": Series(
        "process_context_switches_per_second", "Context switches of all threads", 1.0, _of("kind", "voluntary")
    ),
    "involuntary_per_s": Series(
        "process_context_switches_per_second", "Context switches of all threads", 1.0, _of("kind", "involuntary")
    ),
    # the host
    "us": Series("host_cpu_ratio", _MODE, PERCENT, _of("mode", "user")),
    "sy": Series("host_cpu_ratio", _MODE, PERCENT, _of("mode", "system")),
    "id": Series("host_cpu_ratio", _MODE, PERCENT, _of("mode", "idle")),
    "wa": Series("host_cpu_ratio", _MODE, PERCENT, _of("mode", "iowait")),
    "st": Series("host_cpu_ratio", _MODE, PERCENT, _of("mode", "steal")),
    "r": Series("host_runnable_threads", "Threads that run or wait for a CPU"),
    "b": Series("host_blocked_threads", "Threads that wait for input or output"),
    "swpd": Series("host_memory_bytes", _MEMORY, KIB, _of("kind", "swapped")),
    "free": Series("host_memory_bytes", _MEMORY, KIB, _of("kind", "free")),
    "buff": Series("host_memory_bytes", _MEMORY, KIB, _of("kind", "buffers")),
    "cache": Series("host_memory_bytes", _MEMORY, KIB, _of("kind", "cache")),
    "si": Series("host_swap_bytes_per_second", _SWAP, KIB, _of("direction", "in")),
    "so": Series("host_swap_bytes_per_second", _SWAP, KIB, _of("direction", "out")),
    "bi": Series("host_block_bytes_per_second", _BLOCKS, KIB, _of("direction", "read")),
    "bo": Series("host_block_bytes_per_second", _BLOCKS, KIB, _of("direction", "written")),
    "in": Series("host_interrupts_per_second", "Interrupts"),
    "cs": Series("host_context_switches_per_second", "Context switches of the host"),
    # Redis
    "answers": Series("server_up", "1 while the server answers"),
    "connected_clients": Series("redis_connections", "Connections to Redis, loadstone's own for control among them"),
    "blocked_clients": Series("redis_blocked_clients", "Clients of Redis that wait in a blocking command"),
    "total_commands_processed": Series("redis_commands", "Commands that Redis processed", counter=True),
    "total_error_replies": Series("redis_error_replies", "Errors that Redis answered with", counter=True),
    "keyspace_hits": Series("redis_keyspace_hits", "Reads of keys that were there", counter=True),
    "keyspace_misses": Series("redis_keyspace_misses", "Reads of keys that were not there", counter=True),
    "evicted_keys": Series("redis_evicted_keys", "Keys removed for want of memory", counter=True),
    "keys": Series("redis_keys", "Keys in all databases"),
    "used_memory": Series("redis_memory_bytes", "Memory that Redis uses"),
    "latest_fork_usec": Series("redis_latest_fork_seconds", "How long the latest fork took", 1e-6),
    "aof_delayed_fsync": Series("redis_aof_delayed_fsyncs", "Writes that waited for an fsync", counter=True),
    # MariaDB
    "threads_connected": Series("mariadb_connections", "Connections to MariaDB"),
    "threads_running": Series("mariadb_running_threads", "Threads of MariaDB that work on a statement"),
    "buffer_pool_hits": Series(
        "mariadb_buffer_pool_hit_ratio", "Share of the reads of pages that found them in memory", PERCENT
    ),
    "selects_per_s": Series("mariadb_statements_per_second", _STATEMENTS, 1.0, _of("kind", "select")),
    "writes_per_s": Series("mariadb_statements_per_second", _STATEMENTS, 1.0, _of("kind", "write")),
    "rows_inserted_per_s": Series("mariadb_rows_per_second", _ROWS, 1.0, _of("kind", "inserted")),
    "rows_read_per_s": Series("mariadb_rows_per_second", _ROWS, 1.0, _of("kind", "read")),
    "rows_updated_per_s": Series("mariadb_rows_per_second", _ROWS, 1.0, _of("kind", "updated")),
    "rows_deleted_per_s": Series("mariadb_rows_per_second", _ROWS, 1.0, _of("kind", "deleted")),
    "fsyncs_per_s": Series("mariadb_fsyncs_per_second", "Calls of fsync on InnoDB's files"),
    # the JVM
    "jvm_answers": Series("jvm_up", "1 while the JVM answers"),
    "heap_used_bytes": Series("jvm_heap_bytes", "Memory of the heap in use"),
    "jvm_threads": Series("jvm_threads", "Threads of Java"),
    "gc_pause_count": Series("jvm_gc_pauses", "Pauses of the garbage collector", counter=True),
    "gc_pause_s": Series("jvm_gc_pause_seconds", "Time in pauses of the garbage collector", counter=True),
    "hikari_active": Series("pool_connections", _POOL, 1.0, (("pool", "database"), ("state", "active"))),
    "hikari_idle": Series("pool_connections", _POOL, 1.0, (("pool", "database"), ("state", "idle"))),
    "hikari_pending": Series("pool_waiting_threads", _WAITING, 1.0, _of("pool", "database")),
    "redis_pool_active": Series("pool_connections", _POOL, 1.0, (("pool", "redis"), ("state", "active"))),
    "redis_pool_idle": Series("pool_connections", _POOL, 1.0, (("pool", "redis"), ("state", "idle"))),
    "redis_pool_pending": Series("pool_waiting_threads", _WAITING, 1.0, _of("pool", "redis")),
    "tomcat_busy": Series("tomcat_busy_threads", "Threads of Tomcat that work on a request"),
}
"""A monitor's metric -> its series, to which the label `part` is added. What is not listed is not exposed."""
