"""The time since 1970 that no setting of the wall clock changes: for all that is subtracted from each other later.

The wall clock is read once, when the process starts; from there on the machine's own clock counts, which goes on
while the machine sleeps where the system has such a one.
"""

import time

NOISE_NS = 10_000_000
"""The wall clock may be slowed or hurried by so much without anybody having set it."""
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def _ticks_ns() -> int:
    return time.clock_gettime_ns(_CLOCK)


_BASE_NS = time.time_ns() - _ticks_ns()


def unix_ns() -> int:
    """Nanoseconds since 1970, as the wall clock would say had no one set it since this process started."""
    return _BASE_NS + _ticks_ns()


def unix_s() -> float:
    """Return the time in seconds."""
    return unix_ns() / 1e9


def ahead_of_wall_ns() -> int:
    """What is to be added to a reading of the wall clock made now; 0 but for noise if no one set it."""
    return unix_ns() - time.time_ns()


def set_ahead_of_wall_ns() -> int:
    """Return the difference, or exactly 0 where it is noise: for the times of a program that reads the wall clock
    once."""
    ahead_ns = ahead_of_wall_ns()
    return ahead_ns if abs(ahead_ns) > NOISE_NS else 0
