"""The processes of a part, one or many: their CPU, memory, threads, context switches, open files and sockets."""

import contextlib
import os
import time
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from pathlib import Path

import psutil

from loadstone.machine import process_table
from loadstone.monitors.host.threads import main_thread, switches
from loadstone.monitors.host.waits import ThreadWaitSampler
from loadstone.monitors.metric import by_name
from loadstone.monitors.metrics.host import OF_PROCESS
from loadstone.monitors.monitor import CounterRates, Monitor, Sample
from loadstone.monitors.watch import MonitorTargets

PROC = Path("/proc")
SOCKETS_SHARE = 0.02
"""Looking at each open file takes time: sockets are counted so rarely that it takes at most this share of a CPU."""
STOPPED = (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)
RATES = {
    "cpu_s": "cpu_share",
    "main_thread_s": "main_thread_share",
    "main_thread_wait_s": "main_thread_wait_share",
    "voluntary": "voluntary_per_s",
    "involuntary": "involuntary_per_s",
}
"""What only grows -> the name of its rate."""


COUNTERS = ("cpu_s", "system_s", "children_s", "main_thread_wait_s")
"""What only grows and is reported as it is, too."""


class ProcessMonitor:
    """The process `pid`, as `part`. What may not be observed is left out; once it died only `alive` 0 is reported."""

    METRICS = by_name(OF_PROCESS)

    def __init__(self, part: str, pid: int, *, stores: bool = False) -> None:
        """`stores`: whether it may wait for its disk, which is looked at then."""
        self._part = part
        self._process: psutil.Process | None = None
        with contextlib.suppress(psutil.Error):
            self._process = psutil.Process(pid)
        self._children_s = 0.0
        self._rates = CounterRates(self._counters())
        self._sockets_after_s = 0.0
        self._waits = ThreadWaitSampler(lambda: (pid,), main=pid if stores else None)

    @classmethod
    def watching(cls, watch: MonitorTargets) -> list[Monitor]:
        """One for each process, but for those that are observed with all below them."""
        stores = watch.stores.union(*watch.controls.values())
        own = ((part, pid) for part, pid in watch.pids.items() if part not in watch.trees)
        return [cls(part, pid, stores=part in stores) for part, pid in own]

    def sample(self, unix_s: float) -> Iterator[Sample]:
        """Gauges now, rates and shares since they were last reported."""
        counters = self._counters()
        reported = {"alive": float("cpu_s" in counters)}
        if "cpu_s" in counters:
            reported |= {name: counters[name] for name in COUNTERS if name in counters}
            rates = self._rates.of(counters)
            reported |= {RATES[name]: rate for name, rate in rates.items() if name in RATES}
            reported |= self._gauges()
            reported |= self._waits.figures()
        for name, value in reported.items():
            yield Sample(unix_s, self._part, name, value)

    def _counters(self) -> dict[str, float]:
        """What only grows; without `cpu_s` if the process is gone."""
        cpu_s = cpu_seconds(self._process)
        if self._process is None or cpu_s is None:
            return {}
        pid = self._process.pid
        counters = {"cpu_s": cpu_s} | self._of_kernel_and_children(pid)
        main = main_thread(pid)
        if main is not None:
            counters |= {"main_thread_s": main.ran_s, "main_thread_wait_s": main.waited_s}
        switched = switches(pid)
        if switched is not None:
            counters |= {"voluntary": float(switched[0]), "involuntary": float(switched[1])}
        return counters

    def _of_kernel_and_children(self, pid: int) -> dict[str, float]:
        """Its time in the kernel, and that of its children: of those that ended, and of those that live now."""
        itself = process_table.process(pid)
        if itself is None:
            return {}
        there = {child: process_table.process(child) for child in process_table.children(pid)}
        alive_ns = sum((process_table.cpu_ns(child) or 0) + one.children_ns for child, one in there.items() if one)
        # A child that ends leaves its time in whole ticks only.
        self._children_s = max(self._children_s, (itself.children_ns + alive_ns) / 1e9)
        return {"system_s": itself.system_ns / 1e9, "children_s": self._children_s}

    def _gauges(self) -> dict[str, float]:
        gauges: dict[str, float] = {}
        if self._process is None:
            return gauges
        with contextlib.suppress(psutil.Error, OSError), self._process.oneshot():
            gauges["rss_bytes"] = float(self._process.memory_info().rss)
            gauges["threads"] = float(self._process.num_threads())
            gauges["stopped"] = float(self._process.status() in STOPPED)
        return gauges | self._open_files(self._process)

    def _open_files(self, process: psutil.Process) -> dict[str, float]:
        """Open files, and the sockets among them if they are to be counted again; without what may not be observed."""
        # Plain `os` calls: there may be thousands of files, and this is done each second.
        folder = f"{PROC}/{process.pid}/fd"
        began_s = time.monotonic()
        try:
            names = os.listdir(folder)  # noqa: PTH208
        except OSError:
            with contextlib.suppress(psutil.Error):
                return {"fds": float(process.num_fds())}
            return {}
        counts = {"fds": float(len(names))}
        if began_s >= self._sockets_after_s:
            counts["sockets"] = float(sum(_is_socket(f"{folder}/{name}") for name in names))
            ended_s = time.monotonic()
            self._sockets_after_s = ended_s + (ended_s - began_s) / SOCKETS_SHARE
        return counts


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
        self._cpu_s = self._system_s = 0.0
        self._rates = CounterRates(self._counters(self._members()))
        self._thread_rates = CounterRates(self._threads())
        self._sampled_s = time.monotonic()
        self._waits = ThreadWaitSampler(partial(_tree, self._root))

    @classmethod
    def watching(cls, watch: MonitorTargets) -> list[Monitor]:
        """One for each part that works in many processes."""
        trees = ((part, pid) for part, pid in watch.pids.items() if part in watch.trees)
        return [cls(part, pid, watch.workers.get(part, ())) for part, pid in trees]

    def sample(self, unix_s: float) -> Iterator[Sample]:
        """Gauges now, and the share since they were last reported."""
        members = self._members()
        counters = self._counters(members)
        reported = {"alive": float(bool(counters))}
        if counters:
            rates = {RATES[name]: rate for name, rate in self._rates.of(counters).items() if name in RATES}
            reported |= counters | rates | _gauges(members) | self._busiest() | self._waits.figures()
        for name, value in reported.items():
            yield Sample(unix_s, self._part, name, value)

    def _busiest(self) -> dict[str, float]:
        """The main thread of the worker that is limited most by its own; nothing where there are no workers."""
        if not self._workers:
            return {}
        rates, now_s = self._thread_rates.of(self._threads()), time.monotonic()
        shares = [(rates[f"{pid} ran"], rates[f"{pid} waited"]) for pid in self._workers if f"{pid} ran" in rates]
        reported: dict[str, float] = {"workers": float(len(self._workers))}
        if shares:
            ran, waited = max(shares, key=sum)
            self._waited_s += waited * (now_s - self._sampled_s)
            self._sampled_s = now_s
            reported |= {"main_thread_share": ran, "main_thread_wait_share": waited}
        return reported | {"main_thread_wait_s": self._waited_s}

    def _threads(self) -> dict[str, float]:
        """What the main thread of each worker ran and waited for a CPU so far, in seconds."""
        times_s: dict[str, float] = {}
        for pid in self._workers:
            main = main_thread(pid)
            if main is not None:
                times_s |= {f"{pid} ran": main.ran_s, f"{pid} waited": main.waited_s}
        return times_s

    def _members(self) -> set[int]:
        return _tree(self._root)

    def _counters(self, members: Collection[int]) -> dict[str, float]:
        there = {pid: process for pid in members if (process := process_table.process(pid)) is not None}
        spent_ns = [(process_table.cpu_ns(pid) or 0) + process.children_ns for pid, process in there.items()]
        if not spent_ns:  # their sum may be 0: of a process that just began the kernel has counted nothing yet
            return {}
        # Parents have the time of ended children in whole ticks only.
        self._cpu_s = max(self._cpu_s, sum(spent_ns) / 1e9)
        of_kernel_ns = sum(process.system_ns + process.children_system_ns for process in there.values())
        self._system_s = max(self._system_s, of_kernel_ns / 1e9)
        return {"cpu_s": self._cpu_s, "system_s": self._system_s}


def _tree(root: psutil.Process | None) -> set[int]:
    """A process and all below it; none of them once it ended: others may have its children by now."""
    if cpu_seconds(root) is None or root is None:
        return set()
    return process_table.tree([root.pid])


def _gauges(members: Collection[int]) -> dict[str, float]:
    gauges = {"rss_bytes": 0.0, "threads": 0.0, "fds": 0.0}
    shared = [0.0]
    for pid in members:
        with contextlib.suppress(psutil.Error, OSError):
            process = psutil.Process(pid)
            with process.oneshot():
                memory, threads = process.memory_info(), process.num_threads()
            files = len(os.listdir(f"{PROC}/{pid}/fd"))  # noqa: PTH208
            common = float(getattr(memory, "shared", 0))
            shared.append(common)
            gauges["rss_bytes"] += memory.rss - common
            gauges["threads"] += threads
            gauges["fds"] += files
    return gauges | {"rss_bytes": gauges["rss_bytes"] + max(shared)}


def cpu_seconds(process: psutil.Process | int | None) -> float | None:
    """User and system time of a process since it began; None if it is gone or cannot be observed.

    To the nanosecond where the system has a clock for it (Linux), else in ticks of 10 ms.
    """
    try:
        process = psutil.Process(process) if isinstance(process, int) else process
        if process is None or not process.is_running() or process.status() == psutil.STATUS_ZOMBIE:
            return None
        spent_ns = process_table.cpu_ns(process.pid)
        if spent_ns is not None:
            return spent_ns / 1e9
        times = process.cpu_times()
    except psutil.Error:
        return None
    return times.user + times.system


def _is_socket(path: str) -> bool:
    try:
        return os.readlink(path).startswith("socket:")  # noqa: PTH115
    except OSError:  # closed since it was listed
        return False
