"""Latency percentiles of every condition of a table, on a log axis."""

import altair as alt

from loadstone.analyse.model import Analysis, ResultTable, Row
from loadstone.report import format as fmt
from loadstone.report.charts import theme
from loadstone.report.charts.chart import TIP, Chart, Values, make, named
from loadstone.report.charts.durations import duration_axis, duration_scale, ticks
from loadstone.report.charts.shape import Shape, shape_of

_QUANTILES = (
    ("p50", "P50", "circle"),
    ("p95", "P95", "square"),
    ("p99", "P99", "triangle-up"),
    ("p999", "P99.9", "diamond"),
)

_GROUPED_FROM = 8
"""Fewer conditions than this need no headings."""


def latency_chart(table: ResultTable, analysis: Analysis) -> Chart | None:
    """P50, P95, P99 and P99.9 of each condition; None if no valid or suspect row has one."""
    rows = [row for row in table.rows if row.verdict in ("valid", "suspect")]
    shape = shape_of(table, analysis)
    values = [point for row in rows for point in _points(row, shape)]
    if not values:
        return None
    return make(
        "latency",
        "Response time by condition",
        _caption(table, values),
        "Response time percentiles of each condition on a log scale. " + _spoken(rows),
        _picture(values),
        {"percentiles": values},
        table,
    )


def _picture(values: Values) -> alt.TopLevelMixin:
    """A line a condition, with its percentiles on it; under headings where there are many."""
    groups = list(dict.fromkeys(point["group"] for point in values))
    order = dict.fromkeys(point["condition"] for point in values)
    if len(groups) < 2 or len(order) < _GROUPED_FROM:
        return _group(values, None, last=True)
    pictures = [
        _group(values, group, last=group == groups[-1]).properties(title=alt.Title(group, offset=4)) for group in groups
    ]
    return alt.vconcat(*pictures, spacing=10)


def _group(values: Values, group: str | None, last: bool) -> alt.LayerChart | alt.FacetChart:
    """The conditions of one group, or all, on the axis that all groups share; only the last prints the axis."""
    lengths = [point["ns"] for point in values]
    order = list(dict.fromkeys(point["condition"] for point in values if group in (None, point["group"])))
    room = theme.room_for(point["condition"] for point in values)
    axis = duration_axis("response time", lengths, grid=True, gridDash=[2, 3])
    if not last:
        axis = alt.Axis(
            values=ticks(lengths), labels=False, ticks=False, domain=False, title=None, grid=True, gridDash=[2, 3]
        )
    own = named("percentiles")
    if group is not None:
        own = own.transform_filter(alt.FieldEqualPredicate(field="group", equal=group))
    base = own.encode(
        y=alt.Y("condition:N", sort=order, axis=alt.Axis(title=None, grid=False, labelLimit=room)),
        x=alt.X("ns:Q", scale=duration_scale(lengths), axis=axis),
    )
    spans = base.mark_rule(color=theme.NEUTRAL, strokeWidth=1.5, opacity=0.6).encode(
        x=alt.X("min(ns):Q"), x2=alt.X2("max(ns):Q")
    )
    there = {point["quantile"] for point in values}
    names = [header for _, header, _ in _QUANTILES if header in there]
    shapes = [mark for _, header, mark in _QUANTILES if header in there]
    marks = base.mark_point(filled=True, size=52, opacity=1, aria=True).encode(
        color=alt.Color(
            "quantile:N", scale=alt.Scale(domain=names, range=list(theme.SERIES[: len(names)])), title=None
        ),
        shape=alt.Shape("quantile:N", scale=alt.Scale(domain=names, range=shapes), title=None),
        description=TIP,
    )
    return alt.layer(spans, marks).properties(width=theme.WIDTH - 120 - (room - theme.LABEL_LIMIT), height=alt.Step(20))


def _points(row: Row, shape: Shape) -> Values:
    if row.response_ns is None:
        return []
    common = {"condition": fmt.plain(row.label), "group": shape.text(shape.group, row)}
    found = [(header, getattr(row.response_ns, name)) for name, header, _ in _QUANTILES]
    return [
        {**common, "quantile": header, "ns": value, "tip": f"{common['condition']}\n{header}: {fmt.duration(value)}"}
        for header, value in found
        if value
    ]


def _caption(table: ResultTable, values: Values) -> str:
    sentences = ["The line joins the smallest and the largest of a condition's percentiles."]
    if len(values) < len(_QUANTILES) * len({point["condition"] for point in values}):
        sentences.append("Where a mark is missing, the data do not support that percentile.")
    if left_out := sum(row.verdict in ("invalid", "missing") for row in table.rows):
        sentences.append(f"{left_out} of {len(table.rows)} conditions have no valid figure and are left out.")
    return " ".join(sentences)


def _spoken(rows: list[Row]) -> str:
    """The extremes of P99 in one sentence."""
    known = [(row.response_ns.p99, row) for row in rows if row.response_ns and row.response_ns.p99 is not None]
    if not known:
        return "No condition has a P99."
    low, high = (pick(known, key=lambda pair: pair[0]) for pick in (min, max))
    return (
        f"P99 goes from {fmt.duration(low[0])} for {fmt.plain(low[1].label)} "
        f"to {fmt.duration(high[0])} for {fmt.plain(high[1].label)}."
    )
