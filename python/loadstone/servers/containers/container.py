"""Kind `container`: a server in a container of its own, by Docker or Podman of this machine."""

import dataclasses
import re
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal, Self

import psutil
from pydantic import Field, GetPydanticSchema, model_validator
from pydantic_core import core_schema

from loadstone.experiment.action import PlannedAction, shown_text
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.software import in_containers
from loadstone.machine.extras import lacks, require
from loadstone.machine.needs import Need
from loadstone.machine.ports import PORT_TRIES, free_port
from loadstone.machine.processes.endings import ending_of_process
from loadstone.machine.processes.resource_limits import Limited, Limits, limits_in_force
from loadstone.machine.start_context import LastingStep, Stays
from loadstone.safety.errors import LoadstoneError, UserError
from loadstone.safety.secrets.known import new_password
from loadstone.servers.containers.contained import Contained, InContainer
from loadstone.servers.control import Control
from loadstone.servers.server import ConfigValue, DeployContext, ServerFacts, ServerSettings
from loadstone.servers.software_rooms import room
from loadstone.text.language import _
from loadstone.text.message import said

if TYPE_CHECKING:  # imported when it is needed: half a second that other kinds need not wait
    from loadstone.servers.containers.container_run import ContainerRun

READY_S = 60.0
"""How long a server may take to serve again, with the data that it kept."""
FIRST_START_S = 5 * READY_S
"""How long a server may take to serve for the first time: an image may make its system tables then."""
POLL_S = 0.05
Name = Annotated[str, GetPydanticSchema(lambda _, __: core_schema.literal_schema(list(in_containers())))]
"""Name of software that runs in containers."""


class ContainerSettings(ServerSettings):
    """`image` as `docker run` takes it; `settings` are the software's own, written to its configuration and read back.

    `program` is the command inside that starts the server, for an image in which it has another name.
    """

    kind: Literal["container"] = "container"
    image: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/:@-]*$")
    software: Name = in_containers()[0]
    program: str | None = None
    settings: dict[str, ConfigValue] = Field(default_factory=dict)
    limits: Limits = Limits()

    @model_validator(mode="after")
    def _checked(self) -> Self:
        self._room.check(self.settings, self.modules)
        return self

    @property
    def _room(self) -> InContainer:
        in_container = room(self.software).in_container
        if in_container is None:
            raise LookupError(f"{self.software} declares that it runs in containers, and its room does not say how")
        return in_container

    def _start(self, name: str) -> PlannedAction:
        image = " ".join(filter(None, (self.image, self.program)))
        what = said("{what} as server {name}", what=shown_text(image), name=name)
        return PlannedAction("runs the image", what, asks=True, at=("servers", name, "image"))

    def needs(self, name: str) -> Sequence[Need]:
        """See `ServerSettings.needs`."""
        problem = said("not installed") if lacks("containers") else ""
        return [Need("docker (the Python library)", f"server {name}", problem, extra="containers")]

    def server(self, name: str) -> "ContainerServer":
        """The server, not started."""
        return ContainerServer(name, self, self._room.contents(self.modules))


class ContainerServer:
    """One container of ours in a network of its own; see `provider.Server`."""

    ours = True

    def __init__(self, name: str, settings: ContainerSettings, software: Contained) -> None:
        self.name = name
        self.facts = ServerFacts(software=settings.software, version="", mode="", role="")
        self.settings_read_back: Mapping[str, str] = {}
        self._settings = settings
        self._software = software
        self._context = DeployContext()
        self._endpoint = Endpoint()
        self._run: ContainerRun | None = None

    @property
    def pids(self) -> Mapping[str, int]:
        """The container's main process, where this machine sees it; empty while it does not run."""
        process = self._run.process if self._run is not None else None
        return {self.name: process.pid} if process is not None and is_running(process) else {}

    def alive(self) -> bool:
        """Whether the container runs."""
        return self._run is not None and self._run.running()

    def oom_kills(self) -> int | None:
        """See `endings.HasExitStatus`; 1 for any number."""
        return None if self._run is None else self._run.oom_kills()

    def how_it_ended(self) -> str:
        """See `endings.HasExitStatus`."""
        return "" if self._run is None else ending_of_process(self._run.exit_status())

    def control(self, timeout_s: float = 5.0) -> Control:
        """See `provider.Server.control`."""
        return self._software.control(self._endpoint, timeout_s)

    def start(self, context: DeployContext) -> Endpoint:
        """See `provider.Server.start`."""
        self.stop()
        self._context = context
        try:
            self._make(context)
            return self._await_ready(FIRST_START_S)
        except BaseException:
            self.stop()
            raise

    def _make(self, context: DeployContext) -> None:
        """The container, started, on a free port of this machine."""
        require("containers", "kind: container")
        from loadstone.servers.containers.container_engine import PublishedPortTaken, Recipe, find_engine
        from loadstone.servers.containers.container_run import ContainerRun

        settings, software = self._settings, self._software
        try:
            engine = find_engine()
        except UserError as error:
            raise UserError("server {name}: {error}", name=self.name, error=error) from None
        log, within = None, None
        if context.log_folder is not None:
            log, within = context.log_of(f"server {self.name}", f"{self.name}.log", context.log_folder)
        unique = f"loadstone-{re.sub('[^A-Za-z0-9_.-]', '-', self.name)}-{secrets.token_hex(6)}"
        self._run = ContainerRun(self.name, engine, unique, log, within)

        def tell(line: str) -> None:
            context.raise_if_stopped()
            context.progress(line)

        image = self._run.need_image(settings.image, tell)
        context.progress(
            _("starting {name} ({image} by {engine})", name=self.name, image=settings.image, engine=engine.name)
        )
        password = new_password()
        inside = software.contents(settings.program or software.program, password, image.volumes, settings.settings)
        for _attempt in range(PORT_TRIES):
            self._endpoint = Endpoint(port=free_port(), username=software.username, password=password)
            recipe = Recipe(
                name=unique,
                image=settings.image,
                command=inside.command,
                ports={software.port: self._endpoint.port},
                files=inside.files,
                environment=inside.environment,
                cpus=context.cpus,
                limits=settings.limits,
            )
            try:
                return self._run.start(recipe, context.progress)
            except PublishedPortTaken:
                continue
        raise UserError(
            "server {name}: {port_tries} ports in a row were in use; try again", name=self.name, port_tries=PORT_TRIES
        )

    def restart(self) -> Endpoint:
        """Start the same container again, with its data and on its port."""
        if self._run is None or not self._run.there():
            return self.start(self._context)
        self._context.progress(_("starting {name} again", name=self.name))
        self._run.again()
        return self._await_ready(READY_S)

    def stop(self) -> None:
        """See `provider.Server.stop`."""
        run, self._run = self._run, None
        if run is not None and (left := run.close()):
            self._context.progress(
                Stays(_("{name}: its container or network could not be removed: {why}", name=self.name, why=left))
            )

    def _await_ready(self, patience_s: float) -> Endpoint:
        """Wait until it serves, and read back what it is."""
        deadline = time.monotonic() + patience_s
        with self.control(timeout_s=2.0) as control:
            while True:
                self._context.raise_if_stopped()
                try:
                    control.ping()
                except LoadstoneError as error:
                    if self._run is None or not self._run.running():
                        told = self._software.why_it_ended(self._run.output() if self._run is not None else ())
                        raise UserError("server {name}: {problem}", name=self.name, problem=told) from None
                    if time.monotonic() > deadline:
                        raise UserError(
                            "server {name}: not ready within {patience_s:g} s ({error})",
                            name=self.name,
                            patience_s=patience_s,
                            error=error,
                        ) from None
                    time.sleep(POLL_S)
                else:
                    break
        self._read_back()
        return self._endpoint

    def _read_back(self) -> None:
        facts, self.settings_read_back, differences = self._software.read_back(self._endpoint, self._settings.settings)
        refused = Limited(unavailable="the container engine does not apply it")
        limits = limits_in_force(self._settings.limits, refused)
        details = dict(facts.details)
        if self._run is not None:
            details |= self._run.details()
            limits |= self._run.limits()
        self.facts = dataclasses.replace(facts, process_id=self.pids.get(self.name), details=details, limits=limits)
        for line in differences:
            self._context.progress(LastingStep(_("{name}: {line}", name=self.name, line=line)))


def is_running(process: psutil.Process) -> bool:
    """Whether it runs, and its id is not another's by now."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
