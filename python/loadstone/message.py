"""What is to be said, as data: which sentence, and the figures in it.

Stages before the report hold messages and never sentences; `report/text/` has the sentences, a file a language. So a
sentence can be reworded or translated, and nothing that was recorded before changes its meaning.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict

Figure = Any
"""What stands in a message: a number, a text that is not ours (a name, a server's reply), a list of them, a message."""
AS_WRITTEN = "as_written"
"""The kind of a sentence that was recorded as one: folders of before, and what other programs said."""


class Message(BaseModel):
    """One sentence, or a part of one, in no language yet."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    """Reports for programs put the sentence beside a message, as `text`: it is not read back."""

    kind: str
    """The key of the sentence in the catalogue."""
    figures: dict[str, Figure] = {}


def message(kind: str, /, **figures: Figure) -> Message:
    """The message of a kind with its figures."""
    return Message(kind=kind, figures=figures)


def as_written(text: str) -> Message:
    """A message that is a text already."""
    return Message(kind=AS_WRITTEN, figures={"text": text})
