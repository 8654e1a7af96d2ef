"""The effects in long form: a line an effect, and a line a combination. Ratios are factors: 1.12 is +12 %."""

import json
import math
from collections.abc import Iterator

from loadstone.analyse.model import Analysis
from loadstone.report import format as fmt
from loadstone.report import verdicts

Cell = str | int | float | bool | None

EFFECTS = (
    "effects", "question", "metric", "kind", "name", "factors", "levels", "references", "over", "verdict", "ratio",
    "ratio_low", "ratio_high", "level", "p_value", "margin", "unit", "used", "said",
)  # fmt: skip
"""The columns of `effects.csv`. Of an interaction the ratio is one of ratios."""
COMBINATIONS = ("effects", "metric", "condition", "label", "figure", "low", "high", "check")
"""The columns of `combinations.csv`."""


def effect_rows(analysis: Analysis) -> Iterator[dict[str, Cell]]:
    """Every main effect and interaction."""
    for answer in analysis.effects:
        for term in answer.terms:
            judged, ends = term.verdict, verdicts.interval(term.verdict)
            middle = verdicts.estimate(judged) if ends is not None else None
            yield {
                "effects": answer.name,
                "question": answer.question,
                "metric": answer.metric,
                "kind": term.kind,
                "name": term.name,
                "factors": " ".join(term.factors),
                "levels": json.dumps(term.levels, ensure_ascii=False),
                "references": json.dumps(term.references, ensure_ascii=False),
                "over": "; ".join(term.over),
                "verdict": judged.kind,
                "ratio": None if middle is None else math.exp(middle),
                "ratio_low": None if ends is None else math.exp(ends.low),
                "ratio_high": None if ends is None else math.exp(ends.high),
                "level": judged.level,
                "p_value": judged.p_value,
                "margin": judged.margin,
                "unit": judged.unit,
                "used": judged.blocks,
                "said": fmt.sentence(term.message),
            }


def combination_rows(analysis: Analysis) -> Iterator[dict[str, Cell]]:
    """Every combination with its typical figure."""
    for answer in analysis.effects:
        for cell in answer.cells:
            yield {
                "effects": answer.name,
                "metric": answer.metric,
                "condition": json.dumps(cell.condition, ensure_ascii=False),
                "label": cell.label,
                "figure": cell.figure,
                "low": cell.low,
                "high": cell.high,
                "check": cell.refusal.name if cell.refusal is not None else "",
            }
