"""How room on servers is found out, and put into text, for all kinds of software."""

import contextlib
import os
import re

FULL = re.compile(r"\bOOM\b|maxmemory|[Nn]o space left|[Dd]isk full|is full|\berrno: 28\b|Errcode: 28")


def says_full(error: BaseException) -> bool:
    """Whether an error says by its text that no room is left."""
    return FULL.search(str(error)) is not None


def size_text(count: float) -> str:
    """Bytes for people: `12 MB`, `9.1 MB`."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if count >= 10 or unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:,.1f} GB"


def disk_shortage(folder: str, free_bytes: int | None, needed_bytes: int) -> str:
    """Why rows may not fit on the disk under a folder, and what helps; empty if they do, or if nothing reports it."""
    if free_bytes is None or needed_bytes <= free_bytes:
        return ""
    return (
        f"the run's rows take about {size_text(needed_bytes)} on its disk, and {size_text(free_bytes)} are free in "
        f"{folder}; free some, ask for fewer rows (data.NAME.rows, --scale), or give another server"
    )


def free_here(pid: int, folder: str) -> int | None:
    """Free bytes under a folder as a process sees it, which may be in a container; None where it cannot be looked at.

    Blocks that only root may take are not among them.
    """
    with contextlib.suppress(OSError):
        disk = os.statvfs(f"/proc/{pid}/root{folder}")
        return disk.f_bavail * disk.f_frsize
    return None


def is_under(folder: str, path: str) -> bool:
    """Whether an absolute folder lies at `path`, or below it."""
    return folder.startswith("/") and f"{folder.rstrip('/')}/".startswith(f"{path.rstrip('/')}/")
