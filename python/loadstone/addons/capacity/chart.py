"""What more users would get: the predicted rate with its interval, beside what was measured."""

import altair as alt

from loadstone.addons.capacity.model.answer import Capacity
from loadstone.report import figure_format as fmt
from loadstone.report.charts import theme
from loadstone.report.charts.chart import TIP, Chart, ChartData, VegaSpec, layer, make, named, tooltip
from loadstone.text.language import _

_HEIGHT = 240
_ROOM = 1.05


def capacity_chart(capacity: Capacity) -> Chart:
    """Return the chart of one condition that has predictions."""
    predicted: ChartData = [
        {
            "x": one.users, "per_s": one.per_s, "low": one.low_per_s, "high": one.high_per_s,
            "tip": tooltip(
                users=fmt.count(one.users), predicted=_("{rate} a second", rate=fmt.rate(one.per_s)),
                fullest=one.busiest,
            ),
        }
        for one in capacity.predictions
    ]  # fmt: skip
    measured: ChartData = [
        {
            "x": one.users, "per_s": one.per_s,
            "tip": tooltip(users=fmt.count(one.users), measured=_("{rate} a second", rate=fmt.rate(one.per_s))),
        }
        for one in capacity.levels
    ]  # fmt: skip
    last = capacity.predictions[-1]
    return make(
        "capacity",
        _("Predicted rate over users"),
        _("Line: predicted, with its 95 % interval. Points: measured as the run was."),
        _(
            "Predicted: {rate} replies a second for {count} users.",
            rate=fmt.rate(last.per_s),
            count=fmt.count(last.users),
        ),
        _picture({"predicted": predicted, "measured": measured}),
        {"predicted": predicted, "measured": measured},
        condition=capacity.label or None,
    )


def _picture(data: dict[str, ChartData]) -> VegaSpec:
    top = _ROOM * max(*(one["high"] for one in data["predicted"]), *(one["per_s"] for one in data["measured"]))
    x = alt.X("x:Q", axis=alt.Axis(title=_("users"), format=",d", tickCount=6), scale=alt.Scale(type="log", nice=False))
    scale = alt.Scale(domain=[0, top], nice=False)
    axis = alt.Axis(title=_("replies a second"), labelExpr="format(datum.value, '~s')", tickCount=5)
    predicted, y = named("predicted").encode(x=x), alt.Y("per_s:Q", axis=axis, scale=scale)
    marks = [
        predicted.mark_area(color=theme.SERIES[0], opacity=0.16).encode(
            y=alt.Y("low:Q", axis=axis, scale=scale), y2=alt.Y2("high:Q")
        ),
        predicted.mark_line(color=theme.SERIES[0], strokeWidth=2.4).encode(y=y),
        predicted.mark_point(size=12, filled=True, color=theme.SERIES[0], aria=True).encode(y=y, description=TIP),
        named("measured")
        .mark_point(size=60, color=theme.SERIES[1], opacity=1, aria=True)
        .encode(x=x, y=y, description=TIP),
    ]
    return layer(*marks, width=theme.WIDTH, height=_HEIGHT)
