"""What the page prints of saturations: for each condition the answer, its picture, and what it rests on."""

from typing import Any

from loadstone.analyse.model import Analysis
from loadstone.analyse.saturation.saturation_answer import SaturationAnswer
from loadstone.report import format as fmt
from loadstone.report import saturation_view as view
from loadstone.report.charts.chart import Chart
from loadstone.report.html.page_parts import figure


def saturation_views(analysis: Analysis, charts: list[Chart]) -> list[dict[str, Any]]:
    """One a condition, in the order of the analysis."""
    return [_view(answer, charts) for answer in analysis.saturations]


def _view(answer: SaturationAnswer, charts: list[Chart]) -> dict[str, Any]:
    own = {chart.kind: figure(chart) for chart in charts if chart.condition == answer.label}
    return {
        "title": view.title(answer),
        "kind": answer.kind,
        "verdict": view.verdict(answer),
        "facts": view.facts(answer),
        "picture": own.get("saturation"),
        "ramp": own.get("ramp"),
        "ramp_lines": view.ramp_lines(answer),
        "share_headers": view.share_headers(),
        "shares": view.share_rows(answer),
        "headers": view.point_headers(answer),
        "points": [
            {
                "verdict": point.verdict,
                "cells": view.point_cells(answer, point),
                "why": " ".join(map(fmt.sentence, point.reasons)),
            }
            for point in answer.points
        ],
        "search": view.search_line(answer),
    }
