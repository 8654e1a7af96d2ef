"""What a metric is. Each metric of a software is declared once, in its file of `monitors/metrics/`, as data alone.

Samples, the averages of a trial, the tables of the report, its CSV, the names for Prometheus and `docs/metrics.csv`
follow from the declarations, which `monitors.catalogue.METRICS` collects.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

MetricKind = Literal["gauge", "rate", "counter"]
"""gauge: as it is at the moment of the sample; rate: over the time since the sample before; counter: only grows."""
Format = Literal["plain", "rate", "count", "percent", "hit_rate", "size", "mebibytes", "seconds"]
"""Form in which the report writes a figure. percent: of a share; hit_rate: of per cent, two decimals; size: of bytes;
mebibytes: of KiB."""
OverNodes = Literal["sum", "highest", "first"]
"""What the figures of several nodes of one server are as one: `highest` of what says something of the one node that
has most of it, as a main thread, which does not run faster because there are others; `first` where all are the same."""
Aggregate = Literal["average", "average_and_maximum", "maximum", "mean"]
"""Over time; of several parts added up, but for `mean`, which is for shares: that over the parts."""

PROGRAM = "program: "
"""Beginning of the names of single programs, of which each had its part of what all other programs took."""
STORES = "stores"
"""Stands for every kind of store in `MetricTable.kinds`."""
KIB = 1024.0
PERCENT = 0.01


@dataclass(frozen=True)
class Series:
    """What a metric is called for Prometheus, to which the label `part` is added."""

    name: str
    """Without the `_total` that a counter ends in."""
    help: str
    labels: tuple[tuple[str, str], ...] = ()
    scale: float = 1.0
    """Factor by which the value is multiplied: Prometheus's users expect base units."""


@dataclass(frozen=True)
class MetricTable:
    """A table of the report: a line a part of these kinds, in their order."""

    title: str
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class MetricColumn:
    """A column of such a table: the maximum over the trials, and the average in brackets.

    Metrics that have the same one are added up in it.
    """

    table: MetricTable
    place: int
    """Columns stand in this order."""
    title: str
    help: str
    format: Format = "plain"
    always: bool = True
    """Whether it is there even where all its figures are 0."""


@dataclass(frozen=True)
class Metric:
    """One figure that monitors report of a part about once a second."""

    name: str
    """As in `samples.jsonl`; it means the same of every part that has it."""
    part: str
    """`host`, `kernel`, `cpu<number>`, `others`, `generator`; `process`: every process that can be observed; otherwise
    the software."""
    kind: MetricKind
    unit: str
    help: str
    prometheus: Series | str
    """Text: it has no series, and this says what has it instead."""
    column: MetricColumn | None = None
    kept: bool = True
    """Whether a trial's line has its average and maximum; of a counter it never has."""
    csv_unit: str = ""
    """End of its name in `host.csv`."""
    over_nodes: OverNodes | None = None
    """For a server that may be a cluster, how its nodes' figures become the server's."""


@dataclass(frozen=True)
class StudyColumn:
    """A column that experiments may name in their tables: a metric of all parts of a kind."""

    key: str
    title: str
    help: str
    kind: str
    """Kind of the parts."""
    metric: str
    aggregate: Aggregate
    format: Format
    drop: int
    """The higher, the earlier it is left out where the page is narrow."""
    own: int = 0
    """Part of the maximum of each part that is loadstone's own: it is taken off, and where the servers are not ours the
    column is empty."""


ANSWERS = Metric(
    "answers", "server", "gauge", "1 or 0", "1 while the server answers its monitor",
    Series("server_up", "1 while the server answers"), kept=False,
)  # fmt: skip
"""Metric of every server."""


def label(name: str, value: str) -> tuple[tuple[str, str], ...]:
    """One label of a series."""
    return ((name, value),)


def by_name(metrics: Iterable[Metric]) -> Mapping[str, Metric]:
    """The metrics by their names, in their order."""
    return {metric.name: metric for metric in metrics}
