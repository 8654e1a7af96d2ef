#!/usr/bin/env python3
"""Writes docs/metrics.md from the declarations of the metrics; `--check` only compares."""

import sys
from collections.abc import Iterator
from pathlib import Path

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

Written by `make docs` from the declarations in `software/*/metrics.py`. [monitors.md](monitors.md) says where they come
from and what they cost.

All of them stand in `samples.jsonl`, a line a second and part.

- *kind*: a gauge is as it is at that moment, a rate or a share is of the time since the sample before, a counter only
  grows.
- *kept*: the trial's line and the rows of the tables have its average and maximum (`facts.seen` in
  [run-folder.md](run-folder.md)).
- *report*: its column in the table of that name. Several metrics with one column are added up.
- *Prometheus*: its name, with the label `part` added, or what has it instead.
"""
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
    yield "| metric | kind | unit | what | kept | report | Prometheus |"
    yield "|---|---|---|---|---|---|---|"
    for one in metrics:
        kept = "yes" if one.kept and one.kind != "counter" else ""
        column = "" if one.column is None else f"{one.column.table.title.partition(' (')[0]}: {one.column.title}"
        yield f"| `{one.name}` | {one.kind} | {one.unit} | {one.help} | {kept} | {column} | {_prometheus(one)} |"


def _prometheus(metric: Metric) -> str:
    if not isinstance(metric.prometheus, Series):
        return metric.prometheus
    labels = ",".join(f'{name}="{value}"' for name, value in metric.prometheus.labels)
    total = "_total" if metric.kind == "counter" else ""
    return f"`{NAMESPACE}_{metric.prometheus.name}{total}{f'{{{labels}}}' if labels else ''}`"


def main() -> int:
    if "--check" not in sys.argv[1:]:
        FILE.write_text(page())
    elif not FILE.exists() or FILE.read_text() != page():
        sys.stderr.write(f"{FILE} is not current; run `make docs`\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
