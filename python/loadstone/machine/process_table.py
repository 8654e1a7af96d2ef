"""Processes as the kernel counts them: plain calls, for there may be hundreds and they are looked at each second.

CPU times come to the nanosecond where the kernel tells them so. Linux only; elsewhere everything is empty or None.
"""

import contextlib
import os
import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

PROC = "/proc"
PROCESS_CPU_CLOCK = 2
"""The kernel's number for the clock of all threads of a process, as clock_getcpuclockid(3) makes it."""
KERNEL_THREAD = 0x00200000
"""Flag of a thread of the kernel itself (PF_KTHREAD)."""
TICK_NS = 10**9 // os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
UNNAMED = "unnamed"
"""A program whose name has no letter that may be printed."""
_NAME = re.compile(r"[^A-Za-z0-9 ._+@/-]")
"""What is replaced in a program's name: any process chooses its own, and it ends up in reports and on terminals."""


class Process(NamedTuple):
    """One process at one moment."""

    parent: int
    kernel: bool
    """Whether it is a thread of the kernel itself."""
    threads: int
    cpu: int
    """Where its first thread ran last."""
    children_ns: int
    """CPU time of its children that ended, and of theirs, in whole ticks."""
    system_ns: int = 0
    """Kernel part of the process's own CPU time, in nanoseconds; it grows in whole clock ticks."""
    children_system_ns: int = 0
    """Kernel part of `children_ns`, in nanoseconds."""
    name: str = UNNAMED
    """Name of its program, at most 15 letters: without its arguments, which may hold secrets, and its user."""


def pids() -> list[int]:
    """All processes that can be observed."""
    if sys.platform != "linux":
        return []
    return [int(name) for name in os.listdir(PROC) if name.isdecimal()]  # noqa: PTH208


def cpu_ns(pid: int) -> int | None:
    """CPU time of all threads of a process, those that ended included; None if it is gone."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            return time.clock_gettime_ns(~pid << 3 | PROCESS_CPU_CLOCK)
    return None


def resident_bytes(pid: int) -> int:
    """Memory of a process that lies in RAM; 0 if it is gone."""
    try:
        return int(_text(f"{PROC}/{pid}/statm").split()[1]) * PAGE_BYTES
    except OSError:
        return 0


def process(pid: int) -> Process | None:
    """What the kernel tells of a process; None if it is gone."""
    try:
        head, _, rest = _text(f"{PROC}/{pid}/stat").rpartition(b")")
    except OSError:
        return None
    fields = rest.split()
    return Process(
        parent=int(fields[1]),
        kernel=bool(int(fields[6]) & KERNEL_THREAD),
        threads=int(fields[17]),
        cpu=int(fields[36]),
        children_ns=(int(fields[13]) + int(fields[14])) * TICK_NS,
        system_ns=int(fields[12]) * TICK_NS,
        children_system_ns=int(fields[14]) * TICK_NS,
        name=safe_name(head.partition(b"(")[2]),
    )


def children(pid: int) -> list[int]:
    """The processes that the first thread of a process began, as far as they live; empty where the kernel does not
    list them."""
    with contextlib.suppress(OSError, ValueError):
        return [int(child) for child in _text(f"{PROC}/{pid}/task/{pid}/children").split()]
    return []


def safe_name(name: bytes) -> str:
    """A process's name for people: plain letters alone, `?` for any other one.

    Without the beginning of a path that some put behind it: `node /home/ann/a` is `node`.
    """
    text = " ".join(_NAME.sub("?", name.decode(errors="replace").partition(" /")[0]).split())
    return text if text.strip("? ") else UNNAMED


def threads_ns(pid: int) -> dict[int, int]:
    """Thread of a process -> how long it ran; empty where the kernel does not count that."""
    ran_ns: dict[int, int] = {}
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"{PROC}/{pid}/task"):  # noqa: PTH208
            with contextlib.suppress(OSError, ValueError):
                ran_ns[int(thread)] = int(_text(f"{PROC}/{pid}/task/{thread}/schedstat").split()[0])
    return ran_ns


def thread_cpu(pid: int, thread: int) -> int | None:
    """Where a thread ran last; None if it is gone."""
    fields = _fields(f"{PROC}/{pid}/task/{thread}/stat")
    return None if fields is None else int(fields[36])


def tree(roots: Iterable[int]) -> set[int]:
    """These processes and all below them."""
    members, new = set[int](), set(roots)
    parents = {pid: listed.parent for pid in pids() if (listed := process(pid)) is not None}
    while new:
        members |= new
        new = {pid for pid, parent in parents.items() if parent in new} - members
    return members


def tree_cpu_ns(roots: Iterable[int]) -> dict[int, int]:
    """CPU time of each of these processes and of all below them, as far as they live."""
    return {pid: spent_ns for pid in tree(roots) if (spent_ns := cpu_ns(pid)) is not None}


def busy_programs(length_s: float) -> dict[str, float] | None:
    """Program -> the cores that it took in the next `length_s` seconds, who took most first; without this process.

    Programs of one name count together. None where the system does not tell what processes take.
    """
    before = _spent_by_others_ns()
    if not before:
        return None
    began_s = time.monotonic()
    time.sleep(length_s)
    now, elapsed_s = _spent_by_others_ns(), time.monotonic() - began_s
    cores: defaultdict[str, float] = defaultdict(float)
    for pid, spent_ns in now.items():
        grown_ns = spent_ns - before.get(pid, 0)
        if grown_ns <= 0 or (busy := process(pid)) is None or busy.kernel:
            continue
        cores[busy.name] += grown_ns / 1e9 / elapsed_s
    return dict(sorted(cores.items(), key=lambda item: -item[1]))


def _spent_by_others_ns() -> dict[int, int]:
    """Process -> CPU time so far, of all but this one."""
    there = (pid for pid in pids() if pid != os.getpid())
    return {pid: spent_ns for pid in there if (spent_ns := cpu_ns(pid)) is not None}


def _fields(path: str) -> list[bytes] | None:
    """The fields of a `stat` after the name, which may hold anything."""
    try:
        return _text(path).rpartition(b")")[2].split()
    except OSError:
        return None


def _text(path: str) -> bytes:
    file = os.open(path, os.O_RDONLY)
    try:
        return os.read(file, 4096)
    finally:
        os.close(file)
