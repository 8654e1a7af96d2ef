"""A part that works in many processes, which come and go: all of them together."""

import contextlib
import os
import time
from collections.abc import Collection, Iterator, Sequence

import psutil

from loadstone.machine import process_table
from loadstone.observe.counter_rates import Rates
from loadstone.observe.sample import Monitor, Sample
from loadstone.observe.watch import Watch
from loadstone.software.host import tasks
from loadstone.software.host.metrics import OF_PROCESS
from loadstone.software.host.processes import PROC, RATES, cpu_seconds
from loadstone.software.metric import by_name


class ProcessTreeMonitor:
    """The process `pid` and all below it, as `part`. Once it died only `alive` 0 is reported.

    CPU time is that of the processes that live and of those that ended, which their parents have. Memory is what the
    processes share, once, and what each has of its own.
    """

    METRICS = by_name(OF_PROCESS)

    def __init__(self, part: str, pid: int, workers: Sequence[int] = ()) -> None:
        """`workers`: those below it that each work in their main thread; the busiest one stands for the part's."""
        self._part = part
        self._workers = workers
        self._waited_s = 0.0
        self._root: psutil.Process | None = None
        with contextlib.suppress(psutil.Error):
            self._root = psutil.Process(pid)
        self._cpu_s = 0.0
        self._rates = Rates(self._counters(self._members()))
        self._thread_rates = Rates(self._threads())
        self._sampled_s = time.monotonic()

    @classmethod
    def watching(cls, watch: Watch) -> list[Monitor]:
        """One for each part that works in many processes."""
        trees = ((part, pid) for part, pid in watch.pids.items() if part in watch.trees)
        return [cls(part, pid, watch.workers.get(part, ())) for part, pid in trees]

    def sample(self, unix_s: float) -> Iterator[Sample]:
        """Gauges now, and the share since they were last reported."""
        members = self._members()
        counters = self._counters(members)
        reported = {"alive": float(bool(counters))}
        if counters:
            rates = {RATES[name]: rate for name, rate in self._rates.of(counters).items()}
            reported |= counters | rates | _gauges(members) | self._busiest()
        for name, value in reported.items():
            yield Sample(unix_s, self._part, name, value)

    def _busiest(self) -> dict[str, float]:
        """The main thread of the worker that is limited most by its own; nothing where there are no workers."""
        if not self._workers:
            return {}
        rates, now_s = self._thread_rates.of(self._threads()), time.monotonic()
        shares = [(rates[f"{pid} ran"], rates[f"{pid} waited"]) for pid in self._workers if f"{pid} ran" in rates]
        found: dict[str, float] = {"workers": float(len(self._workers))}
        if shares:
            ran, waited = max(shares, key=sum)
            self._waited_s += waited * (now_s - self._sampled_s)
            self._sampled_s = now_s
            found |= {"main_thread_share": ran, "main_thread_wait_share": waited}
        return found | {"main_thread_wait_s": self._waited_s}

    def _threads(self) -> dict[str, float]:
        """What the main thread of each worker ran and waited for a CPU so far, in seconds."""
        found: dict[str, float] = {}
        for pid in self._workers:
            main = tasks.main_thread(pid)
            if main is not None:
                found |= {f"{pid} ran": main.ran_s, f"{pid} waited": main.waited_s}
        return found

    def _members(self) -> set[int]:
        """None of them once the first one ended: others may have its children by now."""
        if cpu_seconds(self._root) is None or self._root is None:
            return set()
        return process_table.tree([self._root.pid])

    def _counters(self, members: Collection[int]) -> dict[str, float]:
        there = ((pid, one) for pid in members if (one := process_table.process(pid)) is not None)
        spent_ns = [(process_table.cpu_ns(pid) or 0) + one.children_ns for pid, one in there]
        if not spent_ns:  # their sum may be 0: of a process that just began the kernel has counted nothing yet
            return {}
        # Parents have the time of ended children in whole ticks only.
        self._cpu_s = max(self._cpu_s, sum(spent_ns) / 1e9)
        return {"cpu_s": self._cpu_s}


def _gauges(members: Collection[int]) -> dict[str, float]:
    found = {"rss_bytes": 0.0, "threads": 0.0, "fds": 0.0}
    shared = [0.0]
    for pid in members:
        with contextlib.suppress(psutil.Error, OSError):
            process = psutil.Process(pid)
            with process.oneshot():
                memory, threads = process.memory_info(), process.num_threads()
            files = len(os.listdir(f"{PROC}/{pid}/fd"))  # noqa: PTH208
            common = float(getattr(memory, "shared", 0))
            shared.append(common)
            found["rss_bytes"] += memory.rss - common
            found["threads"] += threads
            found["fds"] += files
    return found | {"rss_bytes": found["rss_bytes"] + max(shared)}
