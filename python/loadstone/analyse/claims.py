"""What the verdicts of a comparison say about a claim."""

from collections.abc import Sequence
from typing import Literal

from loadstone.analyse.family_words import family_answer
from loadstone.analyse.model import Answer, Comparison, Family
from loadstone.spec.experiment import Conclusion
from loadstone.spec.levels import Condition, Level, fits

Outcome = Literal["holds", "does not hold", "undecided", "no valid data"]


def answer_by_verdicts(conclusion: Conclusion, family: Family) -> Answer | None:
    """The answer to a claim about `where` against `against`; None if the family compares no such conditions.

    A conclusion that claims nothing definite gets the verdicts, and no word on whether it holds.
    """
    meant = [pair for pair in family.comparisons if _about(conclusion, pair) is not None]
    if not meant:
        return None
    evidence = [_evidence(pair) for pair in meant]
    words = family_answer(meant)
    if conclusion.claims is None:
        return Answer(claim=conclusion.claim, answer=words, evidence=evidence, verdict="not answered here")
    outcomes = [_outcome(conclusion, pair) for pair in meant]
    verdict = _together(outcomes)
    times = outcomes.count("holds")
    some = f"Holds in {times} of {len(outcomes)}. " if 0 < times < len(outcomes) else ""
    return Answer(claim=conclusion.claim, answer=f"{some}{words}", evidence=evidence, verdict=verdict)


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
