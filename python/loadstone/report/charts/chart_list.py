"""All pictures of an analysis, in the order of the report."""

from dataclasses import replace

from altair.utils.schemapi import debug_mode

from loadstone.analyse.model import Analysis
from loadstone.report.charts.blocks_chart import blocks_chart
from loadstone.report.charts.chart import Chart
from loadstone.report.charts.checks_chart import checks_chart
from loadstone.report.charts.forest import forest_chart
from loadstone.report.charts.latency import latency_chart
from loadstone.report.charts.rate import rate_chart
from loadstone.report.charts.timeline_chart import timeline_chart

_latest: tuple[Analysis, list[Chart]] | None = None
"""The analysis that was drawn last, and its pictures: the formats of one report show the same."""


def charts_of(analysis: Analysis) -> list[Chart]:
    """The pictures for which there are data: two a family, two a table, the time line, the checks.

    No two share a name.
    """
    global _latest
    latest = _latest
    if latest is None or latest[0] is not analysis:
        latest = _latest = (analysis, _make(analysis))
    return list(latest[1])


def _make(analysis: Analysis) -> list[Chart]:
    with debug_mode(False):  # each part of a picture would be held against the schema, which takes seconds; tests do it
        return _all_of(analysis)


def _all_of(analysis: Analysis) -> list[Chart]:
    found = [chart for family in analysis.families for chart in (forest_chart(family), blocks_chart(family, analysis))]
    found += [
        chart for table in analysis.tables for chart in (rate_chart(table, analysis), latency_chart(table, analysis))
    ]
    found += [timeline_chart(analysis), checks_chart(analysis)]
    charts: dict[str, Chart] = {}
    for chart in found:
        if chart is not None:
            name = chart.name if chart.name not in charts else f"{chart.name}-{len(charts) + 1}"
            charts[name] = replace(chart, name=name)
    return list(charts.values())
