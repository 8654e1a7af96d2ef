"""The author's conclusions and their verdicts, the same in every format."""

from loadstone.analyse.model import AnswerVerdict
from loadstone.message import Message, message
from loadstone.report import format as fmt

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


def answer_verdict(verdict: AnswerVerdict) -> str:
    """What a verdict on a claim is called: `direction holds, size does not`."""
    return fmt.sentence(_VERDICTS[verdict])
