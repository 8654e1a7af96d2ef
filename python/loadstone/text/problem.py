"""Errors by their sentence: the base of all that loadstone raises on purpose, and what is wrong with a value."""

from typing import Any, Self, TypeVar

from loadstone.text.message import AnyText, Message, as_it_is, said

AnySaidError = TypeVar("AnySaidError", bound="SaidError")


class SaidError(Exception):
    """An error by its sentence: a template in English with its figures by name, as `said` takes them.

    The constructor takes nothing else, so that figures may have any name; what an error carries besides its sentence
    is given to a method that returns the error: `ServerGone("...", server=name).because(reason)`.
    """

    def __init__(self, template: str, /, **figures: Any) -> None:
        """`template`: a literal, which `scripts/texts` collects."""
        super().__init__(said(template, **figures))

    @classmethod
    def of(cls, text: AnyText, /) -> Self:
        """The error of a text that is written already: braces in it stay, and one that is `said` keeps its template."""
        return _remade(cls, (as_it_is(text),))

    @property
    def message(self) -> Message:
        """Its sentence, to be said in the language of who reads it."""
        return as_it_is(self.args[0] if self.args else "")

    def __str__(self) -> str:
        return str(self.message)

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (type(self), self.args), self.__dict__


class Problem(SaidError, ValueError):
    """What is wrong with a value, as validators raise it: whoever validates names the field before it."""


def _remade(kind: type[AnySaidError], args: tuple[Any, ...]) -> AnySaidError:
    """An error by its text rather than its template: one that was written already, pickled or copied."""
    error = kind.__new__(kind)
    error.args = args
    return error
