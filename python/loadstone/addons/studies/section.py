"""A study's original beside this run: verdicts on its author's conclusions, and what went wrong in it."""

from collections import Counter
from typing import Literal

from loadstone.addons.studies.answers import (
    AnswerVerdict,
    ConclusionAnswer,
    ConclusionAnswers,
    LessonAnswer,
    LessonAnswers,
    LessonVerdict,
)
from loadstone.report.document import (
    Answered,
    Bullet,
    Bullets,
    Section,
    SectionCell,
    SectionColumn,
    SectionTable,
    TableRow,
)
from loadstone.text.language import _
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
        blocks=(Bullets(tuple(map(_conclusion, found.root)), is_numbered=True, style="conclusions"),),
        in_outcome=False,
        closes=True,
        hint=counts,
        in_foot=message("conclusions_counted", verdicts_counted=counts),
    )


def _conclusion(one: ConclusionAnswer) -> Bullet:
    tone: Literal["open", "bad"] = "bad" if one.verdict == "does_not_hold" else "open"
    answer = Answered(_VERDICTS[one.verdict], one.answer, tone, style=one.verdict)
    return Bullet(one.claim, answer=answer, below=tuple(one.evidence))


def lessons_section(found: LessonAnswers) -> Section | None:
    """What was, what shows here, and whether it was caught."""
    if not found.root:
        return None
    heading = message("lessons_heading")
    columns = (
        SectionColumn(_("then")),
        SectionColumn(_("now"), kind="words"),
        SectionColumn(_("verdict"), kind="names"),
    )
    return Section(
        name="lessons",
        heading=heading,
        blocks=(SectionTable("", columns, tuple(map(_lesson, found.root)), style="lessons", label=heading),),
        in_outcome=False,
        closes=True,
    )


def _lesson(one: LessonAnswer) -> TableRow:
    verdict = SectionCell(
        None, said=_LESSON_VERDICTS[one.verdict], title=_MEANINGS[one.verdict], style=f"badge {one.verdict}"
    )
    return TableRow(one.then, (SectionCell(None, said=one.now), verdict))
