#!/usr/bin/env python3
"""Writes docs/metrics.csv from the declarations of the metrics; `--check` only compares."""

import csv
import io
import sys
from collections.abc import Iterator
from pathlib import Path

from generated import keep

from loadstone.monitors import catalogue
from loadstone.monitors.metric import Metric, Series

FILE = Path(__file__).parents[1] / "docs" / "metrics.csv"
NAMESPACE = "loadstone"
PARTS = ("host", "cpu<number>", "kernel", "others", "process", "generator", "server")
"""Of the declarations, in this order; after them each software."""
COLUMNS = ("part", "metric", "kind", "unit", "in_trials", "prometheus", "meaning")


def table() -> str:
    """The whole file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    metrics = catalogue.METRICS.values()
    for part in dict.fromkeys([*PARTS, *(metric.part for metric in metrics)]):
        writer.writerows(_lines(metric for metric in metrics if metric.part == part))
    return text.getvalue()


def _lines(metrics: Iterator[Metric]) -> Iterator[tuple[str, ...]]:
    for metric in metrics:
        in_trials = "yes" if metric.kept and metric.kind != "counter" else "no"
        yield metric.part, metric.name, metric.kind, metric.unit, in_trials, _prometheus(metric), metric.help


def _prometheus(metric: Metric) -> str:
    """Its series, or in brackets what has the figure instead."""
    if not isinstance(metric.prometheus, Series):
        return f"({metric.prometheus})"
    labels = ",".join(f'{name}="{value}"' for name, value in metric.prometheus.labels)
    total = "_total" if metric.kind == "counter" else ""
    return f"{NAMESPACE}_{metric.prometheus.name}{total}{f'{{{labels}}}' if labels else ''}"


def main() -> int:
    return keep({FILE: table()})


if __name__ == "__main__":
    sys.exit(main())
