"""The comparisons in long form: a line a pair and metric. Ratios are factors, B's figure over A's: 1.12 is +12 %."""

import json
import math
from collections.abc import Iterator

from loadstone.analyse.model import Analysis, Comparison
from loadstone.judge.verdict import Verdict
from loadstone.report import format as fmt
from loadstone.report import verdicts

Cell = str | int | float | bool | None

COMPARED = (
    "comparison", "question", "place", "between", "a", "b", "condition_a", "condition_b", "metric", "role", "kind",
    "verdict", "winner", "materially", "negligible", "typical_a", "typical_b", "ratio", "ratio_low", "ratio_high",
    "level", "p_value", "margin", "total_ratio", "detectable_ratio", "noise_floor_ratio", "more_minutes", "stalls_a",
    "stalls_b", "blocks_used", "blocks_done", "blocks_repeated", "pairs", "sequential", "ended", "trials_a",
    "trials_b", "checks_not_valid", "warnings",
)  # fmt: skip
"""The columns of `comparisons.csv`. A metric's unit is the end of its name."""


def comparison_rows(analysis: Analysis) -> Iterator[dict[str, Cell]]:
    """The primary metric of each pair, and after it the exploratory ones."""
    for comparison in verdicts.all_comparisons(analysis):
        for verdict in (comparison.primary, *comparison.exploratory):
            yield {**_pair(comparison), **_judged(verdict)}


def _pair(comparison: Comparison) -> dict[str, Cell]:
    primary = comparison.primary
    used = [point for point in primary.points if point.used]
    return {
        "comparison": comparison.name,
        "question": comparison.question,
        "place": comparison.place,
        "between": comparison.between,
        "a": primary.a.name,
        "b": primary.b.name,
        "condition_a": json.dumps(primary.a.condition, ensure_ascii=False),
        "condition_b": json.dumps(primary.b.condition, ensure_ascii=False),
        "blocks_done": comparison.blocks_done,
        "blocks_repeated": comparison.blocks_repeated,
        "pairs": comparison.pairs,
        "sequential": comparison.sequential,
        "ended": comparison.ended,
        "trials_a": " ".join(point.trial_a for point in used),
        "trials_b": " ".join(point.trial_b for point in used),
        "checks_not_valid": "; ".join(f"{c.name}: {c.verdict}" for c in comparison.checks if c.verdict != "valid"),
        "warnings": " ".join(map(fmt.sentence, comparison.warnings)),
    }


def _judged(verdict: Verdict) -> dict[str, Cell]:
    """The figures of one metric; none of them where a check forbids figures."""
    allowed = verdict.kind != "invalid"
    ends = verdicts.interval(verdict)
    return {
        "metric": verdict.metric,
        "role": verdict.role,
        "kind": verdict.kind,
        "verdict": verdicts.verdict_text(verdict),
        "winner": verdict.winner,
        "materially": verdict.materially,
        "negligible": verdict.negligible,
        "typical_a": verdict.a.typical if allowed else None,
        "typical_b": verdict.b.typical if allowed else None,
        "ratio": _factor(verdict.estimate) if ends else None,
        "ratio_low": _factor(ends.low) if ends else None,
        "ratio_high": _factor(ends.high) if ends else None,
        "level": verdict.level,
        "p_value": verdict.p_value if allowed else None,
        "margin": verdict.margin,
        "total_ratio": _factor(verdict.total) if allowed else None,
        "detectable_ratio": _factor(verdict.detectable) if allowed else None,
        "noise_floor_ratio": _factor(verdict.noise_floor),
        "more_minutes": verdict.more_minutes,
        "stalls_a": verdict.stalls_a,
        "stalls_b": verdict.stalls_b,
        "blocks_used": verdict.blocks,
    }


def _factor(log_ratio: float | None) -> float | None:
    return None if log_ratio is None else math.exp(log_ratio)
