"""What the verdicts of a comparison say about a claim."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from loadstone.addons.studies.answers import AnswerVerdict, ConclusionAnswer
from loadstone.experiment.spec.experiment import Conclusion
from loadstone.experiment.spec.levels import Condition, Level, matches
from loadstone.judge.analysis.analysis import Comparison, Family
from loadstone.judge.analysis.comparisons import family_answer
from loadstone.judge.compare.exploration import MEAN_TIME
from loadstone.judge.metrics import is_rate
from loadstone.judge.verdict import Verdict
from loadstone.text.message import Message, message

_Held = Literal["holds", "does_not_hold", "undecided"]
_Direction = Literal["less", "the same", "more"]
_INFORMATIVE = 2.0
"""An interval that is wider than so many times the claimed size says nothing about that size, although it holds it."""


@dataclass(frozen=True)
class ClaimCheck:
    """What a conclusion claims of `where` beside `against`, on the metric of the verdict that answers it."""

    direction: _Direction
    log_ratio: float | None
    """ln(where / against) as published; None where the author states no figure."""


@dataclass(frozen=True)
class ClaimOutcome:
    """What a verdict says about a claim."""

    direction: _Held
    size: _Held | None = None
    """None: no figure is claimed."""
    size_message: Message | None = None
    """The claimed figure beside the measured one; None without one."""


_NO_DATA = ClaimOutcome("undecided", "undecided")


def answer_by_verdicts(
    conclusion: Conclusion, family: Family, *, back_to_back: bool = False
) -> ConclusionAnswer | None:
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
        return ConclusionAnswer(claim=conclusion.claim, answer=said, evidence=evidence, verdict="not_answered_here")
    outcomes = [_outcome(conclusion, pair) for pair in answering]
    known = [one for one in outcomes if one is not None]
    verdict = _together([one or _NO_DATA for one in outcomes]) if known else "no_valid_data"
    said = _by_verdicts(conclusion, answering, outcomes, sum(one.direction == "holds" for one in known))
    return ConclusionAnswer(claim=conclusion.claim, answer=said, evidence=evidence, verdict=verdict)


def _by_verdicts(
    conclusion: Conclusion, pairs: list[Comparison], outcomes: list[ClaimOutcome | None], holds_in: int | None
) -> Message:
    """In how many places it holds, the verdicts, and the claimed figure beside each measured one."""
    sized = [
        (pair.place, one.size_message) for pair, one in zip(pairs, outcomes, strict=False) if one and one.size_message
    ]
    return message(
        "answer_by_verdicts",
        verdicts=family_answer([pair.by_primary for pair in pairs]),
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


def _outcome(conclusion: Conclusion, pair: Comparison) -> ClaimOutcome | None:
    """What the pair's verdict says about the claim; None where it is INVALID, or nothing is claimed."""
    judged = pair.primary
    if judged.kind == "invalid" or conclusion.claims is None:
        return None
    value = conclusion.value if conclusion.kind == "ratio" else None
    claimed = _claimed_on(conclusion.claims, value, conclusion.metric, judged.metric)
    return outcome(claimed, judged, where_is_b=_about(conclusion, pair) == "b")


def _about(conclusion: Conclusion, pair: Comparison) -> Literal["a", "b"] | None:
    """Which side is `where`, the other being `against`; None if the pair is about something else."""
    a, b = pair.primary.a.condition, pair.primary.b.condition
    if _is(a, conclusion.where) and _is(b, conclusion.against):
        return "a"
    return "b" if _is(b, conclusion.where) and _is(a, conclusion.against) else None


def _is(condition: Condition, where: dict[str, Level]) -> bool:
    return where.keys() <= condition.keys() and matches(condition, where)


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


def _claimed_on(direction: _Direction, value: float | None, metric: str, judged_metric: str) -> ClaimCheck:
    """The claim on the metric that was judged: what is said of a time means the opposite of the rate."""
    log_ratio = None if value is None else math.log1p(value)
    if is_rate(metric) == is_rate(judged_metric):
        return ClaimCheck(direction, log_ratio)
    opposite: dict[_Direction, _Direction] = {"less": "more", "more": "less", "the same": "the same"}
    return ClaimCheck(opposite[direction], None if log_ratio is None else -log_ratio)


def outcome(claimed: ClaimCheck, judged: Verdict, *, where_is_b: bool) -> ClaimOutcome:
    """Direction and size of a claim by a verdict that is not INVALID."""
    measured = _measured(judged, where_is_b=where_is_b)
    direction = _direction(claimed, judged, measured)
    if claimed.log_ratio is None:
        return ClaimOutcome(direction)
    if measured is None:
        return ClaimOutcome(direction, "undecided")
    estimate, low, high = measured
    inside = low <= claimed.log_ratio <= high
    if not inside and judged.kind == "undecided" and judged.unsteady is not None:
        return ClaimOutcome(direction, "undecided")  # what still moves refutes no size
    too_wide = inside and high - low > _INFORMATIVE * abs(claimed.log_ratio)
    size: _Held = "undecided" if too_wide else "holds" if inside else "does_not_hold"
    said = message(
        "answer_size",
        claimed=claimed.log_ratio,
        estimate=estimate,
        low=low,
        high=high,
        inside=inside,
        too_wide=too_wide,
    )
    return ClaimOutcome(direction, size, said)


def _measured(judged: Verdict, *, where_is_b: bool) -> tuple[float, float, float] | None:
    """Estimate and interval of ln(where / against); None without an interval."""
    if judged.estimate is None or judged.low is None or judged.high is None:
        return None
    if where_is_b:
        return judged.estimate, judged.low, judged.high
    return -judged.estimate, -judged.high, -judged.low


def _direction(claimed: ClaimCheck, judged: Verdict, measured: tuple[float, float, float] | None) -> _Held:
    if judged.kind == "equivalent":
        return _within_margin(claimed, measured)
    if judged.kind != "faster" or measured is None:
        return "undecided"
    larger = measured[0] > 0
    return "holds" if claimed.direction == ("more" if larger else "less") else "does_not_hold"


def _within_margin(claimed: ClaimCheck, measured: tuple[float, float, float] | None) -> _Held:
    """EQUIVALENT: against any difference, but for one that is claimed to be as small as what was measured."""
    if claimed.direction == "the same":
        return "holds"
    if claimed.log_ratio is None or measured is None or not measured[1] <= claimed.log_ratio <= measured[2]:
        return "does_not_hold"
    real = measured[1] > 0 or measured[2] < 0
    return "holds" if real else "undecided"


def _together(outcomes: Sequence[ClaimOutcome]) -> AnswerVerdict:
    """The verdict on a claim that was tested in several places: one where it fails is enough against it."""
    direction = _all([one.direction for one in outcomes])
    sizes = [one.size for one in outcomes if one.size is not None]
    size = _all(sizes) if sizes else None
    if direction == "does_not_hold":
        return "does_not_hold"
    if direction == "undecided":
        return "size_does_not_hold" if size == "does_not_hold" else "undecided"
    if size == "does_not_hold":
        return "direction_holds_size_does_not"
    return "direction_holds_size_undecided" if size == "undecided" else "holds"


def _all(found: Sequence[_Held]) -> _Held:
    if "does_not_hold" in found:
        return "does_not_hold"
    return "holds" if found and set(found) == {"holds"} else "undecided"
