"""Replies that are not what they should be: how they are shown, and the one error that they become."""

import contextlib
import functools
import struct
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from loadstone.errors import BadReply, LoadstoneError
from loadstone.output.terminal import plain

SHOWN_MAX = 80
Method = TypeVar("Method", bound=Callable[..., Any])
MISREAD = (
    *(ValueError, TypeError, KeyError, IndexError, AttributeError, AssertionError, ArithmeticError),
    *(struct.error, RecursionError, MemoryError),
)
"""What reading a reply raises that has another type, depth or length than was expected."""


def shortened(value: object, most: int = SHOWN_MAX) -> str:
    """A value for a message: on one line, without control characters, at most `most` characters."""
    try:
        text = value if isinstance(value, str) else repr(value[:most] if isinstance(value, bytes) else value)
    except (ValueError, RecursionError):  # an integer of 5,000 digits, lists in lists
        text = f"one {type(value).__name__} too long to print"
    text = plain(text[: 4 * most])
    return text if len(text) <= most else f"{text[: most - 3]}..."


@contextlib.contextmanager
def read_as(server: str, command: str, expected: str) -> Iterator[None]:
    """Reading a server's reply: what goes wrong with it becomes one line.

    Raises:
        BadReply: names the server, the command, what came and what was expected.
    """
    try:
        yield
    except LoadstoneError:
        raise
    except MISREAD as error:
        raise bad_reply(server, command, expected, _came(error)) from error


def typed(expected: str) -> Callable[[Method], Method]:
    """Of a method that sends a command to `self.endpoint`: what goes wrong with reading its reply is a `BadReply`."""

    def wrapped(method: Method) -> Method:
        @functools.wraps(method)
        def read(self: Any, command: str, *rest: Any, **named: Any) -> Any:
            with read_as(self.endpoint.label, command, expected):
                return method(self, command, *rest, **named)

        return cast(Method, read)

    return wrapped


def bad_reply(server: str, command: str, expected: str, came: object) -> BadReply:
    """The error about a reply."""
    return BadReply(
        f"server {server}: {shortened(command, 40)}: it answered {shortened(came)}, and {expected} was expected; "
        "is it such a server, and is there a proxy in between?"
    )


def whole(server: str, command: str, reply: Any) -> int:
    """A reply that is one whole number, or the text of one. Raises BadReply."""
    with read_as(server, command, "a whole number"):
        if isinstance(reply, bool) or not isinstance(reply, int | str | bytes):
            raise TypeError(f"{_kind(reply)} {shortened(reply, 40)}")
        return int(reply)


def _kind(reply: object) -> str:
    names = {list: "a list", dict: "a map", type(None): "nothing", bool: "a truth value", float: "a number"}
    return names.get(type(reply), type(reply).__name__)


def _came(error: Exception) -> str:
    match error:
        case RecursionError():
            return "lists in lists without end"
        case MemoryError():
            return "more than fits into memory"
        case KeyError():
            return f"something without {shortened(str(error), 40)}"
    return str(error) or type(error).__name__
