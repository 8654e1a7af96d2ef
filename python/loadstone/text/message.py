"""What is to be said, as data: which sentence, and the figures in it.

Stages before the report hold messages and never sentences; `text/english/` has the sentences, and `text/locale/` their
translations. So a sentence can be reworded or translated, and nothing that was recorded before changes its meaning.
Errors and remarks, which nothing looks up again, have the sentence itself in English as their kind (`said`).
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from numbers import Number
from string import Formatter
from typing import Annotated, Any, ClassVar, TypeAlias, cast

from loadstone.text.language import ENGLISH, Spoken, spoken_by, use_language

TextArgument = Any
"""What stands in a message: a number, a text that is not ours (a name, a server's reply), a list of them, a message."""
AS_WRITTEN = "as_written"
"""The kind of a text that is no sentence of ours, as what another program said."""
PLACES = {"trial", "trials", "block", "blocks", "neighbour"}
"""Figures that say where something happened or what it is compared with, not what."""
DEPTH_MAX = 20
"""Depth of figures within figures: a message holds a few others, and those at most some more."""


class _FromAFile:
    """Tells pydantic how to read figures; it is loaded by what reads a file, and not to say a text."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_before_validator_function(_read_figures, handler(source))


@dataclass(frozen=True, slots=True, eq=False)
class Message(Spoken):
    """One sentence, or a part of one, in no language yet."""

    __pydantic_config__: ClassVar[Any] = {"extra": "ignore"}
    """Reports for programs put the sentence beside a message, as `text`: it is not read back."""

    kind: str
    """The code of the sentence in the catalogue; or the sentence itself, a template in English."""
    figures: Annotated[dict[str, TextArgument], _FromAFile()] = field(default_factory=dict)

    def spoken(self) -> str:
        """The sentence in the language of now."""
        from loadstone.text.sentences import sentence_of  # all that there are, which many a process never says

        return sentence_of(self.kind, self.figures)

    def __str__(self) -> str:
        """The sentence in English."""
        with use_language(ENGLISH):
            return self.spoken()

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __eq__(self, other: object) -> bool:
        """Raises TypeError for a text, which no message is, whatever it says."""
        if isinstance(other, str):
            raise TypeError(_NO_TEXT)
        if not isinstance(other, Message) or self.kind != other.kind:
            return False
        try:
            return self.figures == other.figures
        except TypeError:  # of the same figure, which is a message in one of them and a text in the other
            return False

    def __hash__(self) -> int:
        return hash((Message, self.kind))

    def __contains__(self, _part: object) -> bool:
        raise TypeError(_NO_TEXT)

    def with_figures(self, **figures: TextArgument) -> "Message":
        """Return the message with some figures besides, or others."""
        return Message(self.kind, {**self.figures, **figures})

    def changed(self, change: Callable[[str], str]) -> "Message":
        """Return the message with `change` (hiding secrets) done to the texts among its figures."""
        return Message(self.kind, {name: _changed(one, change) for name, one in self.figures.items()})


_NO_TEXT = "a message is in no language: compare its English text, str(message)"
AnyText: TypeAlias = Message | str
"""A text of ours, or one that somebody else wrote."""


def message(kind: str, /, **figures: TextArgument) -> Message:
    """The message of a kind with its figures."""
    return Message(kind, figures)


def said(template: str, /, **figures: Any) -> Message:
    """A sentence in English with its figures, to be said later in the language of who reads it."""
    return Message(template, {name: _figure(figures[name]) for name in _names(template)})


def verbatim(text: AnyText) -> Message:
    """A message that is a text already, or one of ours."""
    return text if isinstance(text, Message) else Message(AS_WRITTEN, {"text": text})


def as_it_is(text: AnyText, /) -> Message:
    """A text that is written already, braces in it too, in every language."""
    return text if isinstance(text, Message) else Message("{text}", {"text": text})


def text_of(error: BaseException) -> AnyText:
    """What an error says, without secrets where it is one of ours."""
    text = spoken_by(error)
    return text if isinstance(text, Message) else str(text)


def joined(separator: str, texts: Iterable[object]) -> Message:
    """Texts one after the other, each of which may be `said`."""
    figures = {f"part{at}": _figure(text) for at, text in enumerate(texts)}
    return Message(separator.join(f"{{{name}}}" for name in figures), figures)


def read_message(data: object) -> Message:
    """A message that was recorded. Raises pydantic's ValidationError for anything else."""
    return cast("Message", _reader().validate_python(data))


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


@cache
def _names(template: str) -> tuple[str, ...]:
    """The figures that a template needs."""
    return tuple(dict.fromkeys(name for _literal, name, _spec, _conversion in Formatter().parse(template) if name))


def _figure(value: Any) -> Any:
    """A figure as data: what can be changed later, or cannot be sent to another process, is a text."""
    if isinstance(value, BaseException):
        return text_of(value)
    if type(value) in (list, tuple):
        return type(value)(f"{one}" if isinstance(one, list | tuple) else _figure(one) for one in value)
    is_data = value is None or type(value) is str or isinstance(value, Message | Number | datetime)
    return value if is_data else f"{value}"


@cache
def _reader() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(Message)


def _read_figures(figures: object) -> object:
    """Figures of a file, in which messages are messages again.

    Their depth is looked at level by level, since what stands in a file may be nested without end.
    """
    level = [figures]
    for _ in range(DEPTH_MAX):
        level = [inner for one in level for inner in _within(one)]
        if not level:
            break
    else:
        raise ValueError(said("nested more than {depth_max} deep", depth_max=DEPTH_MAX))
    return {name: _restored(value) for name, value in figures.items()} if isinstance(figures, Mapping) else figures


def _restored(value: TextArgument) -> TextArgument:
    if isinstance(value, Mapping) and value.keys() == {"kind", "figures"}:
        return read_message(value)
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
