"""What the monitors observed of the machine and its parts, as figures and as columns of tables."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from loadstone.judge.analysis.analysis import Analysis, Row
from loadstone.monitors import catalogue
from loadstone.monitors.metric import STORES, Format, MetricColumn, MetricTable
from loadstone.report import figure_format as fmt
from loadstone.run_folder.facts import AvgMax
from loadstone.run_folder.part_kinds import declared
from loadstone.text.language import translatable

Figures = Mapping[str, AvgMax]
HEADING = translatable("The machine and each part while it ran")
READING = translatable("Maxima over the trials of a condition; averages in brackets.")
CellText = Callable[[float | None], str]


def kinds_in(*kinds: str) -> tuple[str, ...]:
    """These kinds of parts, with every kind of store in the place of `STORES`."""
    stores = tuple(kind.name for kind in catalogue.PART_KINDS.values() if kind.store)
    return tuple(one for kind in kinds for one in (stores if kind == STORES else (kind,)))


def parts(row: Row, *kinds: str) -> Iterator[tuple[str, Figures]]:
    """The row's parts of these kinds, by name, in the order of the row."""
    required = kinds_in(*kinds)
    return ((part, figures) for part, figures in row.seen.items() if row.kinds.get(part) in required)


def has_application(analysis: Analysis) -> bool:
    """Whether an application, or a server whose machine matters, was under test: the machine is part of the answer."""
    rows = (row for table in analysis.tables for row in table.rows)
    return bool(analysis.environment.get("subjects")) or any(
        declared(kind).shows_machine for row in rows for kind in row.kinds.values()
    )


def average(row: Row, kind: str, metric: str) -> float | None:
    """The average of all parts of this kind added up; None where none was observed."""
    found = [figures[metric].avg for _, figures in parts(row, kind) if metric in figures]
    return sum(found) if found else None


def mean(row: Row, kind: str, metric: str) -> float | None:
    """The average over time and over the parts of this kind; None where none was observed."""
    found = [figures[metric].avg for _, figures in parts(row, kind) if metric in figures]
    return sum(found) / len(found) if found else None


def highest(row: Row, kind: str, metric: str, own: int = 0) -> float | None:
    """The maxima of all parts of this kind added up, each without `own`; None where none was observed."""
    found = [max(0.0, figures[metric].max - own) for _, figures in parts(row, kind) if metric in figures]
    return sum(found) if found else None


@dataclass(frozen=True)
class ObservedColumn:
    """One column: the sum of `metrics`, each figure as `text` has it."""

    header: str
    explanation: str
    metrics: tuple[str, ...]
    text: CellText
    always: bool
    """Whether it is there even where all its figures are 0."""

    def figure(self, figures: Figures) -> AvgMax | None:
        """The sum of its metrics; None where none was observed."""
        found = [figures[metric] for metric in self.metrics if metric in figures]
        return AvgMax(avg=sum(one.avg for one in found), max=sum(one.max for one in found)) if found else None


def columns_of(table: MetricTable) -> list[ObservedColumn]:
    """The columns that metrics declare for a table, in their order."""
    found: dict[MetricColumn, list[str]] = {}
    for metric in catalogue.METRICS.values():
        if metric.column is not None and metric.column.table == table:
            found.setdefault(metric.column, []).append(metric.name)
    return [
        ObservedColumn(column.title, column.help, tuple(metrics), TEXT[column.format], column.always)
        for column, metrics in sorted(found.items(), key=lambda one: one[0].place)
    ]


def _plain(value: float) -> str:
    """A figure of vmstat or a count: whole from 10 on."""
    return f"{value:,.0f}" if abs(value) >= 10 or value == int(value) else f"{value:.1f}"


def _mebibytes(kibibytes: float) -> str:
    return f"{kibibytes / 1024:,.0f}"


def _hit_rate(percent: float) -> str:
    """Two decimals: 99.98 % of the hits is not all of them."""
    return f"{percent:.2f} %"


def _or_none(text: Callable[[float], str]) -> CellText:
    return lambda value: fmt.NONE if value is None else text(value)


TEXT: Mapping[Format, CellText] = {
    "plain": _or_none(_plain),
    "rate": fmt.rate,
    "count": fmt.count,
    "percent": fmt.percent,
    "hit_rate": _or_none(_hit_rate),
    "size": fmt.size,
    "mebibytes": _or_none(_mebibytes),
    "seconds": _or_none(lambda value_s: fmt.duration(value_s * 1e9)),
}
