"""The run second by second: rate and P99 above, CPU of each part below, on one time axis."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from math import ceil
from statistics import fmean
from typing import Any

import altair as alt

from loadstone.judge.analysis.analysis import Analysis, TimelinePoint
from loadstone.report import figure_format as fmt
from loadstone.report.charts import theme
from loadstone.report.charts.axes import colour_scale, duration_axis, duration_scale
from loadstone.report.charts.chart import TIP, Chart, ChartData, fixed, layer, make, named
from loadstone.report.charts.shape import ChartAxes, shape_of_run
from loadstone.report.tables.columns import Rate, rate_of_run
from loadstone.text.language import _, translated

Panel = dict[str, Any]

_POINTS_MAX = 600
"""More seconds than this are averaged, so that a long run still makes a picture of one screen."""
_BOUNDARIES_MAX = 120
"""With more trials than this, only blocks are parted by lines."""
_MARKS_MAX = 400
"""With more stretches than this, only those that are not valid are marked; with more of these, the invalid ones."""
_NAMED_MAX = 120
"""More trials than this say their names in the first panel alone: in each they are a tenth of a page."""
_CLOCK = "floor(datum.value / 60) + ':' + format(datum.value % 60, '02')"
_TICK_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400)
_TICKS_MAX = 12
_STRIP = 5
"""Height of what marks a trial that is not valid."""
_BREAK: Any = "break-paths-show-path-domains"


def timeline_chart(analysis: Analysis) -> Chart | None:
    """The time line of the whole run; None without samples."""
    if not analysis.timeline:
        return None
    step = ceil(len(analysis.timeline) / _POINTS_MAX)
    start = analysis.timeline[0].unix_s
    stretches = list(_stretches(analysis.timeline, step))
    rate, shape = rate_of_run(analysis), shape_of_run(analysis)
    hues = {view.trial: shape.text(shape.colour, view) for view in analysis.trials}
    seconds = _with_gaps([_point(stretch, start, rate, hues) for stretch in stretches])
    parts = list(dict.fromkeys(part for point in analysis.timeline for part in point.cpu_share))
    cpu = [point for part in parts for point in _with_gaps([_cpu_point(stretch, start, part) for stretch in stretches])]
    trials = _trials(analysis, start)
    if not seconds:
        return None
    length_s = analysis.timeline[-1].unix_s - start
    slowest = [point["p99"] for point in seconds if point["p99"]]
    there = [point["hue"] for point in seconds]
    rates = _rates(rate, hue(shape, there))
    are_named, hues_below = len(trials) <= _NAMED_MAX, hue(shape, there, has_legend=False)
    panels = [rates, _latencies(slowest or [1e6], hues_below, None if cpu else length_s, are_named=are_named)]
    if cpu:
        drawn = list(dict.fromkeys(point["part"] for point in cpu))
        panels.append(_cpu(drawn, length_s, are_named=are_named))
    return make(
        "timeline",
        _("The run, second by second"),
        _caption(step, trials),
        _(
            "{unit}, P99 and CPU of each part over {rough_time} and {trials} trials.",
            unit=rate.unit,
            rough_time=fmt.rough_time(length_s),
            trials=len(trials),
        ),
        {"vconcat": panels, "spacing": 16, "resolve": {"scale": {"x": "shared", "color": "independent"}}},
        {"seconds": seconds, "cpu": cpu, "trials": _marked(trials), "one": [{"share": 1}]},
    )


def _stretches(timeline: list[TimelinePoint], step: int) -> Iterator[list[TimelinePoint]]:
    """At most `step` neighbouring seconds of one trial and one phase at a time; no load runs in the drain."""
    loaded = [point for point in timeline if point.phase != "drain"]
    for _key, group in groupby(loaded, key=lambda point: (point.trial, point.phase)):
        points = list(group)
        for first in range(0, len(points), step):
            yield points[first : first + step]


def _common(points: list[TimelinePoint], start: float) -> dict[str, Any]:
    return {"s": round(points[0].unix_s - start, 2), "trial": fmt.plain(points[0].trial)}


def hue(shape: ChartAxes, there: Sequence[str], *, has_legend: bool = True) -> Any:
    """The colours of the conditions whose levels, as text, are `there`; one for all where nothing has colours."""
    names = [text for text in shape.palette if text in there]
    if not names:
        return fixed(alt.ColorValue, theme.SERIES[0])
    legend = alt.Legend(title=shape.title(shape.colour), symbolType="stroke", symbolOpacity=1)
    scale = colour_scale(shape.palette, names)
    return alt.Color("hue:N", scale=scale, legend=legend if has_legend and len(names) > 1 else None)


def _point(points: list[TimelinePoint], start: float, rate: Rate, hues: dict[str, str]) -> dict[str, Any]:
    """The mean rate of the seconds, and the largest P99: percentiles are never averaged."""
    mean = round(fmean(rate.of_point(point) for point in points), 1)
    slowest = max((point.p99_ns for point in points if point.p99_ns), default=None)
    measured = points[0].phase == "measure"
    return {
        **_common(points, start),
        "hue": hues.get(points[0].trial, ""),
        "rps": mean,
        "rps_measured": mean if measured else None,
        "p99": slowest,
        "p99_measured": slowest if measured else None,
    }


def _cpu_point(points: list[TimelinePoint], start: float, part: str) -> dict[str, Any]:
    observed = [point.cpu_share[part] for point in points if part in point.cpu_share]
    share = round(fmean(observed), 4) if observed else None
    measured = share if points[0].phase == "measure" else None
    return {**_common(points, start), "part": fmt.plain(part), "share": share, "share_measured": measured}


def _with_gaps(points: ChartData) -> ChartData:
    """The points with an empty one after each trial, where the line breaks."""
    found: ChartData = []
    for _trial, group in groupby(points, key=lambda point: point["trial"]):
        own = list(group)
        kept = {key: own[-1].get(key) for key in ("s", "trial", "part", "hue")}
        found += [*own, {**dict.fromkeys(own[-1]), **kept}]
    return found


def _trials(analysis: Analysis, start: float) -> ChartData:
    """Where each trial begins and ends, and what became of it."""
    views = {view.trial: view for view in analysis.trials}
    found = [list(points) for _, points in groupby(analysis.timeline, key=lambda point: point.trial)]
    trials: ChartData = []
    block: int | None = None
    for points in found:
        view = views.get(points[0].trial)
        trials.append(
            {
                "s": round(points[0].unix_s - start, 2),
                "end": round(points[-1].unix_s + 1 - start, 2),
                "verdict": view.verdict if view else "valid",
                "tip": fmt.plain(
                    f"{points[0].trial}: {view.label}, {translated(view.verdict)}" if view else points[0].trial
                ),
                "edge": len(found) <= _BOUNDARIES_MAX or (view is not None and view.block != block),
            }
        )
        block = view.block if view else block
    return trials


def _marked(trials: ChartData) -> ChartData:
    """As many of them as a picture can show: conditions that take turns have thousands of slices."""
    for without in ((), ("valid",), ("valid", "suspect")):
        kept = [trial for trial in trials if trial["edge"] or trial["verdict"] not in without]
        if len(kept) <= _MARKS_MAX:
            return kept
    return kept[:: ceil(len(kept) / _MARKS_MAX)]


def time_axis(length_s: float | None, scale: alt.Scale | None = None) -> alt.X:
    """The time axis, in minutes and seconds; only the last panel, which gets the run's length, prints it.

    `scale`: another one than from the first second on.
    """
    axis = alt.Axis(labels=False, ticks=False, title=None)
    if length_s is not None:
        step_s = next((step for step in _TICK_STEPS_S if length_s / step <= _TICKS_MAX), _TICK_STEPS_S[-1])
        values = list(range(0, int(length_s) + 1, step_s))
        axis = alt.Axis(title=_("time since the start"), labelExpr=_CLOCK, values=values, labelOverlap=True)
    return alt.X("s:Q", axis=axis, scale=scale or alt.Scale(nice=False, zero=True))


def _lines(data: str, x: alt.X, figure: str, color: Any, **y: Any) -> list[alt.Chart]:
    """A thin line through every phase, a strong one through what was measured; trials are not joined."""
    base = named(data).encode(x=x, color=color)
    thin = base.mark_line(strokeWidth=1, opacity=0.4, invalid=_BREAK).encode(y=alt.Y(f"{figure}:Q", **y))
    strong = base.mark_line(strokeWidth=2, strokeCap="round", strokeJoin="round", invalid=_BREAK)
    return [thin, strong.encode(y=alt.Y(f"{figure}_measured:Q", **y))]


def _backdrop(x: alt.X, height: int, *, are_named: bool) -> list[alt.Chart]:
    """Trial boundaries, and a strip below every trial that is not valid; each trial says its name when pointed at.

    Trials that take turns lie over each other: a shade behind the lines would hide them.
    """
    kinds = ["valid", "suspect", "invalid"]
    scale = alt.Scale(domain=kinds, range=[theme.VERDICTS[kind] for kind in kinds])
    trials = named("trials").encode(x=x)
    names = trials.mark_rect(aria=True, fillOpacity=0).encode(x2=alt.X2("end:Q"), description=TIP)
    strips = (
        trials.transform_filter("datum.verdict !== 'valid'")
        .mark_rect()
        .encode(
            x2=alt.X2("end:Q"),
            y=fixed(alt.YValue, height - _STRIP),
            y2=fixed(alt.Y2Value, height),
            fill=alt.Fill("verdict:N", scale=scale, legend=None),
        )
    )
    edges = trials.transform_filter("datum.edge").mark_rule(color=theme.NEUTRAL, strokeWidth=0.6, opacity=0.28)
    return [*([names] if are_named else []), strips, edges]


def _panel(x: alt.X, lines: list[alt.Chart], height: int, *, are_named: bool = True) -> Panel:
    return layer(*_backdrop(x, height, are_named=are_named), *lines, width=theme.WIDTH, height=height)


def _rates(rate: Rate, color: Any) -> Panel:
    x = time_axis(None)
    axis = alt.Axis(title=rate.unit, labelExpr="format(datum.value, '~s')", tickCount=4)
    lines = _lines("seconds", x, "rps", color, axis=axis, scale=alt.Scale(zero=True))
    return _panel(x, lines, 150)


def _latencies(lengths_ns: list[float], color: Any, length_s: float | None, *, are_named: bool) -> Panel:
    x = time_axis(length_s)
    axis, scale = duration_axis("P99", lengths_ns), duration_scale(lengths_ns)
    return _panel(x, _lines("seconds", x, "p99", color, axis=axis, scale=scale), 120, are_named=are_named)


def _cpu(parts: list[str], length_s: float, *, are_named: bool) -> Panel:
    """CPU of each part; a line at one full core, where a single thread can go no further."""
    x = time_axis(length_s)
    axis, zero = alt.Axis(title=_("CPU, share of a core"), format="%", tickCount=4), alt.Scale(zero=True)
    scale = alt.Scale(domain=parts, range=list(theme.PARTS))
    color = alt.Color("part:N", scale=scale, legend=alt.Legend(title=_("CPU of"), symbolType="stroke", symbolOpacity=1))
    one_core = named("one").mark_rule(color=theme.NEUTRAL, strokeDash=[4, 4]).encode(y=alt.Y("share:Q"))
    return _panel(x, [one_core, *_lines("cpu", x, "share", color, axis=axis, scale=zero)], 150, are_named=are_named)


def _caption(step: int, trials: ChartData) -> str:
    sentences = [_("Strong lines are measured, thin ones are ramp-up and warm-up. Vertical lines separate the trials.")]
    if step > 1:
        sentences.append(_("Each point covers up to {step} s: the mean rate and CPU, the largest P99.", step=step))
    if any(trial["verdict"] != "valid" for trial in trials):
        sentences.append(_("A strip at the bottom marks trials that are suspect or invalid."))
    return " ".join(sentences)
