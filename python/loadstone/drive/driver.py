"""The driver seam: what turns a share of a plan into load."""

from collections.abc import Callable
from typing import Protocol

from loadstone.drive.outcome import DriveRecord, Interval
from loadstone.plan.model import Plan


class Driver(Protocol):
    """Drives one share of a trial to its end, or until it is told to stop."""

    def drive(self, share: Plan, on_interval: Callable[[Interval], None]) -> DriveRecord:
        """Load the share's endpoints; hand over each interval as it ends.

        Raises:
            DriveFailed: no connection could be made, or the plan cannot be driven; with the server's words.
        """

    def stop(self) -> None:
        """End the drive within 100 ms. May be called from another thread, and more than once."""
