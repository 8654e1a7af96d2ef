"""The seam of what makes the load in the engine's place, on other machines: a fleet."""

from collections.abc import Callable, Iterator, Mapping, MutableSet, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from loadstone.experiment.plan.required import named_host
from loadstone.run.request import LostAgent, RunRequest
from loadstone.safety.errors import UserError

if TYPE_CHECKING:  # they take time to load, and a mistake on the command line is answered before
    from loadstone.drivers.driver import Driver
    from loadstone.drivers.outcome import OnStates
    from loadstone.experiment.plan.run_plan import PlannedTrial, RunPlan
    from loadstone.monitors.monitor import Monitor
    from loadstone.monitors.watch import MonitorTargets
    from loadstone.programs.clients.chosen import ChosenDriver
    from loadstone.servers.remote_host import NamedHost

MonitorsOf: TypeAlias = "Callable[[MonitorTargets], Sequence[Monitor]]"
"""The monitors for what a run lets them see."""


class LoadSource(Protocol):
    """Machines that make the load of a run, and what else they offer while the run needs them."""

    @property
    def driver(self) -> "Driver":
        """What drives on all of them."""

    def hosts(self) -> "AbstractContextManager[Callable[[str], NamedHost]]":
        """The machines on which servers and applications are started, by the names that the experiment has."""

    def monitors(self, here: MonitorsOf, note: Callable[[str], None]) -> AbstractContextManager[MonitorsOf]:
        """The monitors of this machine (`here`), and those beside servers on the other machines."""

    def recorded(self) -> Mapping[str, object]:
        """What the environment's record says of them."""


@dataclass(frozen=True)
class OpeningRun:
    """What a load source is told of the run that it is opened for."""

    lost_agent: LostAgent
    """What becomes of the run when an agent was lost."""
    note: Callable[[str], None]
    """Told in a line when one was lost, and when the run waits for it."""
    show: "OnStates"
    """Told how each agent is, whenever that changed."""
    pids: MutableSet[int]
    """The processes on this machine that make load; those of agents here are added."""
    stopped: Callable[[], bool]
    """Whether the user requested a stop."""


class NamedSource(Protocol):
    """A load source as the user named it; nothing of it is opened."""

    def check(self, run_plan: "RunPlan", chosen: "Mapping[str, ChosenDriver]") -> None:
        """Raises UserError where it cannot make the load of every trial, or a part cannot run on its host."""

    def open(self, run: OpeningRun) -> AbstractContextManager[LoadSource]:
        """Open it while the run needs it. Raises LoadstoneError."""


def named_source(options: RunRequest) -> NamedSource | None:
    """What makes the load in the engine's place; None: nothing does. Raises UserError."""
    if options.fleet is None:
        return None
    named: NamedSource = options.carried_out_by("fleet")(options.fleet)
    return named


def hosts_of(trial: "PlannedTrial") -> Iterator[tuple[str, str]]:
    """The parts that are to run on a machine of a name: where they stand in the experiment, and that name."""
    for name, settings in trial.servers.items():
        host = named_host(settings)
        if host is not None:
            yield f"servers.{name}", host
    for name, subject in trial.subjects.items():
        if subject.host is not None:
            yield f"subjects.{name}", subject.host


def require_no_hosts(run_plan: "RunPlan") -> None:
    """Raises UserError where a part is to run on a machine of a name: nothing knows one."""
    for trial in run_plan.every_trial:
        for where, host in hosts_of(trial):
            raise UserError(
                "{where}.host: {host} is a machine of a fleet; add --fleet, or leave host out", where=where, host=host
            )
