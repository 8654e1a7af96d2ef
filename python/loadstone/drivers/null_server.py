"""The null server: answers at once and does no work, to find out what the driver itself can do.

It runs in a process of its own on the servers' CPUs.
"""

from collections.abc import Mapping
from typing import Any

from loadstone.drivers.engine_process import EngineProcess
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.machine.start_context import StartContext
from loadstone.safety.errors import UserError


class NullServerProcess:
    """One null server. `options` are those of the engine's `NullServer`: `document_bytes`, `replies`, `delay_us`..."""

    name = "null"

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        self._options = dict(options or {})
        self._program = EngineProcess("null")

    @property
    def pids(self) -> Mapping[str, int]:
        """Its process, empty while it does not run."""
        pid = self._program.pid
        return {} if pid is None else {self.name: pid}

    def alive(self) -> bool:
        """Whether its process runs."""
        return self._program.alive()

    def start(self, context: StartContext) -> Endpoint:
        """Start it on `context.cpus` and wait until it listens.

        Raises:
            UserError: it does not start; with the reason.
        """
        reported = self._program.start({"cpus": context.cpus, "options": self._options})
        if "port" not in reported:
            self.stop()
            raise UserError("null server: {reported}; build the engine with 'make setup'", reported=reported["failed"])
        return Endpoint(port=reported["port"], unix_path=self._options.get("unix_path"))

    def stop(self) -> None:
        """End it. May be called more than once."""
        self._program.stop()
