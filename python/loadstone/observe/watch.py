"""What a run lets its monitors see. Each monitor's class method `watching` picks what it is for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Watch:
    """Parts are named after the servers and subjects of the experiment."""

    pids: Mapping[str, int] = field(default_factory=dict)
    """Part -> process id on this machine. All that such a process started belongs to the part, too."""
    trees: frozenset[str] = frozenset()
    """Those of them that work in many processes: all below the first one are observed together."""
    parked: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Part of other conditions that is up -> its process ids."""
    complete: bool = True
    """Whether `pids` holds every part of the condition, so that all other processes are none of it."""
    cpus: tuple[int, ...] = ()
    """CPUs that something is pinned to."""
    controls: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Software -> part -> a control of its room that is used for nothing else, with a time-out below a second."""
    jvm: Mapping[str, str] = field(default_factory=dict)
    """Part -> the address where a JVM tells its figures, e.g. `http://127.0.0.1:8080/actuator/prometheus`."""

    def controls_of(self, software: str) -> Mapping[str, Any]:
        """Part -> its control, of all parts of a software."""
        return self.controls.get(software, {})
