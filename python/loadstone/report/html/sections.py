"""The sections of the page: tables, comparisons, effects and findings, as the templates print them."""

import re
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from loadstone.judge.analysis.analysis import Analysis, ResultTable, Row
from loadstone.report import figure_format as fmt
from loadstone.report import summary
from loadstone.report.charts.chart import NOT_DRAWN, Chart
from loadstone.report.document import Finding
from loadstone.report.figure_quality import different_rows
from loadstone.report.summary import Anchors
from loadstone.report.tables import observed
from loadstone.report.tables.column import Column
from loadstone.report.tables.columns import TPS, columns_for, end_columns, full_load_columns, most_telling, rate_of_run
from loadstone.text.language import _, plural, translated
from loadstone.text.message import Message

_WIDE_FROM = 10
"""A table with more columns is set closer."""
_MAIN_ROWS_MAX = 20
"""More conditions than this stand in the folded tables alone."""
MINOR = frozenset({"operations", "elapsed_s", "executed", "blocks", "slices"})
"""Columns that a telephone has no room for: how long and how often a condition was measured."""
_ORDER = ("invalid", "suspect", "unknown", "valid")


def figure(chart: Chart) -> dict[str, Any]:
    """What the page prints of a picture: its text, and the drawing as a part of the page."""
    return {
        "name": chart.name,
        "title": chart.heading,
        "caption": chart.caption,
        "two": chart.narrow is not None,
        "drawing": Markup(chart.inline()) if chart.is_drawn() else NOT_DRAWN,
    }


def linked(text: str, anchors: Anchors) -> Markup:
    """`text` with every trial's name in it as a link to the trial."""
    link = Markup('<a href="#{}">{}</a>')
    pieces = ((word, anchors.trial(word)) for word in re.split(r"([\w-]+)", fmt.plain(text)))
    return Markup("").join(link.format(anchor, word) if anchor else word for word, anchor in pieces)


def hints(analysis: Analysis) -> dict[str, str]:
    """What is in each folded part, in a few words beside its heading."""
    rows = len(different_rows(analysis))
    return {
        "results": _(
            "{counted}: rates, response times, usage",
            counted=plural(rows, "{rows} condition", "{rows} conditions", rows=fmt.count(rows)),
        ),
    }


def main_table(analysis: Analysis, anchors: Anchors) -> dict[str, Any] | None:
    """The one table that is not folded: the rows that say most, of all tables; None without a figure."""
    every = different_rows(analysis)
    if not any(row.goodput_per_s is not None for row in every):
        return None
    rows = most_telling(analysis, _MAIN_ROWS_MAX)
    columns = end_columns(rows, tps=rate_of_run(analysis) is TPS)
    shown = [{**_row(row, columns, _best(rows, columns), anchors), "why": ""} for row in rows]
    return {"columns": columns, "rows": shown, "left": len(every) - len(rows), "cpu": False, "wide": False}


def table_view(table: ResultTable, charts: list[Chart], anchors: Anchors, analysis: Analysis) -> dict[str, Any]:
    columns, full_load = columns_for(table), full_load_columns(table)
    best = _best(table.rows, columns)
    own = {
        kind: next((c for c in charts if c.table == table.name and c.kind == kind), None) for kind in ("rps", "latency")
    }
    return {
        "table": table,
        "columns": columns,
        "rows": [_row(row, columns, best, anchors) for row in table.rows],
        "latency_lines": summary.latency_lines(table),
        "full_load": _full_load(table, full_load, anchors) if full_load else None,
        "observed": [
            {"table": one, "lines": [(anchors.condition(line.row.trials), line) for line in one.lines]}
            for one in observed.observed_in(analysis, table)
        ],
        "figures": {kind: figure(chart) if chart else None for kind, chart in own.items()},
        "cpu": any(row.cpu_share for row in table.rows) and not any(row.bottleneck for row in table.rows),
        "wide": len(columns) > _WIDE_FROM,
    }


def _full_load(table: ResultTable, columns: list[Column], anchors: Anchors) -> dict[str, Any]:
    """The latencies under full load, in a table that is folded."""
    rows = [{**_row(row, columns, 0.0, anchors), "why": ""} for row in table.rows if row.response_ns]
    lines = list(summary.unmeasurable_lines(columns, table.rows))
    return {"columns": columns, "rows": rows, "cpu": False, "wide": len(columns) > _WIDE_FROM, "lines": lines}


def _best(rows: list[Row], columns: list[Column]) -> float:
    """The highest of the rates that rows are ranked by."""
    rank = next((column.value for column in columns if column.ranks), None)
    return max((rank(row) or 0.0 for row in rows if rank and row.verdict in ("valid", "suspect")), default=0.0)


def _row(row: Row, columns: list[Column], best: float, anchors: Anchors) -> dict[str, Any]:
    cells = [
        {
            "text": column.cell(row),
            "value": column.value(row),
            "why": column.why_missing(row),
            "struck": column.is_struck(row),
            "minor": column.key in MINOR,
            "bar": _bar(row, column.value(row), best) if column.ranks else None,
        }
        for column in columns
    ]
    return {
        "row": row,
        "cells": cells,
        "anchor": anchors.condition(row.trials),
        "busiest": max(row.cpu_share.items(), key=lambda part: part[1], default=None),
        "cpu": ", ".join(f"{fmt.plain(part)} {fmt.percent(share)}" for part, share in row.cpu_share.items()),
        "why": _why(row),
    }


def _why(row: Row) -> str:
    """What is wrong with a row, in one line: the checks' reasons, the errors by kind, and what was answered."""
    errors = ", ".join(f"{fmt.count(number)} {fmt.plain(kind)}" for kind, number in row.errors.items() if number)
    answers = [
        _("{what}, for example: “{example}”.", what=fmt.plain(kind), example=fmt.plain(reply))
        for kind, reply in row.error_examples.items()
    ]
    said = [*map(fmt.sentence, row.reasons)] + ([_("Errors: {errors}.", errors=errors)] if errors else []) + answers
    return f"{translated(row.verdict).upper()}: {' '.join(said)}" if said and row.verdict != "valid" else " ".join(said)


def _bar(row: Row, rate: float | None, best: float) -> float | None:
    """Length of the bar under a rate, as a share of the table's best."""
    if not best or rate is None or row.verdict not in ("valid", "suspect"):
        return None
    return round(rate / best, 3)


def captions_of(pictures: Sequence[tuple[str, dict[str, Any]]]) -> str:
    """What stands below several pictures of a kind: each sentence once."""
    said = dict.fromkeys(one for _, figure in pictures for one in figure["caption"].rstrip(".").split(". "))
    return f"{'. '.join(said)}."


def pictures_of(one: Finding, charts: list[Chart]) -> list[tuple[dict[str, Any], tuple[Message, ...]]]:
    """The pictures of a finding, each with what is to be said below it."""
    own = {chart.kind: figure(chart) for chart in charts if chart.condition == one.condition}
    return [(own[each.kind], each.remarks) for each in one.shown if each.kind in own]
