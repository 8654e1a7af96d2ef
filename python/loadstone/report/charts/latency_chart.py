"""Latency percentiles of every condition of a table, on a log axis."""

import json
from typing import Any

import altair as alt

from loadstone.judge.analysis.analysis import Analysis, AtRate, ResultTable, Row, printed_ns
from loadstone.report import figure_format as fmt
from loadstone.report.charts import theme
from loadstone.report.charts.axes import duration_axis, duration_scale
from loadstone.report.charts.chart import TIP, Chart, ChartData, VegaSpec, fixed, layer, make, named
from loadstone.report.charts.shape import ChartAxes, shape_of
from loadstone.report.charts.theme import duration_ticks
from loadstone.report.tables.columns import is_at_rate, rate_name
from loadstone.text.language import _

_QUANTILES = (
    ("p50", "P50", "circle"),
    ("p95", "P95", "square"),
    ("p99", "P99", "triangle-up"),
    ("p999", "P99.9", "diamond"),
)

_GROUPED_FROM = 8
"""Fewer conditions than this need no headings."""


_ROW_NARROW, _NAME_NARROW = 34, 6
"""Pixels of a condition on a narrow screen, where its name stands above its line; how far that is below the middle."""


def latency_chart(table: ResultTable, analysis: Analysis) -> Chart | None:
    """P50, P95, P99 and P99.9 of each condition, at the fixed rate where there is one; None where no row has any."""
    shape = shape_of(table, analysis)
    values = [point for row in table.rows for point in _points(row, shape, table)]
    if not values:
        return None
    at = _(" at {rate_name}", rate_name=rate_name(table.rows)) if is_at_rate(table.rows) else ""
    names = list(dict.fromkeys(point["condition"] for point in values))
    return make(
        "latency",
        _("Response time{at} by condition", at=at),
        _caption(table, values),
        _("Response time percentiles{at} of each condition on a log scale. ", at=at) + _spoken(table),
        _picture(values, names),
        {"percentiles": values, "names": [{"condition": name} for name in names]},
        table,
        narrow=_narrow_picture(values, names),
    )


def _picture(values: ChartData, names: list[str]) -> VegaSpec:
    """A line a condition, with its percentiles on it; under headings where there are many."""
    groups = list(dict.fromkeys(point["group"] for point in values))
    room = theme.room_for(names)
    padding = theme.margins(room)
    if len(groups) < 2 or len(names) < _GROUPED_FROM:
        return {**_group(values, names, room, None, last=True), "padding": padding}
    pictures = [
        {
            **_group(values, list(_of_group(values, group)), room, group, last=group == groups[-1]),
            "title": {"text": group, "offset": 4},
        }
        for group in groups
    ]
    return {"vconcat": pictures, "spacing": 10, "padding": padding}


def _of_group(values: ChartData, group: str) -> dict[str, None]:
    return dict.fromkeys(point["condition"] for point in values if point["group"] == group)


def _group(values: ChartData, names: list[str], room: int, group: str | None, last: bool) -> dict[str, Any]:
    """The conditions of one group, or all, on the axis that all groups share; only the last prints the axis."""
    lengths = [point["ns"] for point in values]
    axis = duration_axis(_("response time"), lengths, grid=True, gridDash=[2, 3])
    if not last:
        axis = alt.Axis(
            values=duration_ticks(lengths),
            labels=False,
            ticks=False,
            domain=False,
            title=None,
            grid=True,
            gridDash=[2, 3],
        )
    own = named("percentiles")
    if group is not None:
        own = own.transform_filter(f"datum.group === {json.dumps(group)}")
    base = own.encode(
        y=alt.Y("condition:N", sort=names, axis=alt.Axis(title=None, grid=False, labelLimit=room)),
        x=alt.X("ns:Q", scale=duration_scale(lengths), axis=axis),
    )
    width = theme.WIDTH - 120 - (room - theme.LABEL_LIMIT)
    return layer(*_marks(base, values, 0), width=width, height={"step": 20})


def _narrow_picture(values: ChartData, names: list[str]) -> VegaSpec:
    """As wide as a telephone: each name above its line."""
    lengths = [point["ns"] for point in values]
    y = alt.Y("condition:N", sort=names, axis=None, scale=alt.Scale(padding=0))
    axis = duration_axis(_("response time"), lengths, grid=True, gridDash=[2, 3])
    base = named("percentiles").encode(y=y, x=alt.X("ns:Q", scale=duration_scale(lengths), axis=axis))
    text = named("names").mark_text(
        align="left", baseline="bottom", dy=_NAME_NARROW - 7, fontSize=11.5, color=theme.INK, limit=theme.NAME_NARROW
    )
    written = text.encode(y=y, x=fixed(alt.XValue, 0), text=alt.Text("condition:N"))
    height = {"step": _ROW_NARROW}
    return layer(*_marks(base, values, _NAME_NARROW), written, width=theme.WIDTH_NARROW - 20, height=height)


def _marks(base: alt.Chart, values: ChartData, shift: float) -> list[alt.Chart]:
    """A line a condition and its percentiles, `shift` pixels below the middle of its row."""
    spans = base.mark_rule(color=theme.NEUTRAL, strokeWidth=1.5, opacity=0.6, yOffset=shift).encode(
        x=alt.X("min(ns):Q"), x2=alt.X2("max(ns):Q")
    )
    there = {point["quantile"] for point in values}
    colours = list(dict.fromkeys(point["colour"] for point in values))
    names = [header for _, header, _ in _QUANTILES if header in there]
    shapes = [mark for _, header, mark in _QUANTILES if header in there]
    marks = base.mark_point(filled=True, size=52, opacity=1, aria=True, yOffset=shift).encode(
        color=alt.Color("colour:N", scale=alt.Scale(domain=colours, range=colours), legend=None),
        shape=alt.Shape("quantile:N", scale=alt.Scale(domain=names, range=shapes), title=None),
        description=TIP,
    )
    return [spans, marks]


def _source(row: Row, table: ResultTable) -> AtRate | Row | None:
    """At the fixed rate where the table has one; there a row's own figures count only if its load was not full."""
    if not is_at_rate(table.rows) or (row.at_rate is None and not row.saturated):
        return row if row.verdict in ("valid", "suspect") and row.response_ns is not None else None
    return None if row.at_rate is None or row.at_rate.response_ns is None else row.at_rate


def _points(row: Row, shape: ChartAxes, table: ResultTable) -> ChartData:
    source = _source(row, table)
    if source is None:
        return []
    common = {
        "condition": fmt.plain(row.label),
        "group": shape.text(shape.group, row),
        "colour": shape.colour_of(row),
    }
    found = [(header, printed_ns(source, name)) for name, header, _ in _QUANTILES]
    return [
        {**common, "quantile": header, "ns": value, "tip": f"{common['condition']}\n{header}: {fmt.duration(value)}"}
        for header, value in found
        if value
    ]


def _caption(table: ResultTable, values: ChartData) -> str:
    sentences = [_("The line joins the smallest and the largest of a condition's percentiles.")]
    shown = [row for row in table.rows if _source(row, table)]
    if is_at_rate(table.rows):
        sentences.append(_("Requests are sent on a schedule, and time counts from when each was due."))
        if any(row.at_rate is None for row in shown):
            sentences.append(_("Conditions whose load has a rate or pauses of its own are shown under that load."))
    elif any(row.saturated for row in shown):
        sentences.append(_("Under full load it is users / throughput, not a property of the server."))
    if len(values) < len(_QUANTILES) * len({point["condition"] for point in values}):
        sentences.append(_("Where a mark is missing, the data do not support that percentile."))
    if left_out := len(table.rows) - len(shown):
        sentences.append(
            _(
                "{left_out} of {rows} conditions have no valid figure and are left out.",
                left_out=left_out,
                rows=len(table.rows),
            )
        )
    return " ".join(sentences)


def _spoken(table: ResultTable) -> str:
    """The extremes of P99 in one sentence."""
    found = [(printed_ns(source, "p99"), row) for row in table.rows if (source := _source(row, table))]
    known = [(p99, row) for p99, row in found if p99 is not None]
    if not known:
        return _("No condition has a P99.")
    low, high = (pick(known, key=lambda pair: pair[0]) for pick in (min, max))
    return _(
        "P99 goes from {low} for {low_label} to {high} for {high_label}.",
        low=fmt.duration(low[0]),
        low_label=fmt.plain(low[1].label),
        high=fmt.duration(high[0]),
        high_label=fmt.plain(high[1].label),
    )
