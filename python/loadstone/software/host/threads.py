"""What Linux reports of the threads of a process (/proc/PID/task), where psutil reports of the process only."""

import os
import re
import threading
import time
import weakref
from pathlib import Path
from typing import NamedTuple

PROC = Path("/proc")
_SWITCHES = re.compile(r"^(?:non)?voluntary_ctxt_switches:\s+(\d+)$", re.MULTILINE)


class Scheduled(NamedTuple):
    """One thread since it began."""

    ran_s: float
    waited_s: float
    """Ready to run, and no CPU for it."""


def scheduled(pid: int | str) -> dict[int, Scheduled]:
    """Thread id -> what it ran and waited; empty where the system does not tell."""
    times_of = ((int(task.name), _scheduled(task)) for task in _tasks(pid))
    return {thread: times for thread, times in times_of if times is not None}


def main_thread(pid: int) -> Scheduled | None:
    """The thread that the process began with; None where the system does not tell."""
    return _scheduled(PROC / str(pid) / "task" / str(pid))


def switches(pid: int | str) -> tuple[int, int] | None:
    """Voluntary and involuntary context switches of all threads that live; None where the system does not tell."""
    totals = [0, 0]
    observed = False
    for task in _tasks(pid):
        try:
            counts = _SWITCHES.findall((task / "status").read_text())
        except OSError:
            continue
        if len(counts) == 2:
            observed = True
            totals[0] += int(counts[0])
            totals[1] += int(counts[1])
    return (totals[0], totals[1]) if observed else None


def _scheduled(task: Path) -> Scheduled | None:
    try:
        ran_ns, waited_ns, _ = (task / "schedstat").read_text().split()
    except (OSError, ValueError):
        return None
    return Scheduled(int(ran_ns) / 1e9, int(waited_ns) / 1e9)


def _tasks(pid: int | str) -> list[Path]:
    try:
        return list((PROC / str(pid) / "task").iterdir())
    except OSError:
        return []


PERIOD_S = 0.01
_FORGOTTEN_S = 10.0
"""Nobody asks any more: the thread ends."""


class DiskWaits:
    """For how much of the time the main thread of a process waits for the disk: looked at a hundred times a second.

    The kernel counts that for each thread (`delayacct_blkio_ticks`) only where it was told to; what state a thread is
    in it always reports, to everyone. A thread in state D waits for the disk (an fsync, a read of a file) and can do
    nothing else. It is looked at until the process is gone, or nobody has asked for a while.
    """

    def __init__(self, pid: int) -> None:
        self._looks = self._there = 0
        self._asked_s = time.monotonic()
        try:
            self._file: int | None = os.open(f"/proc/{pid}/task/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # gone, or no Linux
            self._file = None
            return
        threading.Thread(target=_look_on, args=(weakref.ref(self), self._file), name="disk waits", daemon=True).start()

    def share(self) -> float | None:
        """Of the time since it was last asked; None where nothing was seen."""
        self._asked_s = time.monotonic()
        looks, there = self._looks, self._there
        self._looks = self._there = 0
        return there / looks if looks else None

    def look(self, file: int) -> bool:
        """Look once: whether somebody still asks. Raises OSError if the process is gone."""
        state = os.pread(file, 80, 0).rpartition(b")")[2][1:2]
        self._looks += 1
        self._there += state == b"D"
        return time.monotonic() - self._asked_s < _FORGOTTEN_S


def _look_on(seen: "weakref.ref[DiskWaits]", file: int) -> None:
    """What the thread does: it keeps nobody, and so ends with whoever asked."""
    try:
        while (waits := seen()) is not None and waits.look(file):
            del waits
            time.sleep(PERIOD_S)
    except OSError:  # the process is gone
        pass
    finally:
        os.close(file)
