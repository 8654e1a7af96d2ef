"""The seam to a driver's program that runs: bytes to it, bytes from it, and its end."""

from collections.abc import Callable
from typing import Protocol

from loadstone.plan.drive_plan import Plan


class Program(Protocol):
    """A program that was started for one drive."""

    @property
    def pid(self) -> int | None:
        """Of its first process; None once that ended."""

    @property
    def guard_pid(self) -> int | None:
        """Of the process that guards it, below which all that it starts is; None if nothing does."""

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
