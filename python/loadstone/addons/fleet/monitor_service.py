"""What a monitor does beside servers: functions that the command has called on a member with the role `monitor`.

It looks when it is asked, once a second and where a phase begins; each figure has the time of this machine's
CLOCK_MONOTONIC, which the command turns into its own.
"""

import os
import threading
import time
from typing import Any

from loadstone.machine import process_table
from loadstone.machine.listening_process import serving
from loadstone.monitors.watch import Watch
from loadstone.run_folder.facts import HOST
from loadstone.servers import registry

Answer = dict[str, Any]
Observed = list[tuple[int, str, str, float]]
"""Each a time in nanoseconds, part, metric and value. The machine's part is `HOST`."""
KEPT_MAX = 16
"""Watches of conditions that take turns; of more the oldest are over."""


class _Watch:
    """What is watched for one condition."""

    def __init__(self, parts: list[Answer]) -> None:
        self.cpus = os.cpu_count() or 1  # of the machine: what serves is not confined as this process is
        found = {part["part"]: (part, serving(part["host"], part["port"])) for part in parts}
        self.pids = {name: pid for name, (_, pid) in found.items() if pid is not None}
        # What serves by several processes is observed with all of them, as a server with one a connection is.
        many = [
            name for name, pid in self.pids.items() if found[name][0]["many_processes"] or process_table.children(pid)
        ]
        stores = frozenset(name for name in self.pids if found[name][0]["stores"])
        self._monitors = registry.monitors_of_machine(Watch(pids=self.pids, trees=frozenset(many), stores=stores))

    def sample(self) -> Observed:
        """All figures now."""
        at_ns, observed = time.monotonic_ns(), Observed()
        for monitor in self._monitors:
            observed += [
                (at_ns, sample.part, sample.metric, sample.value)
                for sample in monitor.sample(0.0)
                if sample.part in (HOST, *self.pids)
            ]
        return observed + [(at_ns, part, "machine_cpus", float(self.cpus)) for part in (HOST, *self.pids)]


_LOCK = threading.Lock()
_WATCHES: dict[str, _Watch] = {}


def begin(watch: str, parts: list[Answer]) -> Answer:
    """Watch this machine from now on, and those of the parts whose processes run here.

    Args:
        watch: what it is called by `sample`.
        parts: each with `part`, its name; `host` and `port` where it serves; `many_processes`: whether all below the
            first are observed; `stores`: whether it may wait for its disk.

    Returns:
        `pids` by part, of those that are here, and how many `cpus` this machine has.
    """
    begun = _Watch(parts)
    with _LOCK:
        _WATCHES[watch] = begun
        while len(_WATCHES) > KEPT_MAX:
            del _WATCHES[next(iter(_WATCHES))]
    return {"pids": begun.pids, "cpus": begun.cpus}


def sample(watch: str) -> Observed | None:
    """What is to be seen now: gauges, and rates since this was asked last. None: there is no such watch."""
    with _LOCK:
        begun = _WATCHES.get(watch)
        return None if begun is None else begun.sample()
