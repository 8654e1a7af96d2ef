"""What an invalid gate leaves of its comparisons: the values of both sides, and no claim of one against the other."""

from collections.abc import Sequence

from loadstone.analyse.comparisons import family_answer
from loadstone.analyse.model import Comparison, Family
from loadstone.judge.gate_result import GateFigure, GateResult
from loadstone.judge.verdict import Verdict
from loadstone.record.trial import CheckResult

_KEPT = ("a", "b", "metric", "larger_is_faster", "margin", "unit", "blocks", "blocks_min", "quick", "rate_per_s")


def unclaimed(figure: GateFigure) -> GateFigure:
    """A figure of an invalid gate."""
    if figure.verdict == "invalid":
        return figure
    claims = ("ratio", "low", "high", "slower", "slower_low", "slower_high", "visible", "why")
    return figure.model_copy(update={"verdict": "unclaimed", **dict.fromkeys(claims)})


def without_claims(families: Sequence[Family], gate: GateResult | None) -> list[Family]:
    """The comparisons as every report has them: of an invalid gate each is invalid, by what makes the gate so."""
    refusal = None if gate is None or gate.verdict != "invalid" else _refusal(families, gate)
    return [one if refusal is None else _refused(one, refusal) for one in families]


def _refusal(families: Sequence[Family], gate: GateResult) -> CheckResult | None:
    """That the base differs from itself, or what a check of the trials says."""
    if gate.message.kind == "gate_one_process":
        return CheckResult(
            name="one_process", verdict="invalid", measured=None, limit=None, unit="", reason=gate.message
        )
    apart = next((one for one in gate.twin if one.name in gate.decided_by), None)
    if apart is None:
        return next((one.primary.refusal for family in families for one in family.comparisons), None)
    return CheckResult(
        name="twin",
        verdict="invalid",
        measured=round(100 * abs(apart.slower or 0.0), 6),
        limit=round(100 * apart.tolerance, 6),
        unit="%",
        reason=gate.message,
    )


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
