"""What the page prints of declared effects."""

from typing import Any

from loadstone.analyse.factorial.effects_answer import EffectsAnswer
from loadstone.report import effect_lines
from loadstone.report import format as fmt
from loadstone.report.charts.chart import Chart
from loadstone.report.html.page_parts import figure


def effects_view(answer: EffectsAnswer, charts: list[Chart]) -> dict[str, Any]:
    """A line an effect, the picture of the combinations, and a line a combination."""
    chart = next((one for one in charts if one.kind == "effects" and one.family == answer.name), None)
    return {
        "question": fmt.plain(answer.question),
        "note": fmt.plain(answer.note),
        "basis": effect_lines.basis(answer),
        "factors": answer.factors,
        "lines": [
            {"kind": term.verdict.kind, "line": line}
            for term, line in zip(answer.terms, effect_lines.lines(answer), strict=True)
        ],
        "cells": [{"levels": cell.levels, "figure": effect_lines.cell_text(answer, cell)} for cell in answer.cells],
        "picture": figure(chart) if chart else None,
    }
