"""The seam of what makes the load in the engine's place, on other machines: a fleet."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from loadstone.drivers.driver import Driver
from loadstone.monitors.monitor import Monitor
from loadstone.monitors.watch import MonitorTargets
from loadstone.servers.remote_host import NamedHost

MonitorsOf = Callable[[MonitorTargets], Sequence[Monitor]]
"""The monitors for what a run lets them see."""


class LoadSource(Protocol):
    """Machines that make the load of a run, and what else they offer while the run needs them."""

    @property
    def driver(self) -> Driver:
        """What drives on all of them."""

    def hosts(self) -> AbstractContextManager[Callable[[str], NamedHost]]:
        """The machines on which servers and applications are started, by the names that the experiment has."""

    def monitors(self, here: MonitorsOf, note: Callable[[str], None]) -> AbstractContextManager[MonitorsOf]:
        """The monitors of this machine (`here`), and those beside servers on the other machines."""

    def recorded(self) -> Mapping[str, object]:
        """What the environment's record says of them."""
