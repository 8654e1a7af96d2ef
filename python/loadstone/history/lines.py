"""What a person reads of a run's line: its state, its headline, and its verdicts in a few words."""

from typing import NamedTuple

from loadstone.history.row import RunRow
from loadstone.language import LANGUAGES, _, speaking
from loadstone.message import Message
from loadstone.report.text.sentences import text


class Line(NamedTuple):
    state: str
    """`complete`, `running`, or how much of it was measured."""
    headline: str
    """The sentence that opens the report; empty where this version does not know it."""


def line_of(row: RunRow) -> tuple[RunRow, Line]:
    """A run's row with what is read of it."""
    return row, Line(state_of(row), headline_of(row))


def state_of(row: RunRow) -> str:
    if row.running:
        return _("running")
    if row.why:
        return row.why
    if row.state == "part":
        planned = "?" if row.trials_planned is None else row.trials_planned
        return _("{done} of {planned} trials", done=row.trials_done, planned=planned)
    return _("complete") if row.state == "complete" else _("not ended")


def headline_of(row: RunRow) -> str:
    """On one line."""
    answer = row.answer
    if isinstance(answer, Message):
        try:
            answer = text(answer)
        except (LookupError, TypeError, ValueError, AttributeError):  # of a later version, or damaged
            return ""
    return " ".join(answer.split())


def words_of(row: RunRow) -> str:
    """What is searched beside the row's own words: the headline, in every language."""
    said = []
    for name in LANGUAGES:
        with speaking(name):
            said.append(headline_of(row))
    return " ".join(dict.fromkeys(said))
