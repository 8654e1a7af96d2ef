"""The picture of a family: each pair's typical difference with its interval, against the margin."""

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from math import inf, log1p
from typing import Any

import altair as alt

from loadstone.judge.analysis.analysis import Family
from loadstone.judge.verdict import COST, DECIDED, Verdict, VerdictKind
from loadstone.report import figure_format as fmt
from loadstone.report import verdicts
from loadstone.report.charts import theme
from loadstone.report.charts.axes import percent_axis
from loadstone.report.charts.chart import TIP, Chart, ChartData, MarkKind, fixed, layer, make, named, tooltip
from loadstone.report.charts.theme import reach
from loadstone.report.glossary import VERDICT_TERMS
from loadstone.text.english.figures import metric_text, part_text
from loadstone.text.language import _

_WIDTH = 430
"""Width of the axis; labels stand to its left, verdicts to its right."""
_TEXT_WIDTH = 430
_ROOM = 80
"""To the right of the verdicts, for a reader whose font is wider."""
_ROW = 28
_TICKS = 7
_NARROW = 306
"""Width of the axis on a narrow screen, where a pair stands above its line and the verdict below it."""
_NARROW_TICKS = 5
_NARROW_ROW, _LINE = 38, 14
"""Height of a row there, without its verdict, and of a line of the verdict."""
_NARROW_LETTERS = 50
"""In a line of the verdict."""
_NAMES_MAX = 3
"""Number of names of one side that stand above the axis."""

COLOURS: dict[VerdictKind, str] = {
    "faster": theme.SERIES[0],
    "equivalent": theme.SERIES[2],
    "mixed": theme.SERIES[3],
    "undecided": theme.NEUTRAL,
    "not_decidable": theme.NEUTRAL,
    "invalid": theme.VERDICTS["invalid"],
}
_SHAPES: dict[VerdictKind, str] = {
    "faster": "diamond",
    "equivalent": "square",
    "mixed": "triangle-up",
    "undecided": "circle",
    "not_decidable": "circle",
    "invalid": "cross",
}


@dataclass(frozen=True)
class _Forest:
    """What is drawn on one axis: verdicts that are about the same kind of figure, each under its name."""

    family: Family
    rows: list[tuple[str, Verdict]]
    is_cost: bool

    @property
    def metric(self) -> str:
        return _("CPU per request") if self.is_cost else metric_text(self.family.metric)


def forest_chart(family: Family) -> Chart | None:
    """The forest of a family's pairs; None without a pair."""
    rows = [(verdicts.title(one), one.primary) for one in family.comparisons]
    return _chart("forest", _("Every pair against the margin"), _Forest(family, rows, is_cost=False)) if rows else None


def cost_forest_chart(family: Family) -> Chart | None:
    """What a request costs, of every pair for which that is decided; None without one."""
    rows = [
        (f"{verdicts.title(one)}: {part_text(cost.metric.removeprefix(COST))}", cost)
        for one in family.comparisons
        for cost, _line in verdicts.cost_lines(one)
    ]
    return (
        _chart("cost-forest", _("CPU per request, every pair"), _Forest(family, rows, is_cost=True)) if rows else None
    )


def _chart(kind: MarkKind, heading: str, forest: _Forest) -> Chart:
    low, high = _domain(forest)
    pairs = [_row(name, verdict, low, high) for name, verdict in forest.rows]
    spoken = " ".join(f"{name}: {verdicts.verdict_text(verdict)}." for name, verdict in forest.rows)
    return make(
        kind,
        heading,
        _caption(pairs),
        _("Differences in {metric_text}. ", metric_text=forest.metric) + spoken,
        _picture(forest, pairs, low, high),
        {"pairs": pairs, "hints": _hints(forest)},
        family=forest.family,
        narrow=_narrow_picture(forest, pairs, low, high),
    )


def _domain(forest: _Forest) -> tuple[float, float]:
    """Ends of the axis: all estimates and margins, and every interval that is not outsize."""
    judged = [verdict for _name, verdict in forest.rows]
    margin = max(log1p(one.margin) for one in judged)
    known = [estimate for one in judged if (estimate := verdicts.estimate(one)) is not None and abs(estimate) < inf]
    ends = [end for one in judged for end in verdicts.interval(one) or ()]
    room = 1.12
    farthest = reach([abs(end) for end in ends], max([1.6 * margin, *(abs(estimate) for estimate in known)]))
    low, high = (max(-farthest, min([0.0, *known, *ends])), min(farthest, max([0.0, *known, *ends])))
    return room * min(low, -1.6 * margin), room * max(high, 1.6 * margin)


def _row(name: str, verdict: Verdict, low: float, high: float) -> dict[str, Any]:
    """What reaches beyond the axis is cut, and marked."""
    ends, estimate, margin = verdicts.interval(verdict), verdicts.estimate(verdict), log1p(verdict.margin)
    there = ends is not None and estimate is not None
    return {
        "pair": name,
        "kind": VERDICT_TERMS[verdict.kind],
        "filled": verdict.kind in DECIDED,
        "estimate": min(max(estimate, low), high) if there and estimate is not None else None,
        "low": max(ends.low, low) if ends and there else None,
        "high": min(ends.high, high) if ends and there else None,
        "cut_low": low if ends and there and ends.low < low else None,
        "cut_high": high if ends and there and ends.high > high else None,
        "zone_low": -margin,
        "zone_high": margin,
        "said": _shown(verdict),
        "said_narrow": "\n".join(textwrap.wrap(_shown(verdict), _NARROW_LETTERS)),
        "tip": _tip(name, verdict),
    }


def _tip(name: str, verdict: Verdict) -> str:
    said = {
        "pair": name,
        "difference": verdicts.ratio(verdict),
        "verdict": verdicts.verdict_text(verdict),
        f"{verdict.unit}s": str(verdict.blocks),
        _("minimum detectable effect"): fmt.plus_minus(verdict.detectable),
    }
    return tooltip(**said)


def _shown(verdict: Verdict) -> str:
    """Beside the axis there is no room for the time that is still needed, and remarks stand in the rate's row."""
    if verdict.role == "cost":
        return fmt.sentence(verdict.brief)
    open_still = verdict.kind in ("undecided", "not_decidable")
    return verdicts.short_text(verdict) if open_still else verdicts.verdict_text(verdict)


def _hints(forest: _Forest) -> ChartData:
    """Which way is better, and what the zone is, above the axis."""
    judged = [verdict for _name, verdict in forest.rows]
    a, b = (_together([getattr(one, side).name for one in judged]) for side in ("a", "b"))
    left, right = (a, b) if judged[0].larger_is_faster else (b, a)
    zone = _("{margin}: does not matter", margin=fmt.plus_minus(log1p(judged[0].margin)))
    if forest.is_cost:
        said = {"left": _("← {left} takes less", left=b), "right": _("{right} takes less →", right=a)}
    else:
        said = {"left": _("← {left} faster", left=left), "right": _("{right} faster →", right=right)}
    return [{**said, "zone": zone, "zero": 0}]


def _together(names: Iterable[str]) -> str:
    """One side's names: `string or hash`; of many the first ones."""
    distinct = list(dict.fromkeys(map(fmt.plain, names)))
    more = " ..." if len(distinct) > _NAMES_MAX else ""
    return _(" or ").join(distinct[:_NAMES_MAX]) + more


def _ratio_of(family: Family) -> str:
    """`string against json`; where the pairs' names differ, each row says its own."""
    sides = verdicts.common_sides(family.comparisons)
    return _("{b} against {a}", b=sides[1], a=sides[0]) if sides else _("difference")


def _x_title(forest: _Forest) -> str:
    return _("{metric_text}: {ratio_of} (log scale)", metric_text=forest.metric, ratio_of=_ratio_of(forest.family))


def _picture(forest: _Forest, pairs: ChartData, low: float, high: float) -> Any:
    """Names to the left of the axis, verdicts to its right."""
    order = [pair["pair"] for pair in pairs]
    scale = alt.Scale(domain=[low, high], nice=False, zero=False)
    grid = {"grid": True, "gridDash": [2, 3], "titleLimit": _WIDTH}
    axis = percent_axis(_x_title(forest), low, high, _TICKS, **grid)
    base = named("pairs").encode(
        y=alt.Y("pair:N", sort=order, scale=alt.Scale(padding=0), axis=alt.Axis(title=None, grid=False, labelLimit=330))
    )
    without_figure = base.transform_filter("!isValid(datum.estimate)").encode(
        x=fixed(alt.XValue, _WIDTH + 20), **_look(pairs)
    )
    hollow = without_figure.mark_point(size=90, strokeWidth=2, opacity=1, aria=True)
    said = base.mark_text(align="left", fontSize=11.5, limit=_TEXT_WIDTH).encode(
        x=fixed(alt.XValue, _WIDTH + 34), text=alt.Text("said:N")
    )
    layers = [*_lines(base, pairs, scale, axis, 0), hollow, said, *_headings(scale, _WIDTH)]
    room = {**theme.MARGINS, "right": _ROOM}
    return layer(*layers, width=_WIDTH, height={"step": _ROW}, padding=room)


def _narrow_picture(forest: _Forest, pairs: ChartData, low: float, high: float) -> Any:
    """As wide as a telephone: each name above its line, the verdict below it."""
    scale = alt.Scale(domain=[low, high], nice=False, zero=False)
    title = textwrap.wrap(_x_title(forest), _NARROW_LETTERS)
    axis = percent_axis(title, low, high, _NARROW_TICKS, grid=True, gridDash=[2, 3])
    base = named("pairs").encode(
        y=alt.Y("pair:N", sort=[pair["pair"] for pair in pairs], scale=alt.Scale(padding=0), axis=None)
    )
    below = _LINE * max(pair["said_narrow"].count("\n") + 1 for pair in pairs)
    shift = -below / 2
    text: dict[str, Any] = {"align": "left", "limit": _NARROW, "lineBreak": "\n"}
    name = base.mark_text(**text, baseline="bottom", dy=shift - 7, fontSize=11.5, fontWeight=600, color=theme.INK)
    said = base.mark_text(**text, baseline="top", dy=shift + 9, fontSize=11.5, lineHeight=_LINE)
    layers = [
        *_lines(base, pairs, scale, axis, shift),
        name.encode(x=fixed(alt.XValue, 0), text=alt.Text("pair:N")),
        said.encode(x=fixed(alt.XValue, 0), text=alt.Text("said_narrow:N")),
        *_headings(scale, _NARROW),
    ]
    return layer(*layers, width=_NARROW, height={"step": _NARROW_ROW + below})


def _lines(base: alt.Chart, pairs: ChartData, scale: alt.Scale, axis: alt.Axis, shift: float) -> list[alt.Chart]:
    """The zone, and every interval with its mark, `shift` pixels below the middle of the row."""
    x = alt.X("estimate:Q", scale=scale, axis=axis)
    zone = base.mark_rect(color=theme.NEUTRAL, opacity=0.17).encode(
        x=alt.X("zone_low:Q", scale=scale), x2=alt.X2("zone_high:Q")
    )
    zero = named("hints").mark_rule(color=theme.NEUTRAL, strokeWidth=1).encode(x=alt.X("zero:Q", scale=scale))
    found = base.transform_filter("isValid(datum.estimate)")
    spans = found.mark_rule(strokeWidth=2.6, strokeCap="round", yOffset=shift, aria=True).encode(
        x=alt.X("low:Q", scale=scale), x2=alt.X2("high:Q"), color=_colour(pairs), description=TIP
    )
    marks = found.encode(x=x, **_look(pairs)).mark_point(size=105, strokeWidth=2, opacity=1, yOffset=shift, aria=True)
    return [zone, zero, spans, *_cuts(base, pairs, scale, shift), marks]


def _kinds(pairs: ChartData) -> list[VerdictKind]:
    there = {pair["kind"] for pair in pairs}
    return [kind for kind in VERDICT_TERMS if VERDICT_TERMS[kind] in there]


def _scale(kinds: list[VerdictKind], looks: list[str]) -> alt.Scale:
    return alt.Scale(domain=[VERDICT_TERMS[kind] for kind in kinds], range=looks)


def _colour(pairs: ChartData) -> alt.Color:
    kinds = _kinds(pairs)
    return alt.Color("kind:N", scale=_scale(kinds, [COLOURS[kind] for kind in kinds]), legend=None)


def _look(pairs: ChartData) -> dict[str, Any]:
    """Colour and shape tell the kind, which stands as text beside it; only what claims something is filled."""
    kinds = _kinds(pairs)
    fills = [COLOURS[kind] if kind in DECIDED else "transparent" for kind in kinds]
    return {
        "color": _colour(pairs),
        "shape": alt.Shape("kind:N", scale=_scale(kinds, [_SHAPES[kind] for kind in kinds]), legend=None),
        "fill": alt.Fill("kind:N", scale=_scale(kinds, fills), legend=None),
        "description": TIP,
    }


def _cuts(base: alt.Chart, pairs: ChartData, scale: alt.Scale, shift: float) -> list[alt.Chart]:
    """An arrow at the end of the axis where an interval goes on."""
    found = []
    for end, shape in (("cut_low", "triangle-left"), ("cut_high", "triangle-right")):
        if any(pair[end] is not None for pair in pairs):
            cut = base.transform_filter(f"isValid(datum.{end})")
            arrows = cut.mark_point(shape=shape, size=70, filled=True, yOffset=shift)
            found.append(arrows.encode(x=alt.X(f"{end}:Q", scale=scale), color=_colour(pairs)))
    return found


def _headings(scale: alt.Scale, width: int) -> list[alt.Chart]:
    """Above the axis: which way is faster, and over that what the zone is."""
    left, right = (
        named("hints")
        .mark_text(fontSize=11.5, baseline="bottom", align=side, limit=width // 2)
        .encode(y=fixed(alt.YValue, -6))
        for side in ("left", "right")
    )
    zone = named("hints").mark_text(fontSize=11.5, baseline="bottom").encode(y=fixed(alt.YValue, -22))
    return [
        zone.encode(x=alt.X("zero:Q", scale=scale), text=alt.Text("zone:N")),
        left.encode(x=fixed(alt.XValue, 0), text=alt.Text("left:N")),
        right.encode(x=fixed(alt.XValue, width), text=alt.Text("right:N")),
    ]


def _caption(pairs: ChartData) -> str:
    sentences = [
        _(
            "The mark is the typical difference, the line its interval: about 95 of 100 such "
            "intervals contain the true difference, fewer where the machine drifts more slowly than the "
            "run is long. Differences in the shaded zone do not matter. A "
            "line wholly on one side of 0 is a real difference; a line wholly in the zone is none "
            "that matters."
        )
    ]
    if any(not pair["filled"] for pair in pairs):
        sentences.append(_("A hollow mark claims nothing; outside of the axis it has no ratio."))
    if any(pair["cut_low"] is not None or pair["cut_high"] is not None for pair in pairs):
        sentences.append(_("An arrow: the interval goes on beyond the axis."))
    return " ".join(sentences)
