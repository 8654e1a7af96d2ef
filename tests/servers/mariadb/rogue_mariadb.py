"""A server that speaks MariaDB's protocol and means harm: no real one can be made to do so."""

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.rogues import rogue as clients_of

OK = b"\0\0\0" + struct.pack("<HH", 2, 0)
EOF = b"\xfe" + struct.pack("<HH", 0, 2)
CAPABILITIES = 0x0200_0000 - 1 & ~0x0800  # all that is old, and no TLS
TLS = 0x0800
QUERY, QUIT = 3, 1
Answer = Callable[[str], list[bytes]]
"""Statement -> the packets that answer it."""


def one_value(text: str) -> list[bytes]:
    """A result of one row with one column."""
    column = b"".join(_counted(part) for part in (b"def", b"", b"", b"", b"n", b"n"))
    column += b"\x0c" + struct.pack("<HIBHB", 45, 1024, 253, 0, 0) + b"\0\0"
    return [b"\x01", column, EOF, _counted(text.encode()), EOF]


def wants_file(name: str | bytes) -> list[bytes]:
    """The reply that queries the client for a file of its machine."""
    return [b"\xfb" + (name if isinstance(name, bytes) else name.encode())]


def switch_to(plugin: str, data: bytes = b"12345678901234567890\0") -> list[bytes]:
    """The reply to a log-in that names another way to log in."""
    return [b"\xfe" + plugin.encode() + b"\0" + data]


def _counted(text: bytes) -> bytes:
    assert len(text) < 251
    return bytes([len(text)]) + text


@dataclass
class Rogue:
    """What it does, and what it got."""

    port: int
    answer: Answer
    login: list[bytes]
    """What follows the client's log-in; then one packet of the client's is awaited if it is no `OK`."""
    plugin: str = "mysql_native_password"
    version: str = "10.11.6-MariaDB"
    tls: ssl.SSLContext | None = None
    pause_s: float = 0.0
    """How long it waits before each byte that it sends; 0: it sends all at once."""
    ended: threading.Event = field(default_factory=threading.Event)
    statements: list[str] = field(default_factory=list)
    capabilities: list[int] = field(default_factory=list)
    """What each client said that it can do."""
    uploads: list[bytes] = field(default_factory=list)
    """Packets that came after a request for a file."""
    given: list[bytes] = field(default_factory=list)
    """Packets that came in reply to `login`."""

    def serve(self, plain: socket.socket) -> None:
        with plain, contextlib.ExitStack() as open_, contextlib.suppress(OSError, EOFError):
            connection = plain
            capabilities = CAPABILITIES | (TLS if self.tls is not None else 0)
            hello = b"\x0a" + self.version.encode() + b"\0" + struct.pack("<I", 7) + b"12345678\0"
            hello += struct.pack("<HBHHB", capabilities & 0xFFFF, 45, 2, capabilities >> 16, 21) + b"\0" * 10
            self._send(connection, 0, hello + b"901234567890\0" + self.plugin.encode() + b"\0")
            number, response = _receive(connection)
            if self.tls is not None:
                connection = open_.enter_context(self.tls.wrap_socket(plain, server_side=True))
                number, response = _receive(connection)
            self.capabilities.append(struct.unpack("<I", response[:4])[0])
            for packet in self.login:
                number = self._send(connection, number + 1, packet)
                if packet != OK:
                    number, got = _receive(connection)
                    self.given.append(got)
            if self.login[-1:] != [OK]:
                self._send(connection, number + 1, OK)
            while True:
                self._one_command(connection)

    def _send(self, connection: socket.socket, number: int, payload: bytes) -> int:
        packet = _packet(number, payload)
        for start in range(0, len(packet), 1 if self.pause_s else len(packet)):
            self.ended.wait(self.pause_s)
            connection.sendall(packet[start : start + (1 if self.pause_s else len(packet))])
        return number

    def _one_command(self, connection: socket.socket) -> None:
        number, command = _receive(connection)
        if command[0] == QUIT:
            raise EOFError
        statement = command[1:].decode()
        self.statements.append(statement)
        packets = self.answer(statement) if command[0] == QUERY else [OK]
        for packet in packets:
            number = self._send(connection, number + 1, packet)
        if packets[-1][:1] == b"\xfb":
            while True:
                number, got = _receive(connection)
                if not got:
                    break
                self.uploads.append(got)
            self._send(connection, number + 1, OK)


def _packet(number: int, payload: bytes) -> bytes:
    return struct.pack("<I", len(payload))[:3] + bytes([number % 256]) + payload


def _receive(connection: socket.socket) -> tuple[int, bytes]:
    header = _exactly(connection, 4)
    return header[3], _exactly(connection, int.from_bytes(header[:3], "little"))


def _exactly(connection: socket.socket, count: int) -> bytes:
    got = b""
    while len(got) < count:
        more = connection.recv(count - len(got))
        if not more:
            raise EOFError
        got += more
    return got


@contextlib.contextmanager
def rogue(
    answer: Answer = lambda _: [OK], login: list[bytes] | None = None, tls: ssl.SSLContext | None = None, **changed: str
) -> Iterator[Rogue]:
    """One that listens on loopback, with a thread for each client; all of them have ended afterwards."""
    with clients_of(lambda connection, _: server.serve(connection)) as port:
        server = Rogue(port, answer, [OK] if login is None else login, tls=tls, **changed)
        try:
            yield server
        finally:
            server.ended.set()
