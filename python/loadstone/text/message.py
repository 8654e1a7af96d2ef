"""What is to be said, as data: which sentence, and the figures in it.

Stages before the report hold messages and never sentences; `text/english/` has the sentences, and `text/locale/` their
translations. So a sentence can be reworded or translated, and nothing that was recorded before changes its meaning.
Errors and remarks, which nothing looks up again, have the sentence itself in English as their kind (`said`).
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict, field_validator

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
    """The code of the sentence in the catalogue; or the sentence itself, a template in English."""
    figures: dict[str, TextArgument] = {}

    def spoken(self) -> str:
        """The sentence in the language of now."""
        from loadstone.text.sentences import render_message  # the catalogues' functions make texts themselves

        return render_message(self)

    def __str__(self) -> str:
        """The sentence in English."""
        from loadstone.text.language import ENGLISH, use_language

        with use_language(ENGLISH):
            return self.spoken()

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __hash__(self) -> int:
        return hash(self.kind)

    def changed(self, change: Callable[[str], str]) -> "Message":
        """Return the message with `change` (hiding secrets) done to the texts among its figures."""
        return Message(kind=self.kind, figures={name: _changed(one, change) for name, one in self.figures.items()})

    @field_validator("figures", mode="before")
    @classmethod
    def _is_shallow(cls, figures: object) -> object:
        """Looked at level by level, since what stands in a file may be nested without end."""
        level = [figures]
        for _ in range(DEPTH_MAX):
            level = [inner for one in level for inner in _within(one)]
            if not level:
                return figures
        from loadstone.text.language import said

        raise ValueError(said("nested more than {depth_max} deep", depth_max=DEPTH_MAX))

    @field_validator("figures")
    @classmethod
    def _restored(cls, figures: dict[str, TextArgument]) -> dict[str, TextArgument]:
        """Messages among the figures that came back from a file as mappings are messages again."""
        return {name: _restored(value) for name, value in figures.items()}


AnyText: TypeAlias = Message | str
"""A text of ours, or one that somebody else wrote."""


def message(kind: str, /, **figures: TextArgument) -> Message:
    """The message of a kind with its figures."""
    return Message(kind=kind, figures=figures)


def verbatim(text: AnyText) -> Message:
    """A message that is a text already, or one of ours."""
    return text if isinstance(text, Message) else Message(kind=AS_WRITTEN, figures={"text": text})


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


def _changed(value: TextArgument, change: Callable[[str], str]) -> TextArgument:
    if isinstance(value, Message):
        return value.changed(change)
    if isinstance(value, Mapping):
        return {name: _changed(one, change) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_changed(one, change) for one in value)
    return change(value) if isinstance(value, str) else value


def _within(value: object) -> Iterable[object]:
    if isinstance(value, Message):
        return value.figures.values()
    return value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
