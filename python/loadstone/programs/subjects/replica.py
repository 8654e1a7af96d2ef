"""One replica of a subject: a process under a guard, with its port, log, limits and workers."""

import contextlib
import dataclasses
import os
import re
import shlex
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.machine.ports import PORT_TRIES, free_port, listeners
from loadstone.machine.process_identity import started
from loadstone.machine.processes.endings import ending_of_process
from loadstone.machine.processes.guarded_process import GuardedProcess, ProcessEnvironment, guarded
from loadstone.machine.processes.idle import OneProcess
from loadstone.machine.processes.inherited import by_runs
from loadstone.machine.processes.resource_limits import Limited, Limits, Throttling
from loadstone.machine.processes.workspace import Workspace
from loadstone.machine.start_context import LOOPBACK, silent
from loadstone.programs.manifest import PLACES, WORKERS_MAX, Manifest, StartCommand
from loadstone.safety.bounds.http_exchange import NotHttp, exchange
from loadstone.safety.bounds.replies import whole_number
from loadstone.safety.errors import SubjectFailed, UserError
from loadstone.safety.secrets.known import redact
from loadstone.servers.server import DeployContext
from loadstone.text.language import _
from loadstone.text.message import AnyText, said


@dataclass(frozen=True)
class Worker:
    """A worker that was ready; its number counts from 1."""

    number: int
    port: int
    pid: int | None
    """None where the system does not say who listens on its port."""
    started_ticks: int | None = None

    def lost(self) -> bool:
        """Whether its process ended, whoever took its place."""
        return self.pid is not None and self.started_ticks is not None and started(self.pid) != self.started_ticks


def worker_count(run: StartCommand, environment: Mapping[str, str], subject: str) -> int:
    """Return how many workers a replica has, 0 where its manifest says nothing of any.

    Raises:
        UserError: the environment has no such variable, or no such number.
    """
    if run.workers is None or isinstance(run.workers, int):
        return run.workers or 0
    text = environment.get(run.workers)
    if text is None:
        raise UserError(
            "subject {subject}: run.workers: the environment has no '{workers}'; add it, or correct it",
            subject=subject,
            workers=run.workers,
        )
    number = whole_number(text)
    if number is None or not 1 <= number <= WORKERS_MAX:
        raise UserError(
            "subject {subject}: environment.{workers}: '{text}' is no number of workers; write one from 1 to "
            "{workers_max}",
            subject=subject,
            workers=run.workers,
            text=text[:40],
            workers_max=WORKERS_MAX,
        )
    return number


def worker_ports(count: int, taken: int, host: str = LOOPBACK) -> tuple[int, ...]:
    """Return `count` free ports of an address, without `taken`."""
    ports: dict[int, None] = {}
    while len(ports) < count:
        if (port := free_port(host)) != taken:
            ports[port] = None
    return tuple(ports)


def workers_at(ports: Sequence[int]) -> tuple[Worker, ...]:
    """The workers that listen on these ports."""
    listening: dict[int, set[int | None]] = {}
    with contextlib.suppress(psutil.Error, OSError):
        listening = listeners(ports)
    workers = []
    for number, port in enumerate(ports, 1):
        pids = listening.get(port, set())
        pid = next(iter(pids)) if len(pids) == 1 else None
        workers.append(Worker(number, port, pid, None if pid is None else started(pid)))
    return tuple(workers)


def loss_of(workers: Sequence[Worker]) -> str:
    """Which of the workers were lost, to follow `died during the trial: `; empty if all run."""
    gone = [f"worker {worker.number} (process {worker.pid})" for worker in workers if worker.lost()]
    if not gone:
        return ""
    return f"{', '.join(gone)} of its {len(workers)} worker{'s' if len(workers) > 1 else ''} ended"


POLL_S, ASK_S = 0.05, 5.0
LAST_LINES, LAST_BYTES, LINE_MAX = 4, 16_384, 150
SILENT_S = 5.0
"""After so long it is said what is waited for."""
PLACE = re.compile(r"\{(" + "|".join(sorted(PLACES)) + r")\}")
OF_MANAGER = re.compile(r"\bPM2 +(log:|\| )|^\[?PM2\]? ")
"""What a process manager says of itself: behind it stands what the application said before it ended."""
PORT_TAKEN = re.compile(r"EADDRINUSE|[Aa]ddress already in use|[Pp]ort \d+ (is|was) already in use")


def _takes_connections(host: str, port: int) -> bool:
    """Whether something listens there."""
    try:
        socket.create_connection((host, port), ASK_S).close()
    except OSError:
        return False
    return True


class Replica(OneProcess):
    """Started by `launch`, waited for by `await_ready`, so that several start side by side."""

    def __init__(
        self,
        name: str,
        number: int,
        manifest: Manifest,
        place: Path,
        environment: Mapping[str, str],
    ) -> None:
        """`place`: its working folder."""
        self.name = name
        self.limited = Limited()
        self._number = number
        self._manifest = manifest
        self._place = place
        self._environment = environment
        self._limits = Limits()
        self._context = DeployContext()
        self._process: GuardedProcess | None = None
        self._endpoint = Endpoint()
        self._worker_ports: tuple[int, ...] = ()
        self.workers: tuple[Worker, ...] = ()
        """Those that were ready; empty where its own process does the work."""

    @property
    def pid(self) -> int | None:
        """Its process; None while it does not run, or not with all its workers."""
        return self._process.pid if self.alive() and self._process is not None else None

    @property
    def endpoint(self) -> Endpoint:
        """Where it listens."""
        return self._endpoint

    def alive(self) -> bool:
        """Whether its process runs, and every worker that it had."""
        return self._runs() and not loss_of(self.workers)

    def _runs(self) -> bool:
        return self._process is not None and self._process.alive()

    def oom_kills(self) -> int | None:
        """See `endings.HasExitStatus`."""
        return self.limited.oom_kills()

    def how_it_ended(self) -> str:
        """See `endings.HasExitStatus`."""
        if self._process is None or self.alive():
            return ""
        return loss_of(self.workers) if self._runs() else ending_of_process(self._process.exit_status)

    def throttling(self) -> Throttling | None:
        """See `Limited.throttling`."""
        return self.limited.throttling()

    def launch(self, limits: Limits, context: DeployContext) -> None:
        """Start its process on a free port, with one for each of its workers.

        Raises:
            SubjectFailed: its command cannot be run.
            UserError: there is no room for its folder.
        """
        self._limits, self._context = limits, context
        self._endpoint = Endpoint(host=context.listen, port=free_port(context.listen))
        count = worker_count(self._manifest.run, self._environment, self.name)
        self.workers, self._worker_ports = (), worker_ports(count, self._endpoint.port, context.listen)
        # The first replica tells for all that there are no limits.
        heard = context if self._number == 1 else dataclasses.replace(context, progress=silent)
        try:
            self._process, self.limited = guarded("subject", self.name, limits, heard, self._command)
            self._process.start()
        except OSError as error:
            self.close()
            problem = said("its command cannot be run ({error}); check that the program is installed", error=error)
            raise SubjectFailed(self.name, problem) from None
        except BaseException:
            self.close()
            raise

    def relaunch(self) -> None:
        """End its process and start it again in its folder, on its port."""
        if self._process is None:
            self.launch(self._limits, self._context)
        else:
            self.workers = ()
            self._process.end()
            self._process.start()

    def await_ready(self) -> Endpoint:
        """Wait until it answers, and each of its workers; on another port where its own was taken.

        Raises:
            SubjectFailed: it ends, or is not ready in time; with its last lines.
            Interrupted: the user requested a stop; it still runs.
        """
        run = self._manifest.run
        began = time.monotonic()
        deadline, said_at = began + run.ready_within_s, began + SILENT_S
        tries = PORT_TRIES
        while not self._ready(run.ready):
            self._context.raise_if_stopped()
            if time.monotonic() > said_at:
                said_at = deadline
                self._context.progress(self._waits_for())
            if not self.alive():
                if tries > 0 and PORT_TAKEN.search(self._tail()):
                    tries -= 1
                    self.close()
                    self.launch(self._limits, self._context)
                    continue
                raise SubjectFailed(
                    self.name,
                    said(
                        "it ended while it started, and its last lines are: {last_lines}", last_lines=self.last_lines()
                    ),
                )
            if time.monotonic() > deadline:
                raise SubjectFailed(self.name, self._not_ready())
            time.sleep(POLL_S)
        self.workers = workers_at(self._worker_ports)
        return self._endpoint

    def _not_ready(self) -> AnyText:
        run = self._manifest.run
        figures = {"ready_within_s": run.ready_within_s, "last_lines": self.last_lines()}
        if run.ready is None:
            return said(
                "nothing listens at {at} within {ready_within_s:g} s, the port that {{port}} and the variable PORT "
                "name; its last lines are: {last_lines}",
                at=self._endpoint.label,
                **figures,
            )
        return said(
            "{ready} is not ready within {ready_within_s:g} s; its last lines are: {last_lines}",
            ready=run.ready,
            **figures,
        )

    def last_lines(self) -> str:
        """The end of what it wrote, on one line, without secrets; where it wrote little, the first line, too."""
        tail = self._tail()
        lines = [line.strip() for line in redact(tail).splitlines() if line.strip()]  # before it is cut
        lines = [line for line in lines if not OF_MANAGER.search(line)] or lines
        if len(tail) < LAST_BYTES // 4 and len(lines) > LAST_LINES + 1:  # what is wrong, and then how it is used
            lines = [lines[0], "...", *lines[-LAST_LINES + 1 :]]
        return " | ".join(line[:LINE_MAX] for line in lines[-LAST_LINES - 1 :]) or "none"

    def close(self) -> None:
        """End it with all that it started. May be called more than once."""
        process, self._process = self._process, None
        if process is not None:
            process.close()

    def _waits_for(self) -> str:
        run = self._manifest.run
        return _(
            "waiting for {name} to answer at port {port}{path}, up to {ready_within_s:g} s",
            name=self.name,
            port=self._endpoint.port,
            path=run.ready or "",
            ready_within_s=run.ready_within_s,
        )

    def _tail(self) -> str:
        """The end of its log since its last start."""
        if self._process is None:
            return ""
        with self._process.read_log() as file:
            file.seek(max(self._process.log_start, file.seek(0, os.SEEK_END) - LAST_BYTES))
            return file.read().decode(errors="replace")

    def _ready(self, path: str | None) -> bool:
        return self.alive() and all(self._answers(port, path) for port in (*self._worker_ports, self._endpoint.port))

    def _answers(self, port: int, path: str | None) -> bool:
        if path is None:
            return _takes_connections(self._endpoint.host, port)
        try:
            answer = exchange(self._endpoint.host, port, path, within_s=ASK_S)
        except (OSError, NotHttp):
            return False
        return 200 <= answer.status < 400

    def _places(self, workspace: Workspace) -> dict[str, str]:
        build = self._manifest.build
        places = {
            "port": str(self._endpoint.port),
            "host": self._endpoint.host,
            "folder": str(workspace.path),
            "replica": str(self._number),
        }
        if build is not None:
            places["output"] = str(self._place / build.output)
        if self._worker_ports:
            places["worker_ports"] = ",".join(map(str, self._worker_ports))
        if self._limits.memory is not None:
            places["memory_mb"] = str(self._limits.memory // 10**6)
        return places

    def _filled(self, text: str, places: Mapping[str, str], where: str) -> str:
        def value(found: re.Match[str]) -> str:
            if found[1] not in places:
                needs = {
                    "output": "the manifest has no build",
                    "memory_mb": "there is no memory limit",
                    "worker_ports": "the manifest has no run.workers",
                }
                why = needs.get(found[1], "it can only be an argument of its own in a command")
                problem = said("{where}: {found} is not known here: {why}", where=where, found=found[0], why=why)
                raise SubjectFailed(self.name, problem)
            return places[found[1]]

        return PLACE.sub(value, text)

    def _command(self, workspace: Workspace) -> tuple[list[str], ProcessEnvironment]:
        """What is run in this workspace, and what it finds around it."""
        places = self._places(workspace)
        arguments: list[str] = []
        for argument in shlex.split(self._manifest.run.command):
            given = self._manifest.jvm_flags if argument == "{jvm_flags}" else (argument,)
            arguments += [self._filled(one, places, "run.command") for one in given]
        filled = {n: self._filled(v, places, f"environment.{n}") for n, v in self._environment.items()}
        folder = self._place if self._manifest.run.folder is None else self._place / self._manifest.run.folder
        inherited = by_runs(self._manifest.run.inherits)
        return arguments, ProcessEnvironment(folder, {"TMPDIR": str(workspace.path), **filled}, inherited)
