"""Room on servers: reads it, words it, and watches it, to end a run at the first loss.

Watched are servers that are not ours, while a run stores something there.
"""

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterable
from typing import Self

from loadstone.safety.bounds.deadlines import LOOK, deadline
from loadstone.safety.errors import LoadstoneError, OutOfSpace
from loadstone.servers.control import Control, LossWatch
from loadstone.servers.server import Server
from loadstone.text.message import AnyText, joined, said

FULL = re.compile(r"\bOOM\b|maxmemory|[Nn]o space left|[Dd]isk full|is full|\berrno: 28\b|Errcode: 28")


def is_out_of_space(error: BaseException) -> bool:
    """Whether an error says by its text that no room is left."""
    return FULL.search(str(error)) is not None


def size_text(count: float) -> str:
    """Bytes for people: `12 MB`, `9.1 MB`."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if count >= 10 or unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:,.1f} GB"


def disk_shortage(folder: str, free_bytes: int | None, needed_bytes: int) -> AnyText:
    """Why rows may not fit on the disk under a folder, and what helps; empty if they do, or if nothing reports it."""
    if free_bytes is None or needed_bytes <= free_bytes:
        return ""
    return said(
        "the run's rows take about {size} on its disk, and {free} are free in {folder}; free some, ask for fewer rows "
        "(data.NAME.rows, --scale), or give another server",
        size=size_text(needed_bytes),
        free=size_text(free_bytes),
        folder=folder,
    )


def free_here(pid: int, folder: str) -> int | None:
    """Free bytes under a folder as a process sees it, which may be in a container; None where it cannot be looked at.

    Blocks that only root may take are not among them. A server names the folder, and may name what is none.
    """
    with contextlib.suppress(OSError, ValueError):
        disk = os.statvfs(f"/proc/{pid}/root{folder}")
        return disk.f_bavail * disk.f_frsize
    return None


def is_under(folder: str, path: str) -> bool:
    """Whether an absolute folder lies at `path`, or below it."""
    return folder.startswith("/") and f"{folder.rstrip('/')}/".startswith(f"{path.rstrip('/')}/")


INTERVAL_S = 0.25
"""How often each server is looked at: less than a thousandth of its time. In rounds that is between two slices."""
TIMEOUT_S = 2.0


class SpaceWatch:
    """A context: from its beginning to its end every server that is not ours, and may lose something, is watched.

    It looks whenever whoever drives has a moment for it (`rest`): a thread would run beside what is measured. `reason`
    says in one line what was lost; `stop` is called once, as soon as it is known. A server that does not answer is not
    reported as lost here: whoever loads it does that.
    """

    def __init__(self, servers: Iterable[Server], stop: Callable[[], None] = lambda: None) -> None:
        self.reason: AnyText | None = None
        self._stop = stop
        self._servers = [server for server in servers if not server.ours]
        self._watched: list[tuple[Control, LossWatch]] = []
        self._due_s = 0.0
        self._open = False

    def __enter__(self) -> Self:
        for server in self._servers:
            control = server.control(TIMEOUT_S)
            try:
                with deadline(LOOK):
                    watch = control.loss_watch(server.name)
            except LoadstoneError:
                watch = None
            if watch is None:
                control.close()
            else:
                self._watched.append((control, watch))
        self._open = bool(self._watched)
        self._due_s = time.monotonic() + INTERVAL_S
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @property
    def watches(self) -> bool:
        """Whether there is anything to look at, until the end or the first loss."""
        return self._open and self.reason is None

    def rest(self) -> None:
        """Look if the last time is long enough ago."""
        if self.watches and time.monotonic() >= self._due_s:
            self._look()
            self._due_s = time.monotonic() + INTERVAL_S
            if self.reason is not None:
                self._stop()

    def end(self) -> None:
        """Look once more, and end. May be called more than once."""
        if self._open:
            self._open = False
            self._look()
            for control, _ in self._watched:
                control.close()

    def note_refused(self, commands: int) -> None:
        """Note that commands of our own load were refused because memory was full. Not every server counts them."""
        if commands > 0 and self.reason is None and self._watched:
            self._look()
            watches = [watch for _, watch in self._watched]
            self.reason = self.reason or said(
                "{where}: its memory is full and it refused {n:,} commands; {what_helps}",
                where=joined(", ", [watch.where for watch in watches]),
                n=commands,
                what_helps=watches[0].what_helps,
            )
            self._stop()

    def require(self) -> None:
        """Raises OutOfRoom if something was lost."""
        if self.reason is not None:
            raise OutOfSpace.of(self.reason)

    def _look(self) -> None:
        for _, watch in self._watched:
            with contextlib.suppress(LoadstoneError), deadline(LOOK):
                self.reason = self.reason or watch.lost()
