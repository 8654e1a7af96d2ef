"""What Linux reports of the threads of a process (/proc/PID/task), where psutil reports of the process only."""

import re
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
