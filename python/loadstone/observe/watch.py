"""What a run lets its monitors see. Each monitor's class method `watching` picks what it is for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


class Control(Protocol):
    """What a monitor needs of a control connection; `deploy.redis_control.RedisControl` is one."""

    def info(self, *sections: str) -> Mapping[str, Any]:
        """The server's INFO, parsed."""


class SqlControl(Protocol):
    """What a monitor needs of a control connection to MariaDB."""

    def query(self, sql: str) -> Sequence[Sequence[Any]]:
        """The rows of the answer, each the values of its columns; ServerGone if there is none."""


@dataclass(frozen=True)
class Watch:
    """Parts are named after the servers and subjects of the experiment."""

    pids: Mapping[str, int] = field(default_factory=dict)
    """Part -> process id on this machine. All that such a process started belongs to the part, too."""
    parked: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Part of other conditions that is up -> its process ids."""
    complete: bool = True
    """Whether `pids` holds every part of the condition, so that all other processes are none of it."""
    redis: Mapping[str, Control] = field(default_factory=dict)
    """Part -> a control connection that is used for nothing else, with a time-out below a second."""
    cpus: tuple[int, ...] = ()
    """CPUs that something is pinned to."""
    mariadb: Mapping[str, SqlControl] = field(default_factory=dict)
    """Part -> a control connection that is used for nothing else, with a time-out below a second."""
    jvm: Mapping[str, str] = field(default_factory=dict)
    """Part -> the address where a JVM tells its figures, e.g. `http://127.0.0.1:8080/actuator/prometheus`."""
