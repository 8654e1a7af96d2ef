"""What each condition did over the time of a run: its percentiles, and its errors by kind."""

from collections.abc import Callable, Iterable
from itertools import groupby
from math import ceil
from typing import Any

import altair as alt

from loadstone.judge.analysis.analysis import Analysis, TimelinePoint, TrialView
from loadstone.judge.analysis.timeline import together
from loadstone.report import figure_format as fmt
from loadstone.report.charts import theme
from loadstone.report.charts.axes import duration_axis, duration_scale
from loadstone.report.charts.chart import Chart, ChartData, layer, make, named
from loadstone.report.charts.shape import ChartAxes, shape_of_run
from loadstone.report.charts.timeline_chart import hue, time_axis
from loadstone.text.language import _

_QUANTILES = {"P50": [1, 3], "P95": [5, 2], "P99": [1, 0]}
"""Each with the dashes of its line."""
_PANELS_MAX = 8
_POINTS_MAX = 1000
"""In one picture: some 20 kB of a page."""
Figures = Callable[[TimelinePoint], dict[str, float | None]]


def percentiles_chart(analysis: Analysis) -> Chart | None:
    """P50, P95 and P99 of each condition's measured seconds; None where no second has a P50."""
    shape = shape_of_run(analysis)
    points = _points(analysis, shape, _percentiles, len(_QUANTILES))
    values, left_out = _first_panels([{**point, "panel": point["of"]} for point in points])
    lengths = [point["y"] for point in values if point["y"]]
    if not lengths:
        return None
    low, high = fmt.duration(min(lengths)), fmt.duration(max(lengths))
    sentences = [
        _("Each line is a condition's percentile in its measured seconds; where a trial ends, the line breaks."),
        *_said(points, left_out),
    ]
    return make(
        "percentiles",
        _("Percentiles over time"),
        " ".join(sentences),
        _("P50, P95 and P99 of each condition over time, from {low} to {high}.", low=low, high=high),
        _picture(values, shape, analysis, duration_axis("", lengths), duration_scale(lengths), list(_QUANTILES)),
        {"points": values},
    )


def errors_chart(analysis: Analysis) -> Chart | None:
    """Errors a second by kind, in the colours of the conditions; None where there were none."""
    totals: dict[str, float] = {}
    for point in analysis.timeline:
        for kind, per_s in point.errors_per_s.items():
            totals[kind] = totals.get(kind, 0.0) + per_s
    every = sorted((kind for kind in totals if totals[kind]), key=lambda kind: -totals[kind])
    kinds = every[:_PANELS_MAX]  # first of all: a file may name any number
    if not kinds:
        return None
    shape = shape_of_run(analysis)

    def errors(point: TimelinePoint) -> dict[str, float | None]:
        return {kind: round(point.errors_per_s.get(kind, 0.0), 3) for kind in kinds}

    points = _points(analysis, shape, errors, len(kinds), phases=("ramp_up", "warm_up", "measure"))
    order = {kind: place for place, kind in enumerate(kinds)}
    ordered = sorted(points, key=lambda point: order[point["figure"]])
    values = [{**point, "panel": fmt.plain(point["figure"])} for point in ordered]
    named_kinds = ", ".join(map(fmt.plain, kinds))
    axis = alt.Axis(title=None, labelExpr="format(datum.value, '~s')", tickCount=3)
    return make(
        "errors",
        _("Errors over time"),
        " ".join([_("Errors a second by kind, warm-up included."), *_said(points, len(every) - len(kinds))]),
        _("Errors a second over time, by kind: {kinds}.", kinds=named_kinds),
        _picture(values, shape, analysis, axis, alt.Scale(zero=True), []),
        {"points": values},
    )


def _percentiles(point: TimelinePoint) -> dict[str, float | None]:
    return {"P50": point.p50_ns or None, "P95": point.p95_ns or None, "P99": point.p99_ns or None}


def _points(
    analysis: Analysis, shape: ChartAxes, figures: Figures, lines: int, phases: Iterable[str] = ("measure",)
) -> ChartData:
    """Each figure of each trial's seconds in `phases`, as one series; neighbours together where there are too many."""
    views = {view.trial: view for view in analysis.trials}
    shown = [point for point in analysis.timeline if point.phase in phases and point.trial in views]
    if not shown:
        return []
    start, step = analysis.timeline[0].unix_s, ceil(len(shown) * lines / _POINTS_MAX)
    found: ChartData = []
    for trial, group in groupby(sorted(shown, key=lambda p: (p.trial, p.unix_s)), key=lambda point: point.trial):
        own = list(group)
        for first in range(0, len(own), step):
            stretch = own[first : first + step]
            common = {"s": round(stretch[0].unix_s - start, 2), "seconds": step, **_series(views[trial], shape)}
            found += [{**common, "figure": name, "y": y} for name, y in figures(together(stretch)).items()]
    return found


def _series(view: TrialView, shape: ChartAxes) -> dict[str, Any]:
    return {"trial": fmt.plain(view.trial), "of": shape.panel(view), "hue": shape.text(shape.colour, view)}


def _first_panels(points: ChartData) -> tuple[ChartData, int]:
    """The points of as many panels as fit a picture, and how many panels are left out."""
    panels = list(dict.fromkeys(point["panel"] for point in points))
    kept = {*panels[:_PANELS_MAX]}
    return [point for point in points if point["panel"] in kept], len(panels) - len(kept)


def _said(points: ChartData, left_out: int) -> list[str]:
    said = []
    if points and points[0]["seconds"] > 1:
        step = points[0]["seconds"]
        said.append(
            _("Each point covers up to {step} measured intervals: the largest percentile, the mean rate.", step=step)
        )
    if left_out:
        said.append(_("{number} more charts are left out.", number=left_out))
    return said


def _picture(
    values: ChartData, shape: ChartAxes, analysis: Analysis, axis: alt.Axis, scale: alt.Scale, dashed: list[str]
) -> dict[str, Any]:
    """A panel below the other for each of them, on one time axis."""
    length_s = analysis.timeline[-1].unix_s - analysis.timeline[0].unix_s
    panels = list(dict.fromkeys(point["panel"] for point in values))
    color = hue(shape, [point["hue"] for point in values])
    axis.title = None
    height = 150 if len(panels) == 1 else 80
    made = []
    for panel in panels:
        whole = alt.Scale(nice=False, domain=[0, max(length_s, 1.0)])
        x = time_axis(length_s if panel == panels[-1] else None, whole)
        base = named("points").transform_filter(alt.FieldEqualPredicate(field="panel", equal=panel))
        encoded = base.encode(x=x, y=alt.Y("y:Q", axis=axis, scale=scale), color=color, detail=["trial:N", "figure:N"])
        if dashed:
            dashes = alt.Scale(domain=dashed, range=list(_QUANTILES.values()))
            legend = alt.Legend(title=None, symbolType="stroke")
            encoded = encoded.encode(strokeDash=alt.StrokeDash("figure:N", scale=dashes, legend=legend))
        line = encoded.mark_line(strokeWidth=1.5, strokeCap="round", strokeJoin="round")
        title = {"title": {"text": panel, "offset": 4, "fontSize": 11.5}} if panel else {}
        made.append({**layer(line, width=theme.WIDTH, height=height), **title})
    return {"vconcat": made, "spacing": 14, "resolve": {"scale": {"x": "shared", "color": "shared"}}}
