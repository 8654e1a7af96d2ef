"""A factorial's combinations: a line a level of one factor over the levels of another, which run parallel where neither
depends on the other."""

import altair as alt

from loadstone.judge.analysis.analysis import EffectsAnswer, Family
from loadstone.report import figure_format as fmt
from loadstone.report import verdicts
from loadstone.report.charts import theme
from loadstone.report.charts.chart import TIP, Chart, ChartData, layer, make, named, tooltip
from loadstone.report.sections.effects import figure_text
from loadstone.text.english.figures import metric_text
from loadstone.text.language import _

_WIDTH, _HEIGHT = 520, 260
_LOG_FROM = 3.0
"""Figures that are so many times apart stand on a logarithmic scale."""
_APART = 0.08
"""Distance between the marks of neighbouring lines, as a share of a level's width, so that intervals do not hide each
other."""


def effects_chart(answer: EffectsAnswer, family: Family) -> Chart | None:
    """The lines; None where no combination has a figure."""
    values: ChartData = []
    for cell in answer.cells:
        if cell.figure is None:
            continue
        across, *others = cell.levels
        line = ", ".join(others)
        said = tooltip(**{"": fmt.plain(cell.label), "figure": figure_text(answer, cell)})
        low, high = (cell.figure if end is None else end for end in (cell.low, cell.high))
        scale = 1e-6 if "_ns" in answer.metric else 1.0
        figures = {"value": cell.figure * scale, "low": low * scale, "high": high * scale}
        values.append({"across": fmt.plain(across), "line": fmt.plain(line), **figures, "tip": said})
    if not values:
        return None
    order = list(dict.fromkeys(str(one["across"]) for one in values))
    names = list(dict.fromkeys(str(one["line"]) for one in values))
    unit = "ms" if "_ns" in answer.metric else ""
    title = ", ".join(filter(None, (metric_text(answer.metric), unit)))
    base = named("cells").encode(
        x=alt.X("across:N", sort=order, title=fmt.plain(answer.factors[0]), axis=alt.Axis(labelAngle=0)),
        color=alt.Color(
            "line:N",
            title=fmt.plain(", ".join(answer.factors[1:])),
            scale=alt.Scale(domain=names, range=list(theme.SERIES[: len(names)])),
        ),
        xOffset=alt.XOffset("line:N", sort=names, scale=alt.Scale(paddingInner=1, paddingOuter=1 / _APART / 4)),
    )
    most, least = max(float(one["high"]) for one in values), min(float(one["low"]) for one in values)
    logarithmic = most >= _LOG_FROM * least > 0
    heights = alt.Scale(type="log" if logarithmic else "linear", zero=False, nice=True, padding=12)
    height = alt.Y("value:Q", title=title, scale=heights)
    picture = layer(
        base.mark_line(opacity=0.6).encode(y=height, strokeDash=alt.StrokeDash("line:N", legend=None)),
        base.mark_rule(strokeWidth=2).encode(y=alt.Y("low:Q", title=title), y2="high:Q"),
        base.mark_point(filled=True, size=70, opacity=1, aria=True).encode(y=height, description=TIP),
        width=_WIDTH,
        height=_HEIGHT,
    )
    ratios = "; ".join(f"{fmt.plain(term.name)} {verdicts.ratio(term.verdict)}" for term in answer.terms)
    return make(
        "effects",
        _("Every combination"),
        _(
            "Bars are 95 % intervals beside the mean of all combinations. Where lines run parallel, "
            "no factor depends on another. {scale}",
            scale=_("The scale is logarithmic.") if logarithmic else _("The scale does not begin at 0."),
        ),
        _(
            "{metric_text} of {values} combinations. {plain}.",
            metric_text=metric_text(answer.metric),
            values=len(values),
            plain=fmt.plain(ratios),
        ),
        picture,
        {"cells": values},
        family=family,
        narrow={**picture, "width": theme.WIDTH_NARROW - 80},
    )
