#!/usr/bin/env python3
"""Writes docs/metrics.md from the declarations of the metrics; `--check` only compares."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from generated import keep

from loadstone import registry
from loadstone.software.metric import Metric, Series

FILE = Path(__file__).parents[1] / "docs" / "metrics.md"
NAMESPACE = "loadstone"
PARTS = {
    "host": "The machine, part `host`, in the columns of `vmstat`",
    "cpu<number>": "Each CPU, part `cpu<number>`",
    "kernel": "Settings of the kernel, part `kernel`",
    "others": "Who else used the CPUs, part `others`",
    "process": "Each process: servers, replicas of an application, loadstone itself",
    "generator": "loadstone's own process, part `generator`",
    "server": "Every server",
}
"""Part of the declarations -> heading; in this order. After them each software by the title of its table."""
HEAD = """\
# Metrics

For readers of `samples.jsonl`, and for those who build a dashboard. Written by `make docs` from the declarations in
`software/*/metrics.py`; [monitors.md](monitors.md) says where the figures come from and what they cost.

Each metric is sampled once a second and part. A figure without a note is a gauge, as it is at that moment, or a rate or
share of the time since the sample before. A *counter* only grows, from when its process or server began. The trial's
line has the average and the maximum of each (`facts.seen` in [run-folder.md](run-folder.md)), but for counters and
those that are *not kept*; the report shows them in tables by part. Prometheus adds the label `part`; without a series,
the last column says what has the figure.
"""
BEGUN = re.compile(r" since (the|its) [a-z A-Z]+ began")
"""Of every counter."""
OTHERS = """
Of part `others` there is one metric more for each server and subject of other conditions that is up, by its name, in
cores.
"""


def page() -> str:
    """The whole file."""
    sections = []
    for part in dict.fromkeys([*PARTS, *(metric.part for metric in registry.METRICS.values())]):
        metrics = [metric for metric in registry.METRICS.values() if metric.part == part]
        heading = PARTS.get(part) or next((one.column.table.title for one in metrics if one.column is not None), part)
        sections.append("\n".join(["", f"## {heading}", "", *_table(metrics), ""]))
        if part == "others":
            sections.append(OTHERS)
    return HEAD + "".join(sections)


def _table(metrics: list[Metric]) -> Iterator[str]:
    yield "| metric | unit | what | Prometheus |"
    yield "|---|---|---|---|"
    for one in metrics:
        note = ", counter" if one.kind == "counter" else "" if one.kept else ", not kept"
        what = BEGUN.sub("", one.help) if one.kind == "counter" else one.help
        yield f"| `{one.name}` | {one.unit}{note} | {what} | {_prometheus(one)} |"


def _prometheus(metric: Metric) -> str:
    if not isinstance(metric.prometheus, Series):
        return metric.prometheus
    labels = ",".join(f'{name}="{value}"' for name, value in metric.prometheus.labels)
    total = "_total" if metric.kind == "counter" else ""
    return f"`{NAMESPACE}_{metric.prometheus.name}{total}{f'{{{labels}}}' if labels else ''}`"


def main() -> int:
    return keep({FILE: page()})


if __name__ == "__main__":
    sys.exit(main())
