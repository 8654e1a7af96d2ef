"""What all our server processes do alike: start under a guard, answer, start again, end."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.machine.ports import PORT_TRIES, free_port
from loadstone.machine.processes.endings import ending_of_process
from loadstone.machine.processes.guarded_process import GuardedProcess, ProcessEnvironment, guarded
from loadstone.machine.processes.idle import OneProcess
from loadstone.machine.processes.network_namespace import OwnHost
from loadstone.machine.processes.resource_limits import Limited, Limits
from loadstone.safety.errors import ServerGone, UserError
from loadstone.servers.server import DeployContext
from loadstone.text.language import _


class PortTaken(Exception):
    """Another took the port between our choice and the server's start."""


class OwnServer(OneProcess, ABC):
    """Base of the servers that loadstone starts; see `provider.Server`."""

    ours = True

    def __init__(self, name: str) -> None:
        self.name = name
        self.limited = Limited()
        self._context = DeployContext()
        self._process: GuardedProcess | None = None
        self._endpoint = Endpoint()
        self._host: OwnHost | None = None

    @property
    def pids(self) -> Mapping[str, int]:
        """The server's process, empty while it does not run."""
        running = self._process is not None and self._process.alive()
        return {self.name: self._process.pid} if running and self._process and self._process.pid else {}

    def alive(self) -> bool:
        """Whether the server's process runs."""
        return bool(self.pids)

    def oom_kills(self) -> int | None:
        """See `machine.processes.endings.HasExitStatus`."""
        return self.limited.oom_kills()

    def how_it_ended(self) -> str:
        """See `machine.processes.endings.HasExitStatus`."""
        return ending_of_process(self._process.exit_status) if self._process is not None and not self.alive() else ""

    def serving_at(self, endpoint: Endpoint) -> None:
        """Its controls reach it there: it was started on another machine."""
        self._endpoint = endpoint

    @abstractmethod
    def start(self, context: DeployContext) -> Endpoint:
        """See `provider.Server.start`."""

    def _make_host(self, context: DeployContext) -> str:
        """Where it is to listen: as the context says, or on a host of its own, which is made. Raises UserError."""
        if not context.own_host:
            return context.listen
        self._host = OwnHost(self.name)
        return self._host.address

    def _free_port(self, address: str) -> int:
        """One where it listens; on a host of its own, whose ports are all free, one that is free here."""
        return free_port() if self._host else free_port(address)

    def _host_details(self) -> dict[str, str]:
        """For `ServerFacts.details`: empty on this machine's own network."""
        return {"host": f"own, {self._host.address}"} if self._host else {}

    def _on_its_host(self, command: Sequence[str]) -> list[str]:
        """The command as it is run on the server's host."""
        return [*(self._host.enter if self._host else ()), *command]

    def _guarded(
        self, context: DeployContext, limits: Limits, around: ProcessEnvironment = ProcessEnvironment()
    ) -> GuardedProcess:
        """See `guarded`; what it runs is set later."""
        process, self.limited = guarded("server", self.name, limits, context, lambda _: ((), around))
        return process

    def _run(self, process: GuardedProcess) -> Endpoint:
        """Start the process and wait until it serves; on another port where its own is taken."""
        for _attempt in range(PORT_TRIES):
            self._write_files(process.workspace.path)
            process.start()
            try:
                self._await_ready(process)
            except PortTaken:
                self._endpoint = self._endpoint.model_copy(update={"port": self._free_port(self._endpoint.host)})
                continue
            self._read_back()
            return self._endpoint
        raise UserError(
            "server {name}: {port_tries} ports in a row were in use; try again", name=self.name, port_tries=PORT_TRIES
        )

    @abstractmethod
    def _write_files(self, folder: Path) -> None:
        """What the server reads when it starts, with its port in it."""

    @abstractmethod
    def _await_ready(self, process: GuardedProcess) -> None:
        """Return once it serves. Raises PortTaken, or UserError if it ended or is not ready in time."""

    @abstractmethod
    def _read_back(self) -> None:
        """Ask the server that serves now what it is, and for its settings."""

    def restart(self) -> Endpoint:
        """Start the process again with the data that it wrote to its files, and on its port if that is free."""
        if self._process is None:
            return self.start(self._context)
        self._context.progress(_("starting {name} again", name=self.name))
        try:
            self._process.end()
            return self._run(self._process)
        except OSError:  # its guard was killed, and the folder is no one's
            return self.start(self._context)

    def stop(self) -> None:
        """See `provider.Server.stop`."""
        process, self._process = self._process, None
        if process is not None:
            process.close()
        host, self._host = self._host, None
        if host is not None:
            host.close()


POLL_S = 0.01


class Answering(Protocol):
    """What gives a sign of life when it is pinged; the controls of servers do."""

    def ping(self) -> object:
        """Raises `ServerGone` where there is no answer."""


def await_answer(
    name: str,
    control: AbstractContextManager[Answering],
    process: GuardedProcess,
    context: DeployContext,
    within_s: float,
    why_it_ended: Callable[[Sequence[str]], Exception],
) -> None:
    """Wait until server `name` answers; `why_it_ended` makes the error of one that ended, of its log's lines.

    Raises:
        UserError: it does not within `within_s` seconds.
        Exception: what `why_it_ended` returns; what the context raises when the user requested a stop.
    """
    deadline = time.monotonic() + within_s
    with control as server:
        while True:
            context.raise_if_stopped()
            try:
                server.ping()
            except ServerGone as gone:
                if not process.alive():
                    raise why_it_ended(process.log_lines()) from None
                if time.monotonic() > deadline:
                    raise UserError(
                        "server {name}: not ready within {within_s:g} s ({gone})",
                        name=name,
                        within_s=within_s,
                        gone=gone,
                    ) from None
                time.sleep(POLL_S)
            else:
                return
