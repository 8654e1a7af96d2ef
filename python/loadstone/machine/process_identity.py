"""Which process a number means. A process id is given out again, so a process is named by its start and program, too.

Standard library only: the guard runs with nothing else. Linux; elsewhere no process is identified.
"""

import contextlib
import os
import signal
from collections.abc import Callable
from typing import NamedTuple

PROC = "/proc"
BOOT_ID = "/proc/sys/kernel/random/boot_id"


class ProcessIdentity(NamedTuple):
    """One process, as no other one ever is."""

    pid: int
    started_ticks: int
    """When it started, in clock ticks since the machine did: field 22 of /proc/PID/stat, see proc_pid_stat(5)."""
    boot: str
    """The kernel's id of this start of the machine: after another one the ticks start again."""
    command: str
    """Path of the program that it runs; empty where that may not be read."""


def identify(pid: int) -> ProcessIdentity | None:
    """The process that has this id now; None if no process has it, or the system does not say."""
    started_ticks = started(pid)
    if started_ticks is None:
        return None
    return ProcessIdentity(pid, started_ticks, boot_id(), _program(pid))


def started(pid: int) -> int | None:
    """When a process started, in clock ticks since the machine did; None if it is gone, or the system does not say."""
    fields = _stat(pid)
    return int(fields[19]) if len(fields) > 19 and fields[0] not in (b"Z", b"X") else None


def boot_id() -> str:
    """The kernel's id of this start of the machine; empty where it has none."""
    with contextlib.suppress(OSError), open(BOOT_ID) as file:  # noqa: PTH123 (pathlib would double a guard's start-up)
        return file.read().strip()
    return ""


def end_identified(required: ProcessIdentity) -> bool:
    """SIGKILL to a process, if it is still the one that was written down; whether it was sent."""
    return signal_if(
        required.pid, signal.SIGKILL, lambda: bool(required.command) and identify(required.pid) == required
    )


def signal_if(pid: int, number: int, still: Callable[[], bool]) -> bool:
    """Send a signal to a process of which `still` holds; whether it was sent.

    `still` is called while a file descriptor holds the process (pidfd_open(2)), so the signal cannot reach another
    one that was given the id after it was looked at. Never sent to process 1 or below (kill(2) takes those for all
    processes), to this process, to one that it descends from, or to its own process group.
    """
    if pid <= 1 or pid in _own_line():
        return False
    handle = _open(pid)
    try:
        if os.getpgid(pid) == os.getpgrp() or not still():
            return False
        if handle is None:
            os.kill(pid, number)
        else:
            signal.pidfd_send_signal(handle, number)
    except (ProcessLookupError, PermissionError):
        return False
    else:
        return True
    finally:
        if handle is not None:
            os.close(handle)


def _open(pid: int) -> int | None:
    """A file descriptor of the process; None where the system has none, or the process is gone."""
    if hasattr(os, "pidfd_open"):
        with contextlib.suppress(OSError):
            return os.pidfd_open(pid)
    return None


def _own_line() -> set[int]:
    """This process and all that it descends from."""
    line = {os.getpid(), os.getppid()}
    parent = os.getppid()
    while parent > 1:
        fields = _stat(parent)
        parent = int(fields[1]) if len(fields) > 1 else 0
        line.add(parent)
    return line


def _program(pid: int) -> str:
    with contextlib.suppress(OSError):
        return os.readlink(f"{PROC}/{pid}/exe").removesuffix(" (deleted)")  # noqa: PTH115
    return ""


def _stat(pid: int) -> list[bytes]:
    """The fields of /proc/PID/stat from the third on; the second one, a name, may hold anything."""
    with contextlib.suppress(OSError), open(f"{PROC}/{pid}/stat", "rb") as stat:  # noqa: PTH123
        return stat.read().rpartition(b")")[2].split()
    return []
