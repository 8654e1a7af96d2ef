"""The sections of the page: tables, comparisons, effects and findings, as the templates print them."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from loadstone.report import figure_format as fmt
from loadstone.report.charts import theme
from loadstone.report.charts.pictures import NOT_DRAWN
from loadstone.report.document import Finding, SectionCell, SectionColumn
from loadstone.report.summary import Anchors
from loadstone.text.message import Message

if TYPE_CHECKING:  # what draws may be missing
    from loadstone.report.charts.chart import Chart

OVER_TIME = ("timeline", "percentiles", "errors")
"""Kinds of pictures in which a stretch of time can be chosen: panels as wide as each other, below each other."""


def figure(chart: "Chart") -> dict[str, Any]:
    """What the page prints of a picture: its text, and the drawing as a part of the page."""
    return {
        "name": chart.name,
        "title": chart.heading,
        "caption": chart.caption,
        "two": chart.narrow is not None,
        "width": theme.WIDTH if chart.kind in OVER_TIME else 0,
        "drawing": Markup(chart.inline()) if chart.is_drawn() else NOT_DRAWN,
    }


def linked(text: str, anchors: Anchors) -> Markup:
    """`text` with every trial's name in it as a link to the trial."""
    link = Markup('<a href="#{}">{}</a>')
    pieces = ((word, anchors.trial(word)) for word in re.split(r"([\w-]+)", fmt.plain(text)))
    return Markup("").join(link.format(anchor, word) if anchor else word for word, anchor in pieces)


def cell_style(cell: SectionCell, column: SectionColumn) -> str:
    """Names of a cell's kinds in the page's style."""
    kinds = (
        {"figures": "num", "parts": "part", "names": ""}.get(column.kind, column.kind),
        "lost" if cell.alarm else "",
        "none" if cell.faint else "",
        f"judged {cell.verdict}" if cell.verdict else "",
        "minor" if column.is_minor else "",
        "bar" if cell.bar is not None else "",
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
