"""What a memcached that is not ours loses when its memory is full, while a run stores something there."""

from dataclasses import dataclass, field
from typing import ClassVar

from loadstone.software.memcached.capacity import MemoryUse, memory_use
from loadstone.software.memcached.session import MemcachedSession


@dataclass
class EvictionWatch:
    """One server, and how it was when the watch began; see `deploy.control.LossWatch`."""

    what_helps: ClassVar[str] = (
        "raise its memory limit (-m), store less, or give a server of its own; what was measured is kept"
    )
    name: str
    session: MemcachedSession
    first: MemoryUse
    others: dict[str, MemoryUse] = field(default_factory=dict)
    """By its start: the first answers of other starts of it."""

    @classmethod
    def begin(cls, name: str, session: MemcachedSession) -> "EvictionWatch":
        """From now on. Raises ServerGone."""
        return cls(name, session, memory_use(session))

    @property
    def where(self) -> str:
        """Which server it is, for people."""
        return f"server {self.name} ({self.session.endpoint.label})"

    def lost(self) -> str | None:
        """See `deploy.control.LossWatch.lost`; sends one `stats`."""
        now = memory_use(self.session)
        first = self.first if now.start == self.first.start else self.others.setdefault(now.start, now)
        limit = f"limit_maxbytes {now.limit_bytes:,}"
        if now.evictions > first.evictions:
            number = now.evictions - first.evictions
            return f"{self.where}: it evicted {number:,} keys because its memory was full ({limit}); {self.what_helps}"
        if now.refused > first.refused:
            number = now.refused - first.refused
            return f"{self.where}: its memory is full and it refused {number:,} items ({limit}); {self.what_helps}"
        return None
