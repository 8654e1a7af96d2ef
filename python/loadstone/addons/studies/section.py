"""A study's original beside this run: verdicts on its author's conclusions, and what went wrong in it."""

from loadstone.judge.analysis.analysis import AnswerVerdict, LessonVerdict
from loadstone.report import figure_format as fmt
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


def answer_verdict(verdict: AnswerVerdict) -> str:
    """What a verdict on a claim is called: `direction holds, size does not`."""
    return fmt.sentence(_VERDICTS[verdict])


def lessons_heading() -> str:
    """What stands above the lessons."""
    return fmt.sentence(message("lessons_heading"))


def lesson_verdict(verdict: LessonVerdict) -> str:
    """What a verdict on a lesson is called: `did not happen`."""
    return fmt.sentence(_LESSON_VERDICTS[verdict])


def lesson_meaning(verdict: LessonVerdict) -> str:
    """What a verdict on a lesson says."""
    return fmt.sentence(_MEANINGS[verdict])
