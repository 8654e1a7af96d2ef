"""What the monitors observed, in long form: `host.csv` with vmstat's columns, `parts.csv` a line a part and metric."""

from collections.abc import Iterator

from loadstone import registry
from loadstone.analyse.model import Analysis, ResultTable, Row
from loadstone.judge.verdict import Level
from loadstone.record.facts import HOST

Cell = str | int | float | bool | None

MACHINE = {
    metric.name: f"{metric.name}{metric.csv_unit}" for metric in registry.METRICS.values() if metric.part == HOST
}
"""The metrics of the machine, and what they are called in `host.csv`, before `_avg` and `_max`."""


def host_rows(analysis: Analysis) -> Iterator[dict[str, Cell]]:
    """A line a condition of which the machine was observed."""
    for table, row in _rows(analysis):
        figures = row.seen.get(HOST)
        if figures:
            line = _condition(analysis, table, row)
            for metric, name in MACHINE.items():
                figure = figures.get(metric)
                line |= {f"{name}_avg": figure.avg if figure else None, f"{name}_max": figure.max if figure else None}
            yield line


def part_rows(analysis: Analysis) -> Iterator[dict[str, Cell]]:
    """A line a condition, part and metric, in the unit that the metric has in `samples.jsonl`."""
    for table, row in _rows(analysis):
        for part, figures in row.seen.items():
            if part != HOST:
                for metric, figure in figures.items():
                    ends: dict[str, Cell] = {"avg": figure.avg, "max": figure.max}
                    yield {**_condition(analysis, table, row), "part": part, "metric": metric, **ends}


def _rows(analysis: Analysis) -> Iterator[tuple[ResultTable, Row]]:
    return ((table, row) for table in analysis.tables for row in table.rows)


def _condition(analysis: Analysis, table: ResultTable, row: Row) -> dict[str, Cell]:
    levels: dict[str, Level | None] = {name: row.condition.get(name) for name in factors(analysis)}
    return {"table": table.name, "condition": row.label, **{f"factor_{name}": level for name, level in levels.items()}}


def factors(analysis: Analysis) -> list[str]:
    """Every factor that some row has a level of, in their order."""
    return list(dict.fromkeys(name for _, row in _rows(analysis) for name in row.condition))
