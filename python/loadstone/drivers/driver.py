"""The driver seam: what turns shares of plans into load, one alone or several in rounds.

In rounds all their pools are open at once. A slice is driven and not measured for a while (it settles), measured, and
drained until nothing is in flight; then the drive is paused and the next one has its slice. Time paused does not exist
for a drive: its think times, timeouts and arrivals go on where they stopped. Each has one ordinary record, with its
slices.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from pydantic import BaseModel, ConfigDict, Field

from loadstone.drivers.outcome import DriveRecord, Interval
from loadstone.experiment.plan.drive_plan import Plan


class ProcessOfDrive(BaseModel):
    """A process of ours that a drive needs, as no other one ever is: process ids are given out again."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pid: int
    """It stands still with its whole process group, if it leads one."""
    started_ticks: int
    """See `machine.process_identity`."""


class Timetable(BaseModel):
    """When slices begin, so that those of several agents do together.

    The first one begins when the load does, each later one after all that those before it may take. One that cannot
    begin in time, because the one before it was not drained by then, is left out: the record has no such slice.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    pause_s: float = Field(gt=0)
    """For the drain, between a slice's load and the next one's."""
    edge_s: float = Field(default=0.0, ge=0)
    """For so long the load goes on before and after what is measured: agents' clocks may differ by that."""


class RoundsOptions(BaseModel):
    """What the rounds of several drives are like. Drives are numbered from 0 on, in the order of their shares."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    slice_s: float = Field(default=0.1, gt=0)
    """The measured window of a slice. It takes the place of the shares' `measure_s`."""
    settle_s: float = Field(default=0.015, ge=0)
    """What is driven before the window and not measured. A share's `warm_up_s` comes once, before the first round."""
    orders: tuple[tuple[int, ...], ...]
    """A round each: the number of every drive once, in the order of their slices."""
    parts: tuple[dict[str, tuple[int, ...]], ...] = ()
    """Process ids of each part whose CPU time is read at both ends of its windows, for each drive; or none at all."""
    paused: tuple[tuple[ProcessOfDrive, ...], ...] = ()
    """Processes that each drive needs. One that not every drive needs stands still (SIGSTOP) in the slices of those
    that do not, and runs again at the end, however that comes; or none at all."""
    timetable: Timetable | None = None
    """None: each slice begins when the one before it is drained."""
    rest_every_s: float | None = Field(default=None, gt=0)
    """Time after a rest until there is another one, between two slices. Intervals are passed on in rests alone. None:
    there are none; a timetable has none."""


OnInterval = Callable[[int, Interval], None]
"""Gets each interval after it ended, with the place of its share in the drive: in rounds in the next rest, else within
some seconds, since to take one costs the generator time. What it raises ends the drive."""
OnRest = Callable[[], None]
"""Called again and again while a drive goes on: in rounds in each rest, when nothing is driven; else several times a
second, and then it should be short. What it raises ends the drive."""


def nothing() -> None:
    """Do nothing in a rest."""


class Driver(Protocol):
    """Makes one drive after another: each from its plans to its end, or until it is stopped."""

    def drive(
        self,
        shares: Sequence[Plan],
        on_interval: OnInterval,
        rounds: RoundsOptions | None = None,
        on_rest: OnRest = nothing,
    ) -> list[DriveRecord]:
        """Load the endpoints of one share, or of several by turns in rounds; pass each interval on as it ends.

        Both callbacks run in the calling thread, which waits otherwise.

        In rounds a share that ends before the time, because its server is gone, ends all of them; every record says
        so. There is a record a share, in their order.

        Raises:
            DriveFailed: no connection could be made, or a plan cannot be driven; with the server's own message. In
                rounds that is a plan that ends by a number of operations or keys, whose rate or users change by a
                schedule, or that begins at a set time.
        """

    def stop(self) -> None:
        """End the drive within 100 ms, and later ones at once. From any thread, and more than once."""


def drive_alone(
    driver: Driver,
    share: Plan,
    on_interval: Callable[[Interval], None] = lambda _: None,
    on_rest: OnRest = nothing,
) -> DriveRecord:
    """One share from its beginning to its end. Raises as `Driver.drive`."""
    return driver.drive([share], lambda _, interval: on_interval(interval), None, on_rest)[0]
