"""Colours and type of the pictures: told apart by colour-blind readers, in print and on a dark screen."""

from typing import Any

SERIES = ("#0072B2", "#D55E00", "#009E73", "#AA4499", "#B8860B", "#56A0D3", "#7A7A7A", "#8C564B")
"""After Okabe and Ito, a little darker where theirs fade on white paper."""

VERDICTS = {"valid": "#2B7A9B", "suspect": "#C98A00", "invalid": "#D1495B", "unknown": "#8A9099", "missing": "#8A9099"}

NEUTRAL = "#8A9099"
"""Lines and marks that must show on white and on black."""

FONT = "Inter, 'Segoe UI', 'Helvetica Neue', 'Liberation Sans', Arial, sans-serif"


def config(dark: bool) -> dict[str, Any]:
    """Vega-Lite's config for a light or a dark background."""
    ink, soft, grid = ("#E6E9EE", "#A9B1BC", "#2E343D") if dark else ("#1D2530", "#56606D", "#E4E8EC")
    return {
        "background": "transparent",
        "font": FONT,
        "view": {"stroke": None},
        "axis": {
            "labelColor": soft, "titleColor": soft, "labelFontSize": 11, "titleFontSize": 11.5,
            "titleFontWeight": "normal", "titlePadding": 10, "gridColor": grid, "domainColor": NEUTRAL,
            "tickColor": NEUTRAL, "domain": False, "ticks": False, "labelPadding": 6, "labelLimit": 260,
        },
        "axisX": {"grid": False, "domain": True, "ticks": True},
        "legend": {
            "labelColor": ink, "titleColor": soft, "labelFontSize": 11.5, "titleFontSize": 11,
            "titleFontWeight": "normal", "orient": "top", "direction": "horizontal", "symbolSize": 70,
            "columnPadding": 18, "labelLimit": 240, "offset": 14,
        },
        "header": {"labelColor": ink, "titleColor": soft, "labelFontSize": 12, "labelFontWeight": 600},
        "title": {"color": ink, "subtitleColor": soft, "fontSize": 12.5, "anchor": "start", "fontWeight": 600},
        "text": {"color": soft},
    }  # fmt: skip
