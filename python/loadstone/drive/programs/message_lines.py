"""The messages of a program, read with bounds on their length, their number and the silence between them."""

import time
from collections.abc import Callable

from pydantic import ValidationError

from loadstone.bounds.replies import shortened
from loadstone.drive.programs.faults import DriverBroken, DriverDied, DriverHung
from loadstone.drive.programs.messages import MESSAGE, Failed, IntervalMessage, Ready, RecordMessage
from loadstone.drive.programs.program import Program

LONGEST_LINE_BYTES = 16 * 1024 * 1024
POLL_S = 0.05
"""How long one wait lasts: the time after which an order to stop is passed on."""

Received = Ready | IntervalMessage | RecordMessage | Failed


class MessageLines:
    """What a program writes, line by line. `name` is the driver's, for messages."""

    def __init__(self, name: str, program: Program) -> None:
        self._name = name
        self._program = program
        self._pending = b""
        self._searched = 0

    def next(self, within_s: float, waiting: Callable[[], None], what: str) -> Received:
        """The next message. `waiting` is called again and again until it comes; `what` is expected.

        Raises:
            DriverHung: none came in that time.
            DriverBroken: what came is none.
            DriverDied: the program ended.
        """
        deadline_s = time.monotonic() + within_s
        while (line := self._line()) is None:
            waiting()
            if time.monotonic() > deadline_s:
                raise DriverHung(f"driver {self._name}: it hangs: no {what} for {within_s:.3g} s")
            received = self._program.read(POLL_S)
            if received == b"":
                raise DriverDied(f"driver {self._name}: it ended before its record: {self._program.end()}")
            self._pending += received or b""
        return self._message(line)

    def _line(self) -> bytes | None:
        end = self._pending.find(b"\n", self._searched)
        if max(end, len(self._pending) * (end < 0)) > LONGEST_LINE_BYTES:
            raise DriverBroken(f"driver {self._name}: it wrote a line of more than {LONGEST_LINE_BYTES >> 20} MB")
        if end < 0:
            self._searched = len(self._pending)
            return None
        line, self._pending, self._searched = self._pending[:end], self._pending[end + 1 :], 0
        return line

    def _message(self, line: bytes) -> Received:
        try:
            return MESSAGE.validate_json(line)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, first["loc"]))
            text = shortened(line.decode(errors="replace"))
            why = shortened(f"{place}: {first['msg']}" if place else first["msg"], 120)
            raise DriverBroken(f"driver {self._name}: it wrote what is no message: {text} ({why})") from None
