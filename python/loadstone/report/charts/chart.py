"""One picture, and what it becomes: SVG and PNG here, a live picture on the page."""

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import altair as alt
import vl_convert

from loadstone.analyse.model import Family, ResultTable
from loadstone.report import format as fmt
from loadstone.report.charts import theme

_NAME_MAX = 100
"""A file's name has at most 255 bytes."""
_VEGA_LITE = alt.SCHEMA_VERSION.removeprefix("v").rpartition(".")[0]


Values = list[dict[str, Any]]
Kind = Literal["forest", "blocks", "rps", "latency", "timeline", "checks"]


@dataclass(frozen=True)
class Chart:
    """A picture with its text. `spec` is Vega-Lite without colours of a background."""

    name: str
    """Stem of its file, e.g. `by-size-rps`."""
    title: str
    """What it shows, table included, for a file that stands alone."""
    heading: str
    """The same where the table's title stands above already."""
    caption: str
    """How to read it, and what is not in it."""
    alt_text: str
    """What the picture shows, for someone who cannot see it."""
    spec: dict[str, Any]
    kind: Kind
    table: str = ""
    """Name of the table whose figures it shows; empty for other pictures."""
    family: str = ""
    """Name of the declared comparison that it shows; empty for other pictures."""

    def svg(self, titled: bool = True) -> bytes:
        """The picture on white, with its title above unless the page has it already."""
        return _svg(self._printed(titled))

    def png(self) -> bytes:
        """The picture on white with its title, at twice its size."""
        return bytes(vl_convert.vegalite_to_png(self._printed(titled=True), vl_version=_VEGA_LITE, scale=2))

    def _printed(self, titled: bool) -> str:
        words = {"title": {"text": self.title, "offset": 18}} if titled else {}
        dress = {"config": theme.config(dark=False), "background": "white", "padding": _MARGINS}
        return json.dumps({**self.spec, **words, **dress})


_MARGINS = {"left": 28, "right": 14, "top": 10, "bottom": 10}
"""Room for the reader's own font, which may be wider than the one the drawing was measured with."""


@lru_cache(maxsize=64)
def _svg(spec_json: str) -> bytes:
    """The drawing, its coordinates cut to hundredths of a pixel: that halves a large picture."""
    drawing = vl_convert.vegalite_to_svg(spec_json, vl_version=_VEGA_LITE)
    return _COORDINATES.sub(lambda found: _LONG.sub(r"\1", found[0]), drawing).encode()


_COORDINATES = re.compile(r' (?:d|transform|x|y|x2|y2|width|height)="[^"]*"')
_LONG = re.compile(r"(\.\d\d)\d+(?!e)")


def named(name: str) -> alt.Chart:
    """The beginning of a picture whose values are given to `make` as `data[name]`."""
    return alt.Chart(alt.NamedData(name=name))


def _titled(above: str, heading: str) -> str:
    """The heading after the text that stands above it on a page."""
    return f"{above}{' ' if above.endswith('?') else ': '}{heading}" if above else heading


def make(
    kind: Kind,
    heading: str,
    caption: str,
    alt_text: str,
    picture: alt.TopLevelMixin,
    data: dict[str, Values],
    table: ResultTable | None = None,
    family: Family | None = None,
) -> Chart:
    """A `Chart` of an Altair picture, of one table, of one family of comparisons, or of the whole run.

    `data` holds the values by the names that the picture calls them (`named`): Altair copies what is inside a
    picture at each step. The colours of the background stay out of the specification: they come with
    `theme.config` when it is drawn.
    """
    spec = picture.to_dict(validate=False)
    spec.pop("config", None)
    subject = table.name if table else family.name if family else ""
    above = table.title if table else family.question if family else ""
    name = re.sub(r"[^a-z0-9]+", "-", f"{subject[:_NAME_MAX]} {kind}".lower()).strip("-")
    return Chart(
        name=name,
        title=_titled(fmt.plain(above), heading),
        heading=heading,
        caption=caption,
        alt_text=alt_text,
        spec={**spec, "description": alt_text, "datasets": data},
        kind=kind,
        table=table.name if table else "",
        family=family.name if family else "",
    )
