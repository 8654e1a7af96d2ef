"""Servers of ours on other machines of the fleet, and what applications there have in common with them.

What is asked of the server itself goes to its address, as for every server. Its processes are not of this machine: a
monitor of the fleet observes them beside it.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from pydantic import TypeAdapter

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.machine.start_context import silent
from loadstone.safety.bounds.folder_files import open_file
from loadstone.safety.errors import UserError
from loadstone.safety.secrets.known import learn
from loadstone.servers.control import Control
from loadstone.servers.remote_host import HostedKind, HostedPart, HostLost, HostReply
from loadstone.servers.server import DeployContext, Server, ServerFacts
from loadstone.text.language import _

_FACTS = TypeAdapter(ServerFacts)
Addressed = TypeVar("Addressed", Endpoint, tuple[Endpoint, ...])
"""Where it serves: a server at one endpoint, an application at one for each replica."""


@runtime_checkable
class RemoteCapable(Server, Protocol):
    """A server that can be asked by its controls wherever it was started; `local_server.OwnServer` is."""

    def serving_at(self, endpoint: Endpoint) -> None:
        """Its controls reach it there."""


class RemotePart(ABC, Generic[Addressed]):
    """A server or an application on a machine, the way to it, and what is known where that is lost."""

    ours = True
    kind: HostedKind = "server"

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
    def _serving(self, answer: HostReply) -> Addressed:
        """Take over what its machine says of it once it serves."""

    def alive(self) -> bool:
        """Whether it runs, and its machine answers."""
        return bool(self._state().get("alive"))

    def how_it_ended(self) -> str:
        """See `endings.HasExitStatus`."""
        state = self._state()
        return str(state.get("ending") or self._lost)

    def oom_kills(self) -> int | None:
        """See `endings.HasExitStatus`."""
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

    def _begin(self, context: DeployContext, settings: Mapping[str, Any]) -> HostReply:
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

    def _carried_out(self, order: str, given: Mapping[str, Any], progress: Callable[[str], None]) -> HostReply:
        assert self._part is not None
        answer = self._part.carry_out(order, given, progress, self._context.raise_if_stopped)
        for endpoint in answer.get("endpoints", ()):
            learn(endpoint.get("password"))
        return answer

    def _asked(self, question: str) -> HostReply:
        try:
            return {} if self._part is None else self._part.ask(question)
        except (UserError, HostLost) as lost:
            self._lost = str(lost)
            return {}

    def _state(self) -> HostReply:
        return self._asked("state")


class HostedServer(RemotePart[Endpoint]):
    """A server; see `server.Server`."""

    def __init__(self, name: str, settings: Mapping[str, Any], model: RemoteCapable) -> None:
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

    def _serving(self, answer: HostReply) -> Endpoint:
        (endpoint,) = (Endpoint.model_validate(one) for one in answer["endpoints"])
        facts = _FACTS.validate_python(answer["facts"])
        self.facts = replace(facts, details={**facts.details, "host": f"{self.host}, {endpoint.host}"})
        self.settings_read_back = answer["read_back"]
        self._model.serving_at(endpoint)
        return endpoint


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
