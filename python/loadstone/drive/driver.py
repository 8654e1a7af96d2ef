"""The driver seam: what turns shares of plans into load."""

from collections.abc import Callable, Sequence
from typing import Protocol

from loadstone.drive.outcome import DriveRecord, Interval
from loadstone.drive.rounds import RoundsOptions
from loadstone.plan.drive_plan import Plan

OnInterval = Callable[[int, Interval], None]
"""Gets each interval as it ends, with the place of its share in the drive. What it raises ends the drive."""


class Driver(Protocol):
    """Makes one drive after another: each from its plans to its end, or until it is stopped."""

    def drive(
        self, shares: Sequence[Plan], on_interval: OnInterval, rounds: RoundsOptions | None = None
    ) -> list[DriveRecord]:
        """Load the endpoints of one share, or of several by turns in rounds; pass each interval on as it ends.

        In rounds a share that ends before the time, because its server is gone, ends all of them; every record says
        so. There is a record a share, in their order.

        Raises:
            DriveFailed: no connection could be made, or a plan cannot be driven; with the server's own message. In
                rounds that is a plan that ends by a number of operations or keys, whose rate or users change by a
                schedule, or that begins at a set time.
        """

    def stop(self) -> None:
        """End the drive within 100 ms, and later ones at once. From any thread, and more than once."""


def drive_alone(driver: Driver, share: Plan, on_interval: Callable[[Interval], None] = lambda _: None) -> DriveRecord:
    """One share from its beginning to its end. Raises as `Driver.drive`."""
    return driver.drive([share], lambda _, interval: on_interval(interval))[0]
