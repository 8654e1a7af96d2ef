"""The host, in the columns of `vmstat`: the same meaning, the same units, unrounded."""

import contextlib
import resource
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import psutil

from loadstone.monitors.host.generator import GeneratorMonitor
from loadstone.monitors.host.others import InterferenceMonitor
from loadstone.monitors.host.processes import ProcessMonitor, ProcessTreeMonitor
from loadstone.monitors.metric import by_name
from loadstone.monitors.metrics.host import HOST, KERNEL, OF_HOST
from loadstone.monitors.monitor import CounterRates, Monitor, Sample
from loadstone.monitors.watch import MonitorTargets

PROC = Path("/proc")
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
PAGE_KIB = resource.getpagesize() / 1024
CPU_STATES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


class VmstatReading(NamedTuple):
    """What the kernel says at one moment: gauges as they are, counters since it started."""

    gauges: dict[str, float]
    counters: dict[str, float]
    cpu_times: dict[str, tuple[float, ...]]
    """`cpu` (all), `cpu0`...: the time spent in each of `CPU_STATES`."""

    def growing(self) -> dict[str, float]:
        """All that only grows, CPU times by `cpu0.user` and so on."""
        times = {
            f"{cpu}.{state}": spent
            for cpu, states in self.cpu_times.items()
            for state, spent in zip(CPU_STATES, states, strict=True)
        }
        return self.counters | times


class HostMonitor:
    """vmstat's columns since the sample before; and `busy` and `stolen` of each CPU in `cpus`."""

    METRICS = by_name(OF_HOST)

    def __init__(self, cpus: Iterable[int] = (), pids: Iterable[int] = ()) -> None:
        """`pids`: of all parts; some may be on hosts of their own."""
        self._cpus = tuple(cpus)
        self._read = partial(_read_proc, _networks(pids)) if sys.platform == "linux" else _read_psutil
        self._rates = CounterRates(self._read().growing())
        self._settings = _memory_settings()

    @classmethod
    def watching(cls, watch: MonitorTargets) -> list[Monitor]:
        """One for the host."""
        return [cls(watch.cpus, watch.pids.values())]

    def sample(self, unix_s: float) -> Iterator[Sample]:
        """Gauges now, rates and shares since they were last reported."""
        now = self._read()
        rates = self._rates.of(now.growing())
        reported = now.gauges | {name: rates[name] for name in now.counters if name in rates}
        reported |= _shares("cpu", rates)
        for name, value in reported.items():
            yield Sample(unix_s, HOST, name, value)
        for name, value in self._settings.items():
            yield Sample(unix_s, KERNEL, name, value)
        for cpu in self._cpus:
            shares = _shares(f"cpu{cpu}", rates)
            if shares:
                yield Sample(unix_s, f"cpu{cpu}", "busy", 100.0 - shares["id"] - shares["wa"])
                yield Sample(unix_s, f"cpu{cpu}", "stolen", shares["st"])


def _shares(cpu: str, rates: Mapping[str, float]) -> dict[str, float]:
    """vmstat's percentages of the CPU time that passed; nothing if none did."""
    spent = {state: rates.get(f"{cpu}.{state}", 0.0) for state in CPU_STATES}
    total = sum(spent.values())
    if total <= 0:
        return {}
    columns = {
        "us": spent["user"] + spent["nice"],
        "sy": spent["system"] + spent["irq"] + spent["softirq"],
        "id": spent["idle"],
        "wa": spent["iowait"],
        "st": spent["steal"],
    }
    return {name: 100.0 * value / total for name, value in columns.items()}


def _memory_settings() -> dict[str, float]:
    """Settings of the kernel that matter where a server forks; nothing where they cannot be read."""
    settings: dict[str, float] = {}
    with contextlib.suppress(OSError, ValueError):
        settings["overcommit_memory"] = float((PROC / "sys" / "vm" / "overcommit_memory").read_text())
    with contextlib.suppress(OSError):
        settings["huge_pages_always"] = float("[always]" in HUGE_PAGES.read_text())
    return settings


def _read_proc(networks: Collection[Path]) -> VmstatReading:
    """From /proc, as vmstat reads it."""
    stat = [line.split() for line in (PROC / "stat").read_text().splitlines()]
    cpu_times = {row[0]: tuple(float(n) for n in row[1:9]) for row in stat if row[0].startswith("cpu")}
    counts = {row[0]: float(row[1]) for row in stat if not row[0].startswith("cpu")}
    memory = _table(PROC / "meminfo")
    pages = _table(PROC / "vmstat")
    gauges = {
        "r": max(0.0, counts["procs_running"] - 1),
        "b": counts["procs_blocked"],
        "swpd": memory["SwapTotal:"] - memory["SwapFree:"],
        "free": memory["MemFree:"],
        "buff": memory["Buffers:"],
        "cache": memory["Cached:"] + memory.get("SReclaimable:", 0.0),
    }
    counters = {
        "si": pages.get("pswpin", 0.0) * PAGE_KIB,
        "so": pages.get("pswpout", 0.0) * PAGE_KIB,
        "bi": pages["pgpgin"],
        "bo": pages["pgpgout"],
        "in": counts["intr"],
        "cs": counts["ctxt"],
        **_tcp_counters(networks),
    }
    return VmstatReading(gauges, counters, cpu_times)


def _networks(pids: Iterable[int]) -> list[Path]:
    """The figures of this process's network, and of the other ones that these processes are in."""
    networks: dict[int, Path] = {}
    for process in ("self", *map(str, pids)):
        with contextlib.suppress(OSError):
            networks.setdefault((PROC / process / "ns" / "net").stat().st_ino, PROC / process / "net")
    return [PROC / "net", *list(networks.values())[1:]]


def _tcp_counters(networks: Iterable[Path]) -> dict[str, float]:
    """Those of all these networks together; nothing where the kernel has none, or one of them is gone."""
    drops = [_listen_drops(network) for network in networks]
    known = [dropped for dropped in drops if dropped is not None]
    return {"listen_drops": sum(known)} if known and len(known) == len(drops) else {}


def _listen_drops(network: Path) -> float | None:
    """netstat has lines in pairs: names, and their values."""
    try:
        rows = [line.split() for line in (network / "netstat").read_text().splitlines()]
    except OSError:
        return None
    tcp = [row[1:] for row in rows if row and row[0] == "TcpExt:"]
    counters = dict(zip(*tcp, strict=False)) if len(tcp) == 2 else {}
    return float(counters["ListenDrops"]) if "ListenDrops" in counters else None


def _table(path: Path) -> dict[str, float]:
    """Lines of a name and a number."""
    rows = (line.split() for line in path.read_text().splitlines())
    return {row[0]: float(row[1]) for row in rows}


def _read_psutil() -> VmstatReading:
    """Where there is no /proc: the columns that psutil knows."""
    memory, swap, stats = psutil.virtual_memory(), psutil.swap_memory(), psutil.cpu_stats()
    disk = psutil.disk_io_counters()
    gauges = {"swpd": swap.used / 1024, "free": memory.free / 1024}
    counters = {"si": swap.sin / 1024, "so": swap.sout / 1024}
    counters |= {"in": float(stats.interrupts), "cs": float(stats.ctx_switches)}
    if disk is not None:
        counters |= {"bi": disk.read_bytes / 1024, "bo": disk.write_bytes / 1024}
    return VmstatReading(gauges, counters, {"cpu": _psutil_times()})


def _psutil_times() -> tuple[float, ...]:
    times = psutil.cpu_times()
    return tuple(float(getattr(times, state, 0.0)) for state in CPU_STATES)


WATCHING = (
    HostMonitor.watching,
    InterferenceMonitor.watching,
    ProcessMonitor.watching,
    ProcessTreeMonitor.watching,
    GeneratorMonitor.watching,
)
