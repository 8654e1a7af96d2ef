"""What a monitor saw over a trial, as the studies' tables have it: the average and the maximum of each column."""

from collections.abc import Iterable

from loadstone.record.trial import Line
from loadstone.record.window import Window

VMSTAT_COLUMNS = (
    *("r", "b", "swpd", "free", "buff", "cache", "si", "so", "bi", "bo", "in", "cs"),
    *("us", "sy", "id", "wa", "st"),
)
"""In the order of `vmstat`; of the part `host`, in the units of its monitor."""


class AvgMax(Line):
    """One column over a stretch of time, in the unit of the metric."""

    avg: float
    max: float


def avg_max(window: Window, part: str, metrics: Iterable[str]) -> dict[str, AvgMax]:
    """Each of these metrics (gauges, rates and shares) that was seen of the part, in the order asked for."""
    found: dict[str, AvgMax] = {}
    for metric in metrics:
        mean, highest = window.mean(part, metric), window.highest(part, metric)
        if mean is not None and highest is not None:
            found[metric] = AvgMax(avg=mean, max=highest)
    return found


def vmstat_table(window: Window, part: str = "host") -> dict[str, AvgMax]:
    """vmstat's columns over a stretch of time, without those that the system does not tell."""
    return avg_max(window, part, VMSTAT_COLUMNS)
