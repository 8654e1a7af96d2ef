"""A server that speaks SQL and that we start on a free port, with a database of its own, under a guard."""

import dataclasses
import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Protocol

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.machine.ports import free_port
from loadstone.machine.processes.guarded_process import GuardedProcess, ProcessEnvironment
from loadstone.machine.processes.resource_limits import Limits, limits_in_force
from loadstone.machine.start_context import LastingStep
from loadstone.safety.errors import LoadstoneError, UserError
from loadstone.safety.secrets.known import new_password
from loadstone.servers.local_server import OwnServer, PortTaken
from loadstone.servers.server import ConfigValue, DeployContext, ServerFacts
from loadstone.servers.sql.control import SqlControl
from loadstone.servers.sql.session import DATABASE
from loadstone.text.language import _
from loadstone.text.message import AnyText

READY_S = 60.0
"""How long the data folder's making, and the server's start, may take."""
POLL_S = 0.02


class OwnSqlSettings(Protocol):
    """What the settings of such a server have in common."""

    @property
    def settings(self) -> Mapping[str, ConfigValue]:
        """The server's own, each of which can be given to it."""

    @property
    def limits(self) -> Limits: ...
    @property
    def folder(self) -> Path | None:
        """The folder of an installation outside PATH."""


class OwnSqlServer(OwnServer):
    """One server of ours; see `provider.Server`."""

    program: ClassVar[str]
    """The server's program."""
    how_to_get: ClassVar[AnyText]
    """What helps where a program is missing."""
    around: ClassVar[ProcessEnvironment] = ProcessEnvironment()

    def __init__(self, name: str, settings: OwnSqlSettings) -> None:
        super().__init__(name)
        self.facts = ServerFacts(software=self.control().declared.name, version="", mode="", role="")
        self.settings_read_back: Mapping[str, str] = {}
        self._settings = settings

    @abstractmethod
    def control(self, timeout_s: float = 5.0) -> SqlControl:
        """A connection for loadstone's own questions."""

    @abstractmethod
    def _find(self, program: str, folder: Path | None) -> Path | None:
        """A program of the software: below `folder`, or else where systems have it."""

    @abstractmethod
    def _make_data_folder(self, process: GuardedProcess) -> None:
        """Make the server's own tables, and say what the process runs next. Raises UserError."""

    @abstractmethod
    def _why_it_ended(self, lines: Sequence[str]) -> Exception:
        """What the log says about an end during the start, as PortTaken or an error for a person."""

    def start(self, context: DeployContext) -> Endpoint:
        """See `provider.Server.start`."""
        self.stop()
        self._context = context
        binary = self._need(self.program)
        context.progress(_("starting {name} ({program})", name=self.name, program=binary.name))
        self._endpoint = Endpoint(
            host=context.listen, port=free_port(context.listen), username=DATABASE, password=new_password()
        )
        try:
            self._process = self._guarded(context, self._settings.limits, self.around)
            self._make_data_folder(self._process)
            return self._run(self._process)
        except OSError as error:
            self.stop()
            raise UserError(
                "server {name}: cannot be started ({error}); check {binary} and the free room",
                name=self.name,
                error=error,
                binary=binary,
            ) from None
        except BaseException:
            self.stop()
            raise

    def _need(self, program: str) -> Path:
        folder = self._settings.folder
        path = self._find(program, folder)
        if path is None:
            where = f"in {folder}" if folder else "on PATH"
            raise UserError(
                "server {name}: no {program} {where}; {how_to_get}",
                name=self.name,
                program=program,
                where=where,
                how_to_get=self.how_to_get,
            )
        return path.absolute()

    def _run_to_its_end(self, process: GuardedProcess) -> None:
        """Run the program that makes the data folder. Raises UserError if it does not end in time."""
        process.start()
        deadline = time.monotonic() + READY_S
        while process.alive():
            self._context.raise_if_stopped()
            if time.monotonic() > deadline:
                raise UserError(
                    "server {name}: its data folder was not made within {ready_s:g} s; see its log",
                    name=self.name,
                    ready_s=READY_S,
                )
            time.sleep(POLL_S)

    def _read_back(self) -> None:
        requested = self._settings.settings
        with self.control() as control:
            facts, self.settings_read_back, lines = control.read_back(requested)
        limits = limits_in_force(self._settings.limits, self.limited)
        self.facts = dataclasses.replace(facts, process_id=self.pids.get(self.name), limits=limits)
        for line in lines:
            self._context.progress(LastingStep(_("{name}: {line}", name=self.name, line=line)))

    def _await_ready(self, process: GuardedProcess) -> None:
        deadline = time.monotonic() + READY_S
        with self._first_control() as control:
            while True:
                self._context.raise_if_stopped()
                if not process.alive():
                    raise self._why_it_ended(process.log_lines())
                try:
                    control.ping()
                except LoadstoneError as error:
                    if isinstance(error, UserError) and process.alive():
                        raise PortTaken from None  # another server answers, and does not know our user
                    if time.monotonic() > deadline:
                        raise UserError(
                            "server {name}: not ready within {ready_s:g} s ({error})",
                            name=self.name,
                            ready_s=READY_S,
                            error=error,
                        ) from None
                    time.sleep(POLL_S)
                else:
                    return

    def _first_control(self) -> SqlControl:
        """A connection to a server whose database may be missing yet, by which it is found out that it serves."""
        return self.control(timeout_s=2.0)


def write_private(folder: Path, texts: Mapping[str, str]) -> None:
    """Files that the server reads, by their names, for our eyes only."""
    for name, text in texts.items():
        (folder / name).touch(mode=0o600)
        (folder / name).write_text(text)
