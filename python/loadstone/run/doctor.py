"""`loadstone doctor`: what is installed, and what of this machine bears on a measurement, a row each."""

import os
import platform
import re
import resource
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

from loadstone.machine.extras import how_to_add, lacks
from loadstone.machine.fetched_programs import put_on_path
from loadstone.machine.installation import engine_back_end
from loadstone.machine.installed_programs import Fact, how_to_get, output_of
from loadstone.machine.placement import place, usable_cpus
from loadstone.machine.process_table import busy_programs
from loadstone.machine.processes.resource_limits import Limits, limit
from loadstone.machine.processes.workspace import Workspace
from loadstone.safety.errors import UserError
from loadstone.servers import registry
from loadstone.text.language import translatable
from loadstone.text.message import said

SYS = Path("/sys")
PROC = Path("/proc")
ROOT = Path("/")
CONTAINER_MARKS = {"run/.containerenv": "Podman", ".dockerenv": "Docker"}
FILES_NEEDED = 4096
SOMAXCONN_NEEDED = 511
STEAL_LIMIT_PERCENT = 2.0
BUSY_CORES = 0.1
"""A program that takes more of a CPU now disturbs what is measured beside it, and is named."""
BUSY_LOOK_S = 0.5
BUSY_SHOWN = 3


def facts(cpus: Collection[int] = ()) -> list[Fact]:
    """What is installed, and what of this machine bears on a measurement; what it does not tell is left out.

    `cpus`: those that a run may use, where this thread keeps to fewer.
    """
    put_on_path()
    installed: tuple[Callable[[], Fact | None], ...] = (java, maven, node, containers)
    return [*registry.doctor(), *(fact for ask in installed if (fact := ask()) is not None), *machine_facts(cpus)]


def machine_facts(cpus: Collection[int] = ()) -> list[Fact]:
    """What of this machine bears on a measurement; `cpus` as of `facts`."""
    askers: tuple[Callable[[], Fact | None], ...] = (
        _container,
        limits,
        partial(_cpus, cpus),
        _cpu_quota,
        _waits_by,
        _governor,
        _steal,
        _busy,
        clock_source,
        _open_files,
        _somaxconn,
        _overcommit,
        _huge_pages,
        _swap,
    )
    return [fact for ask in askers if (fact := ask()) is not None]


def _container() -> Fact | None:
    """Whether this is one, by the marks that engines leave; what that changes and no other row tells."""
    engine = next((name for path, name in CONTAINER_MARKS.items() if (ROOT / path).exists()), None)
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        engine = "Kubernetes"
    if engine is None:
        return None
    return Fact(
        translatable("container"),
        said("{engine}; programs outside of it take CPU time too, and are not seen by name", engine=engine),
        "ok",
    )


def _waits_by() -> Fact | None:
    """Return how the generator waits for replies, and what forbids io_uring, as the default seccomp profile of
    containers."""
    back_end = engine_back_end()
    if back_end == "io_uring" or platform.system() != "Linux":
        return None if back_end is None else Fact(translatable("generator waits by"), back_end, "ok")
    value = said("{back_end}, not io_uring", back_end=back_end)
    if (_read(PROC / "sys/kernel/io_uring_disabled") or "0") != "0":
        remedy = said("sysctl kernel.io_uring_disabled=0: its top rate is lower without, all figures hold")
    elif is_filtered():
        remedy = said(
            "--security-opt seccomp=PROFILE with io_uring allowed: its top rate is lower without, all figures hold"
        )
    else:
        remedy = said("Linux 6.1 or newer: its top rate is lower without, all figures hold")
    return Fact(translatable("generator waits by"), value, "warn", remedy)


def is_filtered() -> bool:
    """Whether a seccomp profile refuses this process some calls of the system, as containers' default one does."""
    return re.search(r"^Seccomp:\s*2", _read(PROC / "self/status") or "", re.MULTILINE) is not None


def _cpus(cpus: Collection[int] = ()) -> Fact:
    placement = place(cpus=cpus)
    online, usable = os.cpu_count() or 1, len(cpus) or usable_cpus()
    count = said("{usable} of {online}", usable=usable, online=online) if usable != online else f"{online}"
    value = said("{count} of {machine}; {placement}", count=count, machine=platform.machine(), placement=placement.note)
    if placement.shared:
        return Fact(
            translatable("CPUs"),
            value,
            "warn",
            said("give it two CPUs or more: servers and generator disturb each other on one"),
        )
    return Fact(translatable("CPUs"), value, "ok")


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
    value = said("{cpus:.2f} CPU", cpus=int(quota) / int(period))
    return Fact(
        translatable("CPU limit (cgroup)"),
        value,
        "warn",
        said("raise the limit of the container: a throttled generator makes trials invalid"),
    )


def _governor() -> Fact | None:
    governors = {text for path in SYS.glob("devices/system/cpu/cpu*/cpufreq/scaling_governor") if (text := _read(path))}
    if not governors:
        return None
    value = ", ".join(sorted(governors))
    if governors == {"performance"}:
        return Fact(translatable("CPU governor"), value, "ok")
    return Fact(
        translatable("CPU governor"),
        value,
        "warn",
        said("cpupower frequency-set -g performance: the clock rate moves otherwise"),
    )


def _steal() -> Fact | None:
    text = _read(PROC / "stat")
    if text is None:
        return None
    times = [int(number) for number in text.split("\n", 1)[0].split()[1:9]]
    percent = 100 * times[7] / max(sum(times), 1)
    value = said("{percent:.2f} % since the start", percent=percent)
    if percent > STEAL_LIMIT_PERCENT:
        return Fact(
            translatable("CPU steal"),
            value,
            "warn",
            said("the host gives this machine's time to others: use a less busy or dedicated one"),
        )
    return Fact(translatable("CPU steal"), value, "ok")


def _busy() -> Fact | None:
    """Who uses the CPUs now; programs are named without their arguments and users."""
    programs = busy_programs(BUSY_LOOK_S)
    if programs is None:
        return None
    busy = [(name, cores) for name, cores in programs.items() if cores > BUSY_CORES]
    if not busy:
        return Fact(
            translatable("other programs"),
            said("none takes more than {share:.0%} of a CPU now", share=BUSY_CORES),
            "ok",
        )
    named = ", ".join(f"{name} {cores:.2f}" for name, cores in busy[:BUSY_SHOWN])
    more = said(" and {count} more", count=len(busy) - BUSY_SHOWN) if len(busy) > BUSY_SHOWN else ""
    remedy = said("end them or wait until they are done: what they take is missing from what is measured")
    return Fact(
        translatable("other programs"),
        said("use the CPUs now: {named} CPU{more}", named=named, more=more),
        "warn",
        remedy,
    )


def clock_source() -> Fact | None:
    """Which clock the kernel reads."""
    value = _read(SYS / "devices/system/clocksource/clocksource0/current_clocksource")
    if value is None:
        return None
    if value in ("tsc", "kvm-clock", "arch_sys_counter"):
        return Fact(translatable("clock source"), value, "ok")
    return Fact(
        translatable("clock source"),
        value,
        "warn",
        said("use tsc where the kernel offers it: reading this clock is slow"),
    )


def _open_files() -> Fact:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    value = said("{soft} (may be raised to {hard})", soft=_limit(soft), hard=_limit(hard))
    if soft != resource.RLIM_INFINITY and soft < FILES_NEEDED:
        remedy = said("ulimit -n {files}, or more: each connection needs one on each side", files=FILES_NEEDED)
        return Fact(translatable("open files"), value, "warn", remedy)
    return Fact(translatable("open files"), value, "ok")


def _limit(value: int) -> str:
    return "unlimited" if value == resource.RLIM_INFINITY else str(value)


def _somaxconn() -> Fact | None:
    value = _read(PROC / "sys/net/core/somaxconn")
    if value is None:
        return None
    if int(value) < SOMAXCONN_NEEDED:
        remedy = said(
            "sysctl net.core.somaxconn={connections} or more: connections wait when many open at once",
            connections=SOMAXCONN_NEEDED,
        )
        return Fact("somaxconn", value, "warn", remedy)
    return Fact("somaxconn", value, "ok")


def _overcommit() -> Fact | None:
    value = _read(PROC / "sys/vm/overcommit_memory")
    if value is None:
        return None
    if value != "1":
        remedy = said("sysctl vm.overcommit_memory=1: a fork for RDB or an AOF rewrite may fail when memory is short")
        return Fact(translatable("memory overcommit"), value, "warn", remedy)
    return Fact(translatable("memory overcommit"), value, "ok")


def _huge_pages() -> Fact | None:
    text = _read(SYS / "kernel/mm/transparent_hugepage/enabled")
    if text is None:
        return None
    chosen = re.search(r"\[(\w+)\]", text)
    value = chosen[1] if chosen else text
    if value == "always":
        remedy = said("echo madvise > /sys/kernel/mm/transparent_hugepage/enabled: Redis stalls after a fork otherwise")
        return Fact(translatable("transparent huge pages"), value, "warn", remedy)
    return Fact(translatable("transparent huge pages"), value, "ok")


def _swap() -> Fact | None:
    text = _read(PROC / "meminfo")
    if text is None:
        return None
    kib = {name: int(number) for name, number in re.findall(r"^(Swap\w+):\s+(\d+)", text, re.MULTILINE)}
    used = kib.get("SwapTotal", 0) - kib.get("SwapFree", 0)
    if used > 0:
        return Fact(
            translatable("swap in use"),
            said("{used} MiB", used=used // 1024),
            "warn",
            said("free memory: a swapped server answers from the disk"),
        )
    return Fact(translatable("swap in use"), said("none"), "ok")


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None


JAVA_OLDEST = 17
NODE_OLDEST = (20, 19)


def java() -> Fact:
    """The JVM that would run an application."""
    printed = output_of("java", "-version")
    if printed is None:
        return Fact(
            "java", said("not installed"), "warn", said("{how_to_get}; needed by Spring", how_to_get=how_to_get("java"))
        )
    version = re.search(r'version "(\d+)[^"]*"', printed)
    value = version[0].removeprefix("version ").strip('"') if version else printed.split("\n")[0]
    if version and int(version[1]) < JAVA_OLDEST:
        return Fact("java", value, "warn", said("Spring Boot needs {oldest} or newer", oldest=JAVA_OLDEST))
    if output_of("javac", "-version") is None:
        of_runtime = said("{version}, without a compiler (javac)", version=value)
        remedy = said("{how_to_get}; needed once, to build Spring, Jedis and Lettuce", how_to_get=how_to_get("javac"))
        return Fact("java", of_runtime, "warn", remedy)
    return Fact("java", value, "ok")


def maven() -> Fact:
    """What builds the Spring application."""
    printed = output_of("mvn", "-v")
    if printed is None:
        return Fact(
            "maven",
            said("not installed"),
            "warn",
            said("{how_to_get}; needed once, to build Spring", how_to_get=how_to_get("mvn")),
        )
    version = re.search(r"Maven ([\d.]+)", printed)
    return Fact("maven", version[1] if version else said("installed"), "ok")


def node() -> Fact:
    """The Node that would run an application."""
    printed = output_of("node", "--version")
    needed = said("{version} or newer", version=".".join(map(str, NODE_OLDEST)))
    if printed is None:
        return Fact(
            "node",
            said("not installed"),
            "warn",
            said("{how_to_get}, if that is {needed}; needed by Nest", how_to_get=how_to_get("node"), needed=needed),
        )
    version = re.search(r"(\d+)\.(\d+)[.\d]*", printed)
    if version and (int(version[1]), int(version[2])) < NODE_OLDEST:
        return Fact("node", version[0], "warn", said("Nest needs {needed}; Debian's may be older", needed=needed))
    if output_of("npm", "--version") is None:
        return Fact(
            "node", said("npm is not installed"), "warn", said("install npm 10 or newer; needed once, to build Nest")
        )
    return Fact("node", version[0] if version else said("installed"), "ok")


def limits() -> Fact:
    """Whether CPU and memory limits can be given to servers and applications; tried out."""
    try:
        workspace = Workspace("doctor")
    except OSError as error:
        return Fact(
            translatable("CPU and memory limits"),
            said("no temporary folder can be made ({error})", error=error),
            "warn",
            said("free some room, or set TMPDIR to another disk: no server starts without"),
        )
    try:
        tried = limit(Limits(cpu=0.5, memory=64 * 1024**2), workspace)
    finally:
        workspace.remove()
    if tried.unavailable is not None:
        return Fact(
            translatable("CPU and memory limits"),
            tried.unavailable,
            "warn",
            said("an experiment's limits are not in force without them"),
        )
    return Fact(translatable("CPU and memory limits"), said("can be given (control groups)"), "ok")


def containers() -> Fact:
    """The container engine, which only `kind: container` needs."""
    if lacks("containers"):
        how = said("not looked for: {how} (needed for kind: container only)", how=how_to_add("containers"))
        return Fact(translatable("container engine"), how, "ok")
    from loadstone.servers.containers.container_engine import find_engine  # the library takes half a second to load

    try:
        return Fact(translatable("container engine"), find_engine().name, "ok")
    except UserError:
        return Fact(translatable("container engine"), said("none answers (needed for kind: container only)"), "ok")
