"""What the monitors observed over a trial, as the studies' tables have it: average and maximum of each column."""

from collections.abc import Iterable

from loadstone import registry
from loadstone.record.facts import OTHERS, AvgMax
from loadstone.record.window import Window

LEAST_CORES = 0.005
"""Of the part that has a metric for each name of who ran beside the condition: who took less is not kept."""
KEPT = tuple(metric.name for metric in registry.METRICS.values() if metric.kept and metric.kind != "counter")
"""Gauges and rates of every monitor. What only grows is reported by the counters before and after."""
DIGITS = 6
"""Significant digits that are kept: a trial's line holds a hundred of these figures."""


def avg_max(window: Window, part: str, metrics: Iterable[str]) -> dict[str, AvgMax]:
    """Each of these metrics (gauges and rates) that was observed of the part, in the order of `metrics`."""
    found: dict[str, AvgMax] = {}
    for metric in metrics:
        mean, highest = window.mean(part, metric), window.highest(part, metric)
        if mean is not None and highest is not None:
            found[metric] = AvgMax(avg=_short(mean), max=_short(highest))
    return found


def averages_of(window: Window) -> dict[str, dict[str, AvgMax]]:
    """Part -> metric -> average and maximum, of all parts and metrics that were observed; without empty ones."""
    parts = sorted({part for metric in KEPT for part in window.parts(metric)})
    found = {part: avg_max(window, part, KEPT) for part in parts}
    beside = avg_max(window, OTHERS, window.metrics(OTHERS))
    found[OTHERS] = {name: cores for name, cores in beside.items() if cores.avg >= LEAST_CORES}
    return {part: figures for part, figures in found.items() if figures}


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
