"""One process of a part: its CPU, memory, threads, context switches, open files and sockets."""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from loadstone.machine import process_table
from loadstone.observe.counter_rates import Rates
from loadstone.observe.sample import Monitor, Sample
from loadstone.observe.watch import Watch
from loadstone.software.host import tasks
from loadstone.software.host.disk_waits import DiskWaits
from loadstone.software.host.metrics import OF_PROCESS
from loadstone.software.metric import by_name

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


class ProcessMonitor:
    """The process `pid`, as `part`. What may not be observed is left out; once it died only `alive` 0 is reported."""

    METRICS = by_name(OF_PROCESS)

    def __init__(self, part: str, pid: int, *, stores: bool = False) -> None:
        """`stores`: whether it may wait for its disk, which is looked at then."""
        self._part = part
        self._process: psutil.Process | None = None
        with contextlib.suppress(psutil.Error):
            self._process = psutil.Process(pid)
        self._rates = Rates(self._counters())
        self._sockets_after_s = 0.0
        self._disk = DiskWaits(pid) if stores else None

    @classmethod
    def watching(cls, watch: Watch) -> list[Monitor]:
        """One for each process, but for those that are observed with all below them."""
        stores = {part for controls in watch.controls.values() for part in controls}
        own = ((part, pid) for part, pid in watch.pids.items() if part not in watch.trees)
        return [cls(part, pid, stores=part in stores) for part, pid in own]

    def sample(self, unix_s: float) -> Iterator[Sample]:
        """Gauges now, rates and shares since they were last reported."""
        counters = self._counters()
        reported = {"alive": float("cpu_s" in counters)}
        if "cpu_s" in counters:
            reported |= {name: counters[name] for name in ("cpu_s", "main_thread_wait_s") if name in counters}
            reported |= {RATES[name]: rate for name, rate in self._rates.of(counters).items()}
            reported |= self._gauges()
            if self._disk is not None and (at_the_disk := self._disk.share()) is not None:
                reported["main_thread_disk_share"] = at_the_disk
        for name, value in reported.items():
            yield Sample(unix_s, self._part, name, value)

    def _counters(self) -> dict[str, float]:
        """What only grows; without `cpu_s` if the process is gone."""
        cpu_s = cpu_seconds(self._process)
        if self._process is None or cpu_s is None:
            return {}
        found = {"cpu_s": cpu_s}
        pid = self._process.pid
        main = tasks.main_thread(pid)
        if main is not None:
            found |= {"main_thread_s": main.ran_s, "main_thread_wait_s": main.waited_s}
        switched = tasks.switches(pid)
        if switched is not None:
            found |= {"voluntary": float(switched[0]), "involuntary": float(switched[1])}
        return found

    def _gauges(self) -> dict[str, float]:
        found: dict[str, float] = {}
        if self._process is None:
            return found
        with contextlib.suppress(psutil.Error, OSError), self._process.oneshot():
            found["rss_bytes"] = float(self._process.memory_info().rss)
            found["threads"] = float(self._process.num_threads())
            found["stopped"] = float(self._process.status() in STOPPED)
        return found | self._open_files(self._process)

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
        found = {"fds": float(len(names))}
        if began_s >= self._sockets_after_s:
            found["sockets"] = float(sum(_is_socket(f"{folder}/{name}") for name in names))
            ended_s = time.monotonic()
            self._sockets_after_s = ended_s + (ended_s - began_s) / SOCKETS_SHARE
        return found


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
