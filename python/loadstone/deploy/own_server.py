"""What every server process of ours does alike: it runs under a guard, starts again in its folder, and ends."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

from loadstone.deploy.guarded import GuardedProcess
from loadstone.deploy.provider import DeployContext
from loadstone.plan.model import Endpoint


class OwnServer(ABC):
    """Base of the servers that loadstone starts; see `provider.Server`."""

    ours = True

    def __init__(self, name: str) -> None:
        self.name = name
        self._context = DeployContext()
        self._process: GuardedProcess | None = None
        self._endpoint = Endpoint()

    @property
    def pids(self) -> Mapping[str, int]:
        """The server's process, empty while it does not run."""
        running = self._process is not None and self._process.alive()
        return {self.name: self._process.pid} if running and self._process and self._process.pid else {}

    def alive(self) -> bool:
        """Whether the server's process runs."""
        return bool(self.pids)

    @abstractmethod
    def start(self, context: DeployContext) -> Endpoint:
        """See `provider.Server.start`."""

    @abstractmethod
    def _run(self, process: GuardedProcess) -> Endpoint:
        """Start the process and wait until it serves; on another port where its own is taken."""

    def restart(self) -> Endpoint:
        """Start the process again with the data that it wrote to its files, and on its port if that is free."""
        if self._process is None:
            return self.start(self._context)
        self._context.progress(f"starting {self.name} again")
        try:
            self._process.end()
            return self._run(self._process)
        except OSError:  # its guard was killed, and the folder is nobody's
            return self.start(self._context)

    def stop(self) -> None:
        """See `provider.Server.stop`."""
        process, self._process = self._process, None
        if process is not None:
            process.close()
