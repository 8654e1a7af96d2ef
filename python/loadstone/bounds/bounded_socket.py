"""A socket for one exchange at a time: it may take so long, and answer so much, and no more.

A timeout of a socket is for each step. A peer that sends a byte now and then is never late by it, and goes on for ever;
one that sends without end fills the memory.
"""

import io
import socket
import time
from typing import Any


class TooMuch(OSError):
    """The peer sent more than an answer may have."""


class BoundedSocket:
    """A connected socket, of TLS, too. What is not here is the socket's own.

    Raises:
        TimeoutError: a step takes longer than `step_s`, or the exchange longer than `begin` says.
        TooMuch: more came than `begin` says.
    """

    def __init__(self, connection: socket.socket, step_s: float) -> None:
        self._connection = connection
        self._step_s: float | None = step_s
        self._deadline_s = time.monotonic() + step_s
        self._left_bytes = 0

    def begin(self, within_s: float, largest_bytes: int) -> None:
        """Begin an exchange, which ends within this time and with at most so many bytes received."""
        self._deadline_s = time.monotonic() + within_s
        self._left_bytes = largest_bytes

    def settimeout(self, step_s: float | None) -> None:
        """How long each step may take, within the exchange's own time."""
        self._step_s = step_s
        self._connection.settimeout(step_s)

    def sendall(self, data: Any) -> None:
        """Send all of it."""
        self._allow()
        self._connection.sendall(data)

    def recv(self, size: int) -> bytes:
        """What came, at most `size` bytes; nothing at the end."""
        self._allow()
        return self._counted(self._connection.recv(size))

    def recv_into(self, buffer: Any, size: int = 0) -> int:
        """The same, into a buffer; how many bytes."""
        self._allow()
        count = self._connection.recv_into(buffer, size)
        self._count(count)
        return count

    def makefile(self, mode: str = "rb") -> io.BufferedReader:
        """What is received, as a file."""
        if mode != "rb":
            raise ValueError(f"a bounded socket is read as 'rb', not as {mode!r}")
        return io.BufferedReader(_Received(self))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def _allow(self) -> None:
        """Let the next step take what is left of the time."""
        left_s = self._deadline_s - time.monotonic()
        if self._step_s == 0:
            return
        if left_s <= 0:
            raise TimeoutError("the answer is not whole in time: it comes too slowly")
        self._connection.settimeout(left_s if self._step_s is None else min(left_s, self._step_s))

    def _counted(self, received: bytes) -> bytes:
        self._count(len(received))
        return received

    def _count(self, count: int) -> None:
        self._left_bytes -= count
        if self._left_bytes < 0:
            raise TooMuch("the answer is larger than any that was expected")


class _Received(io.RawIOBase):
    """What a bounded socket receives, as a file without a buffer."""

    def __init__(self, connection: BoundedSocket) -> None:
        super().__init__()
        self._bounded = connection

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """See `io.RawIOBase`."""
        return self._bounded.recv_into(buffer)
