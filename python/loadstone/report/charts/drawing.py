"""A specification becomes a drawing: drawn once, without what says nothing, for the page, a file and pixels."""

import json
import re
from concurrent.futures import Future
from functools import lru_cache
from html import escape
from typing import Any

import altair as alt

from loadstone.report.charts import pen, theme

_VEGA_LITE = alt.SCHEMA_VERSION.removeprefix("v").rpartition(".")[0]
_TITLE_PX = 30
"""Height of a title above a picture."""
_LETTER_PX = 7.2
"""Width of a letter of a title, on average; a title wider than its picture makes it wider."""


def begin(spec: dict[str, Any]) -> None:
    """Have it drawn by the time that `draw` is called; returns at once."""
    _begun(_dressed(spec))


def draw(spec: dict[str, Any]) -> str:
    """SVG of a Vega-Lite specification, without background and title. The `tip` of a mark is its `<title>`.

    Raises NotDrawn, see `pen`.
    """
    return _drawn(_dressed(spec))


def sheet(drawing: str, title: str) -> str:
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


def inline(drawing: str, name: str, label: str, kind: str = "") -> str:
    """A drawing as a part of a page: its ids are the page's only ones of that name, and `label` says what it shows."""
    own = _IDS.sub(lambda found: f"{found[1]}{name}-{found[2]}", drawing)
    classes = f'class="{f"marks {kind}".strip()}" role="img" aria-label="{escape(label)}"'
    return own.replace('class="marks"', classes, 1)


def without_tips(drawing: str) -> str:
    """A drawing for a screen that has no mouse to point with."""
    return _TIPS.sub("/>", drawing)


def pixels(drawing: str) -> bytes:
    """A drawing as PNG, at twice its size."""
    return pen.pixels(drawing, scale=2)


def _size(drawing: str) -> tuple[float, float]:
    found = _BOX.search(drawing)
    assert found is not None
    return float(found[1]), float(found[2])


def _dressed(spec: dict[str, Any]) -> str:
    dress = {"config": theme.config(), "background": "transparent", "padding": theme.MARGINS}
    return json.dumps({**dress, **spec})


@lru_cache(maxsize=128)
def _begun(spec_json: str) -> "Future[str]":
    return pen.begin(spec_json, _VEGA_LITE)


@lru_cache(maxsize=128)
def _drawn(spec_json: str) -> str:
    shorter = _EMPTY.sub(r"\1", _TAG.sub(_plain_tag, _begun(spec_json).result()))
    return shorter.replace("<svg ", f'<svg font-family="{escape(theme.FONT)}" ', 1)


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
