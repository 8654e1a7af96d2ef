"""Runs a driver's program under a guard: its input and output are ours, its log holds no secrets."""

import contextlib
import os
import re
import selectors
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from loadstone.machine.processes.endings import ending_of_process
from loadstone.machine.processes.guarded_process import GuardedProcess, ProcessEnvironment, workspace_of
from loadstone.machine.processes.inherited import by_runs
from loadstone.programs.clients.manifest import DriverManifest
from loadstone.safety.bounds.replies import shortened
from loadstone.safety.errors import DriveFailed
from loadstone.servers.server import DeployContext

CHUNK = 1 << 20
WRITE_S = 10.0
"""How long the program may take to read what it is sent."""
EXIT_S = 5.0
"""How long a program that closed its output may take to end; a busy machine needs more than a second for it."""
DYING = re.compile(r"(panic|fatal error|FATAL ERROR|runtime: goroutine stack exceeds|Exception in thread)\b")
"""Beginning of what Go, Node and Java write before the stacks of all their threads."""


class Guards(Protocol):
    """Process ids of guards."""

    def add(self, pid: int, /) -> None: ...
    def discard(self, pid: int, /) -> None: ...


class GuardedProgram:
    """One run of a driver's program; see `programs.clients.program.Program`."""

    def __init__(
        self,
        manifest: DriverManifest,
        place: Path,
        cpus: Sequence[int],
        context: DeployContext,
        guards: Guards | None = None,
    ) -> None:
        """Start it on these CPUs (empty: on all). Raises DriveFailed.

        `place`: where it was built; `guards`: where its guard is noted as long as it runs.
        """
        name = manifest.name
        self._ended: str | None = None
        self._guards = guards
        child_in, self._to = os.pipe()
        self._from, child_out = os.pipe()
        os.set_blocking(self._to, False)
        self._process: GuardedProcess | None = None
        try:
            self._process = _process(manifest, place, cpus, context, (child_in, child_out))
            if guards is not None:
                guards.add(self._process.guard_pid)
            self._process.start()
        except OSError as error:
            self.end()
            raise DriveFailed("driver {name}: it cannot be started ({error})", name=name, error=error) from None
        except BaseException:
            self.end()
            raise
        finally:
            os.close(child_in)
            os.close(child_out)

    @property
    def pid(self) -> int | None:
        """See `Program.pid`."""
        return None if self._process is None else self._process.pid

    @property
    def guard_pid(self) -> int | None:
        """See `Program.guard_pid`."""
        return None if self._process is None else self._process.guard_pid

    def write(self, line: bytes) -> None:
        """See `Program.write`."""
        deadline_s = time.monotonic() + WRITE_S
        with selectors.DefaultSelector() as selector:
            selector.register(self._to, selectors.EVENT_WRITE)
            while line:
                if not selector.select(max(0.0, deadline_s - time.monotonic())):
                    raise TimeoutError(f"it did not read its input for {WRITE_S:g} s")
                with contextlib.suppress(BlockingIOError):
                    line = line[os.write(self._to, line) :]

    def read(self, timeout_s: float) -> bytes | None:
        """See `Program.read`."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._from, selectors.EVENT_READ)
            return os.read(self._from, CHUNK) if selector.select(timeout_s) else None

    def close_input(self) -> None:
        """Nothing more is sent: the program must end by itself. May be called more than once."""
        if self._to >= 0:
            os.close(self._to)
            self._to = -1

    def end(self) -> str:
        """See `Program.end`."""
        if self._ended is None:
            self._ended = ""
            self.close_input()
            process = self._process
            if process is not None:
                self._ended = _end_of(process)
                process.close()
                if self._guards is not None:
                    self._guards.discard(process.guard_pid)
            os.close(self._from)
        return self._ended


def _process(
    manifest: DriverManifest, place: Path, cpus: Sequence[int], context: DeployContext, ends: tuple[int, int]
) -> GuardedProcess:
    workspace = workspace_of(f"driver {manifest.name}", f"driver-{manifest.name}", context.work_root)
    try:
        output = str(place / manifest.build.output) if manifest.build is not None else ""
        words = manifest.run.words(output, str(place))
        log, within = context.log_of(f"driver {manifest.name}", f"driver-{manifest.name}.log", workspace.path)
        around = ProcessEnvironment(
            environment=manifest.run.environment,
            inherited=by_runs(manifest.run.inherits),
            folder=place,
            standard_input=ends[0],
            standard_output=ends[1],
        )
        return GuardedProcess(words, workspace, log, cpus, around, within)
    except BaseException:
        workspace.remove()
        raise


def _end_of(process: GuardedProcess) -> str:
    """Return how a program ended, and the last line of its log; it gets a moment to end by itself."""
    deadline_s = time.monotonic() + EXIT_S
    while process.alive() and time.monotonic() < deadline_s:
        time.sleep(0.01)
    if process.alive():
        with contextlib.suppress(OSError):
            process.end()
        return "it did not end by itself"
    told = ending_of_process(process.exit_status)
    with contextlib.suppress(OSError):
        told += _last_words(process.log_lines())
    return told


def _last_words(log: Sequence[str]) -> str:
    """The line of its log that says why it ended; else the last one. What a runtime dies of stands above its stacks."""
    lines = [line.strip() for line in log if line.strip()]
    if reason := next((line for line in lines if DYING.match(line)), ""):
        return f"; its log says: {shortened(reason, 200)}"
    return f"; its log ends with: {shortened(lines[-1], 200)}" if lines else ""
