"""Every picture as pixels, for slides and messages."""

from loadstone.analyse.model import Analysis
from loadstone.report.charts.chart_list import charts_of, drawn


def render(analysis: Analysis) -> dict[str, bytes]:
    """`charts/<name>.png`, one a picture, at twice its size."""
    return {f"charts/{chart.name}.png": chart.png() for chart in drawn(charts_of(analysis))}
