"""Servers and applications of ours on other machines of the fleet: the same providers, carried out there.

What is asked of the server itself goes to its address, as for every server. Its processes are not of this machine: a
monitor of the fleet observes them beside it.
"""

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from pydantic import TypeAdapter

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.spec.subject_names import FOLDER
from loadstone.machine.limits_in_force import LimitInForce, LimitName
from loadstone.machine.processes.idle import Quiet
from loadstone.machine.processes.resource_limits import Throttling
from loadstone.machine.start_context import silent
from loadstone.programs.build import source_files
from loadstone.programs.manifest import Manifest
from loadstone.programs.subjects.placeholders import Address
from loadstone.programs.subjects.replica import Worker
from loadstone.programs.subjects.subject import SubjectSettings
from loadstone.safety.bounds.folder_files import open_file
from loadstone.safety.errors import UserError
from loadstone.safety.secrets.known import learn
from loadstone.servers.control import Control
from loadstone.servers.remote_host import Answer, HostedPart, HostLost, Kind
from loadstone.servers.server import DeployContext, Server, ServerFacts
from loadstone.servers.transport import is_loopback
from loadstone.text.language import _

_FACTS = TypeAdapter(ServerFacts)
_LIMITS = TypeAdapter(dict[LimitName, LimitInForce])
_THROTTLING = TypeAdapter(dict[str, Throttling])
_SETTINGS = TypeAdapter(SubjectSettings)
_QUIET = TypeAdapter(Quiet)
Addressed = TypeVar("Addressed", Endpoint, tuple[Endpoint, ...])
"""Where it serves: a server at one endpoint, an application at one for each replica."""


@runtime_checkable
class AskedFromAfar(Server, Protocol):
    """A server that can be asked by its controls wherever it was started; `local_server.OwnServer` is."""

    def serving_at(self, endpoint: Endpoint) -> None:
        """Its controls reach it there."""


class Hosted(ABC, Generic[Addressed]):
    """A server or an application on a machine, the way to it, and what is known where that is lost."""

    ours = True
    kind: Kind = "server"

    def __init__(self, name: str, host: str) -> None:
        self.name = name
        self.host = host
        """As the experiment calls it."""
        self.pids: Mapping[str, int] = {}
        """None is a process of this machine."""
        self._context = DeployContext()
        self._part: HostedPart | None = None
        self._lost = ""
        self.held = False

    def start(self, context: DeployContext) -> Addressed:
        """See `server.Server.start` and `programs.subjects.subject.Subject`."""
        settings = self._sent_settings()
        context.progress(_("starting {name} on {host}", name=self.name, host=self.host))
        return self._serving(self._begin(context, settings))

    def restart(self) -> Addressed:
        """As `start`; on a machine whose member was started again it is started afresh."""
        self._context.progress(_("starting {name} on {host} again", name=self.name, host=self.host))
        try:
            return self._serving(self._carried_out("restart", {}, silent))
        except HostLost:
            raise
        except UserError:
            return self.start(self._context)

    @abstractmethod
    def _sent_settings(self) -> Mapping[str, Any]:
        """What its machine is sent to start it. Raises UserError."""

    @abstractmethod
    def _serving(self, answer: Answer) -> Addressed:
        """Take over what its machine says of it once it serves."""

    def alive(self) -> bool:
        """Whether it runs, and its machine answers."""
        return bool(self._state().get("alive"))

    def how_it_ended(self) -> str:
        """See `endings.Examinable`."""
        state = self._state()
        return str(state.get("ending") or self._lost)

    def oom_kills(self) -> int | None:
        """See `endings.Examinable`."""
        count: int | None = self._state().get("oom_kills")
        return count

    def hold(self) -> None:
        """See `idle.Holdable`."""
        self.held = bool(self._asked("hold").get("held"))

    def release(self) -> None:
        """See `idle.Holdable`."""
        if self.held:
            self._asked("release")
            self.held = False

    def stop(self) -> None:
        """End it, and keep what it wrote with the run's logs."""
        part, self._part = self._part, None
        if part is not None:
            for log, text in part.close().items():
                _keep(self._context, f"{self.kind} {self.name}", log, text)

    def _begin(self, context: DeployContext, settings: Mapping[str, Any]) -> Answer:
        """Start it. Raises as `server.Server.start`."""
        self.stop()
        self._context, self._lost = context, ""
        where = f"{self.kind}s.{self.name}"
        try:
            host = context.host_of(self.host)
        except UserError as problem:
            raise UserError("{where}.{problem}", where=where, problem=problem) from None
        self._part = host.part(self.kind, self.name, settings)
        try:
            return self._carried_out("start", {}, context.progress)
        except BaseException:
            self.stop()
            raise

    def _carried_out(self, order: str, given: Mapping[str, Any], progress: Callable[[str], None]) -> Answer:
        assert self._part is not None
        answer = self._part.carry_out(order, given, progress, self._context.raise_if_stopped)
        for endpoint in answer.get("endpoints", ()):
            learn(endpoint.get("password"))
        return answer

    def _asked(self, question: str) -> Answer:
        try:
            return {} if self._part is None else self._part.ask(question)
        except (UserError, HostLost) as lost:
            self._lost = str(lost)
            return {}

    def _state(self) -> Answer:
        return self._asked("state")


class HostedServer(Hosted[Endpoint]):
    """A server; see `server.Server`."""

    def __init__(self, name: str, settings: Mapping[str, Any], model: AskedFromAfar) -> None:
        """`model`: the same server, of this machine and never started: it knows how to ask it."""
        super().__init__(name, str(settings["host"]))
        self._settings = {key: value for key, value in settings.items() if key != "host"}
        self._model = model
        self.facts: ServerFacts = model.facts
        self.settings_read_back: Mapping[str, str] = {}

    def control(self, timeout_s: float = 5.0) -> Control:
        """See `server.Server.control`."""
        return self._model.control(timeout_s)

    def _sent_settings(self) -> Mapping[str, Any]:
        return self._settings

    def _serving(self, answer: Answer) -> Endpoint:
        (endpoint,) = (Endpoint.model_validate(one) for one in answer["endpoints"])
        facts = _FACTS.validate_python(answer["facts"])
        self.facts = replace(facts, details={**facts.details, "host": f"{self.host}, {endpoint.host}"})
        self.settings_read_back = answer["read_back"]
        self._model.serving_at(endpoint)
        return endpoint


class HostedSubject(Hosted[tuple[Endpoint, ...]]):
    """An application; see `programs.subjects.subject.Subject`."""

    kind: Kind = "subject"

    def __init__(self, host: str, manifest: Manifest, sent: Answer, settings: SubjectSettings) -> None:
        """`sent`: how the other machine finds the manifest."""
        super().__init__(settings.name or manifest.name, host)
        self.warm_up_s = manifest.warm_up_s
        self._manifest, self._sent, self._settings = manifest, sent, settings
        self.details: Mapping[str, str] = {}
        self.limits: Mapping[LimitName, LimitInForce] = {}
        self.metrics: Mapping[str, str] = {}
        self.runtime = manifest.run.runtime
        self.workers: Mapping[str, tuple[Worker, ...]] = {}

    def _sent_settings(self) -> Mapping[str, Any]:
        self._require_address()
        return {"manifest": self._sent, "settings": _SETTINGS.dump_python(self._settings, mode="json")}

    def last_output(self) -> str:
        """See `programs.subjects.subject.Subject`."""
        return str(self._state().get("output", ""))

    def throttling(self) -> Mapping[str, Throttling]:
        """See `programs.subjects.subject.Subject`."""
        return _THROTTLING.validate_python(self._state().get("throttling", {}))

    def await_quiet(self, rule: Quiet, going_on: Callable[[], None], report: Callable[[float], None]) -> float | None:
        """See `idle.await_quiet`; carried out where its processes are."""

        def said(line: str) -> None:
            going_on()
            report(float(line))

        if self._part is None:
            return None
        cores: float | None = self._carried_out("quiet", _QUIET.dump_python(rule, mode="json"), said)["cores"]
        return cores

    def _serving(self, answer: Answer) -> tuple[Endpoint, ...]:
        endpoints = tuple(Endpoint.model_validate(one) for one in answer["endpoints"])
        self.details = {**answer["details"], "host": f"{self.host}, {endpoints[0].host}"}
        self.limits = _LIMITS.validate_python(answer["limits"])
        self.metrics, self.runtime = answer["metrics"], answer["runtime"]
        self.workers = {
            part: tuple(Worker(number, port, None) for number, port in enumerate(ports, 1))
            for part, ports in answer["workers"].items()
        }
        return endpoints

    def _require_address(self) -> None:
        """It must be told where to listen. Raises UserError."""
        values = (
            self._manifest.run.command,
            *self._manifest.environment.values(),
            *self._settings.environment.values(),
        )
        if not any("{host}" in value for value in values):
            raise UserError(
                "subjects.{name}.host: its manifest does not say where to listen; write {{host}} where it has "
                "{{port}}, as HOST: '{{host}}' under environment",
                name=self.name,
            )


def _keep(context: DeployContext, what: str, log: str, text: str) -> None:
    """What a part wrote on its machine, in the run's folder; nothing where there is none."""
    if context.log_folder is None:
        return
    try:
        path, within = context.log_of(what, Path(log).name, context.log_folder)
        with os.fdopen(open_file(path, os.O_WRONLY | os.O_APPEND, within), "ab") as file:
            file.write(text.encode())
    except (OSError, UserError) as problem:
        context.progress(_("{what}: its log is not kept: {why}", what=what, why=problem))


def require_reachable(subject: str, host: str, server: Server, address: Address) -> None:
    """An application on another machine must reach its server from there. Raises UserError."""
    if is_loopback(address.host) and not isinstance(server, Hosted):
        raise UserError(
            "subjects.{subject}.host: {host} does not reach servers.{server}, which listens on this "
            "machine's loopback; give it a host of the fleet, too",
            subject=subject,
            host=host,
            server=server.name,
        )
    if address.ca_file:
        raise UserError(
            "subjects.{subject}.host: the file of the CA of servers.{server} is on this machine, not on "
            "{host}; start the application there yourself, and give it by --subject {subject}=URL",
            subject=subject,
            server=server.name,
            host=host,
        )


def manifest_sent(path: Path, manifest: Manifest, folder: Path) -> Answer:
    """How a subject's manifest is named to another machine: one that is built in by its name, else by path and hash."""
    if path.parent == FOLDER:
        return {"built_in": path.name}
    return {"path": str(path.absolute()), "sources": sources_of(manifest, folder)}


def sources_of(manifest: Manifest, folder: Path) -> str:
    """The hash of a manifest and of what it is built of."""
    digest = hashlib.sha256(manifest.model_dump_json().encode())
    if manifest.build is not None:
        root = (folder / manifest.build.root).resolve()
        for path in source_files(manifest.build, root):
            digest.update(f"\0{path.relative_to(root)}\0{hashlib.sha256(path.read_bytes()).hexdigest()}".encode())
    return digest.hexdigest()
