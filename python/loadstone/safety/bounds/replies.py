"""Replies that are not what they should be: how they are shown, the one error that they become, and
which numbers in them may be kept."""

import contextlib
import functools
import math
import re
import struct
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from loadstone.safety.errors import BadReply, LoadstoneError
from loadstone.safety.secrets.known import redact
from loadstone.safety.terminal import plain, printable
from loadstone.text.message import AnyText, Message, said, text_of

SHOWN_MAX = 80
EXAMPLE_MAX = 120
_SEARCHED_MAX = 65_536
"""Characters of a value, or its bytes, in which a message searches for secrets."""
Method = TypeVar("Method", bound=Callable[..., Any])
MISREAD = (
    *(ValueError, TypeError, KeyError, IndexError, AttributeError, AssertionError, ArithmeticError),
    *(struct.error, RecursionError, MemoryError),
)
"""What reading a reply raises that has another type, depth or length than was expected."""
_OF_PYTHON: tuple[tuple[str, AnyText], ...] = (
    (r"invalid literal for int\(\) with base \d+: (.*)", r"\1"),
    (r"could not convert string to float: (.*)", r"\1"),
    (r"Exceeds the limit .* digits.*", said("a number of thousands of digits")),
    (r"(not enough|too many) values to unpack.*", said("another number of values")),
    (r"'[\w-]+' codec can't decode.*", said("bytes that are no text")),
    (
        r".*(index out of range|object is not|has no attribute|not supported between|must be).*",
        said("another kind of value"),
    ),
)
"""What Python says of a reply -> what came, for a person."""


def shortened(value: object, most: int = SHOWN_MAX) -> str:
    """A value for a message: on one line, without control characters or secrets, at most `most` characters.

    Secrets are hidden before it is cut: half of a secret would not be recognised later.
    """
    try:
        text = (
            str(value)
            if isinstance(value, AnyText)
            else repr(value[:_SEARCHED_MAX] if isinstance(value, bytes) else value)
        )
    except (ValueError, RecursionError):  # an integer of 5,000 digits, lists in lists
        text = f"one {type(value).__name__} too long to print"
    text = plain(redact(text[:_SEARCHED_MAX])[: 4 * most])
    return text if len(text) <= most else f"{text[: most - 3]}..."


def example_of(reply: str, most: int = EXAMPLE_MAX) -> str:
    """A reply's beginning as a record and a report may have it: on one line, without secrets, what a terminal or a page
    would obey escaped, at most `most` characters. Secrets are hidden before it is cut, as in `shortened`."""
    text = printable(" ".join(redact(reply[:_SEARCHED_MAX])[: 4 * most].split()))
    return text if len(text) <= most else f"{text[: most - 3]}..."


@contextlib.contextmanager
def read_as(server: str, command: str, expected: AnyText) -> Iterator[None]:
    """Reading a server's reply: what goes wrong with it becomes one line.

    Raises:
        BadReply: names the server, the command, what came and what was expected.
    """
    try:
        yield
    except LoadstoneError:
        raise
    except MISREAD as error:
        raise bad_reply(server, command, expected, describe_unreadable(error)) from error


def typed(expected: AnyText) -> Callable[[Method], Method]:
    """Decorate a method that sends a command to `self.endpoint`: what goes wrong with reading its reply is a
    `BadReply`."""

    def wrapped(method: Method) -> Method:
        @functools.wraps(method)
        def read(self: Any, command: str, *rest: Any, **named: Any) -> Any:
            with read_as(self.endpoint.label, command, expected):
                return method(self, command, *rest, **named)

        return cast(Method, read)

    return wrapped


def bad_reply(server: str, command: str, expected: AnyText, came: object) -> BadReply:
    """The error about a reply."""
    return BadReply(
        "server {server}: {command}: it answered {came}, and {expected} was expected; is it such a "
        "server, and is there a proxy in between?",
        server=server,
        command=shortened(command, 40),
        came=came if isinstance(came, Message) else shortened(came),
        expected=expected,
    )


def as_whole_number(server: str, command: str, reply: Any) -> int:
    """A reply that is one whole number, or the text of one. Raises BadReply."""
    with read_as(server, command, said("a whole number")):
        if isinstance(reply, bool) or not isinstance(reply, int | str | bytes):
            raise TypeError(said("{kind} {value}", kind=_kind(reply), value=shortened(reply, 40)))
        return recordable(int(reply))


def recordable(number: int) -> int:
    """A whole number of a server's, if a record can hold it (64 bits). Raises ValueError."""
    if not -(2**63) <= number < 2**63:
        raise ValueError(shortened(number, 40))
    return number


def finite(value: Any) -> float:
    """A figure of a server's, as a finite number. Raises ValueError, TypeError for all else, and for `nan`."""
    figure = float(value)
    if not math.isfinite(figure):
        raise ValueError(shortened(value, 40))
    return figure


def _kind(reply: object) -> AnyText:
    names = {
        list: said("a list"),
        dict: said("a map"),
        type(None): said("nothing"),
        bool: said("a truth value"),
        float: said("a number"),
    }
    return names.get(type(reply), type(reply).__name__)


def describe_unreadable(error: BaseException) -> AnyText:
    """What came in the place of a reply, by the error of reading it."""
    match error:
        case RecursionError():
            return said("lists in lists without end")
        case MemoryError():
            return said("more than fits into memory")
        case KeyError():
            return said("something without {key}", key=shortened(str(error), 40))
    told = text_of(error) or type(error).__name__
    matches = ((re.fullmatch(pattern, str(told), re.DOTALL), text) for pattern, text in _OF_PYTHON)
    return next((text if isinstance(text, Message) else match.expand(text) for match, text in matches if match), told)


DIGITS_MAX = 19
"""Limit of a 64-bit number: what has more digits fits neither a plan, nor a record, nor a server."""


def whole_number(text: str) -> int | None:
    """The number that a text of plain digits stands for; None where it is no such text, or longer than any number."""
    if not 0 < len(text) <= DIGITS_MAX or not (text.isascii() and text.isdecimal()):
        return None
    return int(text)
