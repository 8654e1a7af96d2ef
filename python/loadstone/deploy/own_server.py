"""What every server process of ours does alike: it runs under a guard, starts again in its folder, and ends."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

from loadstone.deploy.guarded import GuardedProcess, Surroundings
from loadstone.deploy.limits import Limited, Limits, limit
from loadstone.deploy.provider import DeployContext
from loadstone.deploy.workspace import Workspace
from loadstone.errors import UserError
from loadstone.plan.model import Endpoint


class OwnServer(ABC):
    """Base of the servers that loadstone starts; see `provider.Server`."""

    ours = True

    def __init__(self, name: str) -> None:
        self.name = name
        self.limited = Limited()
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

    def _guarded(self, context: DeployContext, limits: Limits) -> GuardedProcess:
        """A guard with a folder and limits of its own; what it runs is still to be told.

        Raises:
            UserError: there is no room for the folder.
        """
        try:
            workspace = Workspace(self.name, context.work_root)
        except OSError as error:
            raise UserError(
                f"server {self.name}: no temporary folder can be made ({error}); free some room, or set TMPDIR"
            ) from None
        try:
            self.limited = limit(limits, workspace)
            if self.limited.unavailable is not None:
                context.progress(f"{self.name}: limits are unavailable: {self.limited.unavailable}")
            folder = context.log_folder or workspace.path
            folder.mkdir(parents=True, exist_ok=True)
            around = Surroundings(groups=self.limited.groups)
            return GuardedProcess([], workspace, folder.absolute() / f"{self.name}.log", context.cpus, around)
        except BaseException:
            workspace.remove()
            raise

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
