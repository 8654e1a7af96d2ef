"""A fleet as a user starts it: a scheduler, agents and monitors by `loadstone fleet`, each on a host of its own."""

import contextlib
import select
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.fleet.namespaces import Network, end
from loadstone.addons.fleet import certificates

JOIN_S = 60.0
LOADSTONE = (sys.executable, "-P", "-m", "loadstone")


@dataclass
class Members:
    """The members of a fleet that is there."""

    network: Network
    folder: Path
    """Of its certificates."""
    address: str
    """Of its scheduler, as `--fleet` takes it."""
    processes: dict[str, psutil.Popen]
    """By the member's name; `scheduler` is the scheduler's."""

    @property
    def environment(self) -> dict[str, str]:
        """For a command that uses it."""
        return {certificates.FOLDER_VARIABLE: str(self.folder)}

    def join(self, name: str, role: str = "agent", host: str | None = None, before: Sequence[str] = ()) -> None:
        """Start a member and wait until it joined. `host`: None: the one of its name. `before`: in front of it."""
        command = [*before, *LOADSTONE, "fleet", "agent", self.address, "--name", name, "--role", role]
        self.processes[name] = self._started(host or name, command, f"{role} {name}: joined")

    def end(self, name: str) -> None:
        """End a member, as a user does."""
        end(self.processes.pop(name))

    def schedule(self, host: str) -> None:
        """Start the scheduler."""
        listen = self.address.removeprefix("tls://")
        command = [*LOADSTONE, "fleet", "scheduler", "--listen", listen]
        self.processes["scheduler"] = self._started(host, command, "scheduler: ")

    def _started(self, host: str, command: Sequence[str], words: str) -> psutil.Popen:
        log = self.folder / f"{host}-{len(self.processes)}.log"
        with log.open("w") as out:
            started = self.network.start(host, command, environment=self.environment, stdout=out, stderr=out)
        deadline = time.monotonic() + JOIN_S
        while words not in log.read_text():
            if started.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{' '.join(command)} on {host}: {log.read_text()[-500:]}")
            select.select([], [], [], 0.05)
        return started


@contextlib.contextmanager
def members(
    network: Network, scheduler: str, agents: Sequence[str], monitors: Mapping[str, str] | None = None
) -> Iterator[Members]:
    """A fleet on these hosts. `monitors`: name to host."""
    with tempfile.TemporaryDirectory(prefix="fleet-") as folder:
        certificates.write(Path(folder), certificates.made())
        fleet = Members(network, Path(folder), f"tls://{network.address(scheduler)}:8786", {})
        try:
            fleet.schedule(scheduler)
            for name in agents:
                fleet.join(name)
            for name, host in (monitors or {}).items():
                fleet.join(name, "monitor", host)
            yield fleet
        finally:
            for name in list(fleet.processes):
                fleet.end(name)
