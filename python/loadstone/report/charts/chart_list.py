"""All pictures of an analysis, in the order of the report."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from altair.utils.schemapi import debug_mode

from loadstone.judge.analysis.analysis import Analysis
from loadstone.report.charts.blocks_chart import blocks_chart
from loadstone.report.charts.chart import Chart
from loadstone.report.charts.checks_chart import checks_chart
from loadstone.report.charts.cost_chart import cost_chart
from loadstone.report.charts.effects_chart import effects_chart
from loadstone.report.charts.forest_chart import cost_forest_chart, forest_chart
from loadstone.report.charts.latency_chart import latency_chart
from loadstone.report.charts.over_time_chart import errors_chart, percentiles_chart
from loadstone.report.charts.rate_chart import rate_chart
from loadstone.report.charts.timeline_chart import timeline_chart
from loadstone.slot import Slot
from loadstone.text.language import language

CHARTS: Slot[Callable[[Any], Iterable[Chart | None]]] = Slot("charts")
"""The pictures of add-ons' answers, by their keys in `analysis.json`."""
_latest: tuple[Analysis, str, list[Chart]] | None = None
"""The analysis that was drawn last, in which language, and its pictures: the formats of one report show the same."""


def drawn(charts: list[Chart]) -> list[Chart]:
    """Those that can be drawn; `renderer_process.failure` says why others cannot."""
    return [chart for chart in charts if chart.is_drawn()]


def charts_of(analysis: Analysis) -> list[Chart]:
    """The pictures for which there are data: of effects, add-ons, families, costs, tables, the time line, checks.

    No two share a name.
    """
    global _latest
    latest = _latest
    if latest is None or latest[0] is not analysis or latest[1] != language():
        latest = _latest = (analysis, language(), _make(analysis))
    return list(latest[2])


def _make(analysis: Analysis) -> list[Chart]:
    charts: dict[str, Chart] = {}
    with debug_mode(False):  # else each part of a picture is held against the schema, which takes seconds; tests do it
        for chart in _all_of(analysis):
            if chart is not None:
                name = chart.name if chart.name not in charts else f"{chart.name}-{len(charts) + 1}"
                charts[name] = replace(chart, name=name)
                chart.begin()
    return list(charts.values())


def _all_of(analysis: Analysis) -> Iterator[Chart | None]:
    named = {family.name: family for family in analysis.families}
    for effects in analysis.effects:
        yield effects_chart(effects, named[effects.name])
    for key, charts in CHARTS.items():
        if (answer := analysis.known_part(key)) is not None:
            yield from charts(answer)
    for family in analysis.families:
        yield from (forest_chart(family), cost_forest_chart(family), blocks_chart(family, analysis))
    yield cost_chart(analysis)
    for table in analysis.tables:
        yield from (rate_chart(table, analysis), latency_chart(table, analysis))
    yield from (timeline_chart(analysis), percentiles_chart(analysis), errors_chart(analysis), checks_chart(analysis))


def render_svg(analysis: Analysis) -> dict[str, bytes]:
    """`charts/<name>.svg`, one a picture."""
    return {f"charts/{chart.name}.svg": chart.svg() for chart in drawn(charts_of(analysis))}


def render_png(analysis: Analysis) -> dict[str, bytes]:
    """`charts/<name>.png`, one a picture, at twice its size."""
    return {f"charts/{chart.name}.png": chart.png() for chart in drawn(charts_of(analysis))}
