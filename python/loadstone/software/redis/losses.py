"""What a Redis that is not ours loses when its memory is full, while a run stores something there."""

from dataclasses import dataclass, field
from typing import ClassVar

from loadstone.software.redis.capacity import MemoryUse, foreign_keys, memory_use
from loadstone.software.redis.session import RedisSession


@dataclass
class MemoryWatch:
    """One server, and how it was when the watch began; see `deploy.control.LossWatch`."""

    what_helps: ClassVar[str] = (
        "raise its maxmemory, store less, or give a server of its own; what was measured is kept"
    )
    name: str
    control: RedisSession
    first: MemoryUse
    foreign: int
    others: dict[str, MemoryUse] = field(default_factory=dict)
    """By run id: the first answers of other starts of it, or of other servers behind its address."""

    @classmethod
    def begin(cls, name: str, control: RedisSession) -> "MemoryWatch":
        """From now on. Raises ServerGone."""
        use = memory_use(control)
        return cls(name, control, use, foreign_keys(control, use))

    def lost(self) -> str | None:
        """See `deploy.control.LossWatch.lost`; sends one INFO."""
        return self.lost_at(memory_use(self.control))

    @property
    def where(self) -> str:
        """Which server it is, for people."""
        return f"server {self.name} ({self.control.endpoint.label})"

    def lost_at(self, now: MemoryUse) -> str | None:
        """What was lost up to an answer of the server, or will be next; None: nothing."""
        where = self.where
        policy = f"maxmemory {now.limit_bytes:,} bytes, policy {now.policy}"
        first = self._first(now)
        evicted = now.evicted_keys - first.evicted_keys
        if evicted > 0:
            return f"{where}: it evicted {evicted:,} keys because its memory was full ({policy}); {self.what_helps}"
        refused = now.refused - first.refused
        if refused > 0:
            return f"{where}: its memory is full and it refused {refused:,} commands ({policy}); {self.what_helps}"
        if self._is_nearly_full(now, first):
            return f"{where}: {now.free_bytes:,} bytes of its memory are free ({policy}); {self.what_helps}"
        return None

    def _first(self, now: MemoryUse) -> MemoryUse:
        """What counts from there on is compared with: the first answer of the same start of the same server."""
        return self.first if now.run_id == self.first.run_id else self.others.setdefault(now.run_id, now)

    def _is_nearly_full(self, now: MemoryUse, first: MemoryUse) -> bool:
        """Before anything is lost. A cache with keys of ours alone may fill; what was full before is not our doing."""
        if not now.limit_bytes or (now.evicts(self.foreign) and not self.foreign):
            return False
        return first.free_bytes >= first.reserve_bytes and now.free_bytes < now.reserve_bytes / 2
