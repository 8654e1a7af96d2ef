"""Where a request's CPU goes: a bar a condition, a colour a part, the interval of the whole through its end."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import altair as alt

from loadstone.experiment.spec.levels import identity
from loadstone.judge.analysis.analysis import Analysis, Comparison, Row
from loadstone.judge.verdict import COST, CpuCost, Side
from loadstone.report import figure_format as fmt
from loadstone.report import verdicts
from loadstone.report.charts import theme
from loadstone.report.charts.axes import length_axis
from loadstone.report.charts.chart import TIP, Chart, ChartData, VegaSpec, either, fixed, layer, make, named, tooltip
from loadstone.report.charts.shape import ChartAxes, shape_of_run
from loadstone.report.figure_quality import different_rows
from loadstone.report.tables.columns import most_telling
from loadstone.text.english.figures import listed, part_text, whole_percent
from loadstone.text.language import _, plural

_ROWS_MAX = 24
_REACH = 1.25
"""Multiple of the dearest request that an interval is drawn up to."""
_OUTSIZE, _USUAL, _FEW = 2.5, 0.75, 5
"""Multiple of the request that `_USUAL` of them do not exceed: a dearer bar is cut, and the others keep their size.
Fewer bars than `_FEW` are drawn as they are."""
_FIGURE_PX, _LETTER_PX = 40, 6.3
"""Room after the longest bar: at least, and for each letter of the longest figure."""
_NAMES_NARROW = 34
"""Pixels for the name and the figure above a bar on a narrow screen."""


@dataclass(frozen=True)
class _Request:
    """A condition's bar: what a request costs each part, in the order of the way."""

    name: str
    costs: dict[str, CpuCost]
    whole: CpuCost | None
    """With its interval; None where only the parts are known."""
    hue: str
    """The condition's colour, of a bar that has one part."""
    invalid: bool = False

    @property
    def ns(self) -> float:
        return sum(cost.ns for cost in self.costs.values())

    @property
    def ends(self) -> tuple[float, float] | None:
        """The interval of all parts together."""
        if self.whole is None or self.whole.low_ns is None or self.whole.high_ns is None:
            return None
        return self.whole.low_ns, self.whole.high_ns

    @property
    def figure(self) -> str:
        """`7.9 µs [7.8, 8.0]`, of several parts `94 µs + 4.0 µs = 98 µs [96, 100]`."""
        said = f"{fmt.duration(self.ns)}{fmt.around(self.ns, self.ends)}{_(' invalid') if self.invalid else ''}"
        sums = " + ".join(fmt.duration(cost.ns) for cost in self.costs.values())
        return f"{sums} = {said}" if len(self.costs) > 1 else said


def cost_chart(analysis: Analysis) -> Chart | None:
    """What a request costs each part: of the conditions that are compared, then of others that say most.

    None where no part was observed.
    """
    requests = _requests(analysis)
    if not requests:
        return None
    top = _top(requests)
    parts = _parts(requests)
    wholes = [_whole(one, top) for one in requests]
    return make(
        "cost",
        _("Where a request's CPU goes") if len(parts) > 1 else _("CPU per request of {parts}", parts=parts[0]),
        _caption(analysis, requests, wholes),
        _spoken(requests, parts),
        _picture(wholes, parts),
        {"parts": [piece for one in requests for piece in _pieces(one, top)], "wholes": wholes},
        narrow=_picture(wholes, parts, narrow=True),
    )


def _top(requests: list[_Request]) -> float:
    """Up to where bars and intervals are drawn."""
    costs = sorted(one.ns for one in requests)
    if len(costs) < _FEW:
        return _REACH * costs[-1]
    usual = costs[int(_USUAL * (len(costs) - 1))]
    return _REACH * max(cost for cost in costs if cost <= _OUTSIZE * usual)


def _requests(analysis: Analysis) -> list[_Request]:
    """Compared conditions first, also those that no table has; no two have one name."""
    every = {identity(row.condition): row for row in different_rows(analysis)}
    shape = shape_of_run(analysis)
    found: dict[str, _Request] = {}
    for comparison in verdicts.all_comparisons(analysis):
        for side in (comparison.primary.a, comparison.primary.b):
            key = identity(side.condition)
            if key not in found and (
                bar := _of_row(every[key], shape) if key in every else _of_side(comparison, side, shape)
            ):
                found[key] = bar
    for row in most_telling(analysis, _ROWS_MAX):
        if (key := identity(row.condition)) not in found and row.costs:
            found[key] = _of_row(row, shape)
    tables = {identity(row.condition): fmt.plain(table.title) for table in analysis.tables for row in table.rows}
    many = Counter(one.name for one in found.values())
    return [
        replace(one, name=f"{one.name} ({tables.get(key, 'compared')})") if many[one.name] > 1 else one
        for key, one in list(found.items())[:_ROWS_MAX]
        if one.costs
    ]


def _parts(requests: list[_Request]) -> list[str]:
    """In the order in which requests meet them, whichever condition has which."""
    after: dict[str, int] = {}
    for one in requests:
        for place, part in enumerate(one.costs):
            after[part] = max(after.get(part, 0), len(one.costs) - place)
    return list(dict.fromkeys(part_text(part) for part in sorted(after, key=lambda part: -after[part])))


def _of_row(row: Row, shape: ChartAxes) -> _Request:
    name = fmt.plain(row.label) or _("this run")
    return _Request(name, row.costs, row.cost, shape.colour_of(row), row.verdict == "invalid")


def _of_side(comparison: Comparison, side: Side, shape: ChartAxes) -> _Request:
    """A condition that no table has: what its rounds cost, typically."""
    judged = [(one.metric.removeprefix(COST), one.a if one.a.name == side.name else one.b) for one in comparison.costs]
    costs = {part: CpuCost(ns=one.typical) for part, one in judged if one.typical}
    name = ", ".join(filter(None, (fmt.plain(side.name), fmt.plain(comparison.place))))
    return _Request(name, costs, None, shape.colour_of(side))


def _pieces(request: _Request, top: float) -> ChartData:
    """A piece of the bar for each part, from left to right; what lies beyond the picture is cut."""
    end, found = 0.0, []
    for part, cost in request.costs.items():
        begin, end = end, end + cost.ns
        share = "" if len(request.costs) == 1 else whole_percent(cost.ns / request.ns)
        ends = None if cost.low_ns is None else (cost.low_ns, cost.high_ns)
        said = {part_text(part): f"{fmt.duration(cost.ns)}{fmt.around(cost.ns, ends)}", "share": share}
        drawn = {"begin": min(begin, top), "end": min(end, top)}
        piece = {"condition": request.name, "part": part_text(part), "hue": request.hue, **drawn}
        found.append({**piece, "invalid": request.invalid, "tip": tooltip(condition=request.name, **said)})
    return found


def _whole(request: _Request, top: float) -> dict[str, Any]:
    """The bar's end: its figure, and the interval of the sum; both cut where they would make all others flat."""
    low, high = request.ends or (None, None)
    if low is not None and low >= top:
        low = high = None
    beyond = request.ns > top
    return {
        "condition": request.name,
        "end": min(max(request.ns, high or 0.0), top),
        "low": low,
        "high": None if high is None else min(high, top),
        "cut": beyond or (high is not None and high > top),
        "figure": f"▸ {request.figure}" if beyond else request.figure,
    }


def _caption(analysis: Analysis, requests: list[_Request], wholes: ChartData) -> str:
    sentences = [_("CPU time, user and system, of one correct reply.")]
    if any(len(one.costs) > 1 for one in requests):
        sentences.append(_("Segments follow the order of the sum."))
    if any(one["low"] is not None for one in wholes):
        sentences.append(_("The thin line is the 95 % interval of the whole bar."))
    if any(one["cut"] for one in wholes):
        sentences.append(_("Bars and lines beyond the chart are clipped; their figures are complete."))
    if len(requests) > 1:
        sentences.append(_("A busy server uses less CPU per request: compare bars at the same load."))
    every = [row for row in different_rows(analysis) if row.goodput_per_s is not None]
    drawn = {one.name for one in requests}
    if more := sum(bool(row.costs) and fmt.plain(row.label) not in drawn for row in every):
        sentences.append(_("{more} in the tables.", more=plural(more, "{n} more condition", "{n} more conditions")))
    if unseen := sum(not row.costs for row in every):
        sentences.append(
            _(
                "{unseen} had parts whose CPU could not be seen.",
                unseen=plural(unseen, "{n} condition", "{n} conditions"),
            )
        )
    return " ".join(sentences)


def _spoken(requests: list[_Request], parts: list[str]) -> str:
    """The dearest and the cheapest request, for someone who cannot see the picture."""
    low, high = (pick(requests, key=lambda one: one.ns) for pick in (min, max))
    said = _("CPU per request of {parts}. {name}: {figure}", parts=listed(parts), name=high.name, figure=high.figure)
    return (
        _("{said}, the most; {name}: {figure}, the least.", said=said, name=low.name, figure=low.figure)
        if low is not high
        else f"{said}."
    )


def _picture(wholes: ChartData, parts: list[str], *, narrow: bool = False) -> VegaSpec:
    """Names to the left of the bars, or above them; figures to the right, in narrow pictures beside the name."""
    order = [one["condition"] for one in wholes]
    room = theme.room_for(order)
    figures = max(_FIGURE_PX, _LETTER_PX * max(len(one["figure"]) for one in wholes))
    width = theme.WIDTH_NARROW - 20 if narrow else theme.WIDTH - (room - theme.LABEL_LIMIT) - figures
    if len(parts) > 1:
        colours = alt.Scale(domain=parts, range=list(theme.PARTS))
        color = alt.Color("part:N", scale=colours, legend=alt.Legend(title=None, symbolType="square"))
    else:
        hues = [*theme.SERIES]
        color = alt.Color("hue:N", scale=alt.Scale(domain=hues, range=hues), legend=None)
    y = alt.Y("condition:N", sort=order, axis=None if narrow else alt.Axis(title=None, grid=False, labelLimit=room))
    axis = length_axis(_("CPU per request"), 3 if narrow else 5)
    base = named("wholes").encode(y=y)
    bars = (
        named("parts")
        .mark_bar(height=12 if narrow else {"band": 0.62}, aria=True)
        .encode(
            y=y,
            x=alt.X("begin:Q", scale=alt.Scale(zero=True, nice=True), axis=axis),
            x2=alt.X2("end:Q"),
            color=color,
            fillOpacity=either(alt.FillOpacityValue, "datum.invalid", 0.15, 0.9),
            description=TIP,
        )
    )
    layers: list[VegaSpec] = [bars]
    if any(one["low"] is not None for one in wholes):
        span = base.transform_filter("isValid(datum.low)").mark_rule(color=theme.INK, strokeWidth=1.3)
        layers.append(span.encode(x=alt.X("low:Q"), x2=alt.X2("high:Q")))
    if narrow:
        words: dict[str, Any] = {"align": "left", "baseline": "bottom", "limit": theme.WIDTH_NARROW}
        above = base.mark_text(**words, dy=-20, fontSize=11.5, color=theme.INK)
        below = base.mark_text(**words, dy=-8, fontSize=11)
        for text, field in ((above, "condition:N"), (below, "figure:N")):
            layers.append(text.encode(x=fixed(alt.XValue, 0), text=alt.Text(field)))
    else:
        text = base.mark_text(align="left", dx=6, fontSize=11)
        layers.append(text.encode(x=alt.X("end:Q"), text=alt.Text("figure:N")))
    height = {"step": 24 + (_NAMES_NARROW if narrow else 0)}
    return layer(*layers, width=width, height=height, padding=theme.margins(room))
