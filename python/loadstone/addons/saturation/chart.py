"""Throughput, response time and CPU of each part against the load, on one axis, with the point and its interval;
and a single ramp."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, floor, log, log2
from typing import Any

import altair as alt

from loadstone.addons.saturation import section as view
from loadstone.addons.saturation.results import RampAnswer, SaturationAnswer, SaturationAnswers, SaturationPoint
from loadstone.report import figure_format as fmt
from loadstone.report.charts import theme
from loadstone.report.charts.axes import duration_axis, duration_scale
from loadstone.report.charts.chart import TIP, Chart, ChartData, VegaSpec, either, fixed, layer, make, named, tooltip
from loadstone.text.language import _, translatable, translated
from loadstone.text.sentences import render_message

_TOP, _MIDDLE, _BOTTOM = 270, 130, 140
"""Heights of the panels."""
_NARROW_HEIGHTS = (190, 110, 110)
_AXIS_NARROW = 52
"""Pixels on a narrow screen: of the axis to the left."""
_POINT, _POINT_NARROW = 50, 30
_KNEE, _RATE = theme.SERIES[1], theme.SERIES[0]
_PARTS = (theme.SERIES[4], theme.SERIES[2], theme.SERIES[3], theme.SERIES[5], theme.SERIES[6], theme.SERIES[7])
_LABEL_EDGE = 0.62
"""From here on across the picture a label stands to the left of its line."""
LATENCIES = {"P50": "p50", "P99": "p99"}
"""What is drawn of the response time, and its name in the record."""
_ROOM_X, _ROOM_Y = 1.12, 1.14
_IDEAL_POINTS = 48


@dataclass(frozen=True)
class SaturationValues:
    """What the panels draw, by the names that they call it."""

    of_users: bool
    axis_title: str
    domain: tuple[float, float]
    ticks: list[float]
    top_per_s: float
    top_share: float
    parts: list[str]
    limit: str
    """The part that was the limit, where its CPU is drawn."""
    knee_place: float | None
    """Where the answer lies along the axis, from 0 to 1."""
    datasets: dict[str, ChartData]


def saturation_chart(answer: SaturationAnswer) -> Chart | None:
    """The picture of one condition; None where no point was measured."""
    values = values_of(answer)
    if values is None:
        return None
    return make(
        "saturation",
        _("Throughput, response time and CPU against ") + (_("users") if values.of_users else _("the offered rate")),
        _caption(answer, values),
        f"{render_message(answer.message)}. {view.spoken(answer)}",
        _picture(values, theme.WIDTH, (_TOP, _MIDDLE, _BOTTOM)),
        values.datasets,
        condition=answer.label,
        narrow=_picture(values, theme.WIDTH_NARROW - _AXIS_NARROW, _NARROW_HEIGHTS, narrow=True),
    )


def _picture(values: SaturationValues, width: int, heights: tuple[int, int, int], *, narrow: bool = False) -> VegaSpec:
    """The panels below each other; the last one prints the axis."""
    panels = [_rates(values, width, heights[0], narrow)]
    if values.datasets["latencies"]:
        panels.append(_latencies(values, width, heights[1], narrow))
    if values.parts:
        panels.append(_cpu(values, width, heights[2], narrow))
    for place, panel in enumerate(panels):
        if place < len(panels) - 1:
            _without_axis(panel)
    return {"vconcat": panels, "spacing": 14, "resolve": {"scale": {"x": "shared", "color": "independent"}}}


def _without_axis(panel: dict[str, Any]) -> None:
    """Only the lowest panel says what runs along the axis; the grid of all of them stands below each other."""
    for part in panel["layer"]:
        axis = part["encoding"].get("x", {}).get("axis")
        if axis:
            axis |= {"title": None, "labels": False, "ticks": False}


def _x(values: SaturationValues, narrow: bool, field: str = "x") -> alt.X:
    axis = alt.Axis(
        title=values.axis_title,
        values=values.ticks,
        labelExpr="format(datum.value, ',')" if values.of_users else "format(datum.value, '~s')",
        labelOverlap=True,
        grid=not narrow,
        gridDash=[1, 4],
    )
    base: dict[str, Any] = {"base": 2} if values.of_users else {}
    return alt.X(f"{field}:Q", axis=axis, scale=alt.Scale(type="log", nice=False, domain=list(values.domain), **base))


def _rates(values: SaturationValues, width: int, height: int, narrow: bool) -> dict[str, Any]:
    """Throughput with intervals, what it would be if no one waited, the most there is, and the point."""
    x = _x(values, narrow)
    axis = alt.Axis(title=_("replies a second"), labelExpr="format(datum.value, '~s')", tickCount=4 if narrow else 6)
    y = alt.Y("per_s:Q", axis=axis, scale=alt.Scale(zero=True, nice=False, domain=[0, values.top_per_s]))
    points = named("points").encode(x=x, y=y)
    sure = points.transform_filter("datum.verdict !== 'invalid'")
    spans = points.transform_filter("isValid(datum.low)")
    marks = [
        *_knee(values, x, height, label=True, narrow=narrow),
        *_bounds(values, x, y, width, narrow),
        sure.mark_line(color=_RATE, strokeWidth=2, strokeJoin="round"),
        spans.mark_rule(color=_RATE, strokeWidth=1.5).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        _dots(points, _RATE, narrow),
    ]
    return layer(*marks, width=width, height=height)


def _dots(points: alt.Chart, colour: str, narrow: bool) -> Any:
    """Filled where the point is valid, a ring where it is not."""
    dots = points.mark_point(size=_POINT_NARROW if narrow else _POINT, strokeWidth=1.6, color=colour, aria=True)
    return dots.encode(fill=either(alt.FillValue, "datum.verdict === 'valid'", colour, "transparent"), description=TIP)


def _bounds(values: SaturationValues, x: alt.X, y: alt.Y, width: int, narrow: bool) -> list[alt.Chart]:
    """The ideal line, and the highest throughput."""
    ideal = named("ideal").encode(x=x, y=y).mark_line(color=theme.NEUTRAL, strokeDash=[6, 4], strokeWidth=1.4)
    most = named("most").mark_rule(color=theme.NEUTRAL, strokeDash=[2, 3], strokeWidth=1.4).encode(y=y)
    found = [ideal, most]
    if not narrow:
        label = named("ideal_label").mark_text(align="right", dx=-8, fontSize=11, color=theme.SOFT)
        found.append(label.encode(x=x, y=y, text=alt.Text("label:N")))
    at_left = values.knee_place is None or values.knee_place > 1 - _LABEL_EDGE
    name = named("most").mark_text(
        align="left" if at_left else "right", baseline="bottom", dy=-4, fontSize=11, color=theme.SOFT
    )
    place = fixed(alt.XValue, 6 if at_left else width - 6)
    return [*found, name.encode(x=place, y=y, text=alt.Text("short:N" if narrow else "label:N"))]


def _knee(values: SaturationValues, x: alt.X, height: int, *, label: bool, narrow: bool) -> list[alt.Chart]:
    """The point as a line and its interval as a band, through the height of a panel."""
    knee = named("knee").encode(x=_x(values, narrow, "low"))
    band = knee.mark_rect(color=_KNEE, opacity=0.16, clip=True).encode(x2=alt.X2("high:Q"))
    line = named("knee").encode(x=x).mark_rule(color=_KNEE, strokeWidth=2, clip=True)
    if not label:
        return [band, line]
    to_left = (values.knee_place or 0.0) > _LABEL_EDGE
    name = named("knee").mark_text(
        align="right" if to_left else "left", dx=-8 if to_left else 8, baseline="middle",
        fontSize=11.5 if narrow else 12.5, fontWeight=600, color=_KNEE,
    )  # fmt: skip
    low = fixed(alt.YValue, height * 0.55 if to_left else height - 14)
    return [band, line, name.encode(x=x, y=low, text=alt.Text("short:N" if narrow else "label:N"))]


def _latencies(values: SaturationValues, width: int, height: int, narrow: bool) -> dict[str, Any]:
    x = _x(values, narrow)
    lengths = [point["ns"] for point in values.datasets["latencies"]]
    lengths += [line["ns"] for line in values.datasets["objective"]]
    y = alt.Y("ns:Q", axis=duration_axis(_("response time"), lengths), scale=duration_scale(lengths))
    domain, colours = list(LATENCIES), [theme.SERIES[2], theme.SERIES[3]]
    colour = alt.Color(
        "quantile:N",
        scale=alt.Scale(domain=domain, range=colours),
        legend=alt.Legend(title=None, symbolType="stroke", symbolStrokeWidth=2),
    )
    points = named("latencies").encode(x=x, y=y)
    ideal = named("ideal_ns").encode(x=x, y=y).mark_line(color=theme.NEUTRAL, strokeDash=[6, 4], clip=True)
    rule = named("objective").mark_rule(color=theme.SERIES[3], strokeDash=[2, 3], strokeWidth=1.4).encode(y=y)
    name = named("objective").mark_text(align="left", baseline="bottom", dy=-3, fontSize=11, color=theme.SOFT)
    marks = [
        *_knee(values, x, height, label=False, narrow=narrow),
        ideal,
        rule,
        name.encode(x=fixed(alt.XValue, 6), y=y, text=alt.Text("label:N")),
        points.mark_line(strokeWidth=2, strokeJoin="round").encode(color=colour),
        points.mark_point(filled=True, size=24, opacity=1, aria=True).encode(color=colour, description=TIP),
    ]
    return layer(*marks, width=width, height=height)


def _cpu(values: SaturationValues, width: int, height: int, narrow: bool) -> dict[str, Any]:
    """CPU of each part; a line at one full core, where a single thread can go no further."""
    x = _x(values, narrow)
    axis = alt.Axis(title=_("CPU, share of a core"), format="%", tickCount=4)
    y = alt.Y("share:Q", axis=axis, scale=alt.Scale(zero=True, nice=False, domain=[0, values.top_share]))
    colour = alt.Color(
        "part:N",
        scale=alt.Scale(domain=values.parts, range=[_PARTS[place % len(_PARTS)] for place in range(len(values.parts))]),
        legend=alt.Legend(title=_("CPU of"), symbolType="stroke", symbolStrokeWidth=2),
    )
    width_of = alt.Scale(domain=[False, True], range=[1.5, 3.6])
    points = named("cpu").encode(x=x, y=y)
    full = named("one").mark_rule(color=theme.NEUTRAL, strokeDash=[4, 4]).encode(y=y)
    marks = [
        *_knee(values, x, height, label=False, narrow=narrow),
        full,
        points.mark_line(strokeJoin="round").encode(
            color=colour, strokeWidth=alt.StrokeWidth("limit:N", scale=width_of, legend=None)
        ),
        points.mark_point(filled=True, size=24, opacity=1, aria=True).encode(color=colour, description=TIP),
    ]
    return layer(*marks, width=width, height=height)


def _caption(answer: SaturationAnswer, values: SaturationValues) -> str:
    sentences = []
    if values.datasets["knee"]:
        sentences.append(_("The orange line is the answer, the band its 95 % interval."))
    if values.datasets["ideal"]:
        ideal = (
            _("N / (response time of one user + pause)") if values.of_users else _("all that is offered is answered")
        )
        sentences.append(_("Dashed: what would be if no one waited ({ideal}).", ideal=ideal))
    if values.datasets["most"]:
        sentences.append(
            _("Dotted: the highest throughput.") if answer.per_s else _("Dotted: the most that was observed.")
        )
    sentences.append(_("Vertical lines go from the lowest sweep to the highest one."))
    if any(point["verdict"] != "valid" for point in values.datasets["points"]):
        sentences.append(_("Rings are suspect or invalid."))
    if answer.limiting is not None and values.limit:
        sentences.append(_("The thick line is the CPU of what was the limit: {plain}.", plain=fmt.plain(values.limit)))
    return " ".join(sentences)


def values_of(answer: SaturationAnswer) -> SaturationValues | None:
    """None where no point was measured."""
    of_users = answer.model == "closed"
    points = [point for point in answer.points if (view.load_of(point) or 0) > 0]
    if not points:
        return None
    loads = [view.load_of(point) or 0.0 for point in points]
    domain = (min(loads) / _ROOM_X, max(max(loads) * _ROOM_X, min(loads) * 2))
    limit = view.limiting_part(answer)
    found = view.found_load(answer)
    most = answer.per_s.value if answer.per_s is not None and of_users else answer.at_least_per_s
    highest = max([most or 0.0, *(point.high for point in points)])
    cpu = [one for point in points for one in _cpu_points(point, limit)]
    knee: ChartData = []
    if found is not None:
        short = f"{fmt.rate(found.value)} {_('users') if of_users else _('a second')}"
        label = view.load_text(answer, found)
        knee = [{"x": found.value, "low": found.low, "high": found.high, "label": label, "short": short}]
    return SaturationValues(
        of_users=of_users,
        axis_title=_("users (log scale, base 2)") if of_users else _("offered a second (log scale)"),
        domain=domain,
        ticks=_ticks(domain, of_users=of_users),
        top_per_s=_ROOM_Y * highest or 1.0,
        top_share=1.08 * max([1.0, *(one["share"] for one in cpu)]),
        parts=list(dict.fromkeys(one["part"] for one in cpu)),
        limit=limit if any(one["limit"] for one in cpu) else "",
        knee_place=None if found is None else _place(found.value, domain),
        datasets={
            "points": [_point(point) for point in points],
            "latencies": [one for point in points for one in _latency_values(point)],
            "cpu": cpu,
            "knee": knee,
            "most": _most(answer, most),
            "one": [{"share": 1}],
            "objective": _objective(answer),
            **_ideal(answer, domain, _ROOM_Y * highest, most),
        },
    )


def _ticks(domain: tuple[float, float], *, of_users: bool) -> list[float]:
    """Powers of two; of rates those of ten, with their double and fivefold."""
    low, high = domain
    if of_users:
        return [float(2**step) for step in range(max(0, ceil(log2(low))), floor(log2(high)) + 1)]
    exponents = range(floor(log(low, 10)), ceil(log(high, 10)) + 1)
    return [tick for power in exponents for step in (1, 2, 5) if low <= (tick := step * 10.0**power) <= high]


def _place(value: float, domain: tuple[float, float]) -> float:
    low, high = map(log, domain)
    return (log(value) - low) / (high - low)


def _point(point: SaturationPoint) -> dict[str, object]:
    note = " ".join(map(fmt.sentence, point.reasons))
    interval = _("{low} to {high}", low=fmt.rate(point.low), high=fmt.rate(point.high)) if point.sweeps > 1 else ""
    said = tooltip(
        load=view.point_load_text(point),
        rate=_("{rate} a second", rate=fmt.rate(point.per_s)),
        sweeps=interval,
        verdict="" if point.verdict == "valid" else point.verdict,
        note=note,
    )
    return {
        "x": view.load_of(point), "per_s": point.per_s, "low": point.low, "high": point.high,
        "verdict": point.verdict, "tip": said,
    }  # fmt: skip


def _latency_values(point: SaturationPoint) -> ChartData:
    found = [(name, getattr(point.response_ns, field, None)) for name, field in LATENCIES.items()]
    load = view.point_load_text(point)
    return [
        {"x": view.load_of(point), "quantile": name, "ns": ns, "tip": tooltip(load=load, **{name: fmt.duration(ns)})}
        for name, ns in found
        if ns and point.verdict != "invalid"
    ]


def _cpu_points(point: SaturationPoint, limit: str) -> ChartData:
    load = view.point_load_text(point)
    return [
        {
            "x": view.load_of(point), "part": fmt.plain(part), "share": share, "limit": part == limit,
            "tip": tooltip(load=load, **{fmt.plain(part): fmt.percent(share)}),
        }
        for part, share in point.cpu.items()
    ]  # fmt: skip


def _most(answer: SaturationAnswer, most: float | None) -> ChartData:
    if most is None:
        return []
    if answer.per_s is None:
        said = _("at least {rate} a second", rate=fmt.rate(most))
        return [{"per_s": most, "label": said, "short": said}]
    name = _("peak") if answer.kind == "peak" else "X_max"
    long = _("{name} = {estimate_text} a second", name=name, estimate_text=view.estimate_text(answer.per_s))
    said = _("{name} = {rate} a second", name=name, rate=fmt.rate(most))
    return [{"per_s": most, "label": long, "short": said}]


def _objective(answer: SaturationAnswer) -> ChartData:
    limit_ns = view.objective_ns(answer)
    if answer.objective is None or limit_ns is None:
        return []
    return [{"ns": limit_ns, "label": fmt.plain(answer.objective.text)}]


def _ideal(
    answer: SaturationAnswer, domain: tuple[float, float], top: float, most: float | None
) -> dict[str, ChartData]:
    """What throughput and response time would be if no one ever waited for another one."""
    empty: dict[str, ChartData] = {"ideal": [], "ideal_label": [], "ideal_ns": []}
    low, high = domain
    loads = [low * (high / low) ** (step / _IDEAL_POINTS) for step in range(_IDEAL_POINTS + 1)]
    if answer.model == "open":
        end = min(high, top)
        line: ChartData = [{"x": x, "per_s": x} for x in [*(x for x in loads if x < end), end]]
        return {**empty, "ideal": line}
    if not answer.unloaded_s:
        return empty
    cycle_s = answer.unloaded_s + answer.think_s
    end = min(high, top * cycle_s)
    line = [{"x": x, "per_s": x / cycle_s} for x in [*(x for x in loads if x < end), end] if x >= low]
    half = 0.62 * (most or top) * cycle_s
    label: ChartData = []
    if _place(half, domain) > 0.2:
        label = [{"x": half, "per_s": half / cycle_s, "label": f"N / {'(R + Z)' if answer.think_s else 'R'}"}]
    below: ChartData = []
    if answer.per_s is not None and answer.kind == "plateau":
        below = [{"x": x, "ns": 1e9 * max(answer.unloaded_s, x / answer.per_s.value - answer.think_s)} for x in loads]
    return {"ideal": line, "ideal_label": label, "ideal_ns": below}


_HEIGHT, _HEIGHT_NARROW = 240, 200
_ROOM = 1.2


def ramp_chart(answer: SaturationAnswer) -> Chart | None:
    """The ramp of one condition; None where none was driven."""
    ramp = answer.ramp
    if ramp is None or not ramp.steps:
        return None
    data = _data(answer, ramp)
    return make(
        "ramp",
        _("The classical ramp"),
        _(
            "Thin: each step of the ramp. Thick: their moving average, as the eye smooths. The "
            "orange band is the saturation point that was measured, with its interval."
        ),
        " ".join(view.ramp_lines(answer)),
        _ramp_picture(data, theme.WIDTH, _HEIGHT),
        data,
        condition=answer.label,
        narrow=_ramp_picture(data, theme.WIDTH_NARROW - _AXIS_NARROW, _HEIGHT_NARROW),
    )


def _data(answer: SaturationAnswer, ramp: RampAnswer) -> dict[str, ChartData]:
    steps: ChartData = [
        {
            "x": step.users, "per_s": step.per_s, "smooth": step.average_per_s,
            "tip": tooltip(users=fmt.count(step.users), rate=_("{rate} a second", rate=fmt.rate(step.per_s))),
        }
        for step in ramp.steps
    ]  # fmt: skip
    read = ((translatable("by eye"), ramp.eye_users, ramp.eye_per_s), ("Kneedle", ramp.knee_users, ramp.knee_per_s))
    points: ChartData = [
        {
            "x": users,
            "per_s": per_s,
            "label": _("{name}: {count} users", name=translated(name), count=fmt.count(users)),
            "above": name == "by eye",
        }
        for name, users, per_s in read
        if users is not None and per_s is not None
    ]
    knee: ChartData = []
    if answer.users is not None:
        found = answer.users
        said = _("measured: {estimate_text}", estimate_text=view.estimate_text(found))
        knee = [{"x": found.value, "low": found.low, "high": found.high, "label": said}]
    return {"steps": steps, "read": points, "knee": knee}


def _ramp_picture(data: dict[str, ChartData], width: int, height: int) -> VegaSpec:
    top = _ROOM * max(max(one["per_s"] for one in data["steps"]), 1e-9)
    last = max(one["x"] for one in data["steps"])
    axis = alt.Axis(title=_("users, added step by step"), format=",d", tickCount=6)
    x: dict[str, Any] = {"axis": axis, "scale": alt.Scale(domain=[0, last], nice=False)}
    y = alt.Y(
        "per_s:Q",
        axis=alt.Axis(title=_("replies a second"), labelExpr="format(datum.value, '~s')", tickCount=5),
        scale=alt.Scale(domain=[0, top], nice=False),
    )
    steps = named("steps").encode(x=alt.X("x:Q", **x))
    knee = named("knee").encode(x=alt.X("low:Q", **x))
    read = named("read").encode(x=alt.X("x:Q", **x), y=y)
    to_left = bool(data["knee"]) and data["knee"][0]["x"] > last / 2
    text = named("knee").mark_text(
        align="right" if to_left else "left", dx=-8 if to_left else 8, fontSize=12, fontWeight=600,
        color=theme.SERIES[1],
    )  # fmt: skip
    marks = [
        knee.mark_rect(color=theme.SERIES[1], opacity=0.16, clip=True).encode(x2=alt.X2("high:Q")),
        named("knee").encode(x=alt.X("x:Q", **x)).mark_rule(color=theme.SERIES[1], strokeWidth=2, clip=True),
        steps.mark_line(color=theme.SERIES[5], strokeWidth=1, opacity=0.8).encode(y=y),
        steps.mark_line(color=theme.SERIES[0], strokeWidth=2.4, strokeJoin="round").encode(
            y=alt.Y("smooth:Q", scale=alt.Scale(domain=[0, top], nice=False))
        ),
        steps.mark_point(size=12, filled=True, color=theme.SERIES[5], aria=True).encode(y=y, description=TIP),
        read.mark_point(size=110, shape="diamond", filled=True, opacity=1, color=theme.SERIES[3]),
        _label(read.transform_filter("datum.above"), -24),
        _label(read.transform_filter("!datum.above"), 22),
        text.encode(x=alt.X("x:Q", **x), y=fixed(alt.YValue, height - 14), text=alt.Text("label:N")),
    ]
    return layer(*marks, width=width, height=height)


def _label(read: alt.Chart, dy: float) -> Any:
    """What was read, above or below its mark."""
    text = read.mark_text(dy=dy, align="left", fontSize=11.5, fontWeight=600, color=theme.SERIES[3])
    return text.encode(text=alt.Text("label:N"))


def charts_of_answers(found: SaturationAnswers) -> Iterator[Chart | None]:
    """The pictures of each condition: its levels, and the ramp beside them."""
    for answer in found.root:
        yield from (saturation_chart(answer), ramp_chart(answer))
