"""Colours, type and ticks of the pictures: for colour-blind readers, in print and on a dark screen."""

from collections.abc import Iterable, Sequence
from math import ceil, floor, isfinite, log1p, log10
from statistics import median
from typing import Any

from rich.cells import cell_len

from loadstone.text.figures import log_percent
from loadstone.text.language import ENGLISH, language

_WIDE = (
    -99, -98, -95, -90, -80, -75, -67, -50, -33, -20, -10, -5, -2, 0, 2, 5, 10, 20, 50, 100, 200, 300, 500, 1000, 2000,
    5000, 10_000, 20_000, 50_000, 100_000,
)  # fmt: skip
"""Round ticks in per cent for a range too wide for equal steps."""
_EVEN_UP_TO = 0.7
"""A range of log ratios up to which ticks stand in equal steps of per cent."""
_OUTSIZE = 5.0
"""An interval's end so many times as far off as the usual one is cut, so that it does not flatten the others."""
SERIES = ("#0072B2", "#D55E00", "#009E73", "#AA4499", "#B8860B", "#56A0D3", "#7A7A7A", "#8C564B")
"""After Okabe and Ito, a little darker where theirs fade on white paper."""
PARTS = SERIES[::-1]
"""Those of parts, e.g. `redis`: conditions take theirs from the other end."""
VERDICTS = {"valid": "#2B7A9B", "suspect": "#C98A00", "invalid": "#D1495B", "unknown": "#8A9099", "missing": "#8A9099"}
INK, SOFT, GRID = "#1D2530", "#56606D", "#E4E8EC"
"""Headings, other text, and lines behind the figures."""
ON_DARK = {
    "#0072B2": "#4FA8E0", "#D55E00": "#F0812E", "#009E73": "#2CC295", "#AA4499": "#D77CC9", "#B8860B": "#E0B040",
    "#56A0D3": "#8CC8F0", "#7A7A7A": "#A8A8A8", "#8C564B": "#C08A7C", "#2B7A9B": "#62B3D3", "#C98A00": "#E0A93A",
    "#D1495B": "#F0788A", INK: "#E6E9EE", SOFT: "#A9B1BC", GRID: "#2E343D",
}  # fmt: skip
"""What each colour becomes on a dark screen."""
NEUTRAL = "#8A9099"
"""Lines and marks that must show on white and on black."""
WIDTH = 980
"""Pixels from the left to the right end of an axis: a picture then fits a page 1,280 pixels wide."""
FONT = "Inter, 'Segoe UI', 'Helvetica Neue', 'Liberation Sans', Arial, sans-serif"
KOREAN_FONTS = "'Apple SD Gothic Neo', 'Malgun Gothic', 'Noto Sans KR', 'Noto Sans CJK KR', NanumGothic"
"""Korean fonts of macOS, Windows and Linux."""
MARGINS = {"left": 28, "right": 14, "top": 10, "bottom": 10}
"""Room for the reader's own font, which may be wider than the one the drawing was measured with."""
MARGINS_NARROW = {"left": 4, "right": 10, "top": 4, "bottom": 4}
WIDTH_NARROW, NAME_NARROW = 306, 266
"""Pixels on a narrow screen: of a whole picture, which then need not be made smaller to fit 360 pixels, and of a
condition's name in it, with room for a reader whose font is wider."""
LABEL_LIMIT = 260
"""Pixels of a label; a longer one is cut, where no picture gives it more room."""
_LABEL_MAX, _LETTER = 460, 6
"""Pixels that a condition's name gets at most, and of one of its letters."""


def font() -> str:
    """The fonts of texts in the language of now."""
    return FONT if language() == ENGLISH else FONT.replace("sans-serif", f"{KOREAN_FONTS}, sans-serif")


def room_for(labels: Iterable[str]) -> int:
    """Pixels that the names along an axis get; what they take beyond `LABEL_LIMIT` the picture gives up."""
    longest = max(map(cell_len, labels), default=0) * _LETTER
    return min(_LABEL_MAX, max(LABEL_LIMIT, longest))


def margins(room: int) -> dict[str, float]:
    """Margins of a picture whose names along an axis get `room` pixels: long ones are as much wider in another font."""
    return {**MARGINS, "left": MARGINS["left"] + (0.15 * room if room > LABEL_LIMIT else 0)}


def config() -> dict[str, Any]:
    """Vega-Lite's config for a light background; the page replaces the colours on a dark one."""
    return {
        "aria": False,
        "font": FONT,
        "view": {"stroke": None},
        "axis": {
            "labelColor": SOFT, "titleColor": SOFT, "labelFontSize": 11, "titleFontSize": 11.5,
            "titleFontWeight": "normal", "titlePadding": 10, "gridColor": GRID, "domainColor": NEUTRAL,
            "tickColor": NEUTRAL, "domain": False, "ticks": False, "labelPadding": 6, "labelLimit": LABEL_LIMIT,
            "titleLimit": 280,
        },
        "axisX": {"grid": False, "domain": True, "ticks": True},
        "legend": {
            "labelColor": INK, "titleColor": SOFT, "labelFontSize": 11.5, "titleFontSize": 11,
            "titleFontWeight": "normal", "titleOrient": "left", "titlePadding": 24, "orient": "top",
            "direction": "horizontal", "symbolSize": 70, "columnPadding": 18, "labelLimit": 240, "offset": 14,
            "layout": {"top": {"anchor": "start", "direction": "horizontal", "margin": 26}},
        },
        "header": {
            "labelColor": INK, "titleColor": SOFT, "labelFontSize": 12, "labelFontWeight": 600, "labelLimit": 280,
        },
        "title": {"color": INK, "subtitleColor": SOFT, "fontSize": 12.5, "anchor": "start", "fontWeight": 600},
        "text": {"color": SOFT},
    }  # fmt: skip


def config_narrow() -> dict[str, Any]:
    """Return the settings for a narrow screen: legends below each other, with their titles above them."""
    wide = config()
    legend = {**wide["legend"], "titleOrient": "top", "titlePadding": 4, "columns": 3, "labelLimit": 130, "offset": 8}
    legend["layout"] = {"top": {"anchor": "start", "direction": "vertical", "margin": 8}}
    return {**wide, "legend": legend, "axis": {**wide["axis"], "titleLimit": WIDTH_NARROW}}


def reach(lengths: Iterable[float], least: float) -> float:
    """Return how far an axis must go to show all `lengths` (log ratios) but the outsize ones; `least` at least."""
    finite = sorted(length for length in lengths if isfinite(length))
    if not finite:
        return least
    usual = max(median(finite), least)
    return max([least, *(length for length in finite if length <= _OUTSIZE * usual)])


def ticks(low: float, high: float, most: int) -> list[float]:
    """At most about `most` log ratios between `low` and `high` that are round in per cent; 0 first of all."""
    if high - low > _EVEN_UP_TO:
        inside = [log1p(value / 100) for value in _WIDE if low <= log1p(value / 100) <= high]
        kept: list[float] = []
        for tick in sorted(inside, key=lambda tick: (abs(tick) > 1e-9, -_roundness(tick))):
            if all(abs(tick - other) >= (high - low) / most for other in kept):
                kept.append(tick)
        return sorted(kept)
    first, last = log_percent(low), log_percent(high)
    rough = (last - first) / most
    size: float = 10 ** floor(log10(rough))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= rough)
    return [log1p(number * step / 100) for number in range(ceil(first / step), floor(last / step) + 1)]


def _roundness(tick: float) -> int:
    """Return how gladly a reader meets a number: hundreds before fifties before tens."""
    value = round(abs(log_percent(tick)))
    return sum(value % step == 0 for step in (10, 50, 100, 1000))


def duration_ticks(lengths_ns: Sequence[float]) -> list[float]:
    """Round lengths in ns around all of `lengths_ns`: 1, 2 and 5 times powers of ten, or the powers alone."""
    low, high = min(lengths_ns), max(lengths_ns)
    steps = (1, 2, 5) if high / low < 200 else (1,)
    exponents = range(floor(log10(low)), floor(log10(high)) + 2)
    found = [float(step * 10**exponent) for exponent in exponents for step in steps]
    first = max((tick for tick in found if tick <= low), default=found[0])
    last = min((tick for tick in found if tick >= high), default=found[-1])
    return [tick for tick in found if first <= tick <= last]
