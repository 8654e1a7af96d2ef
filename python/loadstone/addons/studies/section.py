"""A study's original beside this run: verdicts on its author's conclusions, and what went wrong in it."""

from collections import Counter

from loadstone.addons.studies.answers import (
    AnswerVerdict,
    ConclusionAnswer,
    ConclusionAnswers,
    LessonAnswer,
    LessonAnswers,
    LessonVerdict,
)
from loadstone.report.document import Claim, Claims, Section
from loadstone.text.message import Message, message

_VERDICTS: dict[AnswerVerdict, Message] = {
    "holds": message("claim_holds"),
    "direction_holds_size_does_not": message("claim_direction_holds_size_does_not"),
    "direction_holds_size_undecided": message("claim_direction_holds_size_undecided"),
    "size_does_not_hold": message("claim_size_does_not_hold"),
    "does_not_hold": message("claim_does_not_hold"),
    "undecided": message("claim_undecided"),
    "not_answered_here": message("claim_not_answered_here"),
    "left_out_of_quick": message("claim_left_out_of_quick"),
    "left_out": message("claim_left_out"),
    "one_block": message("claim_one_block"),
    "no_valid_data": message("claim_no_valid_data"),
}
_LESSON_VERDICTS: dict[LessonVerdict, Message] = {
    "caught": message("lesson_caught"),
    "did_not_happen": message("lesson_did_not_happen"),
    "unknown": message("lesson_unknown"),
}
_MEANINGS: dict[LessonVerdict, Message] = {
    "caught": message("lesson_caught_meaning"),
    "did_not_happen": message("lesson_did_not_happen_meaning"),
    "unknown": message("lesson_unknown_meaning"),
}


def conclusions_section(found: ConclusionAnswers) -> Section | None:
    """A claim a conclusion, with its evidence."""
    if not found.root:
        return None
    counted = Counter(one.verdict for one in found.root).most_common()
    said = [message("conclusions_of_verdict", number=number, verdict=_VERDICTS[kind]) for kind, number in counted]
    counts = message("conclusions_by_verdict", counted=said)
    heading = message("conclusions_heading")
    return Section(
        name="conclusions",
        heading=heading,
        brief_heading=message("conclusions_brief_heading"),
        blocks=(Claims(tuple(map(_conclusion, found.root)), "conclusions", heading),),
        in_outcome=False,
        closes=True,
        hint=counts,
        in_foot=message("conclusions_counted", verdicts_counted=counts),
    )


def _conclusion(one: ConclusionAnswer) -> Claim:
    return Claim(
        text=one.claim,
        kind=one.verdict,
        verdict=_VERDICTS[one.verdict],
        answer=one.answer,
        tone="bad" if one.verdict == "does_not_hold" else "open",
        evidence=tuple(one.evidence),
    )


def lessons_section(found: LessonAnswers) -> Section | None:
    """What was, what shows here, and whether it was caught."""
    if not found.root:
        return None
    heading = message("lessons_heading")
    return Section(
        name="lessons",
        heading=heading,
        blocks=(Claims(tuple(map(_lesson, found.root)), "lessons", heading, then_and_now=True),),
        in_outcome=False,
        closes=True,
    )


def _lesson(one: LessonAnswer) -> Claim:
    return Claim(
        text=one.then,
        kind=one.verdict,
        verdict=_LESSON_VERDICTS[one.verdict],
        answer=one.now,
        tone="open" if one.verdict == "unknown" else "good",
        meaning=_MEANINGS[one.verdict],
    )
