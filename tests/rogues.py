"""Servers on real sockets that mean harm, or are sick: they drip, never end, or announce more than there is."""

import contextlib
import re
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from loadstone.safety.bounds import deadlines as module
from loadstone.safety.bounds.deadlines import Purpose

COMMAND = re.compile(rb"\*(\d+)\r\n")
Answer = bytes | Iterable[bytes]
"""What is sent, or its pieces, each as soon as it is made."""
Speak = Callable[[socket.socket, threading.Event], None]


@contextlib.contextmanager
def rogue(speak: Speak) -> Iterator[int]:
    """A port where every client is spoken with in a thread of its own; all have ended afterwards."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ended = threading.Event()
        threads: list[threading.Thread] = []
        connections: list[socket.socket] = []

        def talk(connection: socket.socket) -> None:
            with connection, contextlib.suppress(OSError, EOFError):
                speak(connection, ended)

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    connections.append(connection)
                    threads.append(threading.Thread(target=talk, args=(connection,), daemon=True))
                    threads[-1].start()

        accepting = threading.Thread(target=accept, daemon=True)
        accepting.start()
        try:
            yield int(listener.getsockname()[1])
        finally:
            ended.set()
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            accepting.join()
            for connection in connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join()


def dripping(data: bytes, pause_s: float, ended: threading.Event) -> Iterator[bytes]:
    """A byte at a time."""
    for at in range(len(data)):
        ended.wait(pause_s)
        yield data[at : at + 1]


def without_end(piece: bytes, ended: threading.Event, pause_s: float = 0.0) -> Iterator[bytes]:
    """The same again and again, for as long as somebody takes it."""
    while not ended.is_set():
        ended.wait(pause_s)
        yield piece


def bulk(text: bytes | str) -> bytes:
    """A text in RESP."""
    data = text.encode() if isinstance(text, str) else text
    return b"$%d\r\n%s\r\n" % (len(data), data)


def array(*items: bytes) -> bytes:
    """A list in RESP."""
    return b"*%d\r\n%s" % (len(items), b"".join(items))


def redis(answer: Callable[[list[bytes], threading.Event], Answer]) -> Speak:
    """Speaks RESP: `answer` gets the words of each command."""

    def speak(connection: socket.socket, ended: threading.Event) -> None:
        with connection.makefile("rb") as received:
            while line := received.readline():
                words = []
                for _ in range(int(line[1:])):
                    size = int(received.readline()[1:])
                    words.append(received.read(size + 2)[:-2])
                _send(connection, answer([words[0].upper(), *words[1:]], ended))

    return speak


GOOD: Mapping[bytes, bytes] = {
    b"PING": b"+PONG\r\n",
    b"SET": b"+OK\r\n",
    b"UNLINK": b":1\r\n",
    b"DBSIZE": b":1\r\n",
    b"CONFIG": b"*0\r\n",
    b"CLIENT": b"+OK\r\n",
    b"INFO": bulk("redis_version:8.0.0\r\nredis_mode:standalone\r\nrole:master\r\n"),
}
"""How a Redis in good health answers."""


def memcached(answer: Callable[[bytes, threading.Event], Answer | None]) -> Speak:
    """Speaks memcached's protocol: `answer` gets each line; where it returns None, the answer of one in good health."""
    good = {b"mn": b"MN\r\n", b"ms": b"HD\r\n", b"md": b"HD\r\n", b"version": b"VERSION 1.6.40\r\n"}

    def speak(connection: socket.socket, ended: threading.Event) -> None:
        with connection.makefile("rb") as received:
            while line := received.readline():
                if line.startswith(b"ms "):
                    received.readline()
                found = answer(line.strip(), ended)
                _send(connection, good.get(line.split()[0], b"ERROR\r\n") if found is None else found)

    return speak


def stats(**figures: object) -> bytes:
    """The reply to `stats`."""
    return b"".join(f"STAT {name} {value}\r\n".encode() for name, value in figures.items()) + b"END\r\n"


def _send(connection: socket.socket, answer: Answer) -> None:
    for piece in [answer] if isinstance(answer, bytes) else answer:
        connection.sendall(piece)


@contextlib.contextmanager
def brief(purpose: Purpose, within_s: float = 1.0) -> Iterator[None]:
    """Conversations for this purpose take no longer, so that a test need not; what is earned included."""
    name = next(name for name, value in vars(module).items() if value is purpose)
    kept = replace(purpose)
    shorter = replace(purpose, within_s=within_s, longest_s=within_s)
    for field in ("within_s", "longest_s"):
        object.__setattr__(purpose, field, getattr(shorter, field))
    try:
        yield
    finally:
        for field in ("within_s", "longest_s"):
            object.__setattr__(purpose, field, getattr(kept, field))
        assert getattr(module, name) is purpose
