"""Parts of the page: a picture as it embeds it, and text with links to trials."""

import base64
import re

from markupsafe import Markup

from loadstone.report import format as fmt
from loadstone.report.anchors import Anchors
from loadstone.report.charts.chart import Chart


def figure(chart: Chart) -> dict[str, str]:
    """What the page prints of a picture: its text, and the still one that stands in for the live one."""
    picture = base64.b64encode(chart.svg(titled=False)).decode()
    return {
        "name": chart.name,
        "title": chart.heading,
        "caption": chart.caption,
        "alt": chart.alt_text,
        "source": f"data:image/svg+xml;base64,{picture}",
    }


def linked(text: str, anchors: Anchors) -> Markup:
    """`text` with every trial's name in it as a link to the trial."""
    link = Markup('<a href="#{}">{}</a>')
    pieces = ((word, anchors.trial(word)) for word in re.split(r"([\w-]+)", fmt.plain(text)))
    return Markup("").join(link.format(anchor, word) if anchor else word for word, anchor in pieces)
