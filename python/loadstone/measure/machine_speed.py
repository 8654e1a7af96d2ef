"""Measures how fast each CPU is now: a fixed piece of work, timed on it.

The clock is the thread's own: what other programs take of the CPU does not count, that is observed apart
(`monitors/host/others.py`). What remains is the CPU's clock, its shared caches and the other thread of its core.
"""

import hashlib
import os
import time
from collections.abc import Iterable

ROUNDS = 8_000
"""A few milliseconds on the CPUs of 2026."""
TRIES = 3
"""The fastest counts: an interrupt can only slow the work down."""
CPUS_MAX = 16
"""More are not measured, so that a machine of many CPUs does not wait for it between trials."""


def machine_speed(cpus: Iterable[int]) -> dict[int, int]:
    """CPU -> nanoseconds for the same work; empty where threads cannot be pinned."""
    if not hasattr(os, "sched_setaffinity"):
        return {}
    before = os.sched_getaffinity(0)
    speeds_ns = {}
    try:
        for cpu in list(dict.fromkeys(cpus))[:CPUS_MAX]:
            os.sched_setaffinity(0, {cpu})
            speeds_ns[cpu] = min(_work_ns() for _ in range(TRIES))
    except OSError:  # a CPU that is ours no more
        return {}
    finally:
        os.sched_setaffinity(0, before)
    return speeds_ns


def speed_facts(before: dict[int, int], after: dict[int, int]) -> dict[str, tuple[int, int]]:
    """`cpu<number>` -> the work's time before and after a drive, as the trial's facts have it."""
    return {f"cpu{cpu}": (before[cpu], after[cpu]) for cpu in before if cpu in after}


def _work_ns() -> int:
    began = time.thread_time_ns()
    hashlib.pbkdf2_hmac("sha256", b"loadstone", b"a fixed piece of work", ROUNDS)
    return time.thread_time_ns() - began
