"""Comparisons without their claims, where something makes all of them invalid."""

from collections.abc import Sequence

from loadstone.judge.analysis.analysis import Comparison, Family
from loadstone.judge.analysis.comparisons import family_answer
from loadstone.judge.verdict import Verdict
from loadstone.run_folder.trial import CheckResult

_KEPT = ("a", "b", "metric", "larger_is_faster", "margin", "unit", "blocks", "blocks_min", "quick", "rate_per_s")
"""What a comparison that claims nothing keeps of its verdict."""


def without_claims(families: Sequence[Family], refusal: CheckResult) -> list[Family]:
    """The comparisons, each invalid: by its own refusal where it has one, else by this."""
    return [_refused(one, refusal) for one in families]


def _refused(family: Family, refusal: CheckResult) -> Family:
    comparisons = [_without(one, refusal) for one in family.comparisons]
    return family.model_copy(update={"comparisons": comparisons, "answer": family_answer(comparisons)})


def _without(comparison: Comparison, refusal: CheckResult) -> Comparison:
    found = comparison.primary
    if found.kind == "invalid":
        return comparison.model_copy(update={"costs": [], "exploratory": []})
    points = [point.model_copy(update={"log_ratio": None}) for point in found.points]
    kept = {name: getattr(found, name) for name in _KEPT}
    primary = Verdict(kind="invalid", refusal=refusal, points=points, **kept)
    return comparison.model_copy(update={"primary": primary, "costs": [], "exploratory": []})
