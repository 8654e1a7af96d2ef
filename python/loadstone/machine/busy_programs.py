"""Which programs use this machine's CPUs now. Linux; elsewhere none is known."""

import os
import time
from collections import defaultdict

from loadstone.machine import process_table


def busy_programs(length_s: float) -> dict[str, float] | None:
    """Program -> the cores that it took in the next `length_s` seconds, who took most first; without this process.

    Programs of one name count together. None where the system does not tell what processes take.
    """
    before = _spent_ns()
    if not before:
        return None
    began_s = time.monotonic()
    time.sleep(length_s)
    now, elapsed_s = _spent_ns(), time.monotonic() - began_s
    found: defaultdict[str, float] = defaultdict(float)
    for pid, spent_ns in now.items():
        grown_ns = spent_ns - before.get(pid, 0)
        if grown_ns <= 0 or (one := process_table.process(pid)) is None or one.kernel:
            continue
        found[one.name] += grown_ns / 1e9 / elapsed_s
    return dict(sorted(found.items(), key=lambda one: -one[1]))


def _spent_ns() -> dict[int, int]:
    """Process -> CPU time so far, of all but this one."""
    there = (pid for pid in process_table.pids() if pid != os.getpid())
    return {pid: spent_ns for pid in there if (spent_ns := process_table.cpu_ns(pid)) is not None}
