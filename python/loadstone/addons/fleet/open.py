"""Opens the fleet that a run names, as a `LoadSource`; before, refuses what a fleet cannot do."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from loadstone.addons.fleet.cluster_seam import Cluster
from loadstone.addons.fleet.driver import FleetDriver, require_shareable
from loadstone.addons.fleet.remote_hosts import require_hosts_can
from loadstone.addons.fleet.spec import FleetSpec, read_fleet
from loadstone.experiment.plan.run_plan import RunPlan
from loadstone.experiment.spec.driver_names import NATIVE
from loadstone.programs.clients.chosen import ChosenDriver, measured_without
from loadstone.run.load_source import MonitorsOf, OpeningRun
from loadstone.safety.errors import UserError
from loadstone.servers.remote_host import NamedHost
from loadstone.text.message import said


class OpenedFleet:
    """A fleet that makes the load of a run; see `run.load_source.LoadSource`."""

    def __init__(self, spec: FleetSpec, cluster: Cluster, driver: FleetDriver) -> None:
        self._spec, self._cluster = spec, cluster
        self.driver = driver

    @contextmanager
    def hosts(self) -> Iterator[Callable[[str], NamedHost]]:
        """See `LoadSource`; each machine by the name of its monitor."""
        from loadstone.addons.fleet.hosts import FleetHosts  # only now: it takes time to load

        with FleetHosts(self._cluster) as hosts:
            yield hosts.host

    @contextmanager
    def monitors(self, here: MonitorsOf, note: Callable[[str], None]) -> Iterator[MonitorsOf]:
        """See `LoadSource`; those of this machine alone where no member is a monitor."""
        if all(member.role != "monitor" for member in self._cluster.members):
            yield here
            return
        from loadstone.addons.fleet.monitors import FleetMonitors  # only now: it takes time to load

        with FleetMonitors(self._cluster, here, note) as fleet:
            yield fleet.watching

    def recorded(self) -> Mapping[str, object]:
        """See `LoadSource`: how the fleet was named, and its agents."""
        return self.driver.recorded(self._spec.word)


class NamedFleet:
    """The fleet that a word names; see `run.load_source.NamedSource`. Raises UserError: it names none."""

    def __init__(self, word: str) -> None:
        self._spec = read_fleet(word)

    def check(self, run_plan: RunPlan, chosen: Mapping[str, ChosenDriver]) -> None:
        """See `NamedSource`."""
        _require_load(self._spec, run_plan, chosen)
        require_hosts_can(run_plan)

    @contextmanager
    def open(self, run: OpeningRun) -> Iterator[OpenedFleet]:
        """See `NamedSource`."""
        from loadstone.addons.fleet.clocks import ClocksOfMembers  # only now: it takes time to load
        from loadstone.addons.fleet.dask_cluster import open_cluster

        cluster = open_cluster(self._spec, stopped=run.stopped)
        try:
            driver = FleetDriver(
                cluster,
                ClocksOfMembers(cluster),
                lost_agent=run.lost_agent,
                note=run.note,
                show=run.show,
                one_machine=self._spec.kind == "local",
                pids=run.pids,
            )
            yield OpenedFleet(self._spec, cluster, driver)
        finally:
            cluster.close()


def _require_load(fleet: FleetSpec, run_plan: RunPlan, chosen: Mapping[str, ChosenDriver]) -> None:
    option = f"--fleet {fleet.word}"
    for driver in chosen.values():
        raise UserError(
            "{option}: driver {driver} is a client library's program, and agents have the native engine alone{others}",
            option=option,
            driver=driver.manifest.name,
            others=measured_without(run_plan, chosen)
            or said("; leave --fleet out, or add --driver {native}", native=NATIVE),
        )
    agents = 2 if fleet.agents is None else fleet.agents
    of_this_machine = {id(crash.trial) for crash in run_plan.crashes}
    shared = [trial.plan for trial in run_plan.every_trial if id(trial) not in of_this_machine]
    require_shareable(shared, agents, option)
    if fleet.kind != "local":
        _require_no_files(run_plan, option)


def _require_no_files(run_plan: RunPlan, option: str) -> None:
    """Agents elsewhere have no files of this machine. Raises UserError."""
    for trial in run_plan.every_trial:
        plan = trial.plan
        read = plan.recording or plan.data
        if read is not None:
            raise UserError(
                "{option}: the load reads {read_path}, which agents elsewhere do not have; use local:N",
                option=option,
                read_path=read.path,
            )
