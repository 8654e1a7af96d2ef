"""Applications of ours on other machines of the fleet, and what such a machine is sent to build one."""

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.spec.subject_names import FOLDER
from loadstone.machine.limits_in_force import LimitInForce, LimitName
from loadstone.machine.processes.idle import IdleCriteria
from loadstone.machine.processes.resource_limits import Throttling
from loadstone.programs.manifest import Manifest
from loadstone.programs.sources import source_files
from loadstone.programs.subjects.placeholders import ServerFactsForSubject
from loadstone.programs.subjects.replica import Worker
from loadstone.programs.subjects.subject import SubjectSettings
from loadstone.safety.errors import UserError
from loadstone.servers.remote_host import HostedKind, HostReply
from loadstone.servers.remote_part import RemotePart
from loadstone.servers.server import Server
from loadstone.servers.transport import is_loopback

_LIMITS = TypeAdapter(dict[LimitName, LimitInForce])
_THROTTLING = TypeAdapter(dict[str, Throttling])
_SETTINGS = TypeAdapter(SubjectSettings)
_QUIET = TypeAdapter(IdleCriteria)


class HostedSubject(RemotePart[tuple[Endpoint, ...]]):
    """An application; see `programs.subjects.subject.Subject`."""

    kind: HostedKind = "subject"

    def __init__(self, host: str, manifest: Manifest, sent: HostReply, settings: SubjectSettings) -> None:
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

    def await_quiet(
        self, rule: IdleCriteria, going_on: Callable[[], None], report: Callable[[float], None]
    ) -> float | None:
        """See `idle.await_quiet`; carried out where its processes are."""

        def said(line: str) -> None:
            going_on()
            report(float(line))

        if self._part is None:
            return None
        cores: float | None = self._carried_out("quiet", _QUIET.dump_python(rule, mode="json"), said)["cores"]
        return cores

    def _serving(self, answer: HostReply) -> tuple[Endpoint, ...]:
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


def require_reachable(subject: str, host: str, server: Server, address: ServerFactsForSubject) -> None:
    """An application on another machine must reach its server from there. Raises UserError."""
    if is_loopback(address.host) and not isinstance(server, RemotePart):
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


def manifest_sent(path: Path, manifest: Manifest, folder: Path) -> HostReply:
    """Return how a subject's manifest is named to another machine: one that is built in by its name, else by path and
    hash."""
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
