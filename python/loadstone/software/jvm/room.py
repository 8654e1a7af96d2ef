"""What watches an application that runs in a JVM."""

from collections.abc import Callable

from loadstone.observe.sample import Monitor
from loadstone.observe.watch import Watch
from loadstone.software.jvm.monitor import JvmMonitor

MONITORS: tuple[Callable[[Watch], list[Monitor]], ...] = (JvmMonitor.watching,)
