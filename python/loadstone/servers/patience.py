"""Tries again for a while what a server of the user's does not do now and may do soon."""

import time
from collections.abc import Callable

from loadstone.safety.errors import ServerGone, ServerRefused

PAUSE_S = 0.2
"""Between two tries with a server that refuses at once."""


def timed_out(error: BaseException) -> bool:
    """Whether an error is that of a server that did not answer in time, and so may answer later."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, TimeoutError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def is_busy(error: BaseException) -> bool:
    """Return whether a server says by itself that it refuses for now only."""
    return isinstance(error, ServerRefused) and error.for_now


def patiently(
    step: Callable[[], None],
    until_s: float,
    later: Callable[[BaseException], bool],
    waits: Callable[[], None] = lambda: None,
) -> None:
    """Carry a step out; again where its error says that it may succeed `later`, until a moment of the monotonic clock.

    `waits` is called before each further try.

    Raises:
        ServerGone: it failed in another way, or until that moment.
    """
    while True:
        try:
            step()
        except ServerGone as gone:
            if not later(gone) or time.monotonic() >= until_s:
                raise
            refused = is_busy(gone)
        else:
            return
        waits()
        if refused:
            time.sleep(PAUSE_S)
