"""Drives in rounds (`Driver.drive`): several shares of a plan become load by turns, a slice each in every round.

All their pools are open at once. A slice is driven and not measured for a while (it settles), measured, and drained
until nothing is in flight; then the drive is paused and the next one has its slice. Time paused does not exist for a
drive: its think times, timeouts and arrivals go on where they stopped. Each has one ordinary record, with its slices.
"""

from pydantic import BaseModel, ConfigDict, Field


class ProcessOfDrive(BaseModel):
    """A process of ours that a drive needs, as no other one ever is: process ids are given out again."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pid: int
    """It stands still with its whole process group, if it leads one."""
    started_ticks: int
    """See `machine.process_identity`."""


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
    """By drive: the process ids of each part whose CPU time is read at both ends of its windows; or none at all."""
    paused: tuple[tuple[ProcessOfDrive, ...], ...] = ()
    """By drive: the processes that it needs. One that not every drive needs stands still (SIGSTOP) in the slices of
    those that do not, and runs again at the end, however that comes; or none at all."""
