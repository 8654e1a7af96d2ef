"""One deadline and one bound for all that is said with a server for one purpose, however many questions that takes.

A bound of each answer does not bound the whole: a server that answers every question just in time holds a run for
hours. So whoever has a purpose opens a conversation for it (`deadline`), and each connection of every room asks it:
before each step, how long that may take (`step_s`), and after it, how much came (`received`). Conversations nest, and
the narrowest one holds. Outside of any, what bounds a single answer holds alone. Each thread has its own.
"""

import contextlib
import functools
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from loadstone.text.message import AnyText, said, text_of

Method = TypeVar("Method", bound=Callable[..., Any])
MEBIBYTE = 1024**2


class DeadlineExceeded(TimeoutError):
    """The answers of one conversation took longer than all of it may."""


class ReplyTooLarge(OSError):
    """More came than an answer, or a conversation, may have."""


@dataclass(frozen=True)
class Purpose:
    """What a conversation is for, and its bounds."""

    within_s: float
    largest_bytes: int
    things_per_s: float
    """What it is about earns it more time: a second for so many keys, rows, or nodes of a cluster
    (`extend_deadline`)."""
    longest_s: float
    """However much was earned: a server may announce any number."""


OPENING = Purpose(20.0, 256 * MEBIBYTE, things_per_s=2.0, longest_s=600.0)
"""Can a server of the user's be loaded, and has it room? Of nodes."""
LOOK = Purpose(10.0, 64 * MEBIBYTE, things_per_s=20.0, longest_s=60.0)
"""Is it still there; did it lose something? Of nodes."""
SAMPLE = Purpose(3.0, 64 * MEBIBYTE, things_per_s=100.0, longest_s=13.0)
"""What its monitor reports of one moment. Of nodes."""
SNAPSHOT = Purpose(60.0, 1024 * MEBIBYTE, things_per_s=10.0, longest_s=160.0)
"""What it counted, before and after a trial, and which settings are in force. Of nodes."""
REMOVAL = Purpose(20.0, 4096 * MEBIBYTE, things_per_s=2000.0, longest_s=3600.0)
"""Removing what is ours. Of keys: those of a plan, or all that must be looked at to find ours."""
ROWS = Purpose(600.0, 4096 * MEBIBYTE, things_per_s=500.0, longest_s=24 * 3600.0)
"""Writing the rows of an experiment. Of rows."""


class _Conversation:
    def __init__(self, purpose: Purpose, outer: "_Conversation | None") -> None:
        self.purpose = purpose
        self.begun_s = time.monotonic()
        self.within_s = purpose.within_s
        self.received_bytes = 0
        self.outer = outer

    def left_s(self) -> float:
        return self.begun_s + self.within_s - time.monotonic()


_CURRENT: ContextVar[_Conversation | None] = ContextVar("conversation", default=None)


def _open() -> Iterator[_Conversation]:
    """The conversations that go on, the narrowest first."""
    at = _CURRENT.get()
    while at is not None:
        yield at
        at = at.outer


@contextlib.contextmanager
def deadline(purpose: Purpose, things: int = 0) -> Iterator[None]:
    """All that is said inside ends within the purpose's time; `things` as `extend_deadline` takes them.

    Raises nothing by itself: what is said raises `DeadlineExceeded` and `ReplyTooLarge`, which become each room's own
    errors.
    """
    token = _CURRENT.set(_Conversation(purpose, _CURRENT.get()))
    try:
        extend_deadline(things)
        yield
    finally:
        _CURRENT.reset(token)


def with_deadline(purpose: Purpose) -> Callable[[Method], Method]:
    """Decorate a method so that all exchanges it makes share one deadline."""

    def wrapped(method: Method) -> Method:
        @functools.wraps(method)
        def said(*args: Any, **named: Any) -> Any:
            with deadline(purpose):
                return method(*args, **named)

        return cast(Method, said)

    return wrapped


def extend_deadline(things: int) -> None:
    """The conversation that goes on is about so many things, and may take longer; never longer than its longest."""
    current = _CURRENT.get()
    if current is not None and things > 0:
        more_s = min(current.purpose.longest_s, things / current.purpose.things_per_s)
        current.within_s = min(current.purpose.longest_s, current.within_s + more_s)


def step_s(most_s: float) -> float:
    """Return how long the next step may take, in seconds: `most_s`, or what is left of the conversation.

    Raises:
        TooSlow: nothing is left.
    """
    left_s = most_s
    for each in _open():
        each_s = each.left_s()
        if each_s <= 0:
            late = said("its answers took longer than {seconds:,.0f} s in all", seconds=each.within_s)
            raise DeadlineExceeded(said("{late}; it or the network is overloaded, or it is no such server", late=late))
        left_s = min(left_s, each_s)
    return left_s


def require_time() -> None:
    """Returns if the conversation may go on: for loops that a server can make long. Raises TooSlow."""
    step_s(0.0)


@contextlib.contextmanager
def said_in_time() -> Iterator[None]:
    """A step that was given what is left of the conversation. Raises TooSlow where it was cut short by that."""
    try:
        yield
    except TimeoutError:
        require_time()
        raise


def received(count: int) -> None:
    """Count bytes that came. Raises TooMuch."""
    for each in _open():
        each.received_bytes += count
        if each.received_bytes > each.purpose.largest_bytes:
            raise ReplyTooLarge(
                said("more than {largest_bytes:,.0f} MiB in all", largest_bytes=each.purpose.largest_bytes / MEBIBYTE)
            )


def bound_that_ended(error: BaseException | None) -> AnyText | None:
    """Which bound of a conversation ended what was said, for a message; None: another error."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, DeadlineExceeded):
            return text_of(error)
        if isinstance(error, TimeoutError):  # of a step that was cut short
            try:
                require_time()
            except DeadlineExceeded as slow:
                return text_of(slow)
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return None
