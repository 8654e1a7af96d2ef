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

For readers of `samples.jsonl`, and for those who build a dashboard. `make docs` writes this page from the declarations
in `software/*/metrics.py`; [monitors.md](monitors.md) says where the figures come from and what they cost.

Each metric is sampled once a second for each part. In parentheses is its unit, unless the text says what is counted; at
the end of a line its name in Prometheus, which adds the label `part`, or the series that has the figure. A *counter*
only grows, from when its process or server began; a rate or share is of the time since the previous sample. A trial's
line has the average and maximum of each metric (`facts.seen` in [run-folder.md](run-folder.md)), except of counters and
of those with a star.
"""
BEGUN = re.compile(r" since (the|its) [a-z A-Z]+ began")
"""Of every counter."""
OTHERS = """
Each server and subject of other conditions that is up adds a metric of its own name, in cores.
"""


def page() -> str:
    """The whole file."""
    sections = []
    for part in dict.fromkeys([*PARTS, *(metric.part for metric in registry.METRICS.values())]):
        metrics = [metric for metric in registry.METRICS.values() if metric.part == part]
        heading = PARTS.get(part) or next(
            (metric.column.table.title for metric in metrics if metric.column is not None), part
        )
        sections.append("\n".join(["", f"## {heading}", "", *_lines(metrics), ""]))
        if part == "others":
            sections.append(OTHERS)
    return HEAD + "".join(sections)


def _lines(metrics: list[Metric]) -> Iterator[str]:
    for metric in metrics:
        yield f"- `{metric.name}`: {_described(metric)}. {_prometheus(metric)}"


def _described(metric: Metric) -> str:
    """What it is, with its unit where the sentence does not name what is counted: `rows read (per second)`."""
    is_counter = metric.kind == "counter"
    what = BEGUN.sub("", metric.help) if is_counter else metric.help
    counted, slash, _ = metric.unit.partition("/s")
    unit = metric.unit
    if re.search(rf"\b{re.escape(counted)}\b", what.lower()) and counted != "s":
        unit = "per second" if slash else ""
    elif unit == "1 or 0" and what.startswith("1 "):
        unit = ""
    named = ", ".join(note for note in (unit, "counter" if is_counter else "") if note)
    return f"{what}{f' ({named})' if named else ''}{'' if is_counter or metric.kept else '*'}"


def _prometheus(metric: Metric) -> str:
    if not isinstance(metric.prometheus, Series):
        return f"In Prometheus: {metric.prometheus}."
    labels = ",".join(f'{name}="{value}"' for name, value in metric.prometheus.labels)
    total = "_total" if metric.kind == "counter" else ""
    return f"`{NAMESPACE}_{metric.prometheus.name}{total}{f'{{{labels}}}' if labels else ''}`"


def main() -> int:
    return keep({FILE: page()})


if __name__ == "__main__":
    sys.exit(main())
