"""The blocks of every pair in the order of time: a drift, a stall or an effect of the order is observed."""

from itertools import cycle
from math import ceil, inf, isfinite, log, log1p
from statistics import median
from typing import Any

import altair as alt

from loadstone.judge.analysis.analysis import Analysis, Comparison, Family
from loadstone.judge.verdict import BlockPoint
from loadstone.report import figure_format as fmt
from loadstone.report import verdicts
from loadstone.report.charts import theme
from loadstone.report.charts.axes import percent_axis
from loadstone.report.charts.chart import TIP, Chart, ChartData, either, layer, make, named, tooltip
from loadstone.report.charts.theme import reach
from loadstone.text.language import _

_COLUMNS = 3
_PANELS_MAX = 24
"""More pairs than this make a picture that no one reads; the tables hold them all."""
_LEAST = log(1.02)
"""Half of the smallest range that a panel shows: noise below 2 % is not blown up."""
_UNKNOWN = "unknown"
_SHAPES = ("circle", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right", "triangle-left")
"""A shape for each condition that ran first; more than these start again."""


def blocks_chart(family: Family, analysis: Analysis) -> Chart | None:
    """A small picture a pair, with a mark a block; None where no pair has a ratio."""
    shown = [one for one in family.comparisons if one.primary.kind != "invalid" and _ratios(one)]
    panels = shown[:_PANELS_MAX]
    if not panels:
        return None
    orders = {view.trial: view.order for view in analysis.trials}
    data: dict[str, ChartData] = {"points": [], "pairs": []}
    pictures = []
    for number, comparison in enumerate(panels):
        low, high = _domain(comparison)
        data["points"] += [
            _point(number, point, orders, comparison, low, high) for point in comparison.primary.points if _known(point)
        ]
        data["pairs"].append(_pair(number, comparison, low, high))
    shapes = _shapes(panels)
    for number, comparison in enumerate(panels):
        low, high = _domain(comparison)
        pictures.append(_panel(number, comparison, low, high, data["points"], shapes))
    return make(
        "blocks",
        _("Block by block"),
        _caption(data["points"], len(family.comparisons) - len(panels)),
        _("The ratio of every block, in the order of time, for {panels} pairs.", panels=len(panels)),
        {"concat": pictures, "columns": _COLUMNS, "spacing": {"row": 22, "column": 26}},
        data,
        family=family,
        narrow={"concat": pictures, "columns": 1, "spacing": 22},
    )


def _first_label(comparison: Comparison) -> tuple[str, str]:
    """`json first`, `string first`."""
    return _("{plain} first", plain=fmt.plain(comparison.primary.a.name)), _(
        "{plain} first", plain=fmt.plain(comparison.primary.b.name)
    )


def _shapes(panels: list[Comparison]) -> dict[str, str]:
    """What ran first in a block -> the shape of its mark, the same in all panels."""
    names = dict.fromkeys(words for comparison in panels for words in _first_label(comparison))
    return {**dict(zip(names, cycle(_SHAPES), strict=False)), _UNKNOWN: "square"}


def _known(point: BlockPoint) -> bool:
    return point.log_ratio is not None and isfinite(point.log_ratio)


def _ratios(comparison: Comparison) -> list[float]:
    return [point.log_ratio for point in comparison.primary.points if point.log_ratio is not None and _known(point)]


def _domain(comparison: Comparison) -> tuple[float, float]:
    """Around the middle block, as far as all blocks but the outsize ones go; 0 too if it is near."""
    ratios = _ratios(comparison)
    middle = median(ratios)
    far = 1.15 * reach([abs(ratio - middle) for ratio in ratios], _LEAST)
    low, high = middle - far, middle + far
    if low - 2 * far <= 0 <= high + 2 * far:
        low, high = min(low, -0.1 * far), max(high, 0.1 * far)
    return low, high


def _point(
    number: int, point: BlockPoint, orders: dict[str, int], comparison: Comparison, low: float, high: float
) -> dict[str, Any]:
    assert point.log_ratio is not None
    a, b = orders.get(point.trial_a), orders.get(point.trial_b)
    by_turns = comparison.primary.unit == "round"  # either one is first in half of a block's rounds
    order = _UNKNOWN if by_turns or a is None or b is None or a == b else _first_label(comparison)[0 if a < b else 1]
    return {
        "pair": number,
        "block": point.block,
        "y": min(max(point.log_ratio, low), high),
        "beyond": point.log_ratio < low or point.log_ratio > high,
        "first": order,
        "used": point.used,
        "a": fmt.plain(point.trial_a),
        "b": fmt.plain(point.trial_b),
        "tip": _tip(point, order, comparison),
    }


def _tip(point: BlockPoint, order: str, comparison: Comparison) -> str:
    a, b = (fmt.plain(side.name) for side in (comparison.primary.a, comparison.primary.b))
    said = {
        "block": str(point.block) if order == _UNKNOWN else f"{point.block}, {order}",
        verdicts.pair_name(comparison): fmt.ratio(point.log_ratio),
        "used": fmt.sentence(point.why) or "yes",
        _("trial of {a}", a=a): fmt.plain(point.trial_a),
        _("trial of {b}", b=b): fmt.plain(point.trial_b),
    }
    return tooltip(**said)


def _pair(number: int, comparison: Comparison, low: float, high: float) -> dict[str, Any]:
    primary = comparison.primary
    found = verdicts.interval(primary)
    estimate = verdicts.estimate(primary) if found else None
    ends = found or verdicts.IntervalText(inf, -inf)
    margin = log1p(primary.margin)
    zone = (max(-margin, low), min(margin, high))
    return {
        "pair": number,
        "estimate": estimate if estimate is not None and isfinite(estimate) else None,
        "low": max(ends.low, low) if ends.low < high else None,
        "high": min(ends.high, high) if ends.high > low else None,
        "zone_low": zone[0] if zone[0] < zone[1] else None,
        "zone_high": zone[1] if zone[0] < zone[1] else None,
        "zero": 0 if low <= 0 <= high else None,
    }


def _panel(
    number: int, comparison: Comparison, low: float, high: float, points: ChartData, shapes: dict[str, str]
) -> Any:
    scale = alt.Scale(domain=[low, high], nice=False, zero=False)
    axis = percent_axis(None, low, high, 6, grid=True, gridDash=[2, 3])
    mine = f"datum.pair === {number}"
    pair = named("pairs").transform_filter(mine)
    grey = pair.mark_rect(color=theme.NEUTRAL, opacity=0.17)
    zone = grey.encode(y=alt.Y("zone_low:Q", scale=scale), y2=alt.Y2("zone_high:Q"))
    blue = pair.mark_rect(color=theme.SERIES[0], opacity=0.16)
    band = blue.encode(y=alt.Y("low:Q", scale=scale), y2=alt.Y2("high:Q"))
    zero = pair.mark_rule(color=theme.NEUTRAL).encode(y=alt.Y("zero:Q", scale=scale))
    middle = pair.mark_rule(color=theme.SERIES[0], strokeWidth=1.4).encode(y=alt.Y("estimate:Q", scale=scale))
    last = max(point["block"] for point in points if point["pair"] == number)
    blocks = list(range(1, last + 1, ceil(last / 10)))
    x = alt.X(
        "block:Q",
        scale=alt.Scale(domain=[0.5, max(last, 2) + 0.5], nice=False, zero=False),
        axis=alt.Axis(title=_("block"), values=blocks, format="d"),
    )
    base = named("points").transform_filter(mine).encode(x=x, y=alt.Y("y:Q", scale=scale, axis=axis))
    line = base.transform_filter("datum.used").mark_line(color=theme.NEUTRAL, strokeWidth=1, opacity=0.5)
    marks = base.mark_point(size=46, strokeWidth=1.6, opacity=1, aria=True).encode(
        shape=alt.Shape(
            "first:N", scale=alt.Scale(domain=list(shapes), range=list(shapes.values())), legend=_legend(points, shapes)
        ),
        color=either(alt.ColorValue, "datum.used", theme.SERIES[0], theme.NEUTRAL),
        fill=either(alt.FillValue, "datum.used", theme.SERIES[0], "transparent"),
        description=TIP,
    )
    layers = [zone, band, zero, middle, line, marks]
    if any(point["beyond"] for point in points if point["pair"] == number):
        ring: dict[str, Any] = {"size": 190, "strokeWidth": 1.6, "color": theme.SERIES[1], "aria": True}
        layers.append(base.transform_filter("datum.beyond").mark_point(**ring).encode(description=TIP))
    title = {"text": verdicts.title(comparison), "limit": 290, "offset": 6, "fontSize": 11.5}
    return layer(*layers, width=255, height=110, title=title)


def _legend(points: ChartData, shapes: dict[str, str]) -> alt.Legend | None:
    there = {point["first"] for point in points}
    shown = [words for words in shapes if words in there]
    return alt.Legend(title=_("in its block"), values=shown) if shown != [_UNKNOWN] else None


def _caption(points: ChartData, left_out: int) -> str:
    by_order = any(point["first"] != _UNKNOWN for point in points)
    shapes = _(", and two shapes that lie apart are an effect of the order") if by_order else ""
    sentences = [
        _(
            "A mark is one block's own difference; the line through all is the typical difference, "
            "the coloured band its interval, the grey one the margin. Marks that climb or fall "
            "together are a drift, a lone one far off is a stall{shapes}. Each chart has its own scale.",
            shapes=shapes,
        )
    ]
    if any(point["beyond"] for point in points):
        sentences.append(_("Rings mark blocks outside the chart."))
    if any(not point["used"] for point in points):
        sentences.append(_("Hollow grey blocks were not used; the table gives the reason."))
    if left_out:
        sentences.append(
            _("Pairs not shown, being invalid, without a ratio, or too many: {left_out}.", left_out=left_out)
        )
    return " ".join(sentences)
