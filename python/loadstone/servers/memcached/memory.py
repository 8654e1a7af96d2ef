"""The memory of a memcached: what is in use, whether what a run stores fits beside others' keys, and what is lost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import psutil

from loadstone.experiment.plan.drive_plan import Plan
from loadstone.experiment.plan.run_plan import PlannedTrial
from loadstone.experiment.plan.stored_bytes import Footprint, largest_command
from loadstone.safety.bounds.replies import read_as, shortened
from loadstone.servers.free_space import size_text
from loadstone.servers.memcached.session import MemcachedSession
from loadstone.text.message import AnyText, said

LESS = said("store less (workload.keys.count, workload.documents.payload_bytes)")
ITEM_BYTES = 64
"""Header, flags and CAS of an item at most, beside its key and its data with their line end: 48 to 60 measured."""
PAGE_BYTES = 1024 * 1024
"""Unit by which it takes memory for items of a size; once all is taken, a new item evicts one of about its size."""
WHOLE_MAX = 2**63 - 1
DIGITS_MAX = 24


@dataclass(frozen=True)
class MemcachedMemoryUse:
    """A memcached's memory at one moment, as `stats` has it."""

    limit_bytes: int
    used_bytes: int
    items: int
    evictions: int
    refused: int
    """Items that it refused because memory was full, and it may not evict."""
    start: str
    """Another text for each start."""

    @classmethod
    def of(cls, stats: Mapping[str, str]) -> "MemcachedMemoryUse":
        """Return the use by what it reports; what it does not report is 0. Raises ValueError: it is not a whole
        number."""
        return cls(
            limit_bytes=whole(stats, "limit_maxbytes"),
            used_bytes=whole(stats, "bytes"),
            items=whole(stats, "curr_items"),
            evictions=whole(stats, "evictions"),
            refused=whole(stats, "store_no_memory"),
            start=start_of(stats),
        )

    @property
    def free_bytes(self) -> int:
        """Below its limit, as if no memory were lost between items."""
        return max(0, self.limit_bytes - self.used_bytes)


def start_of(stats: Mapping[str, str]) -> str:
    """Which start of the server answered: its process, and when it began. Both clocks tick together.

    Raises:
        ValueError: a clock is not a whole number.
    """
    return f"{stats.get('pid', '')}-{whole(stats, 'time') - whole(stats, 'uptime')}"


def memory_use(session: MemcachedSession) -> MemcachedMemoryUse:
    """One `stats`. Raises ServerGone; BadReply: a figure is not a whole number."""
    stats = session.stats()
    with read_as(session.endpoint.label, "stats", said("a whole number")):
        return MemcachedMemoryUse.of(stats)


def shortage(session: MemcachedSession, planned: Footprint, *, here: bool) -> AnyText:
    """Why what is planned may not fit, and what helps; empty if it does. `here`: it runs on this machine."""
    use = memory_use(session)
    if planned.bytes > use.free_bytes and use.items:
        evicts = session.settings(["disable-evictions"]).get("disable-evictions") != "yes"
        then = said("it would refuse the writes of others")
        if evicts:
            then = said("it would evict keys of others ({n:,} keys there)", n=use.items)
        return said(
            "the run may store {size} there, and {free} are free (limit_maxbytes {limit}): {then}; raise its memory "
            "limit (-m), {less}, or give a server of its own",
            size=size_text(planned.bytes),
            free=size_text(use.free_bytes),
            limit=size_text(use.limit_bytes),
            then=then,
            less=LESS,
        )
    free = int(psutil.virtual_memory().available) if here else None
    needed = min(planned.bytes, use.free_bytes)
    if free is not None and needed > free:
        return said(
            "the run may store {size} there, and its machine has {free} free; {less}",
            size=size_text(needed),
            free=size_text(free),
            less=LESS,
        )
    return ""


def is_full(session: MemcachedSession) -> bool:
    """Return whether an item that is stored may take the place of another one. Raises as `memory_use`."""
    use = memory_use(session)
    if not use.items:
        return False
    slabs = session.stats("slabs")
    with read_as(session.endpoint.label, "stats slabs", said("a whole number")):
        return whole(slabs, "total_malloced") + PAGE_BYTES > use.limit_bytes


def too_large(session: MemcachedSession, trials: Sequence[PlannedTrial], server: str) -> AnyText:
    """Why an item of these trials is larger than the server takes, and what helps; empty if none is."""
    plans: list[Plan] = []
    for trial in trials:
        if trial.target in (None, server) and not trial.subjects:
            plans += [trial.plan, *([trial.load] if trial.load is not None else [])]
    largest = max(map(largest_command, plans), default=0) + ITEM_BYTES
    settings = session.stats("settings")
    with read_as(session.endpoint.label, "stats settings", said("a whole number")):
        limit = whole(settings, "item_size_max")
    if not limit or largest <= limit:
        return ""
    return said(
        "an item of the run takes {size}, and it takes items of at most {limit}: raise that (max-item-size, -I), or "
        "store smaller ones (workload.documents.payload_bytes)",
        size=size_text(largest),
        limit=size_text(limit),
    )


def whole(stats: Mapping[str, str], name: str) -> int:
    """A whole number of `stats`; 0 where it does not report one. Raises ValueError: it reports something else."""
    text = stats.get(name, "0")
    if not text.isdecimal() or len(text) > DIGITS_MAX:
        raise ValueError(f"'{name} {shortened(text, 40)}'")
    return min(int(text), WHOLE_MAX)


@dataclass
class EvictionWatch:
    """One server, and how it was when the watch began; see `servers.control.LossWatch`."""

    what_helps: ClassVar[AnyText] = said(
        "raise its memory limit (-m), store less, or give a server of its own; what was measured is kept"
    )
    name: str
    session: MemcachedSession
    first: MemcachedMemoryUse
    others: dict[str, MemcachedMemoryUse] = field(default_factory=dict)
    """First answers of other starts of it, by their start."""

    @classmethod
    def begin(cls, name: str, session: MemcachedSession) -> "EvictionWatch":
        """From now on. Raises ServerGone."""
        return cls(name, session, memory_use(session))

    @property
    def where(self) -> AnyText:
        """Which server it is, for people."""
        return said("server {name} ({address})", name=self.name, address=self.session.endpoint.label)

    def lost(self) -> AnyText | None:
        """See `servers.control.LossWatch.lost`; sends one `stats`."""
        now = memory_use(self.session)
        first = self.first if now.start == self.first.start else self.others.setdefault(now.start, now)
        figures = {"where": self.where, "limit": f"limit_maxbytes {now.limit_bytes:,}", "what_helps": self.what_helps}
        if now.evictions > first.evictions:
            return said(
                "{where}: it evicted {n:,} keys because its memory was full ({limit}); {what_helps}",
                n=now.evictions - first.evictions,
                **figures,
            )
        if now.refused > first.refused:
            return said(
                "{where}: its memory is full and it refused {n:,} items ({limit}); {what_helps}",
                n=now.refused - first.refused,
                **figures,
            )
        return None
