"""What kind of machine this is, without its name or its user's. What a system does not tell is None."""

import hashlib
import os
import platform
import re
import resource
import socket
import subprocess
import uuid
from pathlib import Path
from typing import Any

import psutil

_LIMITS = {
    "open_files": resource.RLIMIT_NOFILE,
    "processes": resource.RLIMIT_NPROC,
    "file_bytes": resource.RLIMIT_FSIZE,
}
_ID_FILES = ("/etc/machine-id", "/var/lib/dbus/machine-id")


def machine() -> dict[str, Any]:
    """The hardware, and what stands between it and us."""
    model = cpu_model()
    return {
        "machine_id": machine_id(model),
        "architecture": platform.machine(),
        "cpu_model": model,
        "cpu_count": os.cpu_count(),
        "cpu_count_physical": psutil.cpu_count(logical=False),
        "cpus_allowed": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "cpu_limit": cpu_limit(),
        "frequency_governor": _text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "memory_bytes": psutil.virtual_memory().total,
        "swap_bytes": psutil.swap_memory().total,
        "virtualisation": _virtualisation(),
        "container": any(Path(mark).exists() for mark in ("/.dockerenv", "/run/.containerenv")),
        "clocksource": _text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
    }


def kernel() -> dict[str, Any]:
    """The operating system and those of its settings that change what a measurement means."""
    return {
        "system": platform.system(),
        "release": platform.release(),
        "overcommit_memory": _number("/proc/sys/vm/overcommit_memory"),
        "swappiness": _number("/proc/sys/vm/swappiness"),
        "transparent_huge_pages": _chosen("/sys/kernel/mm/transparent_hugepage/enabled"),
        "somaxconn": _number("/proc/sys/net/core/somaxconn"),
        "tcp_max_syn_backlog": _number("/proc/sys/net/ipv4/tcp_max_syn_backlog"),
        "ip_local_port_range": _text("/proc/sys/net/ipv4/ip_local_port_range"),
        "limits": {name: _limit(kind) for name, kind in _LIMITS.items()},
    }


def machine_id(model: str | None) -> str:
    """A hash that stays the same on this machine, differs on others, and tells nothing about it."""
    identity = next((text for text in map(_text, _ID_FILES) if text), None) or _other_identity()
    return hashlib.sha256(f"loadstone|{identity}|{model}".encode()).hexdigest()


def _other_identity() -> str:
    """Where there is no machine-id file: macOS's own number, else the network card's."""
    if platform.system() == "Darwin":
        try:
            reported = subprocess.run(
                ["/usr/sbin/ioreg", "-rd1", "-c", "IOPlatformExpertDevice"], capture_output=True, text=True, timeout=5
            ).stdout
        except (OSError, subprocess.SubprocessError):
            reported = ""
        if match := re.search(r'"IOPlatformUUID" = "([^"]+)"', reported):
            return match[1]
    node = uuid.getnode()
    made_up = node >> 40 & 1  # the multicast bit: no card was found, and the number is random
    return f"{psutil.virtual_memory().total}" if made_up else f"{node:012x}"


def cpu_model() -> str | None:
    """The processor's name for people."""
    reported = _text("/proc/cpuinfo") or ""
    if match := re.search(r"^(?:model name|Model|Hardware)\s*:\s*(.+)$", reported, re.MULTILINE):
        return match[1].strip()
    return platform.processor() or None


def cpu_limit() -> float | None:
    """CPUs that this process's control group may use together; None without such a limit."""
    groups = (_text("/proc/self/cgroup") or "").splitlines()
    for _, controllers, path in (group.split(":", 2) for group in groups if group.count(":") >= 2):
        if controllers == "":
            quota, _, period = (_text(f"/sys/fs/cgroup{path}/cpu.max") or "max").partition(" ")
        elif "cpu" in controllers.split(","):
            folder = f"/sys/fs/cgroup/cpu{path.rstrip('/')}"
            quota, period = _text(f"{folder}/cpu.cfs_quota_us") or "-1", _text(f"{folder}/cpu.cfs_period_us") or ""
        else:
            continue
        if quota.isdecimal() and period.isdecimal() and int(period):
            return int(quota) / int(period)
    return None


def is_loopback(host: str) -> bool | None:
    """Whether an address is this machine's own loopback; None if it has no address."""
    try:
        addresses = {str(entry[4][0]) for entry in socket.getaddrinfo(host, None)}
    except (OSError, UnicodeError):
        return None
    return all(address.startswith("127.") or address == "::1" for address in addresses)


def _virtualisation() -> str | None:
    """The hypervisor's product where one is observed, `none` where there is none."""
    flags = re.search(r"^flags\s*:.*$", _text("/proc/cpuinfo") or "", re.MULTILINE)
    if flags is None:
        return None
    if " hypervisor" not in flags[0]:
        return "none"
    vendor, product = (_text(f"/sys/class/dmi/id/{name}") for name in ("sys_vendor", "product_name"))
    return " ".join(text for text in (vendor, product) if text) or "unknown hypervisor"


def _limit(kind: int) -> list[int | None]:
    """Soft and hard limit; None: no limit."""
    return [None if value == resource.RLIM_INFINITY else value for value in resource.getrlimit(kind)]


def _text(path: str) -> str | None:
    try:
        return Path(path).read_text(errors="replace").strip() or None
    except OSError:
        return None


def _number(path: str) -> int | None:
    text = _text(path)
    return int(text) if text and text.isdecimal() else None


def _chosen(path: str) -> str | None:
    """The word in brackets: `always [madvise] never`."""
    match = re.search(r"\[(\w+)\]", _text(path) or "")
    return match[1] if match else None


def installed_bytes() -> int | None:
    """All of it, used or not; None where the system does not tell."""
    try:
        memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return None
    return memory_bytes if memory_bytes > 0 else None
