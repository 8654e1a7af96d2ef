"""Every picture as a file of its own, for print and for other pages."""

from loadstone.analyse.model import Analysis
from loadstone.report.charts.chart_list import charts_of, drawn


def render(analysis: Analysis) -> dict[str, bytes]:
    """`charts/<name>.svg`, one a picture."""
    return {f"charts/{chart.name}.svg": chart.svg() for chart in drawn(charts_of(analysis))}
