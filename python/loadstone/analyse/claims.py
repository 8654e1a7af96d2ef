"""What the verdicts of a comparison say about a claim."""

from collections.abc import Sequence
from typing import Literal

from loadstone.analyse.family_words import family_answer
from loadstone.analyse.metrics import is_rate
from loadstone.analyse.model import Answer, Comparison, Family, Judgement
from loadstone.spec.experiment import Conclusion
from loadstone.spec.levels import Condition, Level, fits

MEAN_TIME = "response_ns.mean"
Outcome = Literal["holds", "does not hold", "undecided", "no valid data"]


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
    verdict = _together(outcomes)
    times = outcomes.count("holds")
    some = f"Holds in {times} of {len(outcomes)}. " if 0 < times < len(outcomes) else ""
    return Answer(claim=conclusion.claim, answer=f"{some}{words}", evidence=evidence, verdict=verdict)


def _on_metric(metric: str, pair: Comparison, *, back_to_back: bool) -> Judgement | None:
    """The judgement of a pair that tells of the metric; None where none does."""
    found = next((one for one in (pair.primary, *pair.exploratory) if one.metric == metric), None)
    if found is None and pair.primary.kind == "invalid":
        return pair.primary
    if found is None and metric == MEAN_TIME and back_to_back and is_rate(pair.primary.metric):
        return pair.primary
    return found


def _remark(metric: str, judged: Judgement) -> str:
    """What a reader must know of a verdict that is not the one that the comparison was made for."""
    if judged.metric != metric:
        by_rate = (
            " (In a closed model without pauses the mean time is the users over the rate: it falls as that rises.)"
        )
        return by_rate if judged.kind != "invalid" else ""
    return f" (By the {judged.metric_words}; it was not what decided.)" if judged.role == "exploratory" else ""


def _together(outcomes: Sequence[Outcome]) -> Outcome:
    """A claim holds if it does wherever it was put to the test; one place where it does not is enough against it."""
    known = [outcome for outcome in outcomes if outcome != "no valid data"]
    if not known:
        return "no valid data"
    if "does not hold" in known:
        return "does not hold"
    return "holds" if len(known) == len(outcomes) and set(known) == {"holds"} else "undecided"


def _outcome(conclusion: Conclusion, pair: Comparison) -> Outcome:
    judged = pair.primary
    if judged.kind == "invalid":
        return "no valid data"
    if judged.kind == "equivalent":
        return "holds" if conclusion.claims == "the same" else "does not hold"
    if judged.kind != "faster":
        return "undecided"
    b_larger = (judged.winner == "b") == judged.larger_is_faster
    if is_rate(judged.metric) != is_rate(conclusion.metric):  # a time, told by the rate
        b_larger = not b_larger
    where_larger = b_larger == (_about(conclusion, pair) == "b")
    return "holds" if conclusion.claims == ("more" if where_larger else "less") else "does not hold"


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
