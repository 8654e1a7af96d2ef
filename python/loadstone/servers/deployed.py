"""What runs for a trial: servers and subjects, and how to reach them."""

from dataclasses import dataclass, field

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.programs.subjects.subject import Subject
from loadstone.run_folder.ledger import Traces
from loadstone.safety.errors import UserError
from loadstone.servers.control import Control
from loadstone.servers.delay_line import Line
from loadstone.servers.server import Server


@dataclass
class Deployed:
    """One server that runs, and how to talk to it. Another start of it is another `Deployed`."""

    server: Server
    endpoint: Endpoint
    """Where the load and the applications connect: to the line, if there is one."""
    endpoints: tuple[Endpoint, ...]
    """Several of a cluster only; otherwise that one."""
    control: Control
    """For loadstone's own questions between the phases."""
    monitor: Control
    """Used by the monitors and nothing else."""
    pids: dict[str, int]
    """Its processes when it was started; empty where they cannot be observed."""
    holds: dict[str, str] = field(default_factory=dict)
    """What was written into it since its start: place -> the rows there, or the tables' statements."""
    traces: Traces = field(default_factory=Traces)
    """What is to be removed again if the server is not ours."""
    line: Line | None = None
    """Between it and what loads it; not for `control` and `monitor`."""

    @property
    def processes(self) -> dict[str, int]:
        """Its processes and its line's as they are now, by part; empty where its own cannot be observed."""
        own = dict(self.server.pids)
        return {**own, **self.line.pids} if own and self.line is not None else own

    def close(self) -> None:
        """Close both connections."""
        self.control.close()
        self.monitor.close()


@dataclass
class DeployedSubject:
    """One subject that runs. Another start of it is another `DeployedSubject`."""

    subject: Subject
    endpoints: tuple[Endpoint, ...]
    """Of each replica."""
    pids: dict[str, int]
    """Its processes when it was started; empty where they cannot be observed."""
    warm_up_s: float
    """How long it is to be under each kind of load before its first trial."""
    warmed: set[str] = field(default_factory=set)
    """What it was warmed up by, as whoever does it calls it."""
    restless_cores: float | None = None
    """What it still took without load after a warm-up, after the longest wait."""


@dataclass
class Ready:
    """What a trial runs on, by the names that the experiment gives."""

    servers: dict[str, Deployed]
    subjects: dict[str, DeployedSubject]
    parked: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """The processes of what is up and not needed now, by the names of servers and subjects."""

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
