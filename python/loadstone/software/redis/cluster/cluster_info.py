"""INFO of the nodes of a cluster, as of one server."""

from collections.abc import Mapping, Sequence
from typing import Any

SUMMED = (
    *("connected_clients", "blocked_clients", "rejected_connections", "connected_slaves", "maxmemory"),
    *("used_memory", "used_memory_rss", "used_cpu_sys", "used_cpu_user", "instantaneous_ops_per_sec"),
    *("evicted_keys", "expired_keys", "keyspace_hits", "keyspace_misses"),
    *("aof_delayed_fsync", "aof_current_size", "aof_buffer_length", "aof_pending_bio_fsync"),
    *("total_commands_processed", "total_connections_received", "total_error_replies", "total_forks"),
    *("total_net_input_bytes", "total_net_output_bytes"),
)
"""What adds up."""
HIGHEST = (
    *("used_cpu_sys_main_thread", "used_cpu_user_main_thread", "mem_fragmentation_ratio", "latest_fork_usec"),
    *("loading", "rdb_bgsave_in_progress", "aof_rewrite_in_progress"),
)
"""What tells of the one node that has most of it: a main thread does not run faster because there are others."""
TEXT_BETWEEN = "+"


def merged_info(nodes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Counters of all nodes added up; of what does not add up, the first node's.

    `run_id` is that of all nodes and `uptime_in_seconds` the shortest, so a node's restart is observed as one's.
    """
    merged = {name: values for node in reversed(nodes) for name, values in node.items()}
    for name in merged:
        values = [node[name] for node in nodes if name in node]
        if all(isinstance(value, Mapping) for value in values):
            merged[name] = _added_up(values)
        elif name in SUMMED:
            merged[name] = sum(values)
        elif name in HIGHEST:
            merged[name] = max(values)
    if "run_id" in merged:
        merged["run_id"] = TEXT_BETWEEN.join(str(node.get("run_id")) for node in nodes)
    if "uptime_in_seconds" in merged:
        merged["uptime_in_seconds"] = min(node.get("uptime_in_seconds", 0) for node in nodes)
    return merged


def _added_up(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One command's counts (`calls`, `usec`...), one error's, or a database's keys, of all nodes."""
    added: dict[str, Any] = {}
    for part in parts:
        for name, value in part.items():
            is_number = isinstance(value, (int, float)) and isinstance(added.get(name, 0), (int, float))
            added[name] = added.get(name, 0) + value if is_number else value
    if added.get("calls"):
        added["usec_per_call"] = round(added["usec"] / added["calls"], 2)
    return added
