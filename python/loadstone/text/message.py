"""What is to be said, as data: which sentence, and the figures in it.

Stages before the report hold messages and never sentences; `text/english/` has the sentences, and `text/locale/` their
translations. So a sentence can be reworded or translated, and nothing that was recorded before changes its meaning.
"""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, field_validator

from loadstone.text.language import said

TextArgument = Any
"""What stands in a message: a number, a text that is not ours (a name, a server's reply), a list of them, a message."""
AS_WRITTEN = "as_written"
"""The kind of a text that is no sentence of ours, as what another program said."""


PLACES = {"trial", "trials", "block", "blocks", "neighbour"}
"""Figures that say where something happened or what it is compared with, not what."""
DEPTH_MAX = 20
"""Depth of figures within figures: a message holds a few others, and those at most some more."""


class Message(BaseModel):
    """One sentence, or a part of one, in no language yet."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    """Reports for programs put the sentence beside a message, as `text`: it is not read back."""

    kind: str
    """The key of the sentence in the catalogue."""
    figures: dict[str, TextArgument] = {}

    @field_validator("figures", mode="before")
    @classmethod
    def _is_shallow(cls, figures: object) -> object:
        """Looked at level by level, since what stands in a file may be nested without end."""
        level = [figures]
        for _ in range(DEPTH_MAX):
            level = [inner for one in level for inner in _within(one)]
            if not level:
                return figures
        raise ValueError(said("nested more than {depth_max} deep", depth_max=DEPTH_MAX))

    @field_validator("figures")
    @classmethod
    def _restored(cls, figures: dict[str, TextArgument]) -> dict[str, TextArgument]:
        """Messages among the figures that came back from a file as mappings are messages again."""
        return {name: _restored(value) for name, value in figures.items()}


def message(kind: str, /, **figures: TextArgument) -> Message:
    """The message of a kind with its figures."""
    return Message(kind=kind, figures=figures)


def verbatim(text: str) -> Message:
    """A message that is a text already."""
    return Message(kind=AS_WRITTEN, figures={"text": text})


def message_identity(one: Message) -> Hashable:
    """What a message is about: equal for two that differ in their numbers, or in the trials and blocks they name."""
    about = ((name, _about(value)) for name, value in sorted(one.figures.items()) if name not in PLACES)
    return one.kind, tuple(about)


def _about(value: TextArgument) -> Hashable:
    if isinstance(value, Message):
        return message_identity(value)
    if isinstance(value, Mapping):
        return frozenset(map(str, value))
    if isinstance(value, list | tuple):
        return frozenset(map(_about, value))
    return value if isinstance(value, str) else None


def _restored(value: TextArgument) -> TextArgument:
    if isinstance(value, Mapping) and value.keys() == {"kind", "figures"}:
        return Message.model_validate(value)
    return [_restored(one) for one in value] if isinstance(value, list | tuple) else value


def _within(value: object) -> Iterable[object]:
    if isinstance(value, Message):
        return value.figures.values()
    return value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
