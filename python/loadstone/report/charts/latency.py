"""Latency percentiles of every condition of a table, on a log axis."""

from typing import Any

import altair as alt

from loadstone.analyse.model import ResultTable, Row
from loadstone.report import format as fmt
from loadstone.report.charts import theme
from loadstone.report.charts.chart import Chart, make

_QUANTILES = (("p50", "P50", "circle"), ("p95", "P95", "square"), ("p99", "P99", "triangle-up"), ("p999", "P99.9", "diamond"))

DURATION_LABEL = (
    "datum.value >= 1e9 ? format(datum.value / 1e9, '~g') + ' s' : "
    "datum.value >= 1e6 ? format(datum.value / 1e6, '~g') + ' ms' : "
    "datum.value >= 1e3 ? format(datum.value / 1e3, '~g') + ' µs' : format(datum.value, '~g') + ' ns'"
)
"""A Vega expression that prints a tick in ns as people read it."""


def latency_chart(table: ResultTable) -> Chart | None:
    """P50, P95, P99 and P99.9 of each condition; None if no valid or suspect row has one."""
    rows = [row for row in table.rows if row.verdict in ("valid", "suspect")]
    values = [point for row in rows for point in _points(row)]
    if not values:
        return None
    order = [fmt.plain(row.label) for row in rows]
    base = alt.Chart(alt.InlineData(values=values)).encode(
        y=alt.Y("condition:N", sort=order, axis=alt.Axis(title=None, grid=True)),
        x=alt.X("ns:Q", scale=alt.Scale(type="log", padding=12), axis=_axis()),
    )
    ends = {"x": alt.X("min(ns):Q"), "x2": alt.X2("max(ns):Q")}
    spans = base.mark_rule(color=theme.NEUTRAL, strokeWidth=1.5, opacity=0.6).encode(**ends)
    names = [header for _, header, _ in _QUANTILES]
    legend = alt.Legend(title=None)
    marks = base.mark_point(filled=True, size=52, opacity=1).encode(
        color=alt.Color("quantile:N", scale=alt.Scale(domain=names, range=list(theme.SERIES[:4])), legend=legend),
        shape=alt.Shape("quantile:N", scale=alt.Scale(domain=names, range=[mark for *_, mark in _QUANTILES]), legend=legend),
        tooltip=[
            alt.Tooltip("condition:N", title="condition"),
            alt.Tooltip("quantile:N", title="quantile"),
            alt.Tooltip("text:N", title="response time"),
        ],
    )
    return make(
        f"{table.name}-latency",
        f"Response time: {fmt.plain(table.title)}",
        _caption(table, values),
        "Response time percentiles of each condition on a log scale. " + _spoken(rows),
        alt.layer(spans, marks).properties(width=600, height=alt.Step(22)),
    )


def _axis() -> alt.Axis:
    return alt.Axis(
        title="response time (log scale)", labelExpr=DURATION_LABEL, grid=True, gridDash=[2, 3], tickCount=6, labelOverlap=True
    )


def _points(row: Row) -> list[dict[str, Any]]:
    if row.response_ns is None:
        return []
    found = [(header, getattr(row.response_ns, name)) for name, header, _ in _QUANTILES]
    return [
        {"condition": fmt.plain(row.label), "quantile": header, "ns": value, "text": fmt.duration(value)}
        for header, value in found
        if value
    ]


def _caption(table: ResultTable, values: list[dict[str, Any]]) -> str:
    sentences = ["The line joins the smallest and the largest of a condition's percentiles."]
    if len(values) < len(_QUANTILES) * len({point["condition"] for point in values}):
        sentences.append("Where a mark is missing, the data cannot tell that percentile.")
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
