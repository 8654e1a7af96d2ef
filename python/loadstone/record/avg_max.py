"""What the monitors saw over a trial, as the studies' tables have it: average and maximum of each column."""

from collections.abc import Iterable

from loadstone.record.facts import OTHERS, AvgMax
from loadstone.record.window import Window

VMSTAT_COLUMNS = (
    *("r", "b", "swpd", "free", "buff", "cache", "si", "so", "bi", "bo", "in", "cs"),
    *("us", "sy", "id", "wa", "st"),
)
"""In the order of `vmstat`; of the part `host`, in the units of its monitor."""
PROCESS = ("cpu_share", "rss_bytes", "voluntary_per_s", "involuntary_per_s", "threads", "sockets")
REDIS = (
    *("connected_clients", "blocked_clients", "used_memory", "used_memory_rss", "mem_fragmentation_ratio"),
    *("instantaneous_ops_per_sec", "instantaneous_input_kbps", "instantaneous_output_kbps"),
    *("aof_current_size", "aof_buffer_length", "aof_pending_bio_fsync", "aof_rewrite_in_progress"),
    *("rdb_bgsave_in_progress", "latest_fork_usec", "connected_slaves"),
)
MARIADB = (
    *("threads_connected", "threads_running", "buffer_pool_data_bytes", "buffer_pool_dirty_bytes", "buffer_pool_hits"),
    *("queries_per_s", "selects_per_s", "writes_per_s", "commits_per_s", "query_cache_hits_per_s"),
    *("rows_inserted_per_s", "rows_read_per_s", "rows_updated_per_s", "rows_deleted_per_s", "row_lock_waits_per_s"),
    *("disk_reads_per_s", "disk_writes_per_s", "fsyncs_per_s", "disk_read_bytes_per_s", "disk_written_bytes_per_s"),
    *("log_written_bytes_per_s", "received_bytes_per_s", "sent_bytes_per_s"),
)
JVM = (
    *("heap_used_bytes", "heap_committed_bytes", "nonheap_used_bytes", "jvm_threads", "gc_pauses_per_s"),
    *("gc_pause_share", "gc_pause_max_s", "hikari_active", "hikari_idle", "hikari_pending"),
    *("redis_pool_active", "redis_pool_idle", "redis_pool_pending"),
    *("tomcat_busy", "tomcat_threads", "tomcat_connections"),
)
OF_A_CPU = ("busy", "stolen", "others")
"""The part that has a metric for each name of who ran beside the condition, in cores."""
LEAST_CORES = 0.005
"""Who took less is not kept."""
SEEN = (*VMSTAT_COLUMNS, *OF_A_CPU, *PROCESS, *REDIS, *MARIADB, *JVM)
"""Gauges, rates and shares of every monitor. What only grows is told by the counters before and after."""
DIGITS = 6
"""Significant digits that are kept: a trial's line holds a hundred of these figures."""


def avg_max(window: Window, part: str, metrics: Iterable[str]) -> dict[str, AvgMax]:
    """Each of these metrics (gauges, rates and shares) that was seen of the part, in the order asked for."""
    found: dict[str, AvgMax] = {}
    for metric in metrics:
        mean, highest = window.mean(part, metric), window.highest(part, metric)
        if mean is not None and highest is not None:
            found[metric] = AvgMax(avg=_short(mean), max=_short(highest))
    return found


def vmstat_table(window: Window, part: str = "host") -> dict[str, AvgMax]:
    """vmstat's columns over a stretch of time, without those that the system does not tell."""
    return avg_max(window, part, VMSTAT_COLUMNS)


def seen_of(window: Window) -> dict[str, dict[str, AvgMax]]:
    """Part -> metric -> average and maximum, of all parts and metrics that were seen; without empty ones."""
    parts = sorted({part for metric in SEEN for part in window.parts(metric)})
    found = {part: avg_max(window, part, SEEN) for part in parts}
    beside = avg_max(window, OTHERS, window.metrics(OTHERS))
    found[OTHERS] = {name: cores for name, cores in beside.items() if cores.avg >= LEAST_CORES}
    return {part: figures for part, figures in found.items() if figures}


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
