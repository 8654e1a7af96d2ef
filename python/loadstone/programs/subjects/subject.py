"""A subject: the application under test, in replicas that each have a port, a log and a guard of their own."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.machine.installed_programs import require_programs
from loadstone.machine.limits_in_force import LimitInForce, LimitName
from loadstone.machine.processes.endings import oom_kills_of
from loadstone.machine.processes.resource_limits import Limits, Throttling, limits_in_force
from loadstone.machine.start_context import LastingStep
from loadstone.programs.build import built
from loadstone.programs.manifest import Manifest, read_manifest
from loadstone.programs.subjects.placeholders import ServerFactsForSubject, require_verifiable, resolved, unencrypted
from loadstone.programs.subjects.replica import Replica, Worker
from loadstone.safety.bounds import pinned_files
from loadstone.safety.errors import UserError
from loadstone.safety.secrets.known import learn, redacted
from loadstone.servers.server import DeployContext
from loadstone.text.language import _
from loadstone.text.message import AnyText

REPLICAS_MAX = 64


class Subject(Protocol):
    """An application under test, running or not. `start` may be called again after `stop`."""

    name: str
    ours: bool
    warm_up_s: float
    """How long it is to be under load before measuring makes sense."""

    @property
    def pids(self) -> Mapping[str, int]:
        """Part -> process id: `name`, or `name-1`, `name-2`... of several replicas; empty where unknown."""

    @property
    def details(self) -> Mapping[str, str]:
        """For the environment's record: the sources' hash, variables without their secrets."""

    @property
    def limits(self) -> Mapping[LimitName, LimitInForce]:
        """The CPU and memory limits that each replica has, or was to have."""

    @property
    def metrics(self) -> Mapping[str, str]:
        """Part -> the address where it tells its own figures to Prometheus; empty if it tells none."""

    @property
    def runtime(self) -> str:
        """The room of software whose figures those are."""

    @property
    def workers(self) -> Mapping[str, tuple[Worker, ...]]:
        """Part -> the processes that serve its requests; without parts whose own process does."""

    def start(self, context: DeployContext) -> tuple[Endpoint, ...]:
        """Build it if needed, start every replica and wait until all are ready.

        Raises:
            UserError: it does not build, does not start, or is not ready in time; one line with its own message.
        """

    def restart(self) -> tuple[Endpoint, ...]:
        """End it and start it again, on the same ports where they are free.

        Raises:
            ServerGone: it is not ours and does not answer.
            UserError: it is ours and does not start.
        """

    def alive(self) -> bool:
        """Whether every replica runs; for one of the user's, whether it answers."""

    def last_output(self) -> AnyText:
        """What one that is not alive said last, on one line and without secrets; empty while all run."""

    def throttling(self) -> Mapping[str, Throttling]:
        """Part -> how its CPU limit held it back since its start; without those that have no limit."""

    def stop(self) -> None:
        """End it, with all that it started, if it is ours. May be called more than once."""


@dataclass(frozen=True)
class SubjectSettings:
    """Settings of a subject in a condition."""

    name: str | None = None
    """Its name in the experiment; None: the manifest's."""
    replicas: int = 1
    limits: Limits = field(default_factory=Limits)
    """Limits of each replica, as of a pod."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """What the condition varies; goes before the manifest's."""
    servers: Mapping[str, ServerFactsForSubject] = field(default_factory=dict)
    """The experiment's servers, started (`placeholders.address_of`)."""


class LocalSubject:
    """A subject that we build and start; see `Subject`."""

    ours = True

    def __init__(self, manifest: Manifest, folder: Path, settings: SubjectSettings | None = None) -> None:
        """`manifest` and `folder` as `programs.manifest.read_manifest` gives them."""
        self._settings = settings or SubjectSettings()
        self.name = self._settings.name or manifest.name
        self.warm_up_s = manifest.warm_up_s
        self._manifest = manifest
        self._folder = folder
        self._context = DeployContext()
        self._replicas: list[Replica] = []
        self._relaunched = False
        self._details: dict[str, str] = {}
        self.limits: Mapping[LimitName, LimitInForce] = {}
        if not 1 <= self._settings.replicas <= REPLICAS_MAX:
            raise UserError(
                "subject {name}: replicas: {replicas} is not 1 to {replicas_max}",
                name=self.name,
                replicas=self._settings.replicas,
                replicas_max=REPLICAS_MAX,
            )

    @property
    def pids(self) -> Mapping[str, int]:
        """See `Subject.pids`."""
        return {replica.name: replica.pid for replica in self._replicas if replica.pid is not None}

    @property
    def details(self) -> Mapping[str, str]:
        """See `Subject.details`."""
        return self._details

    @property
    def metrics(self) -> Mapping[str, str]:
        """See `Subject.metrics`."""
        page = self._manifest.run.metrics
        return {replica.name: f"http://{replica.endpoint.label}{page}" for replica in self._replicas if page}

    @property
    def runtime(self) -> str:
        """See `Subject.runtime`."""
        return self._manifest.run.runtime

    @property
    def workers(self) -> Mapping[str, tuple[Worker, ...]]:
        """See `Subject.workers`."""
        return {replica.name: replica.workers for replica in self._replicas if replica.workers}

    def throttling(self) -> Mapping[str, Throttling]:
        """See `Subject.throttling`."""
        reported = {replica.name: replica.throttling() for replica in self._replicas}
        return {name: throttling for name, throttling in reported.items() if throttling is not None}

    def oom_kills(self) -> int | None:
        """See `endings.HasExitStatus`."""
        return oom_kills_of(self._replicas)

    def how_it_ended(self) -> str:
        """See `endings.HasExitStatus`."""
        return next((told for replica in self._replicas if (told := replica.how_it_ended())), "")

    def alive(self) -> bool:
        """Whether every replica runs."""
        return bool(self._replicas) and all(replica.alive() for replica in self._replicas)

    def last_output(self) -> AnyText:
        """The last lines of the first replica that ended; see `Subject.last_output`."""
        return next((replica.last_lines() for replica in self._replicas if not replica.alive()), "")

    def start(self, context: DeployContext) -> tuple[Endpoint, ...]:
        """See `Subject.start`."""
        self.stop()
        self._context, self._relaunched = context, False
        settings = self._settings
        for address in settings.servers.values():
            learn(address.password)
        written_as = {**self._manifest.environment, **settings.environment}
        require_verifiable(written_as, settings.servers, self.name)
        environment = resolved(written_as, settings.servers, self._manifest.optional_servers, self.name)
        for server in unencrypted(written_as, settings.servers):
            context.progress(
                LastingStep(
                    _(
                        "{name}: {server} uses TLS, and nothing in the application's environment says so; unless it is "
                        "configured for TLS elsewhere, its log-in is not encrypted: add {tls} or {jdbc_options}",
                        name=self.name,
                        server=server,
                        tls=f"${{{server}.tls}}",
                        jdbc_options=f"${{{server}.jdbc_options}}",
                    )
                )
            )
        require_programs(f"subject {self.name}", self._manifest)
        place = built(self._manifest, self._folder, context)
        pinned_files.check_files(pinned_files.named_files(self._manifest.run.command, self._folder, {}))
        several = settings.replicas > 1
        names = [f"{self.name}-{number}" if several else self.name for number in range(1, settings.replicas + 1)]
        context.progress(_("starting {names}", names=", ".join(names)))
        try:
            for number, name in enumerate(names, 1):
                replica = Replica(name, number, self._manifest, place, environment)
                self._replicas.append(replica)
                replica.launch(settings.limits, context)
            endpoints = tuple(replica.await_ready() for replica in self._replicas)
        except BaseException:
            self.stop()
            raise
        self._note(place)
        return endpoints

    def relaunch(self) -> None:
        """Begin its restart, for which `restart` then only waits: so several applications start side by side."""
        if self._replicas:
            with contextlib.suppress(OSError):  # `restart` meets it again
                for replica in self._replicas:
                    replica.relaunch()
                self._relaunched = True

    def restart(self) -> tuple[Endpoint, ...]:
        """See `Subject.restart`."""
        if not self._replicas:
            return self.start(self._context)
        self._context.progress(_("starting {name} again", name=self.name))
        begun, self._relaunched = self._relaunched, False
        try:
            for replica in () if begun else self._replicas:
                replica.relaunch()
            return tuple(replica.await_ready() for replica in self._replicas)
        except OSError:  # a guard was killed, and its folder is no one's
            return self.start(self._context)

    @property
    def held(self) -> bool:
        """See `held.Holdable`."""
        return any(replica.held for replica in self._replicas)

    def hold(self) -> None:
        """See `held.Holdable`."""
        for replica in self._replicas:
            replica.hold()

    def release(self) -> None:
        """See `held.Holdable`."""
        for replica in self._replicas:
            replica.release()

    def stop(self) -> None:
        """See `Subject.stop`."""
        while self._replicas:
            self._replicas.pop().close()

    def _note(self, place: Path) -> None:
        """What the record tells: variables as they were given, before secrets took their places."""
        settings, manifest = self._settings, self._manifest
        self.limits = limits_in_force(settings.limits, self._replicas[0].limited)
        requested = {**manifest.environment, **settings.environment}
        variables = {f"environment.{name}": value for name, value in requested.items()}
        source = {"source": place.name} if manifest.build is not None else {}
        flags = {"jvm_flags": " ".join(manifest.jvm_flags)} if manifest.jvm_flags else {}
        self._details = redacted({**source, "replicas": str(settings.replicas), **flags, **variables})


def local_subject(path: Path, settings: SubjectSettings | None = None) -> LocalSubject:
    """The subject of a manifest's file or folder, not started.

    Raises:
        UserError: its manifest cannot be read, or is not valid.
    """
    manifest, folder = read_manifest(path)
    return LocalSubject(manifest, folder, settings)
