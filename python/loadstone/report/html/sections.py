"""The sections of the page: tables, comparisons, effects and findings, as the templates print them."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from loadstone.judge.analysis.analysis import Row
from loadstone.report import figure_format as fmt
from loadstone.report.charts.pictures import NOT_DRAWN
from loadstone.report.document import FigureRow, Figures, Finding, SectionCell, SectionColumn
from loadstone.report.summary import Anchors
from loadstone.text.language import _, translated
from loadstone.text.message import Message

if TYPE_CHECKING:  # what draws may be missing
    from loadstone.report.charts.chart import Chart

MINOR = frozenset({"operations", "elapsed_s", "executed", "blocks", "slices"})
"""Columns that a telephone has no room for: how long and how often a condition was measured."""


def figure(chart: "Chart") -> dict[str, Any]:
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


def rows_of(block: Figures) -> list[dict[str, Any]]:
    """What the page prints of each row."""
    best = _best(block) if block.has_bars else 0.0
    return [_row(one, block, best) for one in block.rows]


def _best(block: Figures) -> float:
    """The highest of the rates that rows are ranked by."""
    rank = next((column.value for column in block.columns if column.ranks), None)
    rows = (one.row for one in block.rows)
    return max((rank(row) or 0.0 for row in rows if rank and row.verdict in ("valid", "suspect")), default=0.0)


def _row(one: FigureRow, block: Figures, best: float) -> dict[str, Any]:
    row = one.row
    cells = [
        {
            "text": column.cell(row),
            "value": column.value(row),
            "why": column.why_missing(row),
            "struck": column.is_struck(row),
            "minor": column.key in MINOR,
            "bar": _bar(row, column.value(row), best) if column.ranks else None,
        }
        for column in block.columns
    ]
    cpu = {fmt.part_name(part): share for part, share in row.cpu_share.items()}
    return {
        "row": row,
        "cells": cells,
        "anchor": one.anchor,
        "busiest": max(cpu.items(), key=lambda part: part[1], default=None),
        "cpu": ", ".join(f"{part} {fmt.percent(share)}" for part, share in cpu.items()),
        "why": _why(row) if block.has_reasons else "",
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


def cell_style(cell: SectionCell, column: SectionColumn) -> str:
    """Names of a cell's kinds in the page's style."""
    kinds = (
        {"figures": "num", "parts": "part", "names": ""}.get(column.kind, column.kind),
        "lost" if cell.alarm else "",
        "none" if cell.faint else "",
        f"judged {cell.verdict}" if cell.verdict else "",
    )
    return " ".join(filter(None, kinds))


def captions_of(pictures: Sequence[tuple[str, dict[str, Any]]]) -> str:
    """What stands below several pictures of a kind: each sentence once."""
    said = dict.fromkeys(one for _, figure in pictures for one in figure["caption"].rstrip(".").split(". "))
    return f"{'. '.join(said)}."


def finding_pictures(one: Finding, charts: "list[Chart]") -> list[tuple[dict[str, Any], tuple[Message, ...]]]:
    """The pictures of a finding, each with what is to be said below it."""
    own = {chart.kind: figure(chart) for chart in charts if chart.condition == one.condition}
    return [(own[each.kind], each.remarks) for each in one.shown if each.kind in own]
