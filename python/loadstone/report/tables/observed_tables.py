"""The machine and its parts while a table was measured: maxima and averages of what the monitors observed."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from loadstone import registry
from loadstone.analyse.model import Analysis, ResultTable, Row
from loadstone.record.facts import HOST, AvgMax
from loadstone.report import format as fmt
from loadstone.report.tables import observed
from loadstone.report.tables.metric_text import TEXT, Text
from loadstone.software.metric import Column, Table

HEADING = "The machine and each part while it ran"
READING = "Maxima over the trials of a condition; averages in brackets."


@dataclass(frozen=True)
class ObservedColumn:
    """One column: the sum of `metrics`, each figure as `text` has it."""

    header: str
    explanation: str
    metrics: tuple[str, ...]
    text: Text
    always: bool
    """Whether it is there even where all its figures are 0."""

    def figure(self, figures: observed.Figures) -> AvgMax | None:
        """The sum of its metrics; None where none was observed."""
        found = [figures[metric] for metric in self.metrics if metric in figures]
        return AvgMax(avg=sum(one.avg for one in found), max=sum(one.max for one in found)) if found else None


@dataclass(frozen=True)
class ObservedCell:
    """A figure as text; empty where nothing was observed."""

    highest: str = ""
    average: str = ""

    def __str__(self) -> str:
        return f"{self.highest} ({self.average})" if self.highest else fmt.NONE


@dataclass(frozen=True)
class ObservedLine:
    row: Row
    part: str
    """Empty for the machine."""
    cells: list[ObservedCell]


@dataclass(frozen=True)
class ObservedTable:
    title: str
    columns: list[ObservedColumn]
    lines: list[ObservedLine]

    @property
    def of_parts(self) -> bool:
        """Whether each line says which part it is about."""
        return any(line.part for line in self.lines)


def columns_of(table: Table) -> list[ObservedColumn]:
    """The columns that metrics declare for a table, in their order."""
    found: dict[Column, list[str]] = {}
    for metric in registry.METRICS.values():
        if metric.column is not None and metric.column.table == table:
            found.setdefault(metric.column, []).append(metric.name)
    return [
        ObservedColumn(column.title, column.help, tuple(metrics), TEXT[column.format], column.always)
        for column, metrics in sorted(found.items(), key=lambda one: one[0].place)
    ]


def observed_in(analysis: Analysis, table: ResultTable) -> list[ObservedTable]:
    """What was observed while `table` was measured; nothing where no application was under test."""
    if not observed.has_application(analysis):
        return []
    columns = (metric.column for metric in registry.METRICS.values() if metric.column is not None)
    made = (_table(one, _lines(table.rows, one)) for one in dict.fromkeys(column.table for column in columns))
    return [one for one in made if one is not None]


def _lines(rows: Iterable[Row], table: Table) -> Iterator[tuple[Row, str, observed.Figures]]:
    """The parts of the table's kinds, row by row, in this order of kinds."""
    for row in rows:
        for kind in observed.kinds_in(*table.kinds):
            for part, figures in observed.parts(row, kind):
                yield row, "" if part == HOST else part, figures


def _table(table: Table, lines: Iterable[tuple[Row, str, observed.Figures]]) -> ObservedTable | None:
    """The columns and lines with something to say; None where there is nothing."""
    known = list(lines)
    shown = [column for column in columns_of(table) if _says_something(column, [figures for _, _, figures in known])]
    made = [ObservedLine(row, part, [_cell(column, figures) for column in shown]) for row, part, figures in known]
    made = [line for line in made if any(cell.highest for cell in line.cells)]
    return ObservedTable(table.title, shown, made) if made else None


def _says_something(column: ObservedColumn, figures_of_parts: Iterable[observed.Figures]) -> bool:
    found = [figure for figures in figures_of_parts if (figure := column.figure(figures)) is not None]
    return any(figure.max for figure in found) or (bool(found) and column.always)


def _cell(column: ObservedColumn, figures: observed.Figures) -> ObservedCell:
    figure = column.figure(figures)
    return ObservedCell() if figure is None else ObservedCell(column.text(figure.max), column.text(figure.avg))
