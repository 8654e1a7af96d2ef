"""redis-py's connections, with our way of TLS, and with a bound on every reply: its time, its size, its values."""

import ssl
from collections.abc import Callable
from typing import Any

import redis
from redis._parsers import _RESP2Parser
from redis.backoff import NoBackoff
from redis.retry import Retry

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.safety.bounds.bounded_socket import BoundedSocket
from loadstone.safety.bounds.deadlines import ReplyTooLarge, bound_that_ended, require_time
from loadstone.safety.bounds.replies import MISREAD, describe_unreadable, shortened
from loadstone.text.message import AnyText, said

REPLY_TIMES = 12.0
"""A whole reply may take so many times as long as one step of it."""
REPLY_MAX_BYTES = 80 * 1024 * 1024
"""More than the largest document."""
REPLY_MAX_VALUES = 1_000_000
"""Each takes 16 times as much memory as on its way, and more."""
QUESTION_MAX_BYTES = dict.fromkeys(("INFO", "CLUSTER", "SENTINEL"), 4 * 1024 * 1024)
"""Limits of replies that are taken apart line by line, which takes a multiple of their size."""


def name_of(*words: Any) -> str:
    """A command as people write it; as bytes redis-py leaves its reply as it came."""
    return " ".join(word.decode(errors="replace") if isinstance(word, bytes) else str(word) for word in words)


class LastReply:
    """The last reply that came, before anybody read it as what it should be; and how large the next one may be."""

    def __init__(self) -> None:
        self.value: Any = None
        self.largest_bytes = REPLY_MAX_BYTES

    def expect(self, command: Any) -> None:
        """The next reply is that to a command of this name."""
        most_bytes = QUESTION_MAX_BYTES.get(name_of(command).upper(), REPLY_MAX_BYTES)
        self.largest_bytes = min(REPLY_MAX_BYTES, most_bytes)

    def came(self, error: BaseException) -> AnyText:
        """What came, for a message: the reply, or why there is none."""
        value, self.value = self.value, None
        for origin in _origins(error):
            if isinstance(origin, ReplyTooLarge):
                return str(origin)
            if isinstance(origin, RecursionError):
                return "lists in lists without end"
            if isinstance(origin, MemoryError):
                return "more than fits into memory"
            if isinstance(origin, redis.InvalidResponse):
                return shortened(str(origin).removeprefix("Protocol Error: "))
        if value is None:  # it broke off on the way
            return describe_unreadable(error)
        return f"{type(value).__name__} {shortened(value, 60)}"


def is_bad_reply(error: BaseException) -> bool:
    """Whether the server answered, and what it answered is no reply to the command."""
    if bound_that_ended(error) is not None:
        return False
    kinds = (*MISREAD, redis.InvalidResponse, ReplyTooLarge)
    of_library = isinstance(error, redis.RedisError) and not isinstance(error, redis.InvalidResponse)
    return any(isinstance(origin, ReplyTooLarge) for origin in _origins(error)) or (
        not of_library and isinstance(error, kinds)
    )


def _origins(error: BaseException) -> list[BaseException]:
    """The error and those that it was raised from, the latest first."""
    origins: list[BaseException] = []
    at: BaseException | None = error
    while at is not None and at not in origins:
        origins.append(at)
        at = at.__cause__ or at.__context__
    return origins


class BoundedParser(_RESP2Parser):
    """Counts the values of a reply: it may announce 2^60 of them, or nest them."""

    def read_response(self, *args: Any, **kwargs: Any) -> Any:
        """See `redis`."""
        self._values = 0
        return super().read_response(*args, **kwargs)

    def _read_response(self, *args: Any, **kwargs: Any) -> Any:
        self._values += 1
        if self._values > REPLY_MAX_VALUES:
            raise ReplyTooLarge(said("more than {reply_max_values:,} values", reply_max_values=REPLY_MAX_VALUES))
        return super()._read_response(*args, **kwargs)


class Bounded:
    """What all three kinds of connection have in common."""

    def __init__(self, *, last_reply: LastReply, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._last_reply = last_reply

    def _connect(self) -> BoundedSocket:
        require_time()
        step_s: float = self.socket_timeout  # type: ignore[attr-defined]
        bounded = BoundedSocket(super()._connect(), step_s)  # type: ignore[misc]
        bounded.begin(REPLY_TIMES * step_s, self._last_reply.largest_bytes)
        return bounded

    def begin_reply(self) -> None:
        """From now on there is a reply's time, and a reply's room."""
        bounded = self._sock  # type: ignore[attr-defined]
        if bounded is not None:
            times_s = REPLY_TIMES * self.socket_timeout  # type: ignore[attr-defined]
            bounded.begin(times_s, self._last_reply.largest_bytes)

    def send_packed_command(self, *args: Any, **kwargs: Any) -> None:
        """See `redis.Connection`."""
        self.begin_reply()
        super().send_packed_command(*args, **kwargs)  # type: ignore[misc]

    def read_response(self, *args: Any, **kwargs: Any) -> Any:
        """See `redis.Connection`."""
        self._last_reply.value = None
        self.begin_reply()
        self._last_reply.value = super().read_response(*args, **kwargs)  # type: ignore[misc]
        return self._last_reply.value


class _PlainConnection(Bounded, redis.Connection):
    """TCP."""


class _UnixConnection(Bounded, redis.UnixDomainSocketConnection):
    """A socket of this machine."""


class _TlsConnection(Bounded, redis.SSLConnection):
    """TLS with our context: `server_name`, and no root but those that the user named."""

    def __init__(self, *, context: ssl.SSLContext, server_name: str | None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._context = context
        self._server_name = server_name

    def _wrap_socket_with_ssl(self, sock: Any) -> ssl.SSLSocket:
        return self._context.wrap_socket(sock, server_hostname=self._server_name or self.host)


def connection_options(endpoint: Endpoint, timeout_s: float, context: Callable[[], ssl.SSLContext]) -> dict[str, Any]:
    """What redis-py is given: RESP2, nothing sent but what we send, nothing tried twice."""
    common: dict[str, Any] = {
        "db": endpoint.database,
        "username": endpoint.username,
        "password": endpoint.password,
        "socket_timeout": timeout_s,
        "socket_connect_timeout": timeout_s,
        "retry": Retry(NoBackoff(), 0),
        "protocol": 2,
        "driver_info": None,
        "decode_responses": False,
        "parser_class": BoundedParser,  # not hiredis's, where that is installed: it takes what a reply announces
    }
    if endpoint.unix_path is not None:
        return common | {"connection_class": _UnixConnection, "path": endpoint.unix_path}
    common |= {"host": endpoint.host, "port": endpoint.port}
    if endpoint.tls is None:
        return common | {"connection_class": _PlainConnection}
    server_name = endpoint.tls.server_name
    return common | {"connection_class": _TlsConnection, "context": context(), "server_name": server_name}
