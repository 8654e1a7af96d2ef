"""The answer that opens a report, in lines: a run with many verdicts says too much for one paragraph."""

from collections.abc import Iterator

from loadstone.message import Message
from loadstone.report.text.sentences import figures_of

PARAGRAPH_MAX = 4
"""So many sentences are read as one paragraph."""
_LISTS = {"sentences": "parts", "effects_answer": "terms", "saturations": "answers"}
"""Messages that hold others, and the figure that has those."""


def answer_lines(answer: Message) -> list[Message]:
    """What the answer consists of, in its order; the answer alone where that is short."""
    lines = list(_parts(answer))
    return lines if len(lines) > PARAGRAPH_MAX else [answer]


def _parts(said: Message) -> Iterator[Message]:
    if said.kind not in _LISTS:
        yield said
        return
    figures = figures_of(said)
    for part in (*figures[_LISTS[said.kind]], *figures.get("refused", ())):
        yield from _parts(part)
