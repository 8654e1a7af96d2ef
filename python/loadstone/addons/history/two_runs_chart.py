"""Two runs laid over each other: rates of every condition, and the response times of one of them as curves."""

import json
from math import log10
from statistics import median

import altair as alt

from loadstone.addons.history.compare_command import Overlaid, OverlaidSide
from loadstone.report import figure_format as fmt
from loadstone.report.charts import theme
from loadstone.report.charts.axes import duration_axis, duration_scale
from loadstone.report.charts.chart import TIP, Chart, ChartData, layer, make, named
from loadstone.text.language import _

_ROWS_MAX = 24
_TICKS = (1, 2, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
_LABEL = "datum.value === 1 ? {} : datum.value === 2 ? 'P50' : 'P' + format(100 - 100 / datum.value, '~f')"


def rates_of_runs(places: list[Overlaid]) -> Chart | None:
    """Goodput of every trial of both runs, and the median of each, a row a condition; None without any."""
    shown = [one for one in places if one.a.rates_per_s and one.b.rates_per_s][:_ROWS_MAX]
    if not shown:
        return None
    names = [_place(one) for one in shown]
    runs = [shown[0].a.run, shown[0].b.run]
    trials, typical = _rates(shown)
    room = theme.room_for(names)
    base = named("trials").encode(
        y=alt.Y("condition:N", sort=names, axis=alt.Axis(title=None, grid=False, labelLimit=room)),
        x=alt.X(
            "rate:Q",
            scale=alt.Scale(zero=False, nice=True),
            axis=alt.Axis(title=_("correct replies a second"), grid=True, tickCount=7),
        ),
        yOffset=alt.YOffset("run:N", sort=runs),
        color=alt.Color("run:N", sort=runs, scale=alt.Scale(domain=runs, range=list(theme.SERIES[:2])), title=None),
    )
    marks = base.mark_point(filled=False, size=34, opacity=0.75, aria=True).encode(description=TIP)
    middle = base.mark_tick(thickness=3, size=11, aria=True).encode(description=TIP)
    picture = layer(
        marks,
        {**middle.to_dict(validate=False), "data": {"name": "typical"}},
        width=theme.WIDTH - 120 - (room - theme.LABEL_LIMIT),
        height={"step": 15},
    )
    for one in picture["layer"]:
        one.pop("$schema", None)
        one.pop("config", None)
    left = len(places) - len(shown)
    return make(
        "two-rates",
        _("Rates of both runs"),
        " ".join(
            [
                _("A circle is a trial, a bar the median of its run."),
                *([_("{number} more conditions are left out.", number=left)] if left else []),
            ]
        ),
        " ".join([_("Goodput of both runs by condition."), "; ".join(map(_spoken, shown))]),
        picture,
        {"trials": trials, "typical": typical},
    )


def _rates(shown: list[Overlaid]) -> tuple[ChartData, ChartData]:
    trials: ChartData = []
    typical: ChartData = []
    for one in shown:
        for side in (one.a, one.b):
            common = {"condition": _place(one), "run": side.run}
            for rate in side.rates_per_s:
                trials.append(
                    {**common, "rate": rate, "tip": _("{run}: {rate} a second", run=side.run, rate=fmt.rate(rate))}
                )
            middle = median(side.rates_per_s)
            typical.append(
                {
                    **common,
                    "rate": middle,
                    "tip": _("{run}, median: {rate} a second", run=side.run, rate=fmt.rate(middle)),
                }
            )
    return trials, typical


def _place(one: Overlaid) -> str:
    return fmt.plain(one.place) or _("all")


def _spoken(one: Overlaid) -> str:
    sides = (
        _("{run}: {rate} a second", run=side.run, rate=fmt.rate(median(side.rates_per_s))) for side in (one.a, one.b)
    )
    return f"{_place(one)}: {', '.join(sides)}"


def latencies_of_runs(one: Overlaid) -> Chart | None:
    """The response times of one condition, from the fastest to the last that enough operations lie beyond."""
    sides = [side for side in (one.a, one.b) if side.curve]
    if not sides:
        return None
    values: ChartData = [
        {
            "run": side.run,
            "tail": 1 / point.beyond,
            "ns": point.ns,
            "tip": _(
                "{run}: {time}, longer: {share}",
                run=side.run,
                time=fmt.duration(point.ns),
                share=fmt.percent(point.beyond),
            ),
        }
        for side in sides
        for point in side.curve
        if point.ns > 0
    ]
    if not values:
        return None
    runs = [one.a.run, one.b.run]
    furthest = max(1 / point.beyond for side in sides for point in side.curve)
    lengths = [point.ns for side in sides for point in side.curve if point.ns > 0]
    ends = [1, max(10.0, furthest)]
    axis = alt.Axis(
        title=_("quantile of the response time (log scale)"),
        values=[tick for tick in _TICKS if tick <= ends[1]],
        labelExpr=_LABEL.format(json.dumps(_("fastest"))),
        grid=True,
    )
    base = named("curves").encode(
        x=alt.X("tail:Q", scale=alt.Scale(type="log", domain=ends, nice=False), axis=axis),
        y=alt.Y("ns:Q", scale=duration_scale(lengths), axis=duration_axis(_("response time"), lengths, grid=True)),
        color=alt.Color("run:N", sort=runs, scale=alt.Scale(domain=runs, range=list(theme.SERIES[:2])), title=None),
    )
    lines = base.mark_line(strokeWidth=2)
    points = base.mark_point(filled=True, size=14, opacity=0.9, aria=True).encode(description=TIP)
    return make(
        "two-latencies",
        _("Response times of both runs"),
        _("Failures count as infinitely late. A curve ends where fewer than 100 operations lie beyond."),
        " ".join([_("Response times of {place}.", place=_place(one)), "; ".join(map(_spoken_curve, sides))]),
        layer(lines, points, width=theme.WIDTH - 120, height=300),
        {"curves": values},
        condition=_place(one),
    )


def _spoken_curve(side: OverlaidSide) -> str:
    said = []
    for header, beyond in (("P50", 0.5), ("P90", 0.1), ("P99", 0.01), ("P99.9", 0.001)):
        near = min(side.curve, key=lambda point: abs(log10(point.beyond) - log10(beyond)))
        if abs(log10(near.beyond) - log10(beyond)) < 0.1:
            said.append(_("{quantile} about {time}", quantile=header, time=fmt.duration(near.ns)))
    return f"{side.run}: {', '.join(said)}"
