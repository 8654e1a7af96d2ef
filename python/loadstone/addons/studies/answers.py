"""What a study says of its original, as data: its author's conclusions answered, and what went wrong in it."""

from typing import ClassVar, Literal

from loadstone.judge.analysis.analysis import AnswerList
from loadstone.judge.verdict import AnalysisModel
from loadstone.text.message import Message

AnswerVerdict = Literal[
    "holds",
    "direction_holds_size_does_not",
    "direction_holds_size_undecided",
    "size_does_not_hold",
    "does_not_hold",
    "undecided",
    "not_answered_here",
    "left_out_of_quick",
    "left_out",
    "one_block",
    "no_valid_data",
]
"""size_does_not_hold: the claimed figure lies outside the interval, and which side is larger is undecided.
left_out: nothing of the kind was planned in this run. one_block: one block cannot distinguish a
difference from chance."""


class ConclusionAnswer(AnalysisModel):
    """One conclusion of the original's author, answered with our data."""

    claim: str
    """As the experiment has it."""
    answer: Message
    evidence: list[Message]
    """`label: figure` lines, and the trials behind them."""
    verdict: AnswerVerdict


class ConclusionAnswers(AnswerList[ConclusionAnswer]):
    """The original author's conclusions, in the order of the experiment."""

    behind: ClassVar[str] = "tables"


LessonVerdict = Literal["caught", "did_not_happen", "unknown"]
"""caught: it happened here, too, and was refused or kept apart; did_not_happen: it was looked for, and is not there,
or what was not examined then is examined and answered here."""


class LessonAnswer(AnalysisModel):
    """What went wrong in the original measurement, and what this run shows of it."""

    then: str
    """As the experiment has it."""
    now: Message
    """One or two sentences with figures."""
    verdict: LessonVerdict


class LessonAnswers(AnswerList[LessonAnswer]):
    """What went wrong in the original, in the order of the experiment."""

    behind: ClassVar[str] = "trials"
