"""The threads of this process that make no load: which CPUs they keep to, and how long they ran on the servers' CPUs.

Python that runs on a server's CPU while that is measured makes the latencies that are then printed as the server's.
"""

import os
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

TASKS = Path("/proc/self/task")
_PROCESSOR = 36
"""Where `stat` of a thread has the CPU that it ran on last, counted from behind its name."""


@contextmanager
def kept_to(cpus: Collection[int]) -> Iterator[None]:
    """Keep all threads of this process, and those that they start, to these CPUs; those of before get theirs back.

    The engine's threads that make load pin themselves. With no CPUs, or where the system refuses, nothing is done.
    """
    before = _moved(cpus) if cpus and hasattr(os, "sched_setaffinity") else {}
    try:
        yield
    finally:
        for thread, mask in before.items():
            with suppress(OSError):
                os.sched_setaffinity(thread, mask)


def _moved(cpus: Collection[int]) -> dict[int, set[int]]:
    before: dict[int, set[int]] = {}
    for thread in _threads():
        with suppress(OSError):
            mask = os.sched_getaffinity(thread)
            os.sched_setaffinity(thread, cpus)
            before[thread] = mask
    return before


class ServerCpuTime:
    """Nanoseconds for which threads of this process ran on the servers' CPUs while it counts.

    A thread's time goes to the CPU that it ran on last. Threads of a drive that make load are pinned to the generator's
    CPUs, and so are counted only where generator and servers share one: there they are left out by their names.
    """

    def __init__(self, server_cpus: Collection[int]) -> None:
        self._cpus = frozenset(server_cpus) if sys.platform == "linux" else frozenset[int]()
        self._before: Mapping[int, int] | None = None
        self._began_ns = 0
        self._counted_ns = 0
        self.ns = 0
        """Nanoseconds so far."""

    @property
    def share(self) -> float | None:
        """Return the share of the time that was counted; None where none was, or where no server's CPU is known."""
        return self.ns / self._counted_ns if self._counted_ns and self._cpus else None

    def begin(self) -> None:
        """Count from now on, if it does not already."""
        if self._before is None:
            self._before, self._began_ns = _ran_ns(), time.monotonic_ns()

    def end(self) -> None:
        """Count no more until it begins again."""
        if self._before is not None:
            now_ns, before, self._before = time.monotonic_ns(), self._before, None
            self._counted_ns += now_ns - self._began_ns
            self.ns += sum(max(0, ran - before.get(thread, 0)) for thread, ran in _ran_ns(self._is_there).items())

    def _is_there(self, thread: int, name: str, cpu: int) -> bool:
        """Whether a thread makes no load, may run on one of the CPUs, and did so last."""
        return cpu in self._cpus and _WORKER not in name and bool(os.sched_getaffinity(thread) & self._cpus)


def _ran_ns(counts: Callable[[int, str, int], bool] | None = None) -> dict[int, int]:
    """Thread -> what it ran since it began, of all or of those that count: by number, name and last CPU."""
    ran: dict[int, int] = {}
    for thread in _threads():
        with suppress(OSError, ValueError, IndexError):
            if counts is not None:
                name, _, fields = (TASKS / str(thread) / "stat").read_text().rpartition(")")
                if not counts(thread, name, int(fields.split()[_PROCESSOR])):
                    continue
            ran[thread] = int((TASKS / str(thread) / "schedstat").read_text().split()[0])
    return ran


_WORKER = "(engine-"
"""Beginning of the names of the engine's threads that make load."""


def _threads() -> list[int]:
    try:
        return [int(name) for name in os.listdir(TASKS)]  # noqa: PTH208 (plain numbers)
    except OSError:
        return []
