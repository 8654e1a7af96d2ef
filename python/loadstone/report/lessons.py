"""What went wrong in the original measurement and what this run shows of it, the same in every format."""

from loadstone.analyse.model import LessonVerdict
from loadstone.message import Message, message
from loadstone.report import format as fmt

_VERDICTS: dict[LessonVerdict, Message] = {
    "caught": message("lesson_caught"),
    "did_not_happen": message("lesson_did_not_happen"),
    "unknown": message("lesson_unknown"),
}
_MEANINGS: dict[LessonVerdict, Message] = {
    "caught": message("lesson_caught_meaning"),
    "did_not_happen": message("lesson_did_not_happen_meaning"),
    "unknown": message("lesson_unknown_meaning"),
}


def heading() -> str:
    """What stands above the lessons."""
    return fmt.sentence(message("lessons_heading"))


def lesson_verdict(verdict: LessonVerdict) -> str:
    """What a verdict on a lesson is called: `did not happen`."""
    return fmt.sentence(_VERDICTS[verdict])


def lesson_meaning(verdict: LessonVerdict) -> str:
    """What a verdict on a lesson says."""
    return fmt.sentence(_MEANINGS[verdict])
