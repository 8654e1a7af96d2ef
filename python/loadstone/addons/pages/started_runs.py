"""Runs that a page started: processes of their own, which need the page for nothing.

A run is started as a shell starts it, in a session of its own, by the command line that the page shows. What it prints
goes to a file in the cache folder, beside a note that says which process it is: a page that is started later finds it
again. Once it has a folder, that is where everything stands.
"""

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadstone.addons.pages.command_lines import CommandLine
from loadstone.machine.placement import place
from loadstone.machine.process_identity import boot_id, signal_if, started
from loadstone.machine.processes.cache_folder import cache_folder
from loadstone.measure.machine_lock import runs_measuring
from loadstone.safety.bounds.files import read_json
from loadstone.safety.bounds.folder_files import open_file, replace_file
from loadstone.safety.secrets.command_line import hidden_arguments
from loadstone.safety.secrets.known import redact
from loadstone.safety.terminal import visible
from loadstone.text.language import language

FOLDER = "pages"
"""Name of the folder within the cache folder."""
KEPT = 50
"""Number of starts that are remembered."""
OUTPUT_BYTES = 64 * 1024
"""Bytes that are shown of what a run printed: its end."""
NOTE_BYTES_MAX = 256 * 1024
_NAME_BYTES = 9


@dataclass(frozen=True)
class StartedRun:
    """A run that a page started."""

    name: str
    words: tuple[str, ...]
    """Without secrets."""
    folder: str
    """Where the command was given."""
    pid: int
    started_ticks: int
    boot: str
    began: float
    """Seconds since 1970."""

    @property
    def runs(self) -> bool:
        """Whether its process is there."""
        return self.boot == boot_id() and started(self.pid) == self.started_ticks

    @property
    def waits(self) -> bool:
        """Whether it was told to wait until the machine is free."""
        return "--wait" in self.words

    @property
    def run_folder(self) -> Path | None:
        """Where it writes, once it says so."""
        found = next((one.folder for one in runs_measuring() if one.pid == self.pid), None)
        return Path(found) if found is not None and self.runs else None

    def interrupt(self) -> bool:
        """As Ctrl-C in its terminal; whether it was sent."""
        return signal_if(self.pid, signal.SIGINT, lambda: self.runs)

    @property
    def output(self) -> str:
        """The end of what it printed, without secrets and without what a terminal would obey."""
        with contextlib.suppress(OSError), os.fdopen(open_file(_folder() / f"{self.name}.txt"), "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - OUTPUT_BYTES))
            return visible(redact(file.read(OUTPUT_BYTES).decode(errors="replace")))
        return ""


NICE = 10
"""Niceness of what the pages do themselves, below what is measured."""


class Starts:
    """Starts runs, and remembers which."""

    def __init__(self) -> None:
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._starter = ThreadPoolExecutor(1, "starter")
        """Its thread keeps the priority that it has now, and what it starts has it, too; see `give_way`."""
        self.cpus: Collection[int] = self._starter.submit(_own_cpus).result()
        """Those that what it starts may use; empty where nothing is pinned."""

    @staticmethod
    def give_way() -> None:
        """From here on this thread, and all that it makes, lets go first what is measured on the same CPUs, and
        keeps to those that no server is measured on.

        A thread of lower priority cannot become what it was, so runs are started by another one.
        """
        if (cpus := place().lab_cpus) and hasattr(os, "sched_setaffinity"):
            with contextlib.suppress(OSError):
                os.sched_setaffinity(0, cpus)
        with contextlib.suppress(OSError, AttributeError):  # of Linux: there priorities are a thread's
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
            os.setpriority(os.PRIO_PROCESS, 0, min(19, os.getpriority(os.PRIO_PROCESS, 0) + NICE))

    def start(self, command: CommandLine, folder: Path, variables: Mapping[str, str] | None = None) -> StartedRun:
        """Start a run, which speaks the page's language; `variables` beyond those of the command. Raises OSError."""
        name = secrets.token_urlsafe(_NAME_BYTES)
        place = _folder()
        _forget_old(place)
        output = os.open(place / f"{name}.txt", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            child = self._starter.submit(
                subprocess.Popen,
                [sys.executable, "-P", "-m", "loadstone", "--lang", language(), *command.words],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=folder,
                env={**os.environ, **command.variables, **(variables or {}), "PYTHONUNBUFFERED": "1"},
                start_new_session=True,
            ).result()
        finally:
            os.close(output)
        self._children[name] = child
        found = StartedRun(
            name,
            tuple(hidden_arguments(command.words)),
            str(folder),
            child.pid,
            started(child.pid) or 0,
            boot_id(),
            time.time(),
        )
        replace_file(place / f"{name}.json", json.dumps({"format": 1, **found.__dict__}).encode())
        return found

    def find(self, name: str) -> StartedRun | None:
        """The start of this name; None where there is none."""
        self.reap()
        return next((one for one in self.all() if one.name == name), None)

    def all(self) -> list[StartedRun]:
        """Those that are remembered, the newest first."""
        self.reap()
        try:
            notes = [_read(path) for path in _folder().glob("*.json")]
        except OSError:
            return []
        return sorted((one for one in notes if one is not None), key=lambda one: -one.began)

    def status(self, start: StartedRun) -> int | None:
        """The exit status; None while it runs, or where another page started it."""
        child = self._children.get(start.name)
        return None if child is None else child.poll()

    def reap(self) -> None:
        """Takes notice of those that ended."""
        for child in self._children.values():
            child.poll()


def _own_cpus() -> Collection[int]:
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else ()


def _folder() -> Path:
    folder = cache_folder() / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _read(path: Path) -> StartedRun | None:
    try:
        note: dict[str, Any] = read_json(path, NOTE_BYTES_MAX)
        return StartedRun(
            path.stem,
            tuple(map(str, note["words"])),
            str(note["folder"]),
            int(note["pid"]),
            int(note["started_ticks"]),
            str(note["boot"]),
            float(note["began"]),
        )
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _forget_old(place: Path) -> None:
    """Removes the notes of those that were started long ago and have ended."""
    notes = sorted(place.glob("*.json"), key=lambda path: path.lstat().st_mtime, reverse=True)
    for path in notes[KEPT:]:
        found = _read(path)
        if found is None or not found.runs:
            for one in (path, path.with_suffix(".txt")):
                one.unlink(missing_ok=True)
