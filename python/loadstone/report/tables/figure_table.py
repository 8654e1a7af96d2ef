"""Rows of results as a table: a row a condition, its figures, and what is wrong with them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from loadstone.judge.analysis.analysis import Row
from loadstone.report import figure_format as fmt
from loadstone.report.charts import theme
from loadstone.report.charts.shape import ChartAxes
from loadstone.report.document import SectionCell, SectionColumn, SectionTable, TableRow, Words
from loadstone.report.glossary import meaning
from loadstone.report.summary import Anchors
from loadstone.report.tables.column import Column
from loadstone.text.language import _, translated

_WIDE_FROM = 10
"""A table with more columns is set closer."""
_MINOR = frozenset({"operations", "elapsed_s", "executed", "blocks", "slices"})
"""How long and how often a condition was measured: a telephone has no room for it."""


def figure_table(
    columns: Sequence[Column],
    rows: Sequence[Row],
    anchors: Anchors | None = None,
    *,
    label: Words = "",
    vary: Mapping[str, Sequence[object]] | None = None,
    shape: ChartAxes | None = None,
    has_bars: bool = True,
    has_reasons: bool = False,
    has_busiest: bool = False,
) -> SectionTable:
    """Rows of results in these columns.

    `anchors`: where the labels lead to. `vary`: levels of each factor that the table varies. `shape`: how pictures
    colour these rows. `has_bars`: the rates that rows are ranked by are drawn. `has_reasons`: what is wrong with a row
    stands below it. `has_busiest`: a column says which part was busiest.
    """
    heads = [SectionColumn(_("condition"), meaning("condition"))]
    for one in columns:
        role: Literal["", "ranks", "context"] = "context" if one.context else "ranks" if one.ranks else ""
        heads.append(SectionColumn(one.title, one.meaning, drop=one.drop, role=role, is_minor=one.key in _MINOR))
    if has_busiest:
        why = _("The busiest part while it was measured, and its CPU as a share of one core.")
        heads.append(SectionColumn(_("busiest"), why, drop=99))
    best = _best(columns, rows) if has_bars else 0.0
    factor, levels = next(((name, levels) for name, levels in (vary or {}).items() if len(levels) > 1), ("", rows))
    lines = (
        TableRow(
            row.label,
            (*(_cell(column, row, best) for column in columns), *([_busiest(row)] if has_busiest else [])),
            verdict=row.verdict,
            hue=None if shape is None or not shape.colour else theme.SERIES.index(shape.colour_of(row)),
            target=None if anchors is None else anchors.condition(row.trials),
            problems=tuple(_problems(row)) if has_reasons else (),
            group=str(row.condition.get(factor)) if len(levels) < len(rows) else "",
        )
        for row in rows
    )
    style = "figures sortable wide" if len(columns) > _WIDE_FROM else "figures sortable"
    return SectionTable("", tuple(heads), tuple(lines), style=style, label=label)


def _best(columns: Sequence[Column], rows: Sequence[Row]) -> float:
    """The highest of the rates that rows are ranked by."""
    rank = next((column.value for column in columns if column.ranks), None)
    return max((rank(row) or 0.0 for row in rows if rank and row.verdict in ("valid", "suspect")), default=0.0)


def _cell(column: Column, row: Row, best: float) -> SectionCell:
    value, text = column.value(row), column.cell(row)
    is_drawn = column.ranks and best and value is not None and row.verdict in ("valid", "suspect")
    return SectionCell(
        value,
        said=text,
        faint=value is None,
        title=column.why_missing(row),
        narrow=replace(column, narrow=True).cell(row) if column.is_response or column.narrow_text else None,
        struck=column.is_struck(row) and text != fmt.NONE,
        bar=round((value or 0.0) / best, 3) if is_drawn else None,
    )


def _busiest(row: Row) -> SectionCell:
    if not row.cpu_share:
        return SectionCell(None)
    part, share = max(row.cpu_share.items(), key=lambda one: one[1])
    every = ", ".join(f"{fmt.plain(name)} {fmt.percent(one)}" for name, one in row.cpu_share.items())
    return SectionCell(share, said=f"{fmt.plain(part)} {fmt.percent(share)}", title=every)


def _problems(row: Row) -> Iterator[str]:
    """What is wrong with a row, in one line: the checks' reasons, the errors by kind, and what was answered."""
    errors = ", ".join(f"{fmt.count(number)} {fmt.plain(kind)}" for kind, number in row.errors.items() if number)
    said = [*map(fmt.sentence, row.reasons)] + ([_("Errors: {errors}.", errors=errors)] if errors else [])
    for kind, reply in row.error_examples.items():
        said.append(_("{what}, for example: “{example}”.", what=fmt.plain(kind), example=fmt.plain(reply)))
    if said:
        yield f"{translated(row.verdict).upper()}: {' '.join(said)}" if row.verdict != "valid" else " ".join(said)
