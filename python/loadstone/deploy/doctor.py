"""What `loadstone doctor` and the environment's record say about this machine, a row a fact."""

import os
import platform
import re
import resource
from collections.abc import Callable
from pathlib import Path

from loadstone import registry
from loadstone.deploy import doctor_applications
from loadstone.deploy.fact import Fact
from loadstone.deploy.placement import place
from loadstone.machine.busy_programs import busy_programs

SYS = Path("/sys")
PROC = Path("/proc")
FILES_NEEDED = 4096
SOMAXCONN_NEEDED = 511
STEAL_LIMIT_PERCENT = 2.0
BUSY_CORES = 0.1
"""A program that takes more of a CPU now disturbs what is measured beside it, and is named."""
BUSY_LOOK_S = 0.5
BUSY_SHOWN = 3


def facts() -> list[Fact]:
    """What is installed, and what of this machine bears on a measurement; what it does not tell is left out."""
    askers: tuple[Callable[[], Fact | None], ...] = (
        doctor_applications.java,
        doctor_applications.maven,
        doctor_applications.node,
        doctor_applications.containers,
        doctor_applications.limits,
        _cpus,
        _cpu_quota,
        _governor,
        _steal,
        _busy,
        _clock_source,
        _open_files,
        _somaxconn,
        _overcommit,
        _huge_pages,
        _swap,
    )
    return [*registry.doctor(), *(fact for ask in askers if (fact := ask()) is not None)]


def _cpus() -> Fact:
    placement = place()
    value = f"{os.cpu_count()} of {platform.machine()}; {placement.note}"
    if placement.shared:
        return Fact("CPUs", value, "warn", "give it two CPUs or more: servers and generator disturb each other on one")
    return Fact("CPUs", value, "ok")


def _cpu_quota() -> Fact | None:
    """The limit of the cgroup that this process sees as its own, v2 or v1."""
    v2 = _read(SYS / "fs/cgroup/cpu.max")
    if v2 is not None:
        quota, period = v2.split()
    else:
        quota = _read(SYS / "fs/cgroup/cpu/cpu.cfs_quota_us") or "max"
        period = _read(SYS / "fs/cgroup/cpu/cpu.cfs_period_us") or "1"
    if quota in ("max", "-1"):
        return None
    value = f"{int(quota) / int(period):.2f} CPU"
    return Fact(
        "CPU limit (cgroup)",
        value,
        "warn",
        "raise the limit of the container: a throttled generator makes trials invalid",
    )


def _governor() -> Fact | None:
    found = {text for path in SYS.glob("devices/system/cpu/cpu*/cpufreq/scaling_governor") if (text := _read(path))}
    if not found:
        return None
    value = ", ".join(sorted(found))
    if found == {"performance"}:
        return Fact("CPU governor", value, "ok")
    return Fact("CPU governor", value, "warn", "cpupower frequency-set -g performance: the clock rate moves otherwise")


def _steal() -> Fact | None:
    text = _read(PROC / "stat")
    if text is None:
        return None
    times = [int(number) for number in text.split("\n", 1)[0].split()[1:9]]
    percent = 100 * times[7] / max(sum(times), 1)
    value = f"{percent:.2f} % since the start"
    if percent > STEAL_LIMIT_PERCENT:
        return Fact(
            "CPU steal", value, "warn", "the host gives this machine's time to others: use a less busy or dedicated one"
        )
    return Fact("CPU steal", value, "ok")


def _busy() -> Fact | None:
    """Who uses the CPUs now; programs are named without their arguments and users."""
    found = busy_programs(BUSY_LOOK_S)
    if found is None:
        return None
    busy = [(name, cores) for name, cores in found.items() if cores > BUSY_CORES]
    if not busy:
        return Fact("other programs", f"none takes more than {BUSY_CORES:.0%} of a CPU now", "ok")
    named = ", ".join(f"{name} {cores:.2f}" for name, cores in busy[:BUSY_SHOWN])
    more = f" and {len(busy) - BUSY_SHOWN} more" if len(busy) > BUSY_SHOWN else ""
    remedy = "end them or wait until they are done: what they take is missing from what is measured"
    return Fact("other programs", f"use the CPUs now: {named} CPU{more}", "warn", remedy)


def _clock_source() -> Fact | None:
    value = _read(SYS / "devices/system/clocksource/clocksource0/current_clocksource")
    if value is None:
        return None
    if value in ("tsc", "kvm-clock", "arch_sys_counter"):
        return Fact("clock source", value, "ok")
    return Fact("clock source", value, "warn", "use tsc where the kernel offers it: reading this clock is slow")


def _open_files() -> Fact:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    value = f"{_limit(soft)} (may be raised to {_limit(hard)})"
    if soft != resource.RLIM_INFINITY and soft < FILES_NEEDED:
        remedy = f"ulimit -n {FILES_NEEDED}, or more: each connection needs one on each side"
        return Fact("open files", value, "warn", remedy)
    return Fact("open files", value, "ok")


def _limit(value: int) -> str:
    return "unlimited" if value == resource.RLIM_INFINITY else str(value)


def _somaxconn() -> Fact | None:
    value = _read(PROC / "sys/net/core/somaxconn")
    if value is None:
        return None
    if int(value) < SOMAXCONN_NEEDED:
        remedy = f"sysctl net.core.somaxconn={SOMAXCONN_NEEDED} or more: connections wait when many open at once"
        return Fact("somaxconn", value, "warn", remedy)
    return Fact("somaxconn", value, "ok")


def _overcommit() -> Fact | None:
    value = _read(PROC / "sys/vm/overcommit_memory")
    if value is None:
        return None
    if value != "1":
        remedy = "sysctl vm.overcommit_memory=1: a fork for RDB or an AOF rewrite may fail when memory is short"
        return Fact("memory overcommit", value, "warn", remedy)
    return Fact("memory overcommit", value, "ok")


def _huge_pages() -> Fact | None:
    text = _read(SYS / "kernel/mm/transparent_hugepage/enabled")
    if text is None:
        return None
    chosen = re.search(r"\[(\w+)\]", text)
    value = chosen[1] if chosen else text
    if value == "always":
        remedy = "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled: Redis stalls after a fork otherwise"
        return Fact("transparent huge pages", value, "warn", remedy)
    return Fact("transparent huge pages", value, "ok")


def _swap() -> Fact | None:
    text = _read(PROC / "meminfo")
    if text is None:
        return None
    kib = {name: int(number) for name, number in re.findall(r"^(Swap\w+):\s+(\d+)", text, re.MULTILINE)}
    used = kib.get("SwapTotal", 0) - kib.get("SwapFree", 0)
    if used > 0:
        return Fact("swap in use", f"{used // 1024} MiB", "warn", "free memory: a swapped server answers from the disk")
    return Fact("swap in use", "none", "ok")


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None
