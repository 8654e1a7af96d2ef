"""Determines how much memory a Redis has: whether what a run stores fits beside keys of others, and what is lost at its
limit."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import psutil

from loadstone.experiment.plan.stored_bytes import Footprint
from loadstone.experiment.spec.experiment import OUR_PREFIX
from loadstone.servers.free_space import size_text
from loadstone.servers.redis.session import RedisSession
from loadstone.text.message import AnyText, said

LESS = said("store less (workload.keys.count, workload.documents.payload_bytes, data.NAME.rows)")
SCAN_FIRST = 10
SCAN_ROUNDS = 20
SCAN_COUNT = 1000
"""Number of keys, and of times, that are looked at to find one that is not ours. First only a few: of a full server
each answer takes room, for which it may evict keys."""
WHOLE_MAX = 2**63 - 1
RESERVE_SHARE, RESERVE_LEAST_BYTES, RESERVE_MOST_BYTES = 0.01, 256 * 1024, 64 * 1024**2
"""What must stay free of a limit, for what others write meanwhile."""


@dataclass(frozen=True)
class RedisMemoryUse:
    """A Redis's memory at one moment, of INFO alone."""

    used_bytes: int
    """What counts against the limit: without the buffers of replicas and of the append-only file."""
    limit_bytes: int
    """Its maxmemory; 0: none, or it does not report one."""
    policy: str
    evicted_keys: int
    refused: int
    """Commands that it refused because memory was full (OOM)."""
    keys: int
    expiring_keys: int
    machine_bytes: int | None = None
    """Memory of its machine, all of it."""
    resident_bytes: int = 0
    run_id: str = ""
    """Identifies the start, and the server of several behind one address."""

    @classmethod
    def of(cls, info: Mapping[str, Any]) -> "RedisMemoryUse":
        """Return the use by what a server reports; what it does not report, or not as a number, is 0."""
        spaces = [value for name, value in info.items() if name.startswith("db") and isinstance(value, Mapping)]
        oom = info.get("errorstat_OOM")
        return cls(
            used_bytes=max(0, _whole(info, "used_memory") - _whole(info, "mem_not_counted_for_evict")),
            limit_bytes=_whole(info, "maxmemory"),
            policy=str(info.get("maxmemory_policy", "noeviction")),
            evicted_keys=_whole(info, "evicted_keys"),
            refused=_whole(oom, "count") if isinstance(oom, Mapping) else 0,
            keys=sum(_whole(space, "keys") for space in spaces),
            expiring_keys=sum(_whole(space, "expires") for space in spaces),
            machine_bytes=_whole(info, "total_system_memory") or None,
            resident_bytes=_whole(info, "used_memory_rss"),
            run_id=str(info.get("run_id", "")),
        )

    @property
    def free_bytes(self) -> int:
        """Below the limit. Only where there is one."""
        return max(0, self.limit_bytes - self.used_bytes)

    @property
    def reserve_bytes(self) -> int:
        """What is to stay free. Only where there is a limit."""
        return int(min(RESERVE_MOST_BYTES, max(RESERVE_LEAST_BYTES, RESERVE_SHARE * self.limit_bytes)))

    def evicts(self, foreign: int) -> bool:
        """Whether a full server throws keys away, rather than refuse writes, where so many keys are not ours.

        `volatile-*` throws away only keys that expire; where there are none it refuses.
        """
        if self.policy == "noeviction":
            return False
        return not self.policy.startswith("volatile") or (self.expiring_keys > 0 and foreign > 0)


def memory_use(control: RedisSession) -> RedisMemoryUse:
    """One INFO. Raises ServerGone."""
    return RedisMemoryUse.of(control.info())


def limits_reported(control: RedisSession, use: RedisMemoryUse) -> RedisMemoryUse:
    """Return the use with limit and policy out of CONFIG, for a server whose INFO does not have them. Raises
    ServerGone."""
    info = control.info("memory")
    if "maxmemory" in info and "maxmemory_policy" in info:
        return use
    settings = control.config_get(("maxmemory", "maxmemory-policy"))
    limit, policy = _whole(settings, "maxmemory") or use.limit_bytes, settings.get("maxmemory-policy", use.policy)
    return replace(use, limit_bytes=limit, policy=policy)


def foreign_keys(control: RedisSession, use: RedisMemoryUse) -> int:
    """Return how many keys are not ours at most: all, but for those of a database that holds keys of ours alone.

    Raises:
        ServerGone: the server does not answer.
    """
    if not use.keys or not all(_ours_alone(node) for node in control.each_node()):
        return use.keys
    return max(0, use.keys - control.keys())


def _ours_alone(control: RedisSession) -> bool:
    """Whether every key of the database is ours; no, where there are too many to look at them all."""
    cursor = "0"
    for count in (SCAN_FIRST, *[SCAN_COUNT] * SCAN_ROUNDS):
        cursor, keys = control.scan(cursor, "COUNT", count)
        if any(not key.startswith(OUR_PREFIX.encode()) for key in keys):
            return False
        if cursor == "0":
            return True
    return False


def machine_free_bytes(use: RedisMemoryUse, *, here: bool) -> int | None:
    """Free memory of a Redis's machine: of this one as the kernel has it; of another at most. None: not known."""
    if here:
        return int(psutil.virtual_memory().available)
    return None if use.machine_bytes is None else max(0, use.machine_bytes - use.resident_bytes)


def shortage(control: RedisSession, planned: Footprint, *, here: bool) -> AnyText:
    """Why what is planned may not fit, and what helps; empty if it does. `here`: it runs on this machine."""
    use = limits_reported(control, memory_use(control))
    if use.limit_bytes and (problem := _beyond_limit(use, foreign_keys(control, use), planned)):
        return problem
    free = machine_free_bytes(use, here=here)
    if free is not None and planned.bytes > free:
        return said(
            "the run may store {size} there, and its machine has {free} of memory free: it would swap, or end "
            "processes; {less}, or give a server on a larger machine",
            size=size_text(planned.bytes),
            free=size_text(free),
            less=LESS,
        )
    return ""


def full(control: RedisSession, info: Mapping[str, Any]) -> AnyText:
    """Return why any write would evict keys of others, and what helps; empty if it would not. It writes nothing.

    `info`: what the server's INFO says; each node of a cluster is queried for its own.

    Raises:
        ServerGone: the server does not answer.
    """
    for node in control.each_node():
        reported = info if node is control else node.info()
        use = RedisMemoryUse.of(reported)
        if not {"maxmemory", "maxmemory_policy"} <= reported.keys():
            use = limits_reported(node, use)
        if not use.limit_bytes or use.free_bytes >= use.reserve_bytes / 2 or use.policy == "noeviction":
            continue
        foreign = foreign_keys(node, use)
        if foreign and use.evicts(foreign):
            return said(
                "its memory is full ({free} of maxmemory {maxmemory} are free, policy {policy}), so whatever is stored "
                "there evicts keys of others ({n:,} keys there); raise maxmemory, or give a server of its own",
                free=size_text(use.free_bytes),
                maxmemory=size_text(use.limit_bytes),
                policy=use.policy,
                n=use.keys,
            )
    return ""


@dataclass
class MemoryWatch:
    """What a Redis that is not ours loses while a run stores something there; see `servers.control.LossWatch`."""

    what_helps: ClassVar[AnyText] = said(
        "raise its maxmemory, store less, or give a server of its own; what was measured is kept"
    )
    name: str
    control: RedisSession
    first: RedisMemoryUse
    foreign: int
    others: dict[str, RedisMemoryUse] = field(default_factory=dict)
    """First answers of other starts of it, or of other servers behind its address, by run id."""

    @classmethod
    def begin(cls, name: str, control: RedisSession) -> "MemoryWatch":
        """From now on. Raises ServerGone."""
        use = memory_use(control)
        return cls(name, control, use, foreign_keys(control, use))

    def lost(self) -> AnyText | None:
        """See `servers.control.LossWatch.lost`; sends one INFO."""
        return self.lost_at(memory_use(self.control))

    @property
    def where(self) -> AnyText:
        """Which server it is, for people."""
        return said("server {name} ({address})", name=self.name, address=self.control.endpoint.label)

    def lost_at(self, now: RedisMemoryUse) -> AnyText | None:
        """What was lost up to an answer of the server, or will be next; None: nothing."""
        policy = said("maxmemory {maxmemory:,} bytes, policy {policy}", maxmemory=now.limit_bytes, policy=now.policy)
        figures = {"where": self.where, "policy": policy, "what_helps": self.what_helps}
        first = self._first(now)
        evicted = now.evicted_keys - first.evicted_keys
        if evicted > 0:
            return said(
                "{where}: it evicted {n:,} keys because its memory was full ({policy}); {what_helps}",
                n=evicted,
                **figures,
            )
        refused = now.refused - first.refused
        if refused > 0:
            return said(
                "{where}: its memory is full and it refused {n:,} commands ({policy}); {what_helps}",
                n=refused,
                **figures,
            )
        if self._is_nearly_full(now, first):
            return said(
                "{where}: {n:,} bytes of its memory are free ({policy}); {what_helps}", n=now.free_bytes, **figures
            )
        return None

    def _first(self, now: RedisMemoryUse) -> RedisMemoryUse:
        """What counts from there on is compared with: the first answer of the same start of the same server."""
        return self.first if now.run_id == self.first.run_id else self.others.setdefault(now.run_id, now)

    def _is_nearly_full(self, now: RedisMemoryUse, first: RedisMemoryUse) -> bool:
        """Before anything is lost. A cache with keys of ours alone may fill; what was full before is not our doing."""
        if not now.limit_bytes or (now.evicts(self.foreign) and not self.foreign):
            return False
        return first.free_bytes >= first.reserve_bytes and now.free_bytes < now.reserve_bytes / 2


def _beyond_limit(use: RedisMemoryUse, foreign: int, planned: Footprint) -> AnyText:
    """Keys of others would be evicted, or their writes refused. A cache with no key of theirs may overflow."""
    evicts = use.evicts(foreign)
    if planned.bytes + use.reserve_bytes <= use.free_bytes or (evicts and not foreign):
        return ""
    if not evicts:
        then = said("it would refuse the writes of others (OOM)")
    elif use.policy.startswith("volatile"):
        then = said("it would evict keys of others ({n:,} keys there expire)", n=use.expiring_keys)
    else:
        then = said("it would evict keys of others ({n:,} keys there)", n=use.keys)
    size: str = size_text(planned.bytes)
    return said(
        "the run may store {size} there, and {free} are free (maxmemory {maxmemory}, policy {policy}, {reserve} stay "
        "free): {then}; raise maxmemory, {less}, or give a server of its own",
        size=said("{size}, and more as it goes on,", size=size) if planned.grows else size,
        free=size_text(use.free_bytes),
        maxmemory=size_text(use.limit_bytes),
        policy=use.policy,
        reserve=size_text(use.reserve_bytes),
        then=then,
        less=LESS,
    )


def _whole(settings: Mapping[str, Any], name: str) -> int:
    """A number of a server's, of which none is negative or needs more than 63 bits."""
    try:
        return min(max(0, int(settings.get(name, 0))), WHOLE_MAX)
    except (TypeError, ValueError, OverflowError):
        return 0
