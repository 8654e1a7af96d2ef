"""INFO of the nodes of a cluster, as of one server."""

from collections.abc import Mapping, Sequence
from typing import Any

from loadstone.software.redis.metrics import METRICS

OVER_NODES = {metric.name: metric.over_nodes for metric in METRICS}
TEXT_BETWEEN = "+"


def merged_info(nodes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """As each metric declares it; of what is none, counts by name added up, and else the first node's.

    `run_id` is that of all nodes and `uptime_in_seconds` the shortest, so a node's restart is observed as one's.
    """
    merged = {name: values for node in reversed(nodes) for name, values in node.items()}
    for name in merged:
        values = [node[name] for node in nodes if name in node]
        if all(isinstance(value, Mapping) for value in values):
            merged[name] = _added_up(values)
        elif OVER_NODES.get(name) == "sum":
            merged[name] = sum(values)
        elif OVER_NODES.get(name) == "highest":
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
