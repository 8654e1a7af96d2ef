"""Runs a process under a guard: it ends when loadstone ends, and leaves nothing behind."""

import contextlib
import io
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, Literal

from loadstone.machine.processes import guard
from loadstone.machine.processes.inherited import by_runs
from loadstone.machine.processes.lease import Lease
from loadstone.machine.processes.resource_limits import Limited, Limits, limit
from loadstone.machine.processes.workspace import Workspace
from loadstone.machine.start_context import LastingStep, StartContext
from loadstone.safety.bounds.folder_files import open_file
from loadstone.safety.errors import UserError
from loadstone.safety.secrets.known import forms
from loadstone.text.language import _

TELL_S = 10.0
"""How long the guard may take to say that it did as ordered."""


@dataclass(frozen=True)
class ProcessEnvironment:
    """What a guarded command finds around it."""

    folder: Path | None = None
    """Its working folder; None: that of its workspace."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Added to what is inherited. May hold secrets: they reach the command and nothing else."""
    inherited: Collection[str] | None = None
    """The variables of loadstone's own environment that the command inherits; None: those of `inherited.by_runs`."""
    groups: Sequence[Path] = ()
    """Control groups that it belongs to from its first instruction."""
    end_signal: int = signal.SIGTERM
    """What asks it to end; some programs take SIGTERM as "when the last client is gone"."""
    standard_input: int | None = None
    """An open file of ours that it reads as its input; None: it has none. One that has it is started once."""
    standard_output: int | None = None
    """File descriptor that it writes its output to; None: its log."""


class GuardedProcess:
    """One command, started, stopped and started again in the same folder.

    Raises:
        OSError: the command cannot be run, or its guard is gone.
    """

    def __init__(
        self,
        command: Sequence[str],
        workspace: Workspace,
        log: Path,
        cpus: Sequence[int] = (),
        surroundings: ProcessEnvironment | None = None,
        log_within: Path | None = None,
        lease: Lease | None = None,
    ) -> None:
        """`log_within`: the folder from which on no link leads to the log; None: the one that the log stands in.

        `lease`: without its renewal the command ends; None: it ends with this process alone.
        """
        self.workspace = workspace
        self.log = log
        self._log_within = log_within
        self.pid: int | None = None
        """The running command's process id; None while it does not run."""
        self.exit_status: int | None = None
        """How the command ended last (negative: by this signal); None before it did."""
        self.log_start = 0
        """Where in its log the command's last start began, in bytes."""
        self.held = False
        """Whether the command is up and does not run."""
        self._heard = b""
        self._lease = lease
        around = surroundings or ProcessEnvironment()
        passed = [fd for fd in (around.standard_input, around.standard_output) if fd is not None]
        self._guard = subprocess.Popen(
            [
                *(sys.executable, "-I", "-S", guard.__file__, str(workspace.path)),
                *(() if lease is None else (f"{lease.seconds:g}",)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_inherited(around),
            pass_fds=(workspace.lock_fd, *passed),
            start_new_session=True,  # Ctrl-C at the terminal does not reach it
        )
        self._spec = {
            "command": list(command),
            "cwd": str(around.folder or workspace.path),
            "log": str(log),
            "log_within": None if log_within is None else str(log_within),
            "cpus": list(cpus),
            "environment": dict(around.environment),
            "groups": [str(group) for group in around.groups],
            "end_signal": int(around.end_signal),
            "standard_input": around.standard_input,
            "standard_output": around.standard_output,
        }
        if lease is not None:
            lease.add(self._renew)

    @property
    def guard_pid(self) -> int:
        """Process id of the guard."""
        return self._guard.pid

    def become(self, command: Sequence[str]) -> None:
        """Run this command at the next start."""
        self._spec["command"] = list(command)

    def start(self) -> int:
        """Start the command; its process id."""
        with self.read_log() as log:
            self.log_start = log.seek(0, os.SEEK_END)
        self._say(json.dumps({**self._spec, "hidden": forms()}))  # the secrets that are known by now
        self._say("start")
        while True:
            message = self._hear(TELL_S)
            if message is None:
                raise OSError(f"{self.workspace.path}: the guard of the process did not answer for {TELL_S:g} s")
            if "failed" in message:
                raise OSError(str(message["failed"]))
            if "started" in message:
                return int(message["started"])

    def log_lines(self) -> list[str]:
        """What the command wrote since its last start."""
        with self.read_log() as file, io.TextIOWrapper(file, errors="replace") as text:
            file.seek(self.log_start)
            return text.readlines()

    def read_log(self) -> BinaryIO:
        """Its log, opened to be read. Raises NotOfFolder if it is a link."""
        try:
            return os.fdopen(open_file(self.log, folder=self._log_within), "rb")
        except FileNotFoundError:
            return io.BytesIO()

    def alive(self) -> bool:
        """Whether the command runs."""
        try:
            while self.pid is not None and self._hear(0.0) is not None:
                pass
        except OSError:  # the guard is gone, and the command with it
            self.pid = None
        return self.pid is not None

    def hold(self) -> None:
        """Have the command and all that it started stand still; it keeps its memory, files and connections."""
        if self.alive() and not self.held:
            self._hold("hold", held=True)

    def release(self) -> None:
        """Have it go on where it stood; it runs when this returns."""
        if self.held and self.alive():
            self._hold("release", held=False)

    def _hold(self, order: str, held: bool) -> None:
        with contextlib.suppress(OSError):  # the guard is gone, and the command with it
            self._order(order, lambda: self.held == held)

    def end(self) -> None:
        """End the command, keep its folder."""
        if self.alive():
            self._order("stop", lambda: False)

    def _order(self, order: str, done: Callable[[], bool]) -> None:
        """Return when the guard did it, or the command is gone. A guard that does neither ends, and its command."""
        deadline = time.monotonic() + TELL_S
        self._say(order)
        while self.pid is not None and not done():
            if self._hear(max(0.0, deadline - time.monotonic())) is None:
                self._guard.kill()
                self._guard.wait()
                raise OSError(f"{self.workspace.path}: the guard of the process did not {order} it in {TELL_S:g} s")

    def close(self) -> None:
        """End the command and its guard, remove the folder. May be called more than once."""
        self.pid = None
        if self._lease is not None:
            self._lease.remove(self._renew)
        if self._guard.stdin is not None and self._guard.stdout is not None:
            with contextlib.suppress(BrokenPipeError):
                self._guard.stdin.close()
            try:
                self._guard.wait(TELL_S)
            except subprocess.TimeoutExpired:
                self._guard.kill()
                self._guard.wait()
            self._guard.stdout.close()
        self.workspace.remove()

    def _renew(self) -> None:
        with contextlib.suppress(OSError, ValueError):  # the guard is gone, or it is being closed
            self._say("renew")

    def _say(self, line: str) -> None:
        if self._guard.stdin is None or self._guard.stdin.closed:
            raise OSError("the process was closed")
        self._guard.stdin.write(line.encode() + b"\n")
        self._guard.stdin.flush()

    def _hear(self, timeout_s: float) -> dict[str, Any] | None:
        """The guard's next message, or None after `timeout_s`. Keeps `pid` up to date."""
        output = self._guard.stdout
        if output is None or output.closed:
            raise OSError("the process was closed")
        deadline = time.monotonic() + timeout_s
        with selectors.DefaultSelector() as selector:
            selector.register(output, selectors.EVENT_READ)
            while b"\n" not in self._heard:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    return None
                received = os.read(output.fileno(), 65536)
                if not received:
                    raise OSError("the guard of the process was killed")
                self._heard += received
        line, self._heard = self._heard.split(b"\n", 1)
        message: dict[str, Any] = json.loads(line)
        if "started" in message:
            self.pid = message["started"]
        elif "held" in message:
            self.held = message["held"]
        elif "exited" in message:
            self.pid, self.held = None, False
            self.exit_status = message["exited"]
        return message


def _inherited(around: ProcessEnvironment) -> dict[str, str]:
    """The guard's environment, which the command gets from it."""
    names = by_runs() if around.inherited is None else around.inherited
    return {name: value for name, value in os.environ.items() if name in names}


def workspace_of(what: str, name: str, root: Path | None) -> Workspace:
    """A temporary folder for `what`. Raises UserError where none can be made."""
    try:
        return Workspace(name, root)
    except OSError as error:
        raise UserError(
            "{what}: no temporary folder can be made ({error}); free some room, or set TMPDIR", what=what, error=error
        ) from None


def guarded(
    kind: Literal["server", "subject"],
    name: str,
    limits: Limits,
    context: StartContext,
    command: Callable[[Workspace], tuple[Sequence[str], ProcessEnvironment]],
) -> tuple[GuardedProcess, Limited]:
    """A guard with a folder, a log and limits of its own, and the limits that are in force; nothing runs yet.

    `command` tells what is to run and what it finds around it, once its folder is there; it joins the limits' groups.

    Raises:
        UserError: there is no room for the folder.
        OSError: there is none for the log, or the guard does not start.
    """
    workspace = workspace_of(f"{kind} {name}", name, context.work_root)
    try:
        limited = limit(limits, workspace)
        if limited.unavailable is not None:
            context.progress(
                LastingStep(_("{name}: limits are unavailable: {why}", name=name, why=limited.unavailable))
            )
        log, within = context.log_of(f"{kind} {name}", f"{name}.log", workspace.path)
        arguments, around = command(workspace)
        around = replace(around, groups=limited.groups)
        return GuardedProcess(arguments, workspace, log, context.cpus, around, within, context.lease), limited
    except BaseException:
        workspace.remove()
        raise
