"""One container and its network, from start to removal."""

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from docker.models.containers import Container

from loadstone.machine.limits_in_force import LimitInForce, LimitName, limit_in_force
from loadstone.safety.bounds.replies import shortened
from loadstone.safety.errors import UserError
from loadstone.servers.containers.container_engine import (
    ENGINE_ERRORS,
    STOP_S,
    Engine,
    PublishedPortTaken,
    Recipe,
    Removal,
    begin,
)
from loadstone.text.message import AnyText

LAST_LINES = 100
LINE_MAX = 400
SHELL_SIGNAL = 128
"""A container's exit status is so much more than the number of the signal that killed it."""
CONTAINER_ID = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Image:
    """What an image says about itself."""

    identity: str
    """Its content's hash, as the engine gives it."""
    volumes: Sequence[str]
    """Folders inside that it keeps its data in."""


class ContainerRun:
    """A container that is removed with its network, whatever ends loadstone. Errors are `UserError`."""

    def __init__(
        self, server: str, engine: Engine, unique: str, log: Path | None, log_within: Path | None = None
    ) -> None:
        """`unique` is the name of both; the container's output is kept in `log` when it is removed."""
        self._server = server
        self._engine = engine
        self._unique = unique
        self._container: Container | None = None
        self._image: Image | None = None
        self._has_network = False
        self.process: psutil.Process | None = None
        """The container's main process; None where this machine cannot see it."""
        self._removal = Removal(engine.socket, unique, log, log_within)

    def need_image(self, image: str, progress: Callable[[str], None]) -> Image:
        """The image, pulled if it is not here."""
        with self._naming_the_server():
            reported = self._engine.need_image(image, progress)
            with self._engine.telling(f"image '{image}'", "read"):
                volumes = sorted(map(str, dict((reported.get("Config") or {}).get("Volumes") or {})))
        self._image = Image(shortened(str(reported.get("Id", ""))), volumes)
        return self._image

    def start(self, recipe: Recipe, progress: Callable[[str], None]) -> None:
        """Make the network and the container, and start it.

        Raises:
            PortTaken: nothing runs; another port may be free.
        """
        self._removal.hide()
        with self._naming_the_server():
            if not self._has_network:
                self._engine.make_network(self._unique)
                self._has_network = True
            self._container = self._engine.start(recipe, progress)
        self.process = self._find_process()

    def again(self) -> None:
        """Stop the container if it runs, and start it with the data that it kept."""
        with self._naming_the_server(), self._engine.telling("container"):
            container = self._need()
            container.stop(timeout=STOP_S)
            try:
                begin(container)
            except PublishedPortTaken:
                raise UserError(
                    "its port was taken by another process while it was down; end that process, or run again"
                ) from None
        self.process = self._find_process()

    def there(self) -> bool:
        """Whether there is a container, running or not."""
        return self._container is not None and self._status() is not None

    def running(self) -> bool:
        """Whether the container runs."""
        return self._status() == "running"

    def oom_kills(self) -> int | None:
        """1 if the kernel's OOM killer ended something in it, 0 if not; None where the engine does not say."""
        killed = self._state().get("OOMKilled")
        return None if killed is None else int(bool(killed))

    def exit_status(self) -> int | None:
        """Return how it ended (negative: by this signal); None while it runs, or where the engine does not say."""
        state = self._state()
        status = state.get("ExitCode")
        if state.get("Status") != "exited" or not isinstance(status, int):
            return None
        return SHELL_SIGNAL - status if status > SHELL_SIGNAL else status

    def output(self) -> list[str]:
        """The last lines that it printed."""
        with contextlib.suppress(UserError, *ENGINE_ERRORS):
            lines = self._need().logs(tail=LAST_LINES).decode(errors="replace").splitlines()
            return [shortened(line, LINE_MAX) for line in lines[-LAST_LINES:]]
        return []

    def details(self) -> Mapping[str, str]:
        """Image, engine and CPUs as the engine has them, for the record."""
        attributes = self._attributes()
        with self._engine.telling("container", "read"):
            image, cpus = attributes["Config"]["Image"], attributes["HostConfig"].get("CpusetCpus")
        details = {"container engine": self._engine.name, "image": shortened(str(image), LINE_MAX)}
        if self._image is not None:
            details["image id"] = self._image.identity
        if cpus:
            details["CPUs"] = shortened(str(cpus))
        return details

    def limits(self) -> dict[LimitName, LimitInForce]:
        """The limits as the engine has them; without those that it does not apply."""
        attributes = self._attributes()
        with self._engine.telling("container", "read"):
            host = attributes["HostConfig"]
            values: dict[LimitName, float] = {
                "cpu": float(host.get("NanoCpus") or 0) / 1e9,
                "memory": float(host.get("Memory") or 0),
            }
        return {name: limit_in_force(value) for name, value in values.items() if value}

    def _attributes(self) -> dict[str, Any]:
        with self._engine.telling("container"):
            container = self._need()
            container.reload()
        return dict(container.attrs)

    def close(self) -> AnyText:
        """Remove container and network; what could not be removed, and why, or nothing."""
        self._container = self.process = None
        left = self._removal.close()
        self._engine.close()
        return left

    def _need(self) -> Container:
        if self._container is None:
            raise UserError("the container was not made")
        return self._container

    def _status(self) -> str | None:
        return self._state().get("Status")

    def _state(self) -> dict[str, Any]:
        """What the engine says of it now; empty if it says nothing."""
        try:
            container = self._need()
            container.reload()
            return dict(container.attrs["State"])
        except (UserError, *ENGINE_ERRORS):
            return {}

    def _find_process(self) -> psutil.Process | None:
        """The main process, if it is one of this machine: an engine in a virtual machine counts its own."""
        if self._status() != "running":
            return None
        container = self._need()
        with contextlib.suppress(OSError, psutil.Error, *ENGINE_ERRORS):
            pid = int(container.attrs["State"]["Pid"])
            if pid > 1 and CONTAINER_ID.fullmatch(named := str(container.id)) and named in _groups(pid):
                return psutil.Process(pid)
        return None

    @contextlib.contextmanager
    def _naming_the_server(self) -> Iterator[None]:
        try:
            yield
        except UserError as error:
            raise UserError("server {server}: {error}", server=self._server, error=error) from None


def _groups(pid: int) -> str:
    """The control groups that a process is in. Raises OSError."""
    return Path(f"/proc/{pid}/cgroup").read_text()
