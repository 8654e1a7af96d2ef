"""A server that runs for a trial: its endpoints, its processes, its control connections and what it holds."""

from dataclasses import dataclass, field

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.run_folder.ledger import CreatedObjects
from loadstone.servers.control import Control
from loadstone.servers.delay_line import DelayLine
from loadstone.servers.server import Server


@dataclass
class RunningServer:
    """One server that runs, and how to talk to it. Another start of it is another `RunningServer`."""

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
    contents: dict[str, str] = field(default_factory=dict)
    """What was written into it since its start: place -> the rows there, or the tables' statements."""
    traces: CreatedObjects = field(default_factory=CreatedObjects)
    """What is to be removed again if the server is not ours."""
    line: DelayLine | None = None
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
