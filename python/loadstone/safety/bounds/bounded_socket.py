"""A socket for one exchange at a time: it may take so long, and answer so much, and no more.

A timeout of a socket is for each step. A peer that sends a byte now and then is never late by it, and goes on for ever;
one that sends without end fills the memory. An exchange is also a part of the conversation that goes on, if one does.
"""

import io
import socket
import time
from typing import Any

from loadstone.safety.bounds.deadlines import MEBIBYTE, ReplyTooLarge, received, said_in_time, step_s
from loadstone.text.message import said


class BoundedSocket:
    """A connected socket, of TLS, too. What is not here is the socket's own.

    Raises:
        TimeoutError: a step takes longer than `step_s`, the exchange longer than `begin` says, or the conversation
            longer than it may.
        TooMuch: more came than `begin` says, or than the conversation may have.
    """

    def __init__(self, connection: socket.socket, step_s: float) -> None:
        self._connection = connection
        self._step_s: float | None = step_s
        self._deadline_s = time.monotonic() + step_s
        self._largest_bytes = self._left_bytes = 0
        self._files = 0
        self._is_closed = False

    def begin(self, within_s: float, largest_bytes: int) -> None:
        """Begin an exchange, which ends within this time and with at most so many bytes received."""
        self._deadline_s = time.monotonic() + within_s
        self._largest_bytes = self._left_bytes = largest_bytes

    def settimeout(self, step_s: float | None) -> None:
        """Set how long each step may take, within the exchange's own time."""
        self._step_s = step_s
        self._connection.settimeout(step_s)

    def sendall(self, data: Any) -> None:
        """Send all of it."""
        self._allow()
        with said_in_time():
            self._connection.sendall(data)

    def recv(self, size: int) -> bytes:
        """What came, at most `size` bytes; nothing at the end."""
        self._allow()
        with said_in_time():
            data = self._connection.recv(size)
        self._count(len(data))
        return data

    def recv_into(self, buffer: Any, size: int = 0) -> int:
        """Receive into a buffer, and return how many bytes came."""
        self._allow()
        with said_in_time():
            count = self._connection.recv_into(buffer, size)
        self._count(count)
        return count

    def makefile(self, mode: str = "rb") -> io.BufferedReader:
        """What is received, as a file."""
        if mode != "rb":
            from loadstone.text.problem import Problem  # not in a guard

            raise Problem("a bounded socket is read as 'rb', not as {mode!r}", mode=mode)
        self._files += 1
        return io.BufferedReader(_ReceivedBytes(self))

    def close(self) -> None:
        """Close it, once no file of it is read any more, as a socket does."""
        self._is_closed = True
        if self._files == 0:
            self._connection.close()

    def file_closed(self) -> None:
        """A file of `makefile` was closed."""
        self._files -= 1
        if self._is_closed:
            self.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def _allow(self) -> None:
        """Let the next step take what is left of the time."""
        left_s = step_s(self._deadline_s - time.monotonic())
        if self._step_s == 0:
            return
        if left_s <= 0:
            raise TimeoutError(said("the answer is not whole in time: it comes too slowly"))
        self._connection.settimeout(left_s if self._step_s is None else min(left_s, self._step_s))

    def _count(self, count: int) -> None:
        received(count)
        self._left_bytes -= count
        if self._left_bytes < 0:
            size = self._largest_bytes / MEBIBYTE
            raise ReplyTooLarge(
                said("more than {size:,.0f} MiB", size=size)
                if size >= 1
                else said("more than {largest_bytes:,} bytes", largest_bytes=self._largest_bytes)
            )


class _ReceivedBytes(io.RawIOBase):
    """What a bounded socket receives, as a file without a buffer."""

    def __init__(self, connection: BoundedSocket) -> None:
        super().__init__()
        self._bounded = connection

    def readable(self) -> bool:
        """Yes."""
        return True

    def close(self) -> None:
        """Tell the socket, once."""
        if not self.closed:
            super().close()
            self._bounded.file_closed()

    def readinto(self, buffer: Any) -> int:
        """See `io.RawIOBase`."""
        return self._bounded.recv_into(buffer)
