"""A driver's program that runs: bytes to it and from it, its messages one by one, and what can be wrong with it.

Each fault makes a trial invalid, with its message; the run goes on.
"""

import time
from collections.abc import Callable
from typing import Protocol

from pydantic import ValidationError

from loadstone.experiment.plan.drive_plan import Plan
from loadstone.programs.clients.messages import MESSAGE, Failed, IntervalMessage, ReadyMessage, RecordMessage
from loadstone.safety.bounds.replies import shortened
from loadstone.safety.errors import DriveFailed

LONGEST_LINE_BYTES = 16 * 1024 * 1024
POLL_S = 0.2
"""How long one wait lasts: the time after which an order to stop is passed on."""

Received = ReadyMessage | IntervalMessage | RecordMessage | Failed


class Program(Protocol):
    """A program that was started for one drive."""

    @property
    def pid(self) -> int | None:
        """Return the process id of its first process; None once that ended."""

    @property
    def guard_pid(self) -> int | None:
        """Return the id of the process that guards it, below which all that it starts is; None if nothing does."""

    def write(self, line: bytes) -> None:
        """Send a line. Raises OSError if it no longer reads, or does not for some seconds."""

    def read(self, timeout_s: float) -> bytes | None:
        """What it wrote next; empty at the end of its output; None if nothing came in that time."""

    def end(self) -> str:
        """End it with everything that it started, and remove what it had; how it ended, in a few words.

        May be called more than once.
        """


Launch = Callable[[Plan], Program]
"""Starts the program on the CPUs of a share; it has been sent nothing yet. Raises DriveFailed if it does not start."""


class DriverRefused(DriveFailed):
    """It says that it cannot drive: a plan that it cannot carry out, a server that it cannot reach."""


class DriverHung(DriveFailed):
    """It wrote nothing for too long, or does not come to an end."""


class DriverTooLarge(DriveFailed):
    """It takes more memory than it may."""


class DriverBroken(DriveFailed):
    """It wrote something else than a message, or a message at the wrong time."""


class DriverDied(DriveFailed):
    """It ended before its record."""


class DriverImplausible(DriveFailed):
    """Its record contradicts itself or the plan: operations, commands or connections that do not add up."""


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
            DriverBroken: what came is not a message.
            DriverDied: the program ended.
        """
        deadline_s = time.monotonic() + within_s
        while (line := self._line()) is None:
            began_s = time.monotonic()
            waiting()
            deadline_s += time.monotonic() - began_s  # the program is not to blame for that
            if time.monotonic() > deadline_s:
                raise DriverHung(
                    "driver {name}: it hangs: no {what} for {within_s:.3g} s",
                    name=self._name,
                    what=what,
                    within_s=within_s,
                )
            received = self._program.read(POLL_S)
            if received == b"":
                raise DriverDied(
                    "driver {name}: it ended before its record: {end}", name=self._name, end=self._program.end()
                )
            self._pending += received or b""
        return self._message(line)

    def _line(self) -> bytes | None:
        end = self._pending.find(b"\n", self._searched)
        if max(end, len(self._pending) * (end < 0)) > LONGEST_LINE_BYTES:
            raise DriverBroken(
                "driver {name}: it wrote a line of more than {longest_line_bytes} MB",
                name=self._name,
                longest_line_bytes=LONGEST_LINE_BYTES >> 20,
            )
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
            raise DriverBroken(
                "driver {name}: it wrote what is no message: {text} ({why})", name=self._name, text=text, why=why
            ) from None
