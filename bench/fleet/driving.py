"""Real drives of a real fleet, with what its messages say beside what the record says."""

import contextlib
import json
import os
import queue
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from bench.fleet.members import Members
from loadstone.addons.fleet import agent as on_agent
from loadstone.addons.fleet import certificates
from loadstone.addons.fleet.clocks import ClocksOfMembers
from loadstone.addons.fleet.cluster_seam import ClockOffset, Heard, Member
from loadstone.addons.fleet.dask_cluster import DaskCluster, open_cluster
from loadstone.addons.fleet.driver import FleetDriver
from loadstone.addons.fleet.spec import read_fleet
from loadstone.drivers.outcome import DriveRecord
from loadstone.experiment.plan.drive_plan import Plan

T = TypeVar("T")


class Some:
    """A cluster of which only these members are used."""

    def __init__(self, cluster: DaskCluster, names: Sequence[str]) -> None:
        self._cluster = cluster
        self.members = tuple(member for member in cluster.members if member.name in names)

    def call(self, member: Member, function: Callable[..., T], *args: object, timeout_s: float) -> T:
        """See `Cluster`."""
        return self._cluster.call(member, function, *args, timeout_s=timeout_s)

    def send(self, member: Member, function: Callable[..., object], *args: object) -> None:
        """See `Cluster`."""
        self._cluster.send(member, function, *args)

    def send_all(self, members: Sequence[Member], function: Callable[..., object], *args: object) -> None:
        """See `Cluster`."""
        self._cluster.send_all(members, function, *args)

    def listen(self, topic: str, heard: Heard) -> None:
        """See `Cluster`."""
        self._cluster.listen(topic, heard)

    def lost(self) -> Mapping[str, str]:
        """See `Cluster`."""
        return self._cluster.lost()

    def close(self) -> None:
        """The cluster is closed by who opened it."""


class Noting:
    """The clocks of the members, and for which beginning they were asked last."""

    def __init__(self, cluster: Any) -> None:
        self._clocks = ClocksOfMembers(cluster)
        self.begin_ns = 0

    def measure(self, members: Sequence[Member]) -> None:
        """See `Clocks`."""
        self._clocks.measure(members)

    def offset(self, member: Member, at_ns: int | None = None) -> ClockOffset:
        """See `Clocks`."""
        if at_ns is not None:
            self.begin_ns = at_ns
        return self._clocks.offset(member, at_ns)

    def moved_ns(self, member: Member) -> int:
        """See `Clocks`."""
        return self._clocks.moved_ns(member)


class Drives:
    """One drive after another on some agents of a fleet."""

    def __init__(self, cluster: Any, *, one_machine: bool = False) -> None:
        self.clocks = Noting(cluster)
        self._driver = FleetDriver(cluster, self.clocks, one_machine=one_machine)
        self._said: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()
        cluster.listen(on_agent.TOPIC, lambda name, line: self._said.put((name, str(line))))

    def drive(self, plan: Plan) -> tuple[DriveRecord, dict[str, dict[str, Any]]]:
        """The merged record, and the record of each agent's engine as it sent it."""
        while not self._said.empty():
            self._said.get()
        (merged,) = self._driver.drive([plan], lambda _, __: None)
        own = {}
        with contextlib.suppress(queue.Empty):
            while len(own) < len(merged.agents):
                name, line = self._said.get(timeout=5)
                message = json.loads(line)
                if message["type"] == "records":
                    own[name] = message["records"][0]
        return merged, own


@contextlib.contextmanager
def opened(fleet: Members) -> Iterator[DaskCluster]:
    """A fleet as a command has it."""
    os.environ[certificates.FOLDER_VARIABLE] = str(fleet.folder)
    cluster = open_cluster(read_fleet(fleet.address))
    try:
        yield cluster
    finally:
        cluster.close()
