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
_CHILD = "1 while a child of Redis writes"
_BUFFER_POOL = "Pages in MariaDB's buffer pool, and those among them that wait to be written"
_FILES = "What MariaDB did with InnoDB's files"
_FILE_BYTES = "Bytes that MariaDB read from and wrote to InnoDB's files, and to its redo log"
_CLIENTS = "Bytes between MariaDB and its clients"
_JVM_MEMORY = "Memory of the JVM"
_THREADS = "CPUs that threads of loadstone took over the last second"
_THROTTLED = "Time in which loadstone's control group was held back by its CPU limit"
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
    "main_thread_share": Series("process_main_thread_cores", "CPUs that the main thread took over the last second"),
    "main_thread_wait_share": Series(
        "process_main_thread_waiting_ratio", "Share of the time that the main thread was ready and had no CPU"
    ),
    "main_thread_wait_s": Series(
        "process_main_thread_waiting_seconds", "Time that the main thread was ready and had no CPU", counter=True
    ),
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
    # loadstone's own process
    "python_share": Series("generator_thread_cores", _THREADS, 1.0, _of("threads", "python")),
    "native_share": Series("generator_thread_cores", _THREADS, 1.0, _of("threads", "engine")),
    "hottest_native_share": Series("generator_hottest_thread_cores", "CPU of the busiest thread of the engine"),
    "hottest_native_wait_share": Series(
        "generator_hottest_thread_waiting_ratio",
        "Share of the time that a thread of the engine was ready and had no CPU",
    ),
    "throttled_s": Series("generator_throttled_seconds", _THROTTLED, counter=True),
    # the host
    "busy": Series("host_one_cpu_ratio", "Share of the time that one CPU, the part, was busy", PERCENT),
    "stolen": Series("host_one_cpu_stolen_ratio", "Share of one CPU, the part, that other machines took", PERCENT),
    "others": Series("host_one_cpu_others_ratio", "Share of one CPU, the part, that other programs took", PERCENT),
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
    "connected_slaves": Series("redis_replicas", "Redis servers that follow this one"),
    "rejected_connections": Series("redis_rejected_connections", "Connections that Redis refused", counter=True),
    "total_connections_received": Series("redis_connections_received", "Connections to Redis", counter=True),
    "total_commands_processed": Series("redis_commands", "Commands that Redis processed", counter=True),
    "total_error_replies": Series("redis_error_replies", "Errors that Redis answered with", counter=True),
    "total_net_input_bytes": Series("redis_received_bytes", "Bytes that Redis read from clients", counter=True),
    "total_net_output_bytes": Series("redis_sent_bytes", "Bytes that Redis sent to clients", counter=True),
    "keyspace_hits": Series("redis_keyspace_hits", "Reads of keys that were there", counter=True),
    "keyspace_misses": Series("redis_keyspace_misses", "Reads of keys that were not there", counter=True),
    "evicted_keys": Series("redis_evicted_keys", "Keys removed for want of memory", counter=True),
    "expired_keys": Series("redis_expired_keys", "Keys removed because their time was over", counter=True),
    "keys": Series("redis_keys", "Keys in all databases"),
    "used_memory": Series("redis_memory_bytes", "Memory that Redis uses"),
    "used_memory_rss": Series("redis_resident_memory_bytes", "Memory that Redis has of the system"),
    "mem_fragmentation_ratio": Series("redis_memory_fragmentation_ratio", "Memory of the system over memory in use"),
    "maxmemory": Series("redis_memory_limit_bytes", "Memory that Redis may use; 0 without a limit"),
    "loading": Series("redis_loading", "1 while Redis loads its data"),
    "rdb_bgsave_in_progress": Series("redis_background_save", _CHILD, 1.0, _of("kind", "snapshot")),
    "aof_rewrite_in_progress": Series("redis_background_save", _CHILD, 1.0, _of("kind", "rewrite")),
    "latest_fork_usec": Series("redis_latest_fork_seconds", "How long the latest fork took", 1e-6),
    "total_forks": Series("redis_forks", "Forks of Redis", counter=True),
    "aof_current_size": Series("redis_aof_bytes", "Size of the append-only files"),
    "aof_buffer_length": Series("redis_aof_buffer_bytes", "Bytes that wait to be written to the append-only file"),
    "aof_pending_bio_fsync": Series("redis_aof_pending_fsyncs", "Calls of fsync that wait in the background"),
    "aof_delayed_fsync": Series("redis_aof_delayed_fsyncs", "Writes that waited for an fsync", counter=True),
    # MariaDB
    "threads_connected": Series("mariadb_connections", "Connections to MariaDB, loadstone's own among them"),
    "threads_running": Series("mariadb_running_threads", "Threads of MariaDB that work on a statement"),
    "buffer_pool_hits": Series(
        "mariadb_buffer_pool_hit_ratio", "Share of the reads of pages that found them in memory", PERCENT
    ),
    "buffer_pool_data_bytes": Series("mariadb_buffer_pool_bytes", _BUFFER_POOL, 1.0, _of("kind", "data")),
    "buffer_pool_dirty_bytes": Series("mariadb_buffer_pool_bytes", _BUFFER_POOL, 1.0, _of("kind", "dirty")),
    "queries_per_s": Series("mariadb_queries_per_second", "Statements of every kind"),
    "selects_per_s": Series("mariadb_statements_per_second", _STATEMENTS, 1.0, _of("kind", "select")),
    "writes_per_s": Series("mariadb_statements_per_second", _STATEMENTS, 1.0, _of("kind", "write")),
    "commits_per_s": Series("mariadb_statements_per_second", _STATEMENTS, 1.0, _of("kind", "commit")),
    "query_cache_hits_per_s": Series("mariadb_query_cache_hits_per_second", "Answered from the query cache"),
    "rows_inserted_per_s": Series("mariadb_rows_per_second", _ROWS, 1.0, _of("kind", "inserted")),
    "rows_read_per_s": Series("mariadb_rows_per_second", _ROWS, 1.0, _of("kind", "read")),
    "rows_updated_per_s": Series("mariadb_rows_per_second", _ROWS, 1.0, _of("kind", "updated")),
    "rows_deleted_per_s": Series("mariadb_rows_per_second", _ROWS, 1.0, _of("kind", "deleted")),
    "row_lock_waits_per_s": Series("mariadb_row_lock_waits_per_second", "Waits for a row that another one had locked"),
    "disk_reads_per_s": Series("mariadb_disk_operations_per_second", _FILES, 1.0, _of("kind", "read")),
    "disk_writes_per_s": Series("mariadb_disk_operations_per_second", _FILES, 1.0, _of("kind", "write")),
    "fsyncs_per_s": Series("mariadb_disk_operations_per_second", _FILES, 1.0, _of("kind", "fsync")),
    "disk_read_bytes_per_s": Series("mariadb_disk_bytes_per_second", _FILE_BYTES, 1.0, _of("kind", "read")),
    "disk_written_bytes_per_s": Series("mariadb_disk_bytes_per_second", _FILE_BYTES, 1.0, _of("kind", "written")),
    "log_written_bytes_per_s": Series("mariadb_disk_bytes_per_second", _FILE_BYTES, 1.0, _of("kind", "redo log")),
    "received_bytes_per_s": Series("mariadb_network_bytes_per_second", _CLIENTS, 1.0, _of("direction", "received")),
    "sent_bytes_per_s": Series("mariadb_network_bytes_per_second", _CLIENTS, 1.0, _of("direction", "sent")),
    # the JVM
    "jvm_answers": Series("jvm_up", "1 while the JVM answers"),
    "heap_used_bytes": Series("jvm_memory_bytes", _JVM_MEMORY, 1.0, _of("kind", "heap")),
    "heap_committed_bytes": Series("jvm_memory_bytes", _JVM_MEMORY, 1.0, _of("kind", "heap committed")),
    "nonheap_used_bytes": Series("jvm_memory_bytes", _JVM_MEMORY, 1.0, _of("kind", "other")),
    "jvm_threads": Series("jvm_threads", "Threads of Java"),
    "gc_pause_count": Series("jvm_gc_pauses", "Pauses of the garbage collector", counter=True),
    "gc_pause_s": Series("jvm_gc_pause_seconds", "Time in pauses of the garbage collector", counter=True),
    "gc_pause_max_s": Series("jvm_gc_longest_pause_seconds", "The longest pause of the last minutes"),
    "hikari_active": Series("pool_connections", _POOL, 1.0, (("pool", "database"), ("state", "active"))),
    "hikari_idle": Series("pool_connections", _POOL, 1.0, (("pool", "database"), ("state", "idle"))),
    "hikari_pending": Series("pool_waiting_threads", _WAITING, 1.0, _of("pool", "database")),
    "redis_pool_active": Series("pool_connections", _POOL, 1.0, (("pool", "redis"), ("state", "active"))),
    "redis_pool_idle": Series("pool_connections", _POOL, 1.0, (("pool", "redis"), ("state", "idle"))),
    "redis_pool_pending": Series("pool_waiting_threads", _WAITING, 1.0, _of("pool", "redis")),
    "tomcat_busy": Series("tomcat_busy_threads", "Threads of Tomcat that work on a request"),
    "tomcat_threads": Series("tomcat_threads", "Threads of Tomcat for requests"),
    "tomcat_connections": Series("tomcat_connections", "Connections to Tomcat"),
}
"""A monitor's metric -> its series, to which the label `part` is added."""

NOT_EXPOSED = {
    "other programs": "host_one_cpu_others_ratio has them for each CPU",
    "loadstone": "host_one_cpu_others_ratio has it for each CPU",
    "instantaneous_ops_per_sec": "the rate of redis_commands_total",
    "instantaneous_input_kbps": "the rate of redis_received_bytes_total",
    "instantaneous_output_kbps": "the rate of redis_sent_bytes_total",
    "gc_pauses_per_s": "the rate of jvm_gc_pauses_total",
    "gc_pause_share": "the rate of jvm_gc_pause_seconds_total",
    "used_cpu_sys": "process_cpu_seconds_total has it where the process is seen",
    "used_cpu_user": "process_cpu_seconds_total has it where the process is seen",
    "used_cpu_sys_main_thread": "process_main_thread_cores has it where the process is seen",
    "used_cpu_user_main_thread": "process_main_thread_cores has it where the process is seen",
    "huge_pages_always": "a setting of the kernel, in environment.json",
    "overcommit_memory": "a setting of the kernel, in environment.json",
}
"""Metrics of monitors that have no series, and where they are instead."""
