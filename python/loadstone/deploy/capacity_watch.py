"""Watches the room of servers that are not ours while a run stores something there, and ends it at the first loss."""

import contextlib
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Self

from loadstone.deploy.capacity import MemoryUse, foreign_keys, memory_use
from loadstone.deploy.deployed import Deployed
from loadstone.errors import LoadstoneError, OutOfRoom
from loadstone.software.redis.control import RedisControl

INTERVAL_S = 0.25
"""How often each server is asked for INFO: less than a thousandth of its time."""
TIMEOUT_S = 2.0
WHAT_HELPS = "raise its maxmemory, store less, or give a server of its own; what was measured is kept"


@dataclass
class _Watched:
    """One server, and how it was when the watch began."""

    name: str
    control: RedisControl
    first: MemoryUse
    foreign: int
    others: dict[str, MemoryUse] = field(default_factory=dict)
    """By run id: the first answers of other starts of it, or of other servers behind its address."""

    @property
    def where(self) -> str:
        """Which server it is, for people."""
        return f"server {self.name} ({self.control.endpoint.label})"

    def lost(self, now: MemoryUse) -> str | None:
        """What was lost since then, or will be next; None: nothing."""
        where = self.where
        policy = f"maxmemory {now.limit_bytes:,} bytes, policy {now.policy}"
        first = self._first(now)
        evicted = now.evicted_keys - first.evicted_keys
        if evicted > 0:
            return f"{where}: it threw {evicted:,} keys away for want of memory ({policy}); {WHAT_HELPS}"
        refused = now.refused - first.refused
        if refused > 0:
            return f"{where}: its memory is full and it refused {refused:,} commands ({policy}); {WHAT_HELPS}"
        if self._is_nearly_full(now, first):
            return f"{where}: {now.free_bytes:,} bytes of its memory are free ({policy}); {WHAT_HELPS}"
        return None

    def _first(self, now: MemoryUse) -> MemoryUse:
        """What counts from there on is compared with: the first answer of the same start of the same server."""
        return self.first if now.run_id == self.first.run_id else self.others.setdefault(now.run_id, now)

    def _is_nearly_full(self, now: MemoryUse, first: MemoryUse) -> bool:
        """Before anything is lost. A cache with keys of ours alone may fill; what was full before is not our doing."""
        if not now.limit_bytes or (now.evicts(self.foreign) and not self.foreign):
            return False
        return first.free_bytes >= first.reserve_bytes and now.free_bytes < now.reserve_bytes / 2


class RoomWatch:
    """A context: from its beginning to its end every Redis that is not ours is watched, in a thread.

    `reason` says in one line what was lost; `stop` is called once, as soon as it is known. A server that does not
    answer is not seen as lost here: that is told by whoever loads it.
    """

    def __init__(self, servers: Iterable[Deployed], stop: Callable[[], None] = lambda: None) -> None:
        self.reason: str | None = None
        self._stop = stop
        self._servers = [one for one in servers if not one.server.ours and isinstance(one.control, RedisControl)]
        self._watched: list[_Watched] = []
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        for one in self._servers:
            control = one.server.control(TIMEOUT_S)
            if not isinstance(control, RedisControl):
                continue
            try:
                use = memory_use(control)
                self._watched.append(_Watched(one.server.name, control, use, foreign_keys(control, use)))
            except LoadstoneError:
                control.close()
        if self._watched:
            self._thread = threading.Thread(target=self._run, name="room", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Look once more, and end. May be called more than once."""
        self._over.set()
        thread, self._thread = self._thread, None
        if thread is None:
            return
        thread.join()
        self._look()
        for one in self._watched:
            one.control.close()

    def note_refused(self, commands: int) -> None:
        """So many commands of our own load were refused for want of memory. Not every server counts them."""
        if commands > 0 and self.reason is None and self._watched:
            self._look()
            where = ", ".join(one.where for one in self._watched)
            self.reason = (
                self.reason or f"{where}: its memory is full and it refused {commands:,} commands; {WHAT_HELPS}"
            )
            self._stop()

    def require(self) -> None:
        """Raises OutOfRoom if something was lost."""
        if self.reason is not None:
            raise OutOfRoom(self.reason)

    def _run(self) -> None:
        while self.reason is None and not self._over.wait(INTERVAL_S):
            self._look()
            if self.reason is not None:
                self._stop()

    def _look(self) -> None:
        for one in self._watched:
            with contextlib.suppress(LoadstoneError):
                self.reason = self.reason or one.lost(memory_use(one.control))
