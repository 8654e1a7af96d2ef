"""Determines how a part of ours ended: by itself, by a signal, or by the kernel's OOM killer (out of memory)."""

import contextlib
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol, runtime_checkable

EVENTS = ("memory.events", "memory.oom_control")
"""The files of a control group, version 2 and 1, with a line `oom_kill N`."""
MACHINE = Path("/proc/vmstat")


@runtime_checkable
class HasExitStatus(Protocol):
    """What a server or subject offers beside, if it can be found out why it ended."""

    def oom_kills(self) -> int | None:
        """Return how many of its processes the OOM killer ended since its start; None where no one counts them."""

    def how_it_ended(self) -> str:
        """As `it was killed by signal 9 (SIGKILL)`; empty while it runs, and where no one knows."""


def oom_kills_of_group(group: Path | None) -> int | None:
    """Processes of a control group that the OOM killer ended; None without a group, or where it is not counted."""
    for name in EVENTS if group is not None else ():
        if group is not None and (count := _count(group / name)) is not None:
            return count
    return None


def oom_kills_of_machine() -> int | None:
    """Processes that the OOM killer ended since the machine started; None where it is not counted."""
    return _count(MACHINE)


def oom_kills_of(parts: Iterable[HasExitStatus]) -> int | None:
    """Return the OOM kills of all these parts together; None if none is counted."""
    counts = [count for part in parts if (count := part.oom_kills()) is not None]
    return sum(counts) if counts else None


def ending_of_process(status: int | None) -> str:
    """What an exit status says; negative: the signal. Empty for None."""
    if status is None:
        return ""
    if status >= 0:
        return f"it ended with status {status}"
    with contextlib.suppress(ValueError):
        return f"it was killed by signal {-status} ({signal.Signals(-status).name})"
    return f"it was killed by signal {-status}"


def _count(file: Path) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        for line in file.read_text().splitlines():
            name, _, count = line.partition(" ")
            if name == "oom_kill":
                return int(count)
    return None
