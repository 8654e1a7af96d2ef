"""A server that speaks PostgreSQL's protocol and means harm: no real one can be made to do so."""

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.rogues import rogue as clients_of

PARSE, DESCRIBE, EXECUTE = "PDE"
"""The three steps of a statement, each of which the client waits for."""
SSL_REQUEST = 80877103
TEXT, NUMERIC, JSON = 25, 1700, 114


def message(code: str, data: bytes = b"", length: int | None = None) -> bytes:
    """A message; `length` is what it says of itself."""
    return code.encode() + struct.pack("!i", len(data) + 4 if length is None else length) + data


READY = message("Z", b"I")
WELCOME = message("R", struct.pack("!i", 0)) + message("S", b"client_encoding\0UTF8\0") + READY
"""What ends a log-in."""


def request(code: int, data: bytes = b"") -> bytes:
    """A request for a password."""
    return message("R", struct.pack("!i", code) + data)


def columns(*types: int) -> bytes:
    one = (b"n\0" + struct.pack("!ihihih", 0, 0, kind, -1, -1, 0) for kind in types)
    return message("T", struct.pack("!h", len(types)) + b"".join(one))


def row(*values: bytes) -> bytes:
    return message("D", struct.pack("!h", len(values)) + b"".join(struct.pack("!i", len(v)) + v for v in values))


def error(text: bytes, code: bytes = b"XX000") -> bytes:
    return message("E", b"SERROR\0C" + code + b"\0M" + text + b"\0\0")


Answer = Callable[[str, str], bytes]
"""Statement and step -> all that answers it."""
Login = bytes | Callable[[list[bytes]], bytes]
"""What it sends, or makes of what it got."""


def value(data: bytes, kind: int = TEXT, *, before: bytes = b"") -> Answer:
    """Answers each statement by one row of one column; `before` comes before the row."""

    def answer(_: str, step: str) -> bytes:
        steps = {
            PARSE: message("1"),
            DESCRIBE: columns(kind),
            EXECUTE: before + message("2") + row(data) + message("C", b"SELECT 1\0"),
        }
        return steps[step] + READY

    return answer


def on_execute(data: bytes) -> Answer:
    """Answers as usual, and with these bytes in the place of the rows."""
    usual = value(b"1")
    return lambda statement, step: data if step == EXECUTE else usual(statement, step)


@dataclass
class Rogue:
    """What it does, and what it got."""

    port: int
    answer: Answer
    login: tuple[Login, ...] = (WELCOME,)
    """After each but the last, one message of the client's is awaited."""
    ssl_reply: bytes = b"N"
    tls: ssl.SSLContext | None = None
    pause_s: float = 0.0
    """How long it waits before each byte that it answers; 0: it sends all at once."""
    endless: bytes = b""
    """Sent again and again after an answer, for as long as somebody takes it."""
    ended: threading.Event = field(default_factory=threading.Event)
    got: list[bytes] = field(default_factory=list)
    """What came in reply to `login`."""
    begun: list[bytes] = field(default_factory=list)
    """What each client began with, encrypted or not."""

    def serve(self, plain: socket.socket) -> None:
        with plain, contextlib.ExitStack() as open_, contextlib.suppress(OSError, EOFError):
            connection = plain
            begun = _exactly(connection, struct.unpack("!i", _exactly(connection, 4))[0] - 4)
            if begun == struct.pack("!i", SSL_REQUEST):
                connection.sendall(self.ssl_reply)
                if self.tls is None and self.ssl_reply[:1] == b"S":
                    self.begun.append(connection.recv(65536))
                    self.ended.wait()
                    return
                if self.tls is not None:
                    connection = open_.enter_context(self.tls.wrap_socket(plain, server_side=True))
                begun = _exactly(connection, struct.unpack("!i", _exactly(connection, 4))[0] - 4)
            self.begun.append(begun)
            for at, packet in enumerate(self.login, start=1):
                connection.sendall(packet if isinstance(packet, bytes) else packet(self.got))
                if at < len(self.login):
                    self.got.append(_message(connection)[1])
            self._statements(connection)

    def _statements(self, connection: socket.socket) -> None:
        statement, step = "", ""
        while True:
            code, data = _message(connection)
            step = code if code in (PARSE, DESCRIBE, EXECUTE) else step
            if code == PARSE:
                statement = data[1:].split(b"\0")[0].decode()
            elif code == "S":
                self._send(connection, self.answer(statement, step))
                while self.endless and step == EXECUTE and not self.ended.is_set():
                    connection.sendall(self.endless)

    def _send(self, connection: socket.socket, data: bytes) -> None:
        size = 1 if self.pause_s else max(1, len(data))
        for start in range(0, len(data), size):
            self.ended.wait(self.pause_s)
            connection.sendall(data[start : start + size])


def _message(connection: socket.socket) -> tuple[str, bytes]:
    header = _exactly(connection, 5)
    return chr(header[0]), _exactly(connection, struct.unpack("!i", header[1:])[0] - 4)


def _exactly(connection: socket.socket, count: int) -> bytes:
    got = b""
    while len(got) < count:
        more = connection.recv(count - len(got))
        if not more:
            raise EOFError
        got += more
    return got


@contextlib.contextmanager
def rogue(answer: Answer | None = None, **does: object) -> Iterator[Rogue]:
    """One that listens on loopback, with a thread for each client; all of them have ended afterwards."""
    with clients_of(lambda connection, _: server.serve(connection)) as port:
        server = Rogue(port, answer or value(b"1"), **does)  # type: ignore[arg-type]
        try:
            yield server
        finally:
            server.ended.set()
