"""What watches an application that runs in Node."""

from collections.abc import Callable

from loadstone.observe.sample import Monitor
from loadstone.observe.watch import Watch
from loadstone.software.node.monitor import NodeMonitor

MONITORS: tuple[Callable[[Watch], list[Monitor]], ...] = (NodeMonitor.watching,)
