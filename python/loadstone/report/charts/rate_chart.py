"""RPS or TPS of a table: lines along a quantity, or bars when only names are varied."""

import json
from typing import Any

import altair as alt

from loadstone.judge.analysis.analysis import Analysis, ResultTable, Row
from loadstone.report import figure_format as fmt
from loadstone.report.charts import theme
from loadstone.report.charts.axes import colour_scale
from loadstone.report.charts.chart import TIP, Chart, ChartData, VegaSpec, either, fixed, layer, make, named, tooltip
from loadstone.report.charts.shape import ChartAxes, number_of, shape_of
from loadstone.report.tables.column import rate_range
from loadstone.report.tables.columns import TPS, Rate, rate_of
from loadstone.text.language import _, translated

_REACH = 1.25
"""Multiple of the highest rate that an interval is drawn up to."""
_LOG_FROM = 100.0
"""Rates that differ by so much are drawn on a log scale; all others start at 0."""

_PANELS, _SPACING = 3, 28
"""Panels side by side, and pixels between them."""
_AXIS_NARROW, _FIGURES_NARROW, _NAME_NARROW = 40, 110, 14
"""Pixels on a narrow screen: of an axis, of the figure after a bar, of the name above one."""

_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "stroke", "triangle-right")
_TROUBLE = {"suspect": "circle", "invalid": "M-0.7,-0.7L0.7,0.7M0.7,-0.7L-0.7,0.7"}
"""The ring and the cross drawn over a figure that is not valid."""


def rate_chart(table: ResultTable, analysis: Analysis) -> Chart | None:
    """The rate of every condition of `table`, the published figures as faint marks; None if nothing was measured."""
    shape, rate = shape_of(table, analysis), rate_of(table)
    values = _cut([point for row in table.rows for point in _points(row, shape, rate)])
    if all(point["kind"] == "published" for point in values):
        return None
    draw = _lines if shape.along else _bars
    along = _(" by {phrase}", phrase=shape.phrase(shape.along)) if shape.along else ""
    return make(
        "rps",
        f"{rate.unit}{along}",
        _caption(values, shape),
        f"{translated(rate.title)}{along}. " + _spoken(table, rate),
        draw(values, shape, rate),
        {"conditions": values, "names": [{"condition": name} for name in _names(values)]},
        table,
        narrow=draw(values, shape, rate, narrow=True),
    )


def _points(row: Row, shape: ChartAxes, rate: Rate) -> ChartData:
    """The row's own figure and the published one, in the long form that a legend needs."""
    common = {
        "condition": fmt.plain(row.label),
        "colour": shape.text(shape.colour, row),
        "panel": shape.panel(row),
        "x": number_of(row.condition[shape.along]) if shape.along and shape.along in row.condition else None,
    }
    points = []
    measured, original = rate.of_row(row), rate.of_original(row)
    if measured is not None and row.verdict != "missing":
        kind = "measured" if row.verdict == "valid" else row.verdict
        goodput = _goodput(row, rate)
        figure = f"{fmt.rate(measured)}{goodput}{'' if row.verdict == 'valid' else f' {translated(row.verdict)}'}"
        note = " ".join(filter(None, (goodput.strip(), *map(fmt.sentence, row.reasons))))
        low, high = rate.of_interval(row) or (None, None)
        ends = {"low": low, "high": high, "end": max(measured, high or 0.0)}
        own = {"kind": kind, "rps": measured, "note": note, "figure": figure, "series": "measured", **ends}
        points.append({**common, **own, **({"goodput": row.goodput_per_s} if goodput else {})})
    if original is not None:
        points.append({**common, "kind": "published", "rps": original, "note": "", "series": "published"})
    return [{**point, "tip": _tip(point, rate)} for point in points]


def _tip(point: dict[str, Any], rate: Rate) -> str:
    interval = rate_range((point["low"], point["high"])) if _has_interval(point) else ""
    own = {"condition": point["condition"], rate.unit: fmt.rate(point["rps"]), "interval": interval}
    return tooltip(**own, figure=point["kind"], note=point["note"])


def _goodput(row: Row, rate: Rate) -> str:
    """What failures leave of a rate that counts them; empty where that is the same."""
    goodput = fmt.rate(row.goodput_per_s)
    return (
        _(" (goodput {goodput})", goodput=goodput) if rate is TPS and goodput != fmt.rate(row.throughput_per_s) else ""
    )


def _caption(values: ChartData, shape: ChartAxes) -> str:
    sentences = [_("Rates are on a log scale.") if _is_log(values) else _("Rates start at 0.")]
    if shape.along and shape.is_log():
        sentences.append(_("The axis of the {phrase} is on a log scale.", phrase=shape.phrase(shape.along)))
    if any(_has_interval(point) for point in values):
        sentences.append(_("The thin line through a figure is its interval."))
    if any(point.get("cut") for point in values):
        sentences.append(_("Intervals beyond the chart are clipped."))
    if any(point.get("goodput") for point in values):
        sentences.append(_("TPS counts failed replies too: where goodput is less it is named."))
    kinds = {point["kind"] for point in values}
    if "published" in kinds:
        sentences.append(_("Faint marks are the published figures, from the author's machine."))
    if "suspect" in kinds:
        sentences.append(_("A ring marks a suspect figure."))
    if "invalid" in kinds:
        sentences.append(_("A cross marks an invalid figure: it does not describe the server."))
    return " ".join(sentences)


def _spoken(table: ResultTable, rate: Rate) -> str:
    """The extremes in one sentence."""
    rows = [row for row in table.rows if rate.of_row(row) is not None and row.verdict in ("valid", "suspect")]
    if not rows:
        return _("No condition has a valid figure.")
    low, high = (pick(rows, key=lambda row: rate.of_row(row) or 0.0) for pick in (min, max))
    return _(
        "Lowest {lowest} for {low_label}, highest {highest} for {high_label}.",
        lowest=fmt.rate(rate.of_row(low)),
        low_label=fmt.plain(low.label),
        highest=fmt.rate(rate.of_row(high)),
        high_label=fmt.plain(high.label),
    )


def _is_log(values: ChartData) -> bool:
    rates = [point["rps"] for point in values if point["kind"] != "invalid"]
    return bool(rates) and min(rates) > 0 and max(rates) / min(rates) >= _LOG_FROM


def _rate_scale(values: ChartData) -> alt.Scale:
    return alt.Scale(type="log") if _is_log(values) else alt.Scale(zero=True, nice=True)


def _rate_axis(values: ChartData, rate: Rate, ticks: int = 5) -> alt.Axis:
    log = _(" (log scale)") if _is_log(values) else ""
    label = "format(datum.value, '~s')"
    return alt.Axis(title=f"{rate.unit}{log}", labelExpr=label, tickCount=ticks, labelOverlap=True)


def _cut(values: ChartData) -> ChartData:
    """The points, with intervals cut where they would make the picture of all others flat."""
    top = _REACH * max((point["rps"] for point in values if point["kind"] != "invalid"), default=0.0)
    return [
        {**point, "high": min(point["high"], top), "end": min(point["end"], max(point["rps"], top)), "cut": True}
        if _has_interval(point) and point["high"] > top
        else point
        for point in values
    ]


def _has_interval(point: dict[str, Any]) -> bool:
    return point.get("low") is not None


def _legend(shape: ChartAxes) -> alt.Legend | None:
    if shape.colour is None:
        return None
    return alt.Legend(title=shape.title(shape.colour), symbolOpacity=1, symbolStrokeWidth=0)


def _colour(shape: ChartAxes) -> Any:
    if shape.colour is None:
        return fixed(alt.ColorValue, theme.SERIES[0])
    return alt.Color("colour:N", scale=colour_scale(shape.palette, shape.texts(shape.colour)), legend=_legend(shape))


def _stroke(shape: ChartAxes) -> Any:
    """The colour of a line; the legend is the marks' own."""
    if shape.colour is None:
        return fixed(alt.StrokeValue, theme.SERIES[0])
    return alt.Stroke("colour:N", scale=colour_scale(shape.palette, shape.texts(shape.colour)), legend=None)


def _marker(shape: ChartAxes) -> Any:
    if shape.colour is None:
        return fixed(alt.ShapeValue, "circle")
    scale = alt.Scale(domain=shape.texts(shape.colour), range=list(_SHAPES))
    return alt.Shape("colour:N", scale=scale, legend=_legend(shape))


def _lines(values: ChartData, shape: ChartAxes, rate: Rate, *, narrow: bool = False) -> VegaSpec:
    """A line a level of the colour factor, a panel a level of the others: side by side, or below each other."""
    ticks = shape.ticks()
    scale = (
        alt.Scale(type="log", nice=False, padding=14)
        if shape.is_log()
        else alt.Scale(zero=False, nice=False, padding=14)
    )
    log = _(" (log scale)") if shape.is_log() else ""
    axis = alt.Axis(
        title=shape.title(shape.along) + log, values=list(ticks), labelExpr=_label_expression(ticks), labelOverlap=True
    )
    base = named("conditions").encode(
        x=alt.X("x:Q", scale=scale, axis=axis),
        y=alt.Y("rps:Q", scale=_rate_scale(values), axis=_rate_axis(values, rate)),
    )
    marks = base.mark_point(filled=True, aria=True).encode(
        color=_colour(shape),
        shape=_marker(shape),
        size=either(alt.SizeValue, _PUBLISHED, 22, 56),
        opacity=either(alt.OpacityValue, _FAINT, 0.45, 1.0),
        description=TIP,
    )
    spans = [_intervals(base, shape)] if any(map(_has_interval, values)) else []
    layers = layer(_joined(base, values, shape), *spans, marks, *_troubles(base, values))
    for part in layers["layer"]:
        del part["data"]  # which a panel has for all: one of its own would not be parted
    layers["resolve"] = {"scale": {"stroke": "independent"}}
    return _panels(layers, list(dict.fromkeys(point["panel"] for point in values)), narrow)


def _panels(layers: dict[str, Any], panels: list[str], narrow: bool) -> VegaSpec:
    """One picture, or one for each panel."""
    data = {"data": {"name": "conditions"}}
    if len(panels) < 2:
        width, height = (theme.WIDTH_NARROW - _AXIS_NARROW, 220) if narrow else (theme.WIDTH, 320)
        return {**data, **layers, "width": width, "height": height}
    columns = 1 if narrow else _PANELS
    width = theme.WIDTH_NARROW - _AXIS_NARROW if narrow else (theme.WIDTH - _SPACING * (_PANELS - 1)) // _PANELS
    facet = {"field": "panel", "type": "nominal", "title": None, "sort": panels}
    own = {**layers, "width": width, "height": 180 if narrow else 260}
    return {**data, "facet": facet, "columns": columns, "spacing": {"row": 24, "column": _SPACING}, "spec": own}


def _intervals(base: alt.Chart, shape: ChartAxes) -> Any:
    """A thin line from end to end of each figure's interval; the legend is the marks' own."""
    known = base.transform_filter("isValid(datum.low) && datum.kind !== 'invalid'")
    return known.mark_rule(strokeWidth=1.3).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), stroke=_stroke(shape))


_PUBLISHED = "datum.kind === 'published'"
_FAINT = "datum.kind === 'published' || datum.kind === 'invalid'"


def _joined(base: alt.Chart, values: ChartData, shape: ChartAxes) -> Any:
    """Lines through what holds; the published ones faint and dashed. Invalid figures are joined to nothing."""
    there = [name for name in ("measured", "published") if any(point["series"] == name for point in values)]
    dashes = alt.Scale(domain=["measured", "published"], range=[[1, 0], [3, 4]])
    legend = alt.Legend(title=None, symbolType="stroke", values=there) if len(there) > 1 else None
    return (
        base.transform_filter("datum.kind !== 'invalid'")
        .mark_line(strokeJoin="round")
        .encode(
            stroke=_stroke(shape),
            strokeDash=alt.StrokeDash("series:N", scale=dashes, legend=legend),
            strokeWidth=either(alt.StrokeWidthValue, "datum.series === 'published'", 1, 2),
            opacity=either(alt.OpacityValue, "datum.series === 'published'", 0.6, 1),
        )
    )


def _troubles(base: alt.Chart, values: ChartData) -> list[alt.Chart]:
    """A ring over every suspect figure, a cross over every invalid one; the caption says so."""
    layers = []
    for kind, mark in _TROUBLE.items():
        if all(point["kind"] != kind for point in values):
            continue
        over = base.transform_filter(f"datum.kind === '{kind}'").mark_point(
            shape=mark, size=190, strokeWidth=2, opacity=1, stroke=theme.VERDICTS[kind], aria=True
        )
        layers.append(over.encode(description=TIP))
    return layers


def _label_expression(labels: dict[float, str]) -> str:
    """A Vega expression from the tick's number to its text."""
    cases = "".join(f"datum.value === {number!r} ? {json.dumps(text)} : " for number, text in labels.items())
    return cases + "''"


def _names(values: ChartData) -> list[str]:
    return list(dict.fromkeys(point["condition"] for point in values))


def _bars(values: ChartData, shape: ChartAxes, rate: Rate, *, narrow: bool = False) -> VegaSpec:
    """A bar a condition, the figure at its end; published figures as ticks. Where it is narrow, names stand above."""
    order = _names(values)
    room = theme.room_for(order)
    names = None if narrow else alt.Axis(title=None, grid=False, labelLimit=room)
    width = theme.WIDTH_NARROW - _FIGURES_NARROW if narrow else theme.WIDTH - 160 - (room - theme.LABEL_LIMIT)
    base = named("conditions").encode(
        y=alt.Y("condition:N", sort=order, axis=names),
        x=alt.X("rps:Q", scale=_rate_scale(values), axis=_rate_axis(values, rate, ticks=3 if narrow else 5)),
    )
    height: Any = 12 if narrow else {"band": 0.62}
    ours = base.transform_filter("datum.kind !== 'published'")
    bars = ours.mark_bar(height=height, aria=True).encode(
        color=_colour(shape),
        description=TIP,
        fillOpacity=either(alt.FillOpacityValue, "datum.kind === 'invalid'", 0.15, 0.9),
    )
    figures = ours.mark_text(align="left", dx=6, fontSize=11).encode(text=alt.Text("figure:N"), x=alt.X("end:Q"))
    layers: list[VegaSpec] = [bars, figures]
    if any(map(_has_interval, values)):
        ends = ours.transform_filter("isValid(datum.low)").mark_rule(color=theme.INK, strokeWidth=1.3)
        layers.append(ends.encode(x=alt.X("low:Q"), x2=alt.X2("high:Q")))
    if any(point["kind"] == "published" for point in values):
        ticks = base.transform_filter(_PUBLISHED).mark_tick(color=theme.NEUTRAL, thickness=2, size=14, aria=True)
        layers.append(ticks.encode(description=TIP))
    if narrow:
        text = named("names").mark_text(
            align="left", baseline="bottom", dy=-8, fontSize=11.5, limit=theme.NAME_NARROW, color=theme.INK
        )
        y = alt.Y("condition:N", sort=order, axis=None)
        layers.append(text.encode(y=y, x=fixed(alt.XValue, 0), text=alt.Text("condition:N")))
    height_px = {"step": 24 + (_NAME_NARROW if narrow else 0)}
    return layer(*layers, width=width, height=height_px, padding=theme.margins(room))
