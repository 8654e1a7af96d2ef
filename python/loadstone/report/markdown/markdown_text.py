"""Text that Markdown takes as text, and links within the document."""

import re
from collections.abc import Iterator

from loadstone.message import Message
from loadstone.report import format as fmt
from loadstone.report.charts.chart import NOT_DRAWN, Chart

_MARKUP = re.compile(r"([\\`*_{}\[\]|~#])")


def text(raw: str) -> str:
    """`raw` as plain text: no markup, no HTML."""
    escaped = _MARKUP.sub(r"\\\1", fmt.plain(raw))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def sentence(message: Message | None) -> str:
    """The sentence of a message as plain text; empty for none."""
    return text(fmt.sentence(message))


def link(anchor: str | None, raw: str) -> str:
    """Text that leads to an anchor of the document; without one, the text."""
    return f"[{text(raw)}](#{anchor})" if anchor else text(raw)


def target(anchor: str) -> str:
    """The place that links to `anchor` lead to."""
    return f'<a id="{anchor}"></a>'


def picture(chart: Chart | None) -> Iterator[str]:
    """The picture's file beside the report, and how to read it; nothing if there is none."""
    if chart is not None:
        shown = f"![{text(chart.alt_text)}](charts/{chart.name}.svg)" if chart.is_drawn() else f"*{NOT_DRAWN}*"
        yield from (shown, "", text(chart.caption), "")
