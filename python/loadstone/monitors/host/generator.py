"""This process, which makes the load: what the engine's threads take, and what the rest of it takes."""

import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil

from loadstone.monitors.host.threads import scheduled
from loadstone.monitors.metric import by_name
from loadstone.monitors.metrics.host import GENERATOR, OF_GENERATOR
from loadstone.monitors.monitor import CounterRates, Monitor, Sample
from loadstone.monitors.watch import MonitorTargets

PROC = Path("/proc")
CGROUPS = Path("/sys/fs/cgroup")


class GeneratorMonitor:
    """loadstone's own process."""

    METRICS = by_name(OF_GENERATOR)

    def __init__(self) -> None:
        self._process = psutil.Process()
        self._throttle_files = _throttle_files()
        self._rates = CounterRates(self._counters())

    @classmethod
    def watching(cls, watch: MonitorTargets) -> list[Monitor]:  # noqa: ARG003 (of every run)
        """One for this process."""
        return [cls()]

    def sample(self, unix_s: float) -> Iterator[Sample]:
        """Gauges now, shares since they were last reported."""
        counters = self._counters()
        reported = {"cpu_s": counters["cpu_s"], "rss_bytes": float(self._process.memory_info().rss)}
        throttled_s = self._throttled_s()
        if throttled_s is not None:
            reported["throttled_s"] = throttled_s
        rates = self._rates.of(counters)
        if "cpu_s" in rates:
            reported["cpu_share"] = rates.pop("cpu_s")
            reported |= _groups(rates)
        for name, value in reported.items():
            yield Sample(unix_s, GENERATOR, name, value)

    def _counters(self) -> dict[str, float]:
        """CPU time of the process, and of each thread `ran.<id>` and `waited.<id>`."""
        counters = {"cpu_s": time.process_time()}
        for thread, times in scheduled("self").items():
            counters |= {f"ran.{thread}": times.ran_s, f"waited.{thread}": times.waited_s}
        return counters

    def _throttled_s(self) -> float | None:
        """Return the throttled time of the cgroup and those above it; None where there are none."""
        throttled_s = [seconds for path in self._throttle_files if (seconds := _throttled(path)) is not None]
        return sum(throttled_s) if throttled_s else None


def _groups(rates: Mapping[str, float]) -> dict[str, float]:
    """Shares by group of threads, of those that lived all the time; nothing where threads cannot be observed."""
    python = {str(thread.native_id) for thread in threading.enumerate()}
    ran = {name.removeprefix("ran."): rate for name, rate in rates.items() if name.startswith("ran.")}
    native = [thread for thread in ran if thread not in python]
    if not ran:
        return {}
    return {
        "python_share": sum(rate for thread, rate in ran.items() if thread in python),
        "native_share": sum(ran[thread] for thread in native),
        "hottest_native_share": max((ran[thread] for thread in native), default=0.0),
        "hottest_native_wait_share": max((rates[f"waited.{thread}"] for thread in native), default=0.0),
    }


def _throttle_files() -> tuple[Path, ...]:
    """`cpu.stat` of this process's cgroup and of those above it, v2 or v1."""
    try:
        lines = (PROC / "self" / "cgroup").read_text().splitlines()
    except OSError:
        return ()
    paths: list[Path] = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        root = CGROUPS / controllers if controllers else CGROUPS
        place = root / path.lstrip("/")
        while place.is_relative_to(root):
            paths.append(place / "cpu.stat")
            place = place.parent
    return tuple(path for path in paths if path.is_file())


def _throttled(path: Path) -> float | None:
    try:
        rows = dict(line.split() for line in path.read_text().splitlines())
    except (OSError, ValueError):
        return None
    if "throttled_usec" in rows:
        return int(rows["throttled_usec"]) / 1e6
    return int(rows["throttled_time"]) / 1e9 if "throttled_time" in rows else None
