"""A connection to a Redis that takes commands while the replies to earlier ones are still on their way."""

import contextlib
import re
from collections.abc import Iterator
from typing import Any, Self

import redis

from loadstone.safety.bounds.deadlines import bound_that_ended
from loadstone.safety.bounds.replies import bad_reply
from loadstone.safety.errors import ServerGone
from loadstone.servers.redis.connection import LastReply, is_bad_reply
from loadstone.servers.redis.session import RedisSession, refused
from loadstone.servers.transport import error_text
from loadstone.text.message import said

UNANSWERED_MAX = 6000
"""Commands without a reply, beyond which no more are sent. As many replies, a number or OK each, fit into the system's
buffers; otherwise a server could wait until we take replies, while we wait until it takes commands."""
READ_BYTES = 256 * 1024
RUN = re.compile(rb"(?:[+:][^\r\n]*+\r\n)++")
"""Replies of one line, none an error."""
REFUSED = re.compile(rb"-([^\r\n]*)\r\n")
TEXT = re.compile(rb"\$(-1|\d{1,10})\r\n")
"""How a reply begins that is a text of so many bytes, or nothing."""
TEXT_MAX_BYTES, LINE_MAX_BYTES = 1 << 20, 1 << 16
"""Commands that write answer with little."""


class Replies:
    """Counts the replies in what a server sends, and keeps the first error among them."""

    def __init__(self) -> None:
        self.refused: redis.ResponseError | None = None
        self._rest = b""

    def take(self, received: bytes) -> int:
        """Return how many more replies are whole.

        Raises:
            redis.InvalidResponse: it is no reply, or none to a command that writes.
        """
        data, count, at = self._rest + received, 0, 0
        while at < len(data):
            if run := RUN.match(data, at):
                count += data.count(b"\r\n", at, run.end())
                at = run.end()
            elif end := self._end_of_reply(data, at):
                count += 1
                at = end
            else:
                break
        self._rest = data[at:]
        return count

    def _end_of_reply(self, data: bytes, at: int) -> int | None:
        """Where the reply ends that begins there; None: it is not whole."""
        if error := REFUSED.match(data, at):
            self.refused = self.refused or redis.ResponseError(error[1].decode(errors="replace"))
            return error.end()
        if text := TEXT.match(data, at):
            size = 0 if text[1] == b"-1" else int(text[1]) + 2
            if size > TEXT_MAX_BYTES:
                raise redis.InvalidResponse(f"Protocol Error: a text of {size - 2:,} bytes")
            return text.end() + size if text.end() + size <= len(data) else None
        if data[at] not in b"+-:$" or data.find(b"\r\n", at) >= 0 or len(data) - at > LINE_MAX_BYTES:
            raise redis.InvalidResponse(f"Protocol Error: {data[at : at + 80]!r}")
        return None


class Pipe:
    """The connection of a control, taken by `with` until every command that was sent has its reply.

    Raises:
        ServerGone: the server does not answer, or answered with an error; one line with its message.
    """

    def __init__(self, control: RedisSession) -> None:
        self._label = control.endpoint.label
        self._pool = control.client.connection_pool
        self._connection: Any = None
        self._replies = Replies()
        self._unanswered = 0

    def __enter__(self) -> Self:
        with self._or_gone():
            self._connection = self._pool.get_connection()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # After an error, too, all that was sent is done before anybody removes it; the first error is reported.
        reported = contextlib.nullcontext() if kind is None else contextlib.suppress(ServerGone)
        try:
            if self._connection.is_connected:
                with reported:
                    self._read(0)
        finally:
            self._pool.release(self._connection)

    def send(self, packed: bytes, commands: int) -> None:
        """Send so many commands, and wait if too many have no reply yet.

        An error may be that of an earlier command.
        """
        with self._or_gone():
            self._connection.begin_reply()
            self._connection._sock.sendall(packed)
        self._unanswered += commands
        self._read(UNANSWERED_MAX)

    def _read(self, unanswered_max: int) -> None:
        with self._or_gone():
            self._connection.begin_reply()
            while self._unanswered > unanswered_max:
                received = self._connection._sock.recv(READ_BYTES)
                if not received:
                    raise redis.ConnectionError("Connection closed by server.")
                self._unanswered -= self._replies.take(received)
        if self._replies.refused is not None:
            raise refused(self._label, self._replies.refused) from self._replies.refused

    @contextlib.contextmanager
    def _or_gone(self) -> Iterator[None]:
        """What ends here leaves the connection halfway through a command or a reply: it is of no use any more."""
        try:
            yield
        except BaseException as error:
            if self._connection is not None:
                self._connection.disconnect()
            if not isinstance(error, (redis.RedisError, OSError)):
                raise
            if (ended := bound_that_ended(error)) is not None:
                raise ServerGone("server {label}: {ended}", label=self._label, ended=ended) from error
            if is_bad_reply(error):
                came = LastReply().came(error)
                raise bad_reply(self._label, "the commands of the data", said("a short reply to each"), came) from error
            raise ServerGone(
                "server {label}: {error}; it no longer answers", label=self._label, error=error_text(error)
            ) from error
