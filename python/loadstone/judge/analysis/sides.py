"""The figure of each side of a comparison: that of its row in the tables, so that a condition has one.

A comparison's own figures are medians of the blocks or rounds that it used; a row has all of them. Both are right, and
two figures for one question are one too many. The ratio stays the comparison's: it is of pairs.
"""

from collections.abc import Mapping, Sequence

from loadstone.experiment.spec.levels import identity
from loadstone.judge.analysis.analysis import Comparison, Family, ResultTable, Row
from loadstone.judge.verdict import COST, Side, Verdict


def with_figures_of_rows(families: Sequence[Family], tables: Sequence[ResultTable]) -> list[Family]:
    """The comparisons, whose sides have the rates and costs of their rows where there are such rows."""
    rows = {identity(row.condition): row for table in tables for row in table.rows}
    return [
        family.model_copy(update={"comparisons": [_with_rows(one, rows) for one in family.comparisons]})
        for family in families
    ]


def _with_rows(comparison: Comparison, rows: Mapping[str, Row]) -> Comparison:
    """The comparison with its rows' figures; unchanged where it was driven at a rate of its own."""
    if comparison.primary.rate_per_s is not None:
        return comparison
    costs = [_of_rows(one, rows) for one in comparison.costs]
    return comparison.model_copy(update={"primary": _of_rows(comparison.primary, rows), "costs": costs})


def _of_rows(verdict: Verdict, rows: Mapping[str, Row]) -> Verdict:
    sides = {"a": _of_row(verdict.a, verdict.metric, rows), "b": _of_row(verdict.b, verdict.metric, rows)}
    return verdict if None in sides.values() else verdict.model_copy(update=sides)


def _of_row(side: Side, metric: str, rows: Mapping[str, Row]) -> Side | None:
    row = rows.get(identity(side.condition))
    figure = None if row is None else _figure(row, metric)
    return None if figure is None else side.model_copy(update={"typical": figure})


def _figure(row: Row, metric: str) -> float | None:
    if metric == "goodput_per_s":
        return row.goodput_per_s
    if metric == "throughput_per_s":
        return row.throughput_per_s
    if not metric.startswith(COST):
        return None
    part = metric.removeprefix(COST)
    if part not in row.costs and len(row.costs) == 1:  # of a part that each side calls otherwise
        return next(iter(row.costs.values())).ns
    return row.costs[part].ns if part in row.costs else None
