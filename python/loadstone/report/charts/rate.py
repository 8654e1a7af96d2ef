"""RPS of a table: lines along a quantity, or bars when only names are varied."""

import json
from typing import Any

import altair as alt

from loadstone.analyse.model import Analysis, ResultTable, Row
from loadstone.report import format as fmt
from loadstone.report.charts import theme
from loadstone.report.charts.chart import Chart, make
from loadstone.report.charts.shape import Shape, shape_of
from loadstone.report.levels import number_of

Values = list[dict[str, Any]]

_LOG_FROM = 100.0
"""Rates that differ by so much are drawn on a log scale; all others start at 0."""

_KINDS = {"measured": "circle", "suspect": "triangle-up", "invalid": "cross", "published": "diamond"}


def rate_chart(table: ResultTable, analysis: Analysis) -> Chart | None:
    """RPS of every condition of `table`, the published figures as faint marks; None if nothing was measured."""
    shape = shape_of(table, analysis)
    values = [point for row in table.rows for point in _points(row, shape)]
    if not any(point["kind"] != "published" for point in values):
        return None
    picture = _lines(values, shape) if shape.along else _bars(values, shape)
    along = f" by {shape.title(shape.along)}" if shape.along else ""
    return make(
        f"{table.name}-rps",
        f"RPS{along}: {fmt.plain(table.title)}",
        _caption(values, shape),
        f"Requests a second{along}. " + _spoken(table),
        picture,
    )


def _points(row: Row, shape: Shape) -> Values:
    """The row's own figure and the published one, in the long form that a legend needs."""
    common = {
        "condition": fmt.plain(row.label),
        "colour": shape.text(shape.colour, row),
        "panel": shape.panel(row),
        "x": number_of(row.condition[shape.along]) if shape.along and shape.along in row.condition else None,
    }
    points = []
    if row.goodput_per_s is not None and row.verdict != "missing":
        kind = "measured" if row.verdict == "valid" else row.verdict
        note = "; ".join(fmt.plain(reason) for reason in row.reasons)
        points.append({**common, "kind": kind, "rps": row.goodput_per_s, "note": note})
    if row.published is not None:
        points.append({**common, "kind": "published", "rps": row.published, "note": ""})
    return points


def _caption(values: Values, shape: Shape) -> str:
    sentences = ["Rates are on a log scale." if _is_log(values) else "Rates start at 0."]
    if shape.along and shape.is_log():
        sentences.append(f"The {shape.title(shape.along)} axis is on a log scale.")
    kinds = {point["kind"] for point in values}
    if "published" in kinds:
        sentences.append("Faint diamonds are the published figures, from the author's machine.")
    if "invalid" in kinds:
        sentences.append("A cross is an invalid figure: it is shown, and joined to nothing.")
    return " ".join(sentences)


def _spoken(table: ResultTable) -> str:
    """The extremes in one sentence."""
    rows = [row for row in table.rows if row.goodput_per_s is not None and row.verdict in ("valid", "suspect")]
    if not rows:
        return "No condition has a valid figure."
    low, high = (pick(rows, key=lambda row: row.goodput_per_s or 0.0) for pick in (min, max))
    return (
        f"Lowest {fmt.rate(low.goodput_per_s)} for {fmt.plain(low.label)}, "
        f"highest {fmt.rate(high.goodput_per_s)} for {fmt.plain(high.label)}."
    )


def _is_log(values: Values) -> bool:
    rates = [point["rps"] for point in values if point["kind"] != "invalid"]
    return bool(rates) and min(rates) > 0 and max(rates) / min(rates) >= _LOG_FROM


def _rate_scale(values: Values) -> alt.Scale:
    return alt.Scale(type="log") if _is_log(values) else alt.Scale(zero=True, nice=True)


def _rate_axis(values: Values) -> alt.Axis:
    log = " (log scale)" if _is_log(values) else ""
    return alt.Axis(title=f"RPS{log}", format="~s" if _peak(values) >= 10_000 else ",", tickCount=5)


def _peak(values: Values) -> float:
    return max(point["rps"] for point in values)


def _colour(shape: Shape) -> Any:
    if shape.colour is None:
        return alt.value(theme.SERIES[0])
    scale = alt.Scale(domain=shape.texts(shape.colour), range=list(theme.SERIES))
    return alt.Color("colour:N", scale=scale, legend=alt.Legend(title=shape.title(shape.colour), symbolType="circle"))


def _kind(values: Values) -> alt.Shape:
    """Which mark is what; a legend only where there is more than one kind."""
    kinds = [kind for kind in _KINDS if any(point["kind"] == kind for point in values)]
    legend = alt.Legend(title=None, symbolFillColor=theme.NEUTRAL) if len(kinds) > 1 else None
    return alt.Shape("kind:N", scale=alt.Scale(domain=kinds, range=[_KINDS[kind] for kind in kinds]), legend=legend)


_TOOLTIP = [
    alt.Tooltip("condition:N", title="condition"),
    alt.Tooltip("rps:Q", title="RPS", format=",.0f"),
    alt.Tooltip("kind:N", title="figure"),
    alt.Tooltip("note:N", title="note"),
]


def _lines(values: Values, shape: Shape) -> alt.TopLevelMixin:
    """A line a level of the colour factor, a panel a level of the others."""
    numbers = shape.numbers()
    labels = dict(zip(numbers, _axis_labels(shape), strict=True))
    scale = alt.Scale(type="log", nice=False, padding=14) if shape.is_log() else alt.Scale(zero=False, nice=False, padding=14)
    log = " (log scale)" if shape.is_log() else ""
    axis = alt.Axis(title=shape.title(shape.along) + log, values=numbers, labelExpr=_label_expression(labels), labelOverlap=True)
    base = alt.Chart(alt.InlineData(values=values)).encode(
        x=alt.X("x:Q", scale=scale, axis=axis),
        y=alt.Y("rps:Q", scale=_rate_scale(values), axis=_rate_axis(values)),
        color=_colour(shape),
    )
    ours = base.transform_filter("datum.kind === 'measured' || datum.kind === 'suspect'").mark_line(strokeWidth=2)
    theirs = base.transform_filter("datum.kind === 'published'").mark_line(strokeWidth=1, strokeDash=[3, 4], opacity=0.5)
    marks = base.mark_point(size=46, filled=True, opacity=1).encode(
        shape=_kind(values),
        opacity=alt.condition("datum.kind === 'published'", alt.value(0.55), alt.value(1.0)),
        tooltip=_TOOLTIP,
    )
    layers = alt.layer(theirs, ours, marks)
    panels = _panels(values)
    if len(panels) < 2:
        return layers.properties(width=680, height=320)
    return layers.properties(width=max(200, 760 // min(len(panels), 3)), height=260).facet(
        facet=alt.Facet("panel:N", title=None, sort=panels), columns=3, spacing={"row": 24, "column": 28}
    )


def _panels(values: Values) -> list[str]:
    return list(dict.fromkeys(point["panel"] for point in values))


def _axis_labels(shape: Shape) -> list[str]:
    """The levels along the axis in words, in the order of their numbers."""
    numbered = [(number_of(level) or 0.0, text) for level, text in zip(shape.levels[shape.along or ""], shape.texts(shape.along), strict=True)]
    return [text for _, text in sorted(numbered)]


def _label_expression(labels: dict[float, str]) -> str:
    """A Vega expression from the tick's number to its words."""
    cases = "".join(f"datum.value === {number!r} ? {json.dumps(text)} : " for number, text in labels.items())
    return cases + "''"


def _bars(values: Values, shape: Shape) -> alt.TopLevelMixin:
    """A bar a condition, the figure at its end; published figures as ticks."""
    order = list(dict.fromkeys(point["condition"] for point in values))
    base = alt.Chart(alt.InlineData(values=values)).encode(
        y=alt.Y("condition:N", sort=order, axis=alt.Axis(title=None, grid=False)),
        x=alt.X("rps:Q", scale=_rate_scale(values), axis=_rate_axis(values)),
        tooltip=_TOOLTIP,
    )
    ours = base.transform_filter("datum.kind !== 'published'")
    bars = ours.mark_bar(height={"band": 0.62}, cornerRadiusEnd=2).encode(
        color=_colour(shape),
        fillOpacity=alt.condition("datum.kind === 'invalid'", alt.value(0.15), alt.value(0.9)),
    )
    figures = ours.mark_text(align="left", dx=6, fontSize=11).encode(text=alt.Text("rps:Q", format=",.0f"))
    published = base.transform_filter("datum.kind === 'published'").mark_tick(
        color=theme.NEUTRAL, thickness=2, size=14, strokeDash=[2, 2]
    )
    return alt.layer(bars, published, figures).properties(width=560, height=alt.Step(24))
