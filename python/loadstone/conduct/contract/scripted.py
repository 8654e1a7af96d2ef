"""A Redis of a script: it greets as Redis does, and says to every other command what the script says."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO

HELLO = b"*6\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n7.4.0\r\n$5\r\nproto\r\n:"
GREETING = frozenset({b"HELLO", b"AUTH", b"CLIENT", b"SELECT", b"PING", b"COMMAND"})
NIL = b"$-1\r\n"
OK = b"+OK\r\n"

Answer = Callable[[list[bytes]], bytes | None]
"""What a server says to a command; None: nothing, ever."""


def text(said: str | bytes) -> bytes:
    """A bulk string as RESP has it."""
    letters = said.encode() if isinstance(said, str) else said
    return b"$%d\r\n%b\r\n" % (len(letters), letters)


def items(said: Sequence[str | bytes]) -> bytes:
    """A list of bulk strings."""
    return b"*%d\r\n%b" % (len(said), b"".join(map(text, said)))


class ScriptedRedis:
    """Listens on a port, and answers what it is sent; `greets` answers the commands of the connection."""

    def __init__(self, answer: Answer, greets: Answer | None = None, address: tuple[str, int] = ("127.0.0.1", 0)):
        """Raises OSError: this machine has no such address."""
        self._answer = answer
        self._greets = greets or _greeting
        self._listener = socket.create_server(address, backlog=64)
        self.port: int = self._listener.getsockname()[1]
        self.commands: list[list[bytes]] = []
        self._accepted: list[socket.socket] = []
        threading.Thread(target=self._accept, name="scripted-redis", daemon=True).start()

    def close(self) -> None:
        """End all connections. May be called more than once."""
        self._listener.close()
        for connection in tuple(self._accepted):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # it was closed
            while True:
                connection, _ = self._listener.accept()
                self._accepted.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError, IndexError), connection, connection.makefile("rb") as sent:
            while command := _command(sent):
                self.commands.append(command)
                said = (self._greets if command[0].upper() in GREETING else self._answer)(command)
                if said is not None:
                    connection.sendall(said)


def _command(sent: BinaryIO) -> list[bytes]:
    """The next command; empty at the end."""
    head = sent.readline()
    if not head:
        return []
    return [sent.read(int(sent.readline()[1:]) + 2)[:-2] for _ in range(int(head[1:]))]


def _greeting(command: list[bytes]) -> bytes:
    match command[0].upper():
        case b"HELLO":
            return HELLO.replace(b"*6", b"%3", 1) + b"3\r\n" if command[1:2] == [b"3"] else HELLO + b"2\r\n"
        case b"PING":
            return b"+PONG\r\n"
        case b"COMMAND":
            return b"*0\r\n"
    return b"+OK\r\n"


@contextmanager
def scripted(answer: Answer, greets: Answer | None = None) -> Iterator[ScriptedRedis]:
    """A scripted server, closed in the end."""
    server = ScriptedRedis(answer, greets)
    try:
        yield server
    finally:
        server.close()
