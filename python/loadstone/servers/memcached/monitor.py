"""A memcached as its `stats` report it: a monitor for each second, and snapshots before and after a trial."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from loadstone.experiment.software import MEMCACHED
from loadstone.machine import clock
from loadstone.monitors.metric import by_name
from loadstone.monitors.metrics import memcached
from loadstone.monitors.monitor import Monitor, Sample
from loadstone.monitors.watch import MonitorTargets
from loadstone.safety.bounds.replies import finite, read_as, recordable
from loadstone.safety.errors import LoadstoneError
from loadstone.servers.memcached.memory import start_of
from loadstone.text.message import said

RENAMED = {"item_bytes": "bytes"}
"""Metric -> its name in `stats`, where another one says more."""
COUNTS = {
    "mg": ("cmd_get",),
    "ms": ("cmd_set",),
    "md": ("delete_hits", "delete_misses"),
    "ma": ("incr_hits", "incr_misses", "decr_hits", "decr_misses"),
}
"""Meta command -> the counters of `stats` that count it."""
AS_CHECKED = {
    "keyspace_hits": "get_hits",
    "keyspace_misses": "get_misses",
    "keys": "curr_items",
    "evicted_keys": "evictions",
    "total_net_input_bytes": "bytes_read",
}
"""Figure by the name that the checks of a trial know -> its name in `stats`."""


class MemcachedQueries(Protocol):
    """What the monitor needs of a control; `MemcachedControl` is one."""

    def stats(self, what: str = "") -> Mapping[str, str]:
        """The names and values of `stats`."""


class MemcachedMonitor:
    """The server of `part`; `answers` alone is reported while it does not answer."""

    METRICS = by_name(memcached.METRICS)

    def __init__(self, part: str, control: MemcachedQueries) -> None:
        self._part = part
        self._control = control

    @classmethod
    def watching(cls, watch: MonitorTargets) -> list[Monitor]:
        """One for each server."""
        return [cls(part, control) for part, control in watch.controls_of(MEMCACHED.name).items()]

    def sample(self, unix_s: float) -> Iterator[Sample]:
        """What `stats` says; sends no other command."""
        try:
            stats = self._control.stats()
            with read_as(self._part, "stats", said("figures")):
                values = _figures(stats)
        except LoadstoneError:
            values = {}
        yield Sample(unix_s, self._part, "answers", float(bool(values)))
        for name, value in values.items():
            yield Sample(unix_s, self._part, name, value)


@dataclass(frozen=True)
class MetaCalls:
    """Counts of the calls of one meta command; one that was refused is not counted."""

    calls: int
    rejected_calls: int = 0


@dataclass(frozen=True)
class MemcachedSnapshot:
    """A server at one moment; see `monitors.snapshot.Snapshot`."""

    run_id: str
    uptime_s: int
    figures: Mapping[str, float]
    commands: Mapping[str, MetaCalls]
    unix_s: float = 0.0
    settings: Mapping[str, str] = field(default_factory=dict)
    monitor_clients: int | None = None
    slow_log_entries: int | None = None
    latency_events: Mapping[str, int] = field(default_factory=dict)


def snapshot(control: MemcachedQueries) -> MemcachedSnapshot:
    """One `stats`.

    Raises:
        ServerGone: the server does not answer, or its answer cannot be read (BadReply).
    """
    stats = control.stats()
    with read_as("of memcached", "stats", said("figures")):
        figures = _figures(stats) | {name: finite(stats[theirs]) for name, theirs in AS_CHECKED.items()}
        calls = {
            name: MetaCalls(recordable(sum(int(stats[counter]) for counter in counted)))
            for name, counted in COUNTS.items()
        }
        uptime_s = recordable(int(stats["uptime"]))
        start = start_of(stats)
    return MemcachedSnapshot(start, uptime_s, figures, calls, unix_s=clock.unix_s())


def _figures(stats: Mapping[str, str]) -> dict[str, float]:
    """Those of `METRICS` that the server reports."""
    named = {name: RENAMED.get(name, name) for name in MemcachedMonitor.METRICS}
    return {name: finite(stats[theirs]) for name, theirs in named.items() if theirs in stats}


WATCHING = (MemcachedMonitor.watching,)
