"""What the verdicts of a comparison say about a claim."""

from typing import Literal

from loadstone.analyse.claim_outcomes import NO_DATA, Outcome, claimed_on, outcome, together
from loadstone.analyse.family_answer import family_answer
from loadstone.analyse.model import Answer, Comparison, Family
from loadstone.judge.compare.exploration import MEAN_TIME
from loadstone.judge.metrics import is_rate
from loadstone.judge.verdict import Verdict
from loadstone.message import Message, message
from loadstone.spec.experiment import Conclusion
from loadstone.spec.levels import Condition, Level, fits


def answer_by_verdicts(conclusion: Conclusion, family: Family, *, back_to_back: bool = False) -> Answer | None:
    """The answer to a claim about `where` against `against`; None if the family compares no such conditions.

    A conclusion that claims nothing definite gets the verdicts, and no word on whether it holds.

    Args:
        conclusion: the claim, about `conclusion.metric`.
        family: the verdicts of a declared comparison.
        back_to_back: whether each user sent again at once (closed model, no pauses): then the mean response
            time is the number of users over the rate, and a verdict on the rate is one on that time.
    """
    about = [pair for pair in family.comparisons if _about(conclusion, pair) is not None]
    judged = [(pair, _on_metric(conclusion.metric, pair, back_to_back=back_to_back)) for pair in about]
    answering = [pair.model_copy(update={"primary": found}) for pair, found in judged if found is not None]
    if not answering:
        return None
    evidence = [_evidence(pair) for pair in answering]
    if conclusion.claims is None:
        said = _by_verdicts(conclusion, answering, [], None)
        return Answer(claim=conclusion.claim, answer=said, evidence=evidence, verdict="not_answered_here")
    outcomes = [_outcome(conclusion, pair) for pair in answering]
    known = [one for one in outcomes if one is not None]
    verdict = together([one or NO_DATA for one in outcomes]) if known else "no_valid_data"
    said = _by_verdicts(conclusion, answering, outcomes, sum(one.direction == "holds" for one in known))
    return Answer(claim=conclusion.claim, answer=said, evidence=evidence, verdict=verdict)


def _by_verdicts(
    conclusion: Conclusion, pairs: list[Comparison], outcomes: list[Outcome | None], holds_in: int | None
) -> Message:
    """In how many places it holds, the verdicts, and the claimed figure beside each measured one."""
    sized = [
        (pair.place, one.size_message) for pair, one in zip(pairs, outcomes, strict=False) if one and one.size_message
    ]
    return message(
        "answer_by_verdicts",
        verdicts=family_answer(pairs),
        remark=_remark(conclusion.metric, pairs[0].primary),
        holds_in=holds_in,
        of=len(outcomes),
        places=[place for place, _ in sized],
        sizes=[size for _, size in sized],
    )


def _on_metric(metric: str, pair: Comparison, *, back_to_back: bool) -> Verdict | None:
    """The judgement of a pair that answers for the metric; None where none does."""
    found = pair.on(metric)
    if found is None and pair.primary.kind == "invalid":
        return pair.primary
    if found is None and metric == MEAN_TIME and back_to_back and is_rate(pair.primary.metric):
        return pair.primary
    return found


def _remark(metric: str, judged: Verdict) -> Message | None:
    """What a reader must know of a verdict that is not the one that the comparison was made for."""
    if judged.metric != metric and is_rate(metric):
        return message("answer_same_ratios", metric=judged.metric)
    if judged.metric != metric:
        return None if judged.kind == "invalid" else message("answer_time_by_rate")
    return message("answer_exploratory", metric=judged.metric) if judged.role == "exploratory" else None


def _outcome(conclusion: Conclusion, pair: Comparison) -> Outcome | None:
    """What the pair's verdict says about the claim; None where it is INVALID, or nothing is claimed."""
    judged = pair.primary
    if judged.kind == "invalid" or conclusion.claims is None:
        return None
    value = conclusion.value if conclusion.kind == "ratio" else None
    claimed = claimed_on(conclusion.claims, value, conclusion.metric, judged.metric)
    return outcome(claimed, judged, where_is_b=_about(conclusion, pair) == "b")


def _about(conclusion: Conclusion, pair: Comparison) -> Literal["a", "b"] | None:
    """Which side is `where`, the other being `against`; None if the pair is about something else."""
    a, b = pair.primary.a.condition, pair.primary.b.condition
    if _is(a, conclusion.where) and _is(b, conclusion.against):
        return "a"
    return "b" if _is(b, conclusion.where) and _is(a, conclusion.against) else None


def _is(condition: Condition, where: dict[str, Level]) -> bool:
    return where.keys() <= condition.keys() and fits(condition, where)


def _evidence(pair: Comparison) -> Message:
    judged = pair.primary
    return message(
        "evidence_verdict",
        a=judged.a.name,
        b=judged.b.name,
        place=pair.place,
        verdict=judged.message,
        blocks=judged.blocks,
    )
