"""One picture, and what it becomes: SVG and PNG as files of their own, a part of the page."""

import json
import re
from concurrent.futures import Future
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from typing import Any, Literal

import altair as alt

from loadstone.judge.analysis.analysis import Family, ResultTable
from loadstone.report import figure_format as fmt
from loadstone.report.charts import renderer_process, theme
from loadstone.report.charts.renderer_process import NotDrawn
from loadstone.text.language import translated

_NAME_MAX = 100
"""A file's name has at most 255 bytes."""
ChartData = list[dict[str, Any]]
MarkKind = Literal[
    "effects", "forest", "cost-forest", "blocks", "cost", "rps", "latency", "timeline", "percentiles", "errors",
    "checks", "saturation", "ramp", "capacity", "two-rates", "two-latencies", "over-runs",
]  # fmt: skip
_VEGA_LITE = alt.SCHEMA_VERSION.removeprefix("v").rpartition(".")[0]
_TITLE_PX = 30
"""Height of a title above a picture."""
_LETTER_PX = 7.2
"""Width of a letter of a title, on average; a title wider than its picture makes it wider."""


@dataclass(frozen=True)
class Chart:
    """A picture with its text. `spec` is Vega-Lite without colours of a background."""

    name: str
    """Stem of its file, e.g. `by-size-rps`."""
    title: str
    """What it shows, table included, for a file that stands alone."""
    heading: str
    """Heading where the table's title stands above already."""
    caption: str
    """How to read it, and what is not in it."""
    alt_text: str
    """What the picture shows, for someone who cannot see it."""
    spec: dict[str, Any]
    kind: MarkKind
    table: str = ""
    """Name of the table whose figures it shows; empty for other pictures."""
    family: str = ""
    """Name of the declared comparison that it shows; empty for other pictures."""

    condition: str | None = None
    """Label of the one condition that it shows; None for other pictures."""
    narrow: dict[str, Any] | None = None
    """Specification for a narrow screen, where there is such a picture; it has no file."""

    def begin(self) -> None:
        """Have it drawn while other things are written; it may be left out."""
        for spec in (self.spec, self.narrow):
            if spec is not None:
                _begin(spec)

    def is_drawn(self) -> bool:
        """Whether it can be drawn; waits until it is."""
        try:
            for spec in (self.spec, self.narrow):
                if spec is not None:
                    draw(spec)
        except NotDrawn:
            return False
        return True

    def svg(self) -> bytes:
        """The picture on white, with its title above."""
        return _sheet(draw(self.spec), self.title).encode()

    def inline(self) -> str:
        """The picture as a part of a page; the page shows the wide or the narrow one of two."""
        if self.narrow is None:
            return _inline(draw(self.spec), self.name, self.alt_text)
        wide = _inline(draw(self.spec), self.name, self.alt_text, "wide")
        return wide + _inline(_without_tips(draw(self.narrow)), f"{self.name}-narrow", self.alt_text, "narrow")

    def png(self) -> bytes:
        """The picture on white with its title, at twice its size."""
        return _pixels(_sheet(draw(self.spec), self.title))


def named(name: str) -> alt.Chart:
    """The beginning of a picture whose values are given to `make` as `data[name]`."""
    return alt.Chart(alt.NamedData(name=name))


VegaSpec = alt.TopLevelMixin | dict[str, Any]
"""What Altair makes, or its specification already."""


def layer(*marks: VegaSpec, **properties: Any) -> dict[str, Any]:
    """Marks over each other. (`alt.layer` copies all of them several times, which takes seconds.)"""
    return {"layer": [specification(mark) for mark in marks], **properties}


def specification(picture: VegaSpec) -> dict[str, Any]:
    """The picture as Vega-Lite, without the theme, which comes when it is drawn."""
    if isinstance(picture, dict):
        return picture
    spec = picture.to_dict(validate=False)
    return {key: value for key, value in spec.items() if key not in ("$schema", "config")}


def fixed(channel: Any, value: object) -> Any:
    """A place or a look that is the same for all marks. (`alt.value` would be matched against the schema.)"""
    return channel(value)


def either(channel: Any, test: str, yes: object, no: object) -> Any:
    """A mark's look that depends on its data. (`alt.condition` has each of them matched against the schema.)"""
    return channel(no, condition={"test": test, "value": yes})


TIP = alt.Description("tip:N")
"""What a mark says when it is pointed at; the mark itself needs `aria=True`."""


def tooltip(**said: str) -> str:
    """The text of a mark's tip, a line each: `quantile: P99`; empty ones are left out."""
    return "\n".join(f"{translated(name)}: {text}" for name, text in said.items() if text)


def _titled(above: str, heading: str) -> str:
    """The heading after the text that stands above it on a page."""
    return f"{above}{' ' if above.endswith('?') else ': '}{heading}" if above else heading


_NARROW = {"padding": theme.MARGINS_NARROW, "config": theme.config_narrow()}


def make(
    kind: MarkKind,
    heading: str,
    caption: str,
    alt_text: str,
    picture: VegaSpec,
    data: dict[str, ChartData],
    table: ResultTable | None = None,
    family: Family | None = None,
    narrow: VegaSpec | None = None,
    condition: str | None = None,
) -> Chart:
    """A `Chart` of an Altair picture, of one table, of one family of comparisons, or of the whole run.

    `narrow` is the same for a narrow screen; `condition` the label of the one condition that it shows.

    `data` holds the values by the names that the picture calls them (`named`): Altair copies what is inside a
    picture at each step. The colours of the background stay out of the specification: they come with
    `theme.config` when it is drawn.
    """
    subject = table.name if table else family.name if family else condition or ""
    above = table.title if table else family.question if family else condition or ""
    name = re.sub(r"[^a-z0-9]+", "-", f"{subject[:_NAME_MAX]} {kind}".lower()).strip("-")
    return Chart(
        name=name,
        title=_titled(fmt.plain(above), heading),
        heading=heading,
        caption=caption,
        alt_text=alt_text,
        spec={**specification(picture), "datasets": data},
        kind=kind,
        table=table.name if table else "",
        family=family.name if family else "",
        condition=condition,
        narrow=None if narrow is None else {**specification(narrow), **_NARROW, "datasets": data},
    )


def _begin(spec: dict[str, Any]) -> None:
    """Have it drawn by the time that `draw` is called; returns at once."""
    _begun(_dressed(spec))


def draw(spec: dict[str, Any]) -> str:
    """SVG of a Vega-Lite specification, without background and title. The `tooltip` of a mark is its `<title>`.

    Raises NotDrawn, see `pen`.
    """
    return _drawn(_dressed(spec))


def _sheet(drawing: str, title: str) -> str:
    """A drawing as a file of its own: on white, with its title above."""
    width, height = _size(drawing)
    width = max(width, theme.MARGINS["left"] + theme.MARGINS["right"] + _LETTER_PX * len(title))
    box = f'width="{width:g}" height="{height + _TITLE_PX:g}" viewBox="0 {-_TITLE_PX} {width:g} {height + _TITLE_PX:g}"'
    paper = f'<rect y="{-_TITLE_PX}" width="100%" height="100%" fill="white"/>'
    heading = (
        f'<text x="{theme.MARGINS["left"]}" y="-8" font-size="12.5px" font-weight="600" fill="{theme.INK}">'
        f"{escape(title, quote=False)}</text>"
    )
    return _BOX.sub(lambda _: box, drawing, count=1).replace(">", f">{paper}{heading}", 1)


def _inline(drawing: str, name: str, label: str, kind: str = "") -> str:
    """A drawing as a part of a page: its ids are the page's only ones of that name, and `label` says what it shows."""
    own = _IDS.sub(lambda found: f"{found[1]}{name}-{found[2]}", drawing)
    classes = f'class="{f"marks {kind}".strip()}" role="img" aria-label="{escape(label)}"'
    return own.replace('class="marks"', classes, 1)


def _without_tips(drawing: str) -> str:
    """A drawing for a screen that has no mouse to point with."""
    return _TIPS.sub("/>", drawing)


def _pixels(drawing: str) -> bytes:
    """A drawing as PNG, at twice its size."""
    return renderer_process.pixels(drawing, scale=2)


def _size(drawing: str) -> tuple[float, float]:
    found = _BOX.search(drawing)
    assert found is not None
    return float(found[1]), float(found[2])


def _dressed(spec: dict[str, Any]) -> str:
    dress = {"config": theme.config(), "background": "transparent", "padding": theme.MARGINS}
    return json.dumps({**dress, **spec})


@lru_cache(maxsize=128)
def _begun(spec_json: str) -> "Future[str]":
    return renderer_process.begin(spec_json, _VEGA_LITE)


@lru_cache(maxsize=128)
def _drawn(spec_json: str) -> str:
    shorter = _EMPTY.sub(r"\1", _TAG.sub(_plain_tag, _begun(spec_json).result()))
    return shorter.replace("<svg ", f'<svg font-family="{escape(theme.font())}" ', 1)


def _plain_tag(tag: re.Match[str]) -> str:
    """A tag without attributes that say nothing, its figures to a tenth of a pixel, a mark's tip as its title.

    The text of an attribute holds no `<`, `>` or quotation mark: the drawing has them escaped.
    """
    text = _NUMBERS.sub(lambda found: _LONG.sub(r"\1", found[0]), _IDLE.sub("", tag[0]))
    label = _LABEL.search(text)
    if label is None:
        return text
    text = text.replace(label[0], "", 1)
    if 'role="graphics-symbol"' not in tag[0] or not text.endswith("/>"):
        return text
    name = text[1 : text.index(" ")]
    return f"{text[:-2]}><title>{label[1]}</title></{name}>"


_TIPS = re.compile(r"><title>[^<]*</title></\w+>")
_BOX = re.compile(r'width="([\d.]+)" height="([\d.]+)" viewBox="[^"]*"')
_IDS = re.compile(r'(\bid="|url\(#)((?:clip|gradient)[\w-]*)')
_TAG = re.compile(r"<[^/!?][^>]*>")
_IDLE = re.compile(
    r' (?:role="graphics-[^"]*"|aria-(?:roledescription|hidden)="[^"]*"|pointer-events="none"|opacity="1"'
    r'|stroke-width="1"|text-anchor="start"|transform="translate\(0,0\)"'
    r'|class="(?:mark-|background|foreground)[^"]*"|font-family="[^"]*"|xmlns:xlink="[^"]*")'
)
_LABEL = re.compile(r' aria-label="([^"]*)"')
_NUMBERS = re.compile(r' (?:d|transform|x|y|x2|y2|width|height)="[^"]*"')
_LONG = re.compile(r"(\.\d)\d+(?!e)")
_EMPTY = re.compile(
    r"(<clipPath [^>]*>.*?</clipPath>)"
    r'|<rect width="[\d.]+" height="[\d.]+" fill="transparent"/>|<path d="[^"]*"(?: display="none")?/>'
)
"""The background, and frames of panels, which have neither a line nor a colour; what clips (group 1) stays."""
