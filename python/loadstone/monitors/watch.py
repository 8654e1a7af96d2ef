"""What a run lets its monitors see. Each monitor's class method `watching` picks what it is for."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class MetricsPage:
    """A page in Prometheus's format."""

    url: str
    """E.g. `http://127.0.0.1:8080/actuator/prometheus`."""
    worker_pid: int | None = None
    """The process that it is of, where that is a worker of a part; None: the part's own, or not known."""


@dataclass(frozen=True)
class RemotePartTarget:
    """A part whose process is not one of this machine's, as far as can be seen."""

    host: str
    port: int
    """Where it serves."""
    many_processes: bool = False
    """Whether it works in many processes: all below the first one are observed together."""
    stores: bool = False
    """Whether it holds data, and so may wait for its disk."""


@dataclass(frozen=True)
class MonitorTargets:
    """Parts are named after the servers and subjects of the experiment."""

    pids: Mapping[str, int] = field(default_factory=dict)
    """Part -> process id on this machine. All that such a process started belongs to the part, too."""
    trees: frozenset[str] = frozenset()
    """Those of them that work in many processes: all below the first one are observed together."""
    parked: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Part of other conditions that is up -> its process ids."""
    in_turn: frozenset[int] = frozenset()
    """Processes of conditions that take turns with this one: what they do is done in slices of their own."""
    driving: Collection[int] = frozenset()
    """Processes that make the load, with all below them; it changes while they come and go."""
    complete: bool = True
    """Whether `pids` holds every part of the condition, so that all other processes are none of it."""
    cpus: tuple[int, ...] = ()
    """CPUs that something is pinned to."""
    controls: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Software -> part -> a control of its room that is used for nothing else, with a time-out below a second."""
    workers: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Part of `trees` -> the processes below the first one that do its work, each in its main thread."""
    stores: frozenset[str] = frozenset()
    """Parts that hold data and have no control: their processes may wait for their disks."""
    pages: Mapping[str, Mapping[str, MetricsPage]] = field(default_factory=dict)
    """Runtime (`jvm`, `node`) -> part, or worker of a part -> where it tells its figures."""
    elsewhere: Mapping[str, RemotePartTarget] = field(default_factory=dict)
    """Part -> where it serves, of those that a monitor beside them may observe."""

    def controls_of(self, software: str) -> Mapping[str, Any]:
        """Part -> its control, of all parts of a software."""
        return self.controls.get(software, {})

    def pages_of(self, runtime: str) -> Mapping[str, MetricsPage]:
        """Part, or worker of a part -> its page, of all that run in a runtime."""
        return self.pages.get(runtime, {})
