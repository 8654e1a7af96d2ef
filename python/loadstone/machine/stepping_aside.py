"""This process' own threads make way for the parts that are measured, while the generator stays awake.

A generator that polls leaves nothing of its CPU, so what else this process does (samples, the display) runs on the
server's. There a waking server does not displace it before its time is over: half of the demo's rows at a fixed rate
had two or three waits of 3 ms each, and a P99 of 3 ms instead of 65 us. A thread of the policy SCHED_IDLE is displaced
at once (sched(7)).
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_TASKS = Path("/proc/self/task")
_STATUS = Path("/proc/self/status")
_CAP_SYS_NICE = 23
_OF_ENGINE = ("engine-", "rounds", "receiver")
"""Threads of the engine that make the load, by the beginning of their names."""
_OF_DRIVE = ("sampler", "disk waits", "collector")
"""Threads that end with the drive, or soon after."""


@contextmanager
def stepping_aside() -> Iterator[None]:
    """Every thread of this process but the engine's runs only where nobody else wants the CPU.

    Who may not take a thread back from that (it takes CAP_SYS_NICE) has it for the threads that end with the drive.
    Where the system has no such policy, nothing is changed.
    """
    if not hasattr(os, "SCHED_IDLE") or os.sched_getscheduler(0) != os.SCHED_OTHER:
        yield  # no such policy, or whoever started this process chose another one
        return
    back = _may_come_back()
    for tid, name in _threads().items():
        if not name.startswith(_OF_ENGINE) and (back or name in _OF_DRIVE):
            _set(tid, os.SCHED_IDLE)
    try:
        yield
    finally:
        for tid in _threads() if back else ():  # those, too, that began meanwhile
            _set(tid, os.SCHED_OTHER)


def _threads() -> dict[int, str]:
    """Thread id -> its name, by Python where it knows the thread."""
    named = {one.native_id: one.name for one in threading.enumerate()}
    found = {}
    for task in _TASKS.iterdir():
        with suppress(OSError):
            tid = int(task.name)
            found[tid] = named.get(tid) or (task / "comm").read_text().strip()
    return found


def _may_come_back() -> bool:
    with suppress(OSError, ValueError, StopIteration):
        line = next(one for one in _STATUS.read_text().splitlines() if one.startswith("CapEff:"))
        return bool(int(line.split()[1], 16) >> _CAP_SYS_NICE & 1)
    return False


def _set(tid: int, policy: int) -> None:
    with suppress(OSError):  # the thread has ended
        os.sched_setscheduler(tid, policy, os.sched_param(0))
