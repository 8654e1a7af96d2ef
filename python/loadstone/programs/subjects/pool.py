"""The subjects of a run: one for each way that a condition needs it, kept up while there is memory."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import psutil
from pydantic import ValidationError

from loadstone.experiment.plan.required import RequiredSubject
from loadstone.machine.placement import application_cpus
from loadstone.machine.processes.idle import Holdable, IdleCriteria, await_quiet_of, release
from loadstone.machine.processes.resource_limits import Limits
from loadstone.programs.manifest import REFERENCE, Manifest, read_manifest
from loadstone.programs.ready import RunningSubject
from loadstone.programs.subjects.placeholders import ServerFactsForSubject, address_of
from loadstone.programs.subjects.remote_subject import HostedSubject, manifest_sent, require_reachable
from loadstone.programs.subjects.subject import LocalSubject, Subject, SubjectSettings
from loadstone.programs.subjects.url import UrlSubject
from loadstone.safety.errors import UserError
from loadstone.servers.deployed import RunningServer
from loadstone.servers.server import DeployContext
from loadstone.text.language import _

MEMORY_FLOOR_BYTES = 3 * 1024**3 // 2
"""Below it a subject that is not needed at the moment is stopped before another part starts."""

SETTLED = IdleCriteria(cores=0.1, window_s=0.05, windows=2, longest_s=2.0)
"""When a subject that is to be held has ended what it had under way."""


def available_bytes() -> int:
    """Memory that new processes can have without others being swapped out."""
    return int(psutil.virtual_memory().available)


@dataclass(frozen=True)
class _Key:
    """What makes a subject another one."""

    name: str
    required: str
    addresses: tuple[tuple[str, ServerFactsForSubject], ...]
    """Addresses of the servers that it refers to."""


class SubjectPool:
    """Subjects by how they are required. The one that was used last stands last."""

    def __init__(self, context: DeployContext) -> None:
        self._context = context
        self._running: dict[_Key, RunningSubject] = {}
        self._expected: set[tuple[str, str]] = set()
        self._starts: Counter[str] = Counter()
        """Name -> how many were started, so that no two of them have one folder of logs."""
        self._manifests: dict[str, tuple[Manifest, Path]] = {}

    def manifest(self, required: RequiredSubject) -> tuple[Manifest, Path] | None:
        """Its manifest and the manifest's folder, read once; None for one of the user's by URL. Raises UserError."""
        if required.manifest is None:
            return None
        if required.manifest not in self._manifests:
            self._manifests[required.manifest] = read_manifest(Path(required.manifest))
        return self._manifests[required.manifest]

    def expect(self, required: Iterable[Mapping[str, RequiredSubject]]) -> None:
        """These are what the next trials need, which are measured together: they are not stopped to make room."""
        self._expected = {(name, _written(subject)) for subjects in required for name, subject in subjects.items()}

    def need(
        self, required: Mapping[str, RequiredSubject], servers: Mapping[str, RunningServer], *, apart: bool = False
    ) -> dict[str, RunningSubject]:
        """The subjects by name; started if they do not run yet, restarted if they died.

        `apart`: one of the servers has CPUs of its own, on which no subject runs.

        Raises:
            UserError: one does not build, start or get ready; with its own message.
            ServerGone: one that is not ours does not answer any more.
        """
        keys = {name: self._key(name, one, servers) for name, one in required.items()}
        for name, one in required.items():
            for server, address in keys[name].addresses if one.host is not None else ():
                require_reachable(name, str(one.host), servers[server].server, address)
        return {name: self._one(keys[name], one, apart=apart) for name, one in required.items()}

    def make_room(self) -> None:
        """While memory is short, stop subjects that are not expected: the one first that was not used for longest."""
        for key in list(self._running):
            if available_bytes() >= MEMORY_FLOOR_BYTES:
                return
            if self._running[key].subject.ours and (key.name, key.required) not in self._expected:
                self._context.progress(
                    _("stopping {name}, which this trial does not need: memory is short", name=key.name)
                )
                self._running.pop(key).subject.stop()

    def keep_only(self, servers: Iterable[RunningServer]) -> None:
        """Stop the subjects that refer to a server which is not among these any more, or not where it was."""
        there = {_address(deployed) for deployed in servers if deployed.endpoint.unix_path is None}
        for key in [key for key in self._running if not {at for _name, at in key.addresses} <= there]:
            self._context.progress(_("stopping {name}: its server moved to another port", name=key.name))
            self._running.pop(key).subject.stop()

    def hold_all_but(self, needed: Collection[RunningSubject], servers: Iterable[RunningServer]) -> list[Subject]:
        """Hold those still that are not needed now; these.

        One that works on `servers`, which go on running, is first given time to end what it has under way: it may hold
        a lock there.
        """
        running = {_address(deployed) for deployed in servers if deployed.endpoint.unix_path is None}
        idle = [(key, one.subject) for key, one in self._running.items() if all(one is not other for other in needed)]
        for key, subject in idle:
            if isinstance(subject, Holdable) and not subject.held:
                if running & {at for _, at in key.addresses}:
                    await_quiet_of(subject, SETTLED, self._context.raise_if_stopped)
                subject.hold()
        return [subject for _, subject in idle]

    def restart(self, required: Iterable[Mapping[str, RequiredSubject]]) -> None:
        """Start those of these again that run and are ours. Raises UserError where one does not start."""
        named = {(name, _written(subject)) for subjects in required for name, subject in subjects.items()}
        again = {
            key: running
            for key, running in self._running.items()
            if (key.name, key.required) in named and running.subject.ours
        }
        for running in again.values():
            release(running.subject)
            if isinstance(running.subject, LocalSubject):
                running.subject.relaunch()
        for key, running in again.items():
            endpoints = running.subject.restart()
            self._running[key] = replace(
                running, endpoints=endpoints, pids=dict(running.subject.pids), warmed=set(), restless_cores=None
            )

    def stop(self) -> None:
        """Stop every subject that is ours."""
        while self._running:
            _, deployed = self._running.popitem()
            deployed.subject.stop()

    def _key(self, name: str, required: RequiredSubject, servers: Mapping[str, RunningServer]) -> _Key:
        manifest = self.manifest(required)
        environment = {**(manifest[0].environment if manifest else {}), **required.environment}
        named = {server for value in environment.values() for server, _ in REFERENCE.findall(value)}
        addresses = tuple((server, _address(servers[server])) for server in sorted(named & set(servers)))
        return _Key(name, _written(required), addresses)

    def _one(self, key: _Key, required: RequiredSubject, *, apart: bool) -> RunningSubject:
        running = self._running.pop(key, None)
        if running is None:
            self.make_room()
            subject = self._subject(key, required)
            self._starts[key.name] += 1
            context = self._context
            if apart:
                context = replace(context, cpus=application_cpus(context.cpus, context.generator_cpus))
            endpoints = subject.start(context.with_own_log(self._starts[key.name]))
        else:
            self._running[key] = running  # should it not start again, it is still to be stopped
            subject = running.subject
            release(subject)
            if subject.alive() and dict(subject.pids) == running.pids:
                return running
            endpoints = subject.restart()
        warm_up_s = subject.warm_up_s if required.warm_up_s is None else required.warm_up_s
        self._running[key] = RunningSubject(subject, endpoints, dict(subject.pids), warm_up_s)
        return self._running[key]

    def _subject(self, key: _Key, required: RequiredSubject) -> Subject:
        manifest_and_folder = self.manifest(required)
        if manifest_and_folder is None:
            return UrlSubject(key.name, required.urls)
        manifest, folder = manifest_and_folder
        settings = SubjectSettings(
            name=key.name,
            replicas=required.replicas,
            limits=_limits(key.name, required.limits),
            environment=required.environment,
            servers=dict(key.addresses),
        )
        if required.host is None:
            return LocalSubject(manifest, folder, settings)
        return HostedSubject(
            required.host, manifest, manifest_sent(Path(str(required.manifest)), manifest, folder), settings
        )


def _written(required: RequiredSubject) -> str:
    return json.dumps(asdict(required), sort_keys=True, default=str)


def _address(deployed: RunningServer) -> ServerFactsForSubject:
    """What a subject may know of a server. Raises UserError if it has no port."""
    endpoint, facts = deployed.endpoint, deployed.server.facts
    return address_of(endpoint, facts, deployed.control.software, behind_line=deployed.line is not None)


def _limits(name: str, limits: Mapping[str, object]) -> Limits:
    try:
        return Limits.model_validate(limits)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in ("subjects", name, "limits", *first["loc"]))
        told = first.get("ctx", {}).get("error") or first["msg"]
        raise UserError("{where}: {told}; write cpu: 0.5, memory: 512 MB", where=where, told=told) from None
