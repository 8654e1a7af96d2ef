"""What a part is, and which of its metrics tell what: queried in `monitors.catalogue.PART_KINDS` by the kind in its
record."""

from dataclasses import dataclass, replace
from typing import Literal

from loadstone.monitors.metric import Metric, StudyColumn


@dataclass(frozen=True)
class PartKind:
    """A kind of part. The name of a server's kind is that of its room."""

    name: str
    store: bool = False
    """Whether it holds data."""
    threads: Literal["one", "many", "any"] = "any"
    """one: it works in its main thread, whose CPU is its limit; many: its main thread says nothing; any: the main
    thread is reported where it takes most of the CPU."""
    threads_set_by: str | None = None
    """The setting, as it is read back, that says how many threads answer requests: of one in its main thread those that
    help it."""
    many_processes: bool = False
    """Whether it works in many processes, e.g. one a connection: they are observed together."""
    shows_machine: bool = False
    """Whether the report has tables of the machine and its parts where one is under test."""
    connections: str | None = None
    """The metric of its open connections."""
    cpu_counters: tuple[str, ...] = ()
    """Counters of its CPU time in seconds, for a process that cannot be observed."""
    system_counters: tuple[str, ...] = ()
    """Counters of its time in the kernel, among them."""
    children_counters: tuple[str, ...] = ()
    """The CPU time of its children, which are in `cpu_counters` not."""
    main_thread_counters: tuple[str, ...] = ()
    """Counters of its main thread."""
    disk_rates: tuple[str, ...] = ()
    """Rates of its work on the disk: reads, writes and fsyncs."""
    fsyncs: str | None = None
    """The one among them that counts fsyncs."""
    disk_file: str | None = None
    """A metric that is reported only where it keeps a file that it writes all the time."""


@dataclass(frozen=True)
class PoolMetrics:
    """A pool of connections within an application, by the metrics that tell of it."""

    name: str
    active: str
    idle: str
    pending: str


@dataclass(frozen=True)
class LockMetrics:
    """Metrics that show that a process's threads wait for a lock."""

    waiters: str
    """Threads that wait."""
    busy: str | None = None
    """The share of the time in which any of them did."""


@dataclass(frozen=True)
class ObservedSoftware:
    """All that a room declares of what it observes: `OBSERVED` in its file of `monitors/metrics/`."""

    metrics: tuple[Metric, ...]
    kinds: tuple[PartKind, ...] = ()
    pools: tuple[PoolMetrics, ...] = ()
    locks: tuple[LockMetrics, ...] = ()
    study_columns: tuple[StudyColumn, ...] = ()


UNKNOWN = PartKind("unknown")
"""Kind of a part whose kind is not known."""
WATCHED = "watched "
"""Beginning of the kinds of parts that stand behind a service: loadstone watches their processes and loads none."""
WATCHED_PROGRAM = PartKind(f"{WATCHED}program")
"""A part behind a service whose software has no kind."""


def watched(kind: PartKind) -> PartKind:
    """Return the kind of such a part: it has no counters of connections and of the disk, which are asked for."""
    return replace(kind, name=f"{WATCHED}{kind.name}", connections=None, disk_rates=(), fsyncs=None, disk_file=None)
