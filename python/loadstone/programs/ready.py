"""What runs for a trial: servers and applications, and where its load goes."""

from dataclasses import dataclass, field
from typing import Any

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.monitors.part_kind import WATCHED_PROGRAM
from loadstone.programs.subjects.subject import Subject
from loadstone.safety.errors import UserError
from loadstone.servers.deployed import RunningServer


@dataclass
class RunningSubject:
    """One subject that runs. Another start of it is another `RunningSubject`."""

    subject: Subject
    endpoints: tuple[Endpoint, ...]
    """Endpoint of each replica."""
    pids: dict[str, int]
    """Its processes when it was started; empty where they cannot be observed."""
    warm_up_s: float
    """How long it is to be under each kind of load before its first trial."""
    warmed: set[str] = field(default_factory=set)
    """What it was warmed up by, as whoever does it calls it."""
    restless_cores: float | None = None
    """What it still took without load after a warm-up, after the longest wait."""


@dataclass(frozen=True)
class PartBehind:
    """A part behind a service that loadstone watches only, see `programs.parts_behind`."""

    name: str
    pid: int | None
    """Its first process; None: it is not one of this machine's."""
    kind: str = WATCHED_PROGRAM.name
    """As its record has it."""
    software: str = ""
    """The software of `control`."""
    control: Any = None
    """Reads its figures, and nothing else; None: it is not asked."""


@dataclass
class RunningParts:
    """What a trial runs on, by the names that the experiment gives."""

    servers: dict[str, RunningServer]
    subjects: dict[str, RunningSubject]
    parked: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """The processes of what is up and not needed now, by the names of servers and subjects."""
    behind: dict[str, PartBehind] = field(default_factory=dict)
    """What stands behind its subjects, beside its servers."""

    def endpoints(self, target: str | None) -> tuple[Endpoint, ...]:
        """Where the load goes: to that server or subject; None: to the only subject, or else to all servers.

        Raises:
            UserError: there is no such part, or there are several subjects and none is named.
        """
        if target is not None:
            part = self.subjects.get(target) or self.servers.get(target)
            if part is None:
                known = ", ".join([*self.subjects, *self.servers]) or "none"
                raise UserError(
                    "workload.target: '{target}' is no part of this condition; its parts are: {known}",
                    target=target,
                    known=known,
                )
            return part.endpoints
        if len(self.subjects) > 1:
            raise UserError("workload.target: it is missing; name one of {subjects}", subjects=", ".join(self.subjects))
        parts = [deployed.endpoints for deployed in (self.subjects or self.servers).values()]
        return tuple(endpoint for endpoints in parts for endpoint in endpoints)
