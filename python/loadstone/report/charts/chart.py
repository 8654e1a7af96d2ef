"""One picture, and what it becomes: SVG and PNG here, a live picture on the page."""

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import altair as alt
import vl_convert

from loadstone.report.charts import theme

_VEGA_LITE = alt.SCHEMA_VERSION.removeprefix("v").rpartition(".")[0]


@dataclass(frozen=True)
class Chart:
    """A picture with its words. `spec` is Vega-Lite without colours of a background."""

    name: str
    """Stem of its file, e.g. `by-size-rps`."""
    title: str
    caption: str
    """How to read it, and what is not in it."""
    alt_text: str
    """What the picture shows, for someone who cannot see it."""
    spec: dict[str, Any]

    def svg(self) -> bytes:
        """The picture for print and Markdown, on white."""
        return _svg(self._printed())

    def png(self) -> bytes:
        """The picture at twice its size, on white."""
        return vl_convert.vegalite_to_png(self._printed(), vl_version=_VEGA_LITE, scale=2)

    def _printed(self) -> str:
        return json.dumps({**self.spec, "config": theme.config(dark=False), "background": "white"})


@lru_cache(maxsize=64)
def _svg(spec_json: str) -> bytes:
    return vl_convert.vegalite_to_svg(spec_json, vl_version=_VEGA_LITE).encode()


def make(name: str, title: str, caption: str, alt_text: str, picture: alt.TopLevelMixin) -> Chart:
    """A `Chart` of an Altair picture.

    The colours of the background stay out of the specification: they come with `theme.config` when it is drawn.
    """
    spec = picture.to_dict()
    spec.pop("config", None)
    return Chart(name, title, caption, alt_text, {**spec, "description": alt_text})
