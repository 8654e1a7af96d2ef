"""A classical ramp as load tools draw it, with what is read off its chart beside the point that was measured."""

from typing import Any

import altair as alt

from loadstone.goals.saturate_types import RampAnswer, SaturationAnswer
from loadstone.language import _, marked, translated
from loadstone.report import format as fmt
from loadstone.report import saturation_view as view
from loadstone.report.charts import theme
from loadstone.report.charts.chart import TIP, Chart, Picture, Values, fixed, layer, make, named, tip

_HEIGHT, _HEIGHT_NARROW = 240, 200
_AXIS_NARROW = 52
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
        _picture(data, theme.WIDTH, _HEIGHT),
        data,
        condition=answer.label,
        narrow=_picture(data, theme.WIDTH_NARROW - _AXIS_NARROW, _HEIGHT_NARROW),
    )


def _data(answer: SaturationAnswer, ramp: RampAnswer) -> dict[str, Values]:
    steps: Values = [
        {
            "x": step.users, "per_s": step.per_s, "smooth": step.average_per_s,
            "tip": tip(users=fmt.count(step.users), rate=_("{rate} a second", rate=fmt.rate(step.per_s))),
        }
        for step in ramp.steps
    ]  # fmt: skip
    read = ((marked("by eye"), ramp.eye_users, ramp.eye_per_s), ("Kneedle", ramp.knee_users, ramp.knee_per_s))
    points: Values = [
        {
            "x": users,
            "per_s": per_s,
            "label": _("{name}: {count} users", name=translated(name), count=fmt.count(users)),
            "above": name == "by eye",
        }
        for name, users, per_s in read
        if users is not None and per_s is not None
    ]
    knee: Values = []
    if answer.users is not None:
        found = answer.users
        said = _("measured: {estimate_text}", estimate_text=view.estimate_text(found))
        knee = [{"x": found.value, "low": found.low, "high": found.high, "label": said}]
    return {"steps": steps, "read": points, "knee": knee}


def _picture(data: dict[str, Values], width: int, height: int) -> Picture:
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
