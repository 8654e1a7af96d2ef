"""A figure across runs: a point and its interval each, and a line through those that are of the same thing."""

from collections.abc import Sequence

import altair as alt

from loadstone.addons.history.changes import Hint
from loadstone.addons.history.trends import OverRuns, RunSeries, TrendPoint, is_answered
from loadstone.addons.history.trends_text import figure_name, hint_text, interval_text
from loadstone.report import figure_format as fmt
from loadstone.report.charts import theme
from loadstone.report.charts.axes import duration_axis, duration_scale
from loadstone.report.charts.chart import TIP, Chart, ChartData, layer, make, named
from loadstone.text.english.figures import metric_text
from loadstone.text.language import _

_LINES_MAX = len(theme.SERIES)
_PADDING = 0.06
"""Share of the range of figures that is left free, above and below."""


def over_runs_chart(found: OverRuns, hints: Sequence[Hint] = ()) -> Chart | None:
    """The lines of a figure, the newest ones where there are many, and where it changed; None without a point."""
    lines = found.lines[:_LINES_MAX]
    values = [_value(line, point, found.metric) for line in lines for point in line.points]
    if not values:
        return None
    names = [line.name for line in lines]
    colours = alt.Scale(domain=names, range=list(theme.SERIES[: len(names)]))
    base = named("points").encode(
        x=alt.X("ms:T", scale=alt.Scale(type="utc"), axis=_time_axis(values)),
        color=alt.Color("line:N", sort=names, scale=colours, title=_("line")),
    )
    y = _axis(values, found.metric)
    path = base.mark_line(strokeWidth=1.5, opacity=0.7).encode(y=y)
    spans = base.mark_rule(strokeWidth=1.5).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q"))
    points = base.mark_point(filled=True, size=46, opacity=1, aria=True).encode(y=y, description=TIP)
    left = len(found.lines) - len(lines)
    began = {point.run: 1000 * point.began_unix_s for line in lines for point in line.points}
    steps = [
        {"ms": round((began[hint.before.run] + began[hint.after.run]) / 2), "tip": fmt.plain(hint_text(hint))}
        for hint in hints
        if {hint.before.run, hint.after.run} <= began.keys()
    ]
    changed = named("steps").mark_rule(strokeDash=[4, 3], strokeWidth=1.5, aria=True)
    changed = changed.encode(x=alt.X("ms:T", scale=alt.Scale(type="utc")), description=TIP)
    return make(
        "over-runs",
        _("{figure} over runs", figure=figure_name(found.metric)),
        " ".join(
            [
                *_reading(found.metric),
                *([_("A dashed line is where a change is suspected.")] if steps else []),
                *([_("{number} older lines are left out.", number=left)] if left else []),
            ]
        ),
        _(
            "{figure} of {place}: {lines}",
            figure=figure_name(found.metric),
            place=fmt.plain(found.label),
            lines="; ".join(_spoken(line, found.metric) for line in lines),
        ),
        layer(path, spans, points, *([changed] if steps else []), width=theme.WIDTH - 120, height=280),
        {"points": values, **({"steps": steps} if steps else {})},
        condition=fmt.plain(found.label),
    )


def _reading(metric: str) -> tuple[str, str]:
    if is_answered(metric):
        return (
            _("A bar is the 95 % interval of that gate, whose sides took turns."),
            _("A line joins gates of one base and load, whatever machines they ran on."),
        )
    return (
        _("A bar is the 95 % interval of that run alone; two runs of the same thing may differ by 4 % more."),
        _("A line joins runs of one machine, versions, settings and load."),
    )


def _time_axis(values: ChartData) -> alt.Axis:
    days = (max(value["ms"] for value in values) - min(value["ms"] for value in values)) / 86_400_000
    form = "%Y-%m-%d" if days > 3 else "%m-%d %H:%M"
    return alt.Axis(title=_("began (UTC)"), grid=False, labelOverlap=True, format=form, tickCount=8)


def _value(line: RunSeries, point: TrendPoint, metric: str) -> dict[str, object]:
    figure = point.figure
    return {
        "line": line.name,
        "ms": round(point.began_unix_s * 1000),
        "value": figure.value,
        "low": figure.value if figure.low is None else figure.low,
        "high": figure.value if figure.high is None else figure.high,
        "tip": fmt.plain("\n".join(filter(None, (point.run, point.head, interval_text(metric, point))))),
    }


def _axis(values: ChartData, metric: str) -> alt.Y:
    ends = [float(value[name]) for value in values for name in ("low", "high")]
    if "_ns" in metric:
        lengths = [end for end in ends if end > 0]
        axis = duration_axis(metric_text(metric), lengths, grid=True)
        return alt.Y("value:Q", scale=duration_scale(lengths), axis=axis)
    low, high = min(ends), max(ends)
    room = _PADDING * (high - low or high)
    scale = alt.Scale(domain=[low - room, high + room], zero=False, nice=True)
    return alt.Y("value:Q", scale=scale, axis=alt.Axis(title=figure_name(metric), grid=True, tickCount=6))


def _spoken(line: RunSeries, metric: str) -> str:
    first, last = (interval_text(metric, point) for point in (line.points[0], line.points[-1]))
    return _(
        "line {name}, {number} runs, from {first} to {last}",
        name=line.name,
        number=len(line.points),
        first=first,
        last=last,
    )
