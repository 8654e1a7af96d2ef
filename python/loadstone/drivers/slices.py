"""A slice of a drive that takes turns with others, and the CPU time of each part in it."""

from dataclasses import field

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

_STRICT = ConfigDict(extra="forbid")


@dataclass(config=_STRICT, frozen=True, slots=True, kw_only=True)
class PartSlice:
    """CPU seconds of a part; None where a process of it was gone, or the system does not report it."""

    cpu_s: float | None
    system_s: float | None = None
    """Kernel part of it, in whole ticks of 10 ms: a figure for many slices together."""
    main_s: float | None = None
    """For a part that is one process, the CPU time of its main thread."""
    main_wait_s: float | None = None
    """For which that thread was ready to run and had no CPU."""
    main_runs: int | None = None
    """How often that thread was given a CPU: it had slept, or lost its CPU to others."""
    main_disk_s: float | None = None
    """For which that thread waited for the disk, by looking at it every few milliseconds."""
    paused_cpu_s: float | None = None
    """CPU seconds while the drive was paused before this slice; None before its first one, and where other drives use
    the part, too."""
    turn_cpu_s: float | None = None
    """CPU seconds of the whole turn, at whose ends the part is idle: to the nanosecond. At the ends of the window
    it works, and of a thread that never pauses the kernel's count is behind by up to a tick (4 ms). None as written
    before that was read."""


@dataclass(config=_STRICT, frozen=True, slots=True, kw_only=True)
class Slice:
    """One slice of a drive that takes turns with others; times in seconds since the first of them began.

    It was measured from `begin_s` to `end_s`, and nothing was in flight any more at `drained_s`. A slice in which the
    drive was stopped is as short as that made it. `offered` and `failed` (errors and timeouts) count the operations
    *intended* in the window, to their end; `completed` and `ok` count the replies that *came* in it.
    """

    round: int
    position: int
    """Its place within the round, from 0 on."""
    paused_s: float | None = None
    """For how long the drive was paused before; None of its first slice."""
    begin_s: float
    end_s: float
    drained_s: float
    offered: int
    completed: int
    ok: int
    ok_first_half: int | None = None
    """Replies of `ok` that came in the first half of the window; None as written before that was counted."""
    failed: int
    ended: int | None = None
    """Number of those intended in the window that ended, and their response times together; None as above."""
    response_sum_ns: int | None = None
    cpu_s: float
    """CPU time of the driver's threads in the window."""
    turn_ok: int | None = None
    """Correct replies of the whole turn: before the window, in it, and until `drained_s`; None as `turn_cpu_s`."""
    cpus_busy_s: float | None = None
    """What all CPUs of this machine did in the window, and what its host took from them (steal), to the system's tick
    (10 ms); None where the system does not report it, and as written before it was recorded."""
    parts: dict[str, PartSlice] = field(default_factory=dict)
    """The CPU time of each part in the window."""
