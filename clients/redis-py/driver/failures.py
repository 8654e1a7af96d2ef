"""What went wrong with an operation: the errors of redis-py as the kinds that docs/driver-contract.md names."""

from collections.abc import Iterator
from typing import NamedTuple

from redis.exceptions import ConnectionError, InvalidResponse, RedisError, ResponseError, TimeoutError

_CODES = (
    "err ask busy busygroup busykey clusterdown crossslot execabort loading masterdown misconf moved noauth noperm "
    "noproto noreplicas noscript oom readonly tryagain unblocked wrongpass wrongtype"
)
OF_SERVER = frozenset(_CODES.split())
UNREADABLE = (RecursionError, OverflowError, MemoryError)
"""What redis-py raises at lists in lists without end, and at lengths that no list can have."""
OF_SYSTEM = (
    (ConnectionRefusedError, "connection_refused"),
    (ConnectionResetError, "connection_reset"),
    (BrokenPipeError, "connection_reset"),
)
TIMEOUT = "timeout"


class Outcome(NamedTuple):
    """How an operation ended: correct (no error), with an error of some kind, or without a reply in time."""

    error: str | None
    replied: bool


CORRECT = Outcome(None, replied=True)


def outcome_of(error: Exception) -> Outcome:
    """How an operation ended that redis-py raised this for."""
    code = getattr(error, "status_code", None)
    if code is not None or isinstance(error, ResponseError):
        return Outcome(_of_server(code or str(error).partition(" ")[0]), replied=True)
    if isinstance(error, TimeoutError):
        return Outcome(TIMEOUT, replied=False)
    if isinstance(error, (InvalidResponse, *UNREADABLE)):
        return Outcome("protocol", replied=False)
    if isinstance(error, ConnectionError):
        return Outcome(_of_connection(error), replied=False)
    # A reply of another type than redis-py converts.
    return Outcome("wrong_type", replied=True)


def connect_outcome(error: Exception) -> Outcome:
    """How an operation ended that got no connection."""
    if isinstance(error, TimeoutError):
        return Outcome("connect_timeout", replied=False)
    return Outcome(_of_connection(error), replied=False)


def reason(error: Exception) -> str:
    """What a connection could not be made for: the server's own message where there is one, in one line."""
    codes = (getattr(cause, "status_code", None) for cause in _causes(error))
    text = " ".join(f"{next(filter(None, codes), '')} {error}".split())
    system = _of_system(error)
    return (system.strerror or text) if system is not None else text


def _of_server(code: str) -> str:
    is_known = code.isupper() and code.lower() in OF_SERVER
    return f"server_{code.lower()}" if is_known else "server_other"


def _of_connection(error: BaseException) -> str:
    cause = _of_system(error)
    for kind, name in OF_SYSTEM:
        if isinstance(cause, kind):
            return name
    is_closed = isinstance(error, RedisError) and "closed" in str(error).lower()
    return "connection_closed" if is_closed else "connection_failed"


def _of_system(error: BaseException) -> OSError | None:
    """The system's error that redis-py made its own of."""
    return next((cause for cause in _causes(error) if isinstance(cause, OSError)), None)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error, and what it was made of."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__
