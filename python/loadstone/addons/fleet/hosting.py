"""What a member with the role `monitor` does for parts on its machine: functions that the command has called there.

A part is a server or an application that is started by the same code as on the command's own machine. It listens at
this machine's address towards the others, and lives as long as the command renews its lease: each guard watches over
that itself (`machine.processes.guard`), so that nothing stays for more than `LEASE_S`, whatever became of the command,
the link or this process.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from loadstone.addons.fleet.cluster_seam import own_address
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.spec import subject_names
from loadstone.machine.processes.endings import HasExitStatus
from loadstone.machine.processes.idle import Holdable, IdleCriteria, await_quiet
from loadstone.machine.processes.lease import Lease
from loadstone.machine.processes.resource_limits import Throttling
from loadstone.machine.processes.workspace import Workspace
from loadstone.machine.start_context import LastingStep, Step
from loadstone.programs.manifest import read_manifest
from loadstone.programs.subjects.remote_subject import sources_of
from loadstone.programs.subjects.subject import LocalSubject, SubjectSettings
from loadstone.safety.errors import Interrupted, LoadstoneError, UserError
from loadstone.servers import registry
from loadstone.servers.remote_host import HostedKind, HostReply
from loadstone.servers.server import DeployContext, Server, ServerFacts

LEASE_S = 10.0
"""Time that parts live without a renewal; a link that is down for 5 s is survived."""
RENEW_S = 1.0
LOG_BYTES = 262_144
"""Bytes that are kept of each log that a part wrote, from its end."""
ORDERS = ("start", "restart", "quiet")
QUESTIONS = ("state", "hold", "release")
FACTS = TypeAdapter(ServerFacts)
SETTINGS = TypeAdapter(SubjectSettings)
THROTTLING = TypeAdapter(dict[str, Throttling])
QUIET = TypeAdapter(IdleCriteria)


class _PartOfRun:
    """One part of a run."""

    def __init__(self, lease: Lease, kind: HostedKind, name: str, settings: Mapping[str, Any]) -> None:
        self._folder = Workspace(f"hosted-{name}")
        self._lease = lease
        self._ended = threading.Event()
        self._said: list[tuple[str, str, bool]] = []
        self._done: HostReply | None = None
        self._context = DeployContext(
            log_folder=self._folder.path,
            progress=self._hear,
            stopped=lambda: self._ended.is_set() or lease.is_over,
            listen=own_address(),
            lease=lease,
        )
        try:
            self._it: Server | LocalSubject = (
                registry.make_server(name, settings) if kind == "server" else _subject(settings)
            )
        except BaseException:
            self._folder.remove()
            raise

    def begin(self, order: str, given: Mapping[str, Any]) -> None:
        """Carry it out in a thread of its own; `heard` tells of it."""
        self._done = None
        threading.Thread(target=self._carry_out, args=(order, given), name=f"hosting-{order}", daemon=True).start()

    def heard(self) -> HostReply:
        """What was said since this was asked last, and what became of the order: `done`, None while it goes on."""
        done = self._done
        said, self._said = self._said, []
        return {"said": said, "done": done}

    def interrupt(self) -> None:
        """The user requested a stop."""
        self._ended.set()

    def answer(self, question: str) -> HostReply:
        it = self._it
        if question in ("hold", "release") and isinstance(it, Holdable):
            (it.hold if question == "hold" else it.release)()
        alive = it.alive()
        return {
            "alive": alive,
            "held": isinstance(it, Holdable) and it.held,
            "output": str(it.last_output()) if isinstance(it, LocalSubject) else "",
            "ending": it.how_it_ended() if isinstance(it, HasExitStatus) else "",
            "oom_kills": it.oom_kills() if isinstance(it, HasExitStatus) else None,
            "throttling": THROTTLING.dump_python(
                dict(it.throttling()) if isinstance(it, LocalSubject) else {}, mode="json"
            ),
        }

    def stop(self) -> dict[str, str]:
        """End it; the ends of its logs."""
        self._ended.set()
        try:
            self._it.stop()
            return {file.name: _end_of(file) for file in sorted(self._folder.path.glob("*.log"))}
        finally:
            self._folder.remove()

    def _hear(self, line: str) -> None:
        self._said.append((str(line), line.about if isinstance(line, Step) else "", isinstance(line, LastingStep)))

    def _carry_out(self, order: str, given: Mapping[str, Any]) -> None:
        try:
            done: HostReply = {"answer": self._orders()[order](given)}
        except Interrupted as stopped:
            done = {"interrupted": str(stopped)}
        except LoadstoneError as error:
            done = {"failed": str(error)}
        except Exception as error:  # it is told where it was ordered
            done = {"failed": f"{type(error).__name__}: {error}"}
        if self._ended.is_set():  # what was started after the end
            self._it.stop()
        self._done = done

    def _orders(self) -> Mapping[str, Callable[[Mapping[str, Any]], HostReply]]:
        return {
            "start": lambda _: self._started(self._it.start(self._context)),
            "restart": lambda _: self._started(self._it.restart()),
            "quiet": self._await_quiet,
        }

    def _started(self, at: Endpoint | tuple[Endpoint, ...]) -> HostReply:
        it, endpoints = self._it, at if isinstance(at, tuple) else (at,)
        answer: HostReply = {"endpoints": [one.model_dump(mode="json") for one in endpoints]}
        if not isinstance(it, LocalSubject):
            facts = replace(it.facts, process_id=None)
            return answer | {"facts": FACTS.dump_python(facts, mode="json"), "read_back": dict(it.settings_read_back)}
        return answer | {
            "details": dict(it.details),
            "limits": {name: limit.model_dump(mode="json") for name, limit in it.limits.items()},
            "metrics": dict(it.metrics),
            "runtime": it.runtime,
            "workers": {part: [worker.port for worker in some] for part, some in it.workers.items()},
        }

    def _await_quiet(self, given: Mapping[str, Any]) -> HostReply:
        rule = QUIET.validate_python(given)
        pids = list(self._it.pids.values())
        cores = await_quiet(
            pids, rule, self._context.raise_if_stopped, lambda cores: self._hear(Step(f"{cores}", about="cores"))
        )
        return {"cores": cores}


class _Run:
    """The parts of one command."""

    def __init__(self) -> None:
        self.lease = Lease(LEASE_S)
        self.parts: dict[str, _PartOfRun] = {}

    def end(self) -> None:
        for part in self.parts.values():
            part.stop()


_LOCK = threading.Lock()
_RUNS: dict[str, _Run] = {}


def make(run: str, part: str, kind: HostedKind, name: str, settings: Mapping[str, Any]) -> None:
    """A part of a run, not started. Raises UserError if it cannot be on this machine."""
    with _LOCK:
        over = [_RUNS.pop(key) for key, one in list(_RUNS.items()) if one.lease.is_over]
        of_run = _RUNS.setdefault(run, _Run())
    for one in over:
        one.end()
    of_run.parts[part] = _PartOfRun(of_run.lease, kind, name, settings)


def begin(run: str, part: str, order: str, given: Mapping[str, Any]) -> None:
    """Have a part carry out one of `ORDERS`."""
    _part(run, part).begin(order, given)


def heard(run: str, part: str) -> HostReply:
    """See `_PartOfRun.heard`."""
    return _part(run, part).heard()


def interrupt(run: str, part: str) -> None:
    """End what the part is carrying out."""
    _part(run, part).interrupt()


def answer(run: str, part: str, question: str) -> HostReply:
    """The part's answer to one of `QUESTIONS`, which is done at once."""
    return _part(run, part).answer(question)


def stop(run: str, part: str) -> dict[str, str]:
    """End a part for good; the ends of its logs."""
    with _LOCK:
        ended = _RUNS[run].parts.pop(part, None) if run in _RUNS else None
    return {} if ended is None else ended.stop()


def renew(run: str) -> None:
    """The command is there."""
    of_run = _RUNS.get(run)
    if of_run is not None:
        of_run.lease.renew()


def _part(run: str, part: str) -> _PartOfRun:
    of_run = _RUNS.get(run)
    if of_run is None or part not in of_run.parts:
        raise UserError("it is not there any more: the member was started again, or its lease ran out")
    return of_run.parts[part]


def _subject(given: Mapping[str, Any]) -> LocalSubject:
    settings, sent = SETTINGS.validate_python(given["settings"]), given["manifest"]
    place = Path(sent["path"]) if "path" in sent else subject_names.FOLDER / sent["built_in"]
    if not place.exists():
        raise UserError("{place} is not there; copy the application's folder to the same place", place=place)
    manifest, folder = read_manifest(place)
    if "path" in sent and sources_of(manifest, folder) != sent["sources"]:
        raise UserError("{place} has other sources than here; copy the application's folder there again", place=place)
    return LocalSubject(manifest, folder, settings)


def _end_of(file: Path) -> str:
    with file.open("rb") as log:
        log.seek(max(0, log.seek(0, 2) - LOG_BYTES))
        return log.read().decode(errors="replace")
