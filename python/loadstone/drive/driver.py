"""The driver seam: what turns a share of a plan into load."""

from collections.abc import Callable, Sequence
from typing import Protocol

from loadstone.drive.outcome import DriveRecord, Interval
from loadstone.drive.rounds import OnIntervalOf, RoundsOptions
from loadstone.plan.drive_plan import Plan

OnInterval = Callable[[Interval], None]
"""Gets each interval of a drive as it ends. What it raises ends the drive."""


class Driver(Protocol):
    """Makes one drive after another: each from its plan to its end, or until it is stopped."""

    def drive(self, share: Plan, on_interval: OnInterval) -> DriveRecord:
        """Load the share's endpoints; pass each interval on as it ends.

        Raises:
            DriveFailed: no connection could be made, or the plan cannot be driven; with the server's own message.
        """

    def drive_rounds(
        self, shares: Sequence[Plan], rounds: RoundsOptions, on_interval: OnIntervalOf
    ) -> list[DriveRecord]:
        """Load the endpoints of all shares by turns; pass each interval on as it ends.

        A drive that ends before the time, because its server is gone, ends all of them; every record says so. There is
        a record a share, in their order.

        Raises:
            DriveFailed: a connection could not be made, or a plan cannot be driven in slices (it ends by a number of
                operations or keys, its rate or users change by a schedule, it begins at a set time).
        """

    def stop(self) -> None:
        """End the drive within 100 ms, and later ones at once. From any thread, and more than once."""
