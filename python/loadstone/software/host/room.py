"""What watches the machine and its processes; none of it waits for an answer."""

from collections.abc import Callable

from loadstone.observe.sample import Monitor
from loadstone.observe.watch import Watch
from loadstone.software.host.generator import GeneratorMonitor
from loadstone.software.host.monitor import HostMonitor
from loadstone.software.host.others import OthersMonitor
from loadstone.software.host.processes import ProcessMonitor, ProcessTreeMonitor

MONITORS: tuple[Callable[[Watch], list[Monitor]], ...] = (
    HostMonitor.watching,
    OthersMonitor.watching,
    ProcessMonitor.watching,
    ProcessTreeMonitor.watching,
    GeneratorMonitor.watching,
)
