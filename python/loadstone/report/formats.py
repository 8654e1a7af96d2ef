"""The formats of the report, as names alone: what a command line offers is known before anything is loaded."""

from collections.abc import Mapping

FORMATS: Mapping[str, str] = {
    "html": "html.page.render",
    "md": "markdown_report.render",
    "csv": "csv_report.render",
    "json": "json_report.render",
    "svg": "charts.chart_list.render_svg",
    "png": "charts.chart_list.render_png",
}
"""Format -> the function in `report/` that makes its files."""
DRAWN_FORMATS = frozenset(("html", "md", "svg", "png"))
"""Those with pictures."""
DEFAULT_FORMATS = ("html", "md", "csv")
"""What a run writes by itself; its `analysis.json` is there already."""
AGAIN_FORMATS = tuple(name for name in FORMATS if name != "png")
"""What `loadstone report` writes: a picture of points takes a second each, and SVG has the same."""
