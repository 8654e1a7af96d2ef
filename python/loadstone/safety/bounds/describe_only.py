"""Commands that only describe: while one of them works, this process connects to nothing and looks up no name.

What it describes may be a stranger's, whose addresses get nothing before `run`: no log-in, no question, no look-up of a
host name that says who asked. That no such command calls what connects is the rule; this holds where a call slips in.
"""

import contextlib
import sys
from collections.abc import Iterator

from loadstone.text.message import said

_FAMILIES = ("socket.", "ftplib.", "http.", "imaplib.", "nntplib.", "poplib.", "smtplib.", "telnetlib.", "urllib.")
"""Audit events of Python's (PEP 578) for all that may leave this machine, raised before anything is sent."""
_ALLOWED = frozenset({"socket.__new__", "socket.bind", "socket.gethostname", "socket.listen"})
"""Events among these that ask and tell nobody anything."""


class ConnectionForbidden(Exception):
    """A command that describes tried to connect: a defect. No OSError, which a client library would try again after."""


class _Guard:
    depth = 0
    installed = False


@contextlib.contextmanager
def forbid_connections() -> Iterator[None]:
    """Nothing connects within. Raises Connected where something tries to, at the place that tries."""
    if not _Guard.installed:
        _Guard.installed = True
        sys.addaudithook(_refuse)  # there is no way to remove it: outside of `forbid_connections` it does nothing
    _Guard.depth += 1
    try:
        yield
    finally:
        _Guard.depth -= 1


def _refuse(event: str, _: tuple[object, ...]) -> None:
    if _Guard.depth and event.startswith(_FAMILIES) and event not in _ALLOWED:
        raise ConnectionForbidden(said("a command that only describes tried to connect ({event})", event=event))
