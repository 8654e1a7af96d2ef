"""What the verdicts of a comparison say about a claim."""

from typing import Literal

from loadstone.analyse.claim_outcomes import NO_DATA, Outcome, claimed_on, outcome, together
from loadstone.analyse.family_words import family_answer
from loadstone.analyse.model import Answer, Comparison, Family
from loadstone.judge.compare.exploration import MEAN_TIME
from loadstone.judge.metrics import is_rate
from loadstone.judge.verdict import Verdict
from loadstone.spec.experiment import Conclusion
from loadstone.spec.levels import Condition, Level, fits


def answer_by_verdicts(conclusion: Conclusion, family: Family, *, back_to_back: bool = False) -> Answer | None:
    """The answer to a claim about `where` against `against`; None if the family compares no such conditions.

    A conclusion that claims nothing definite gets the verdicts, and no word on whether it holds.

    Args:
        conclusion: the claim, about `conclusion.metric`.
        family: the verdicts of a declared comparison.
        back_to_back: whether each user asked again at once (closed model, no pauses): then the mean response
            time is the number of users over the rate, and a verdict on the rate is one on that time.
    """
    about = [pair for pair in family.comparisons if _about(conclusion, pair) is not None]
    judged = [(pair, _on_metric(conclusion.metric, pair, back_to_back=back_to_back)) for pair in about]
    meant = [pair.model_copy(update={"primary": found}) for pair, found in judged if found is not None]
    if not meant:
        return None
    evidence = [_evidence(pair) for pair in meant]
    words = f"{family_answer(meant)}{_remark(conclusion.metric, meant[0].primary)}"
    if conclusion.claims is None:
        return Answer(claim=conclusion.claim, answer=words, evidence=evidence, verdict="not answered here")
    outcomes = [_outcome(conclusion, pair) for pair in meant]
    known = [one for one in outcomes if one is not None]
    verdict = together([one or NO_DATA for one in outcomes]) if known else "no valid data"
    times = sum(one.direction == "holds" for one in known)
    some = f"Holds in {times} of {len(outcomes)}. " if 0 < times < len(outcomes) else ""
    sizes = _sizes([(pair, one) for pair, one in zip(meant, outcomes, strict=True) if one is not None and one.words])
    return Answer(claim=conclusion.claim, answer=f"{some}{words}{sizes}", evidence=evidence, verdict=verdict)


def _on_metric(metric: str, pair: Comparison, *, back_to_back: bool) -> Verdict | None:
    """The judgement of a pair that tells of the metric; None where none does."""
    found = pair.on(metric)
    if found is None and pair.primary.kind == "invalid":
        return pair.primary
    if found is None and metric == MEAN_TIME and back_to_back and is_rate(pair.primary.metric):
        return pair.primary
    return found


def _remark(metric: str, judged: Verdict) -> str:
    """What a reader must know of a verdict that is not the one that the comparison was made for."""
    if judged.metric != metric and is_rate(metric):
        return f" (By the {judged.metric_words}: the ratios of both are the same here.)"
    if judged.metric != metric:
        by_rate = (
            " (In a closed model without pauses the mean time is the users over the rate: it falls as that rises.)"
        )
        return by_rate if judged.kind != "invalid" else ""
    return f" (By the {judged.metric_words}; it was not what decided.)" if judged.role == "exploratory" else ""


def _outcome(conclusion: Conclusion, pair: Comparison) -> Outcome | None:
    """What the pair's verdict says about the claim; None where it is INVALID, or nothing is claimed."""
    judged = pair.primary
    if judged.kind == "invalid" or conclusion.claims is None:
        return None
    value = conclusion.value if conclusion.kind == "ratio" else None
    claimed = claimed_on(conclusion.claims, value, conclusion.metric, judged.metric)
    return outcome(claimed, judged, where_is_b=_about(conclusion, pair) == "b")


def _sizes(found: list[tuple[Comparison, Outcome]]) -> str:
    """A sentence on the claimed figure, for each place that it was compared in."""
    if len(found) == 1:
        words = found[0][1].words
        return f" {words[:1].upper()}{words[1:]}."
    return "".join(f" At {pair.place}: {one.words}." if pair.place else f" {one.words}." for pair, one in found)


def _about(conclusion: Conclusion, pair: Comparison) -> Literal["a", "b"] | None:
    """Which side is `where`, the other being `against`; None if the pair is about something else."""
    a, b = pair.primary.a.condition, pair.primary.b.condition
    if _is(a, conclusion.where) and _is(b, conclusion.against):
        return "a"
    return "b" if _is(b, conclusion.where) and _is(a, conclusion.against) else None


def _is(condition: Condition, where: dict[str, Level]) -> bool:
    return where.keys() <= condition.keys() and fits(condition, where)


def _evidence(pair: Comparison) -> str:
    judged = pair.primary
    at = f" at {pair.place}" if pair.place else ""
    return f"{judged.b.name} against {judged.a.name}{at}: {judged.words} ({judged.blocks} blocks)"
