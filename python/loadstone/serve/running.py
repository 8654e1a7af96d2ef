"""Whether a run goes on, which process it is, and how it is stopped: from its folder and the machine's notes."""

import contextlib
import json
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from loadstone.bounds.beneath import open_file
from loadstone.bounds.files import read_json
from loadstone.conduct.machine_lock import OtherRun, noted, runs_measuring
from loadstone.history.row import DOCUMENT_BYTES, is_written
from loadstone.machine.process_identity import boot_id, signal_if, started
from loadstone.record.run_files import ANALYSIS, EVENTS

TAIL_BYTES = 128 * 1024
"""Of the events, so much is read to see how the run ended."""
LINE_BYTES = 64 * 1024
"""Longer than the line that a run begins with."""
Kind = Literal["running", "complete", "stopped", "killed"]


@dataclass(frozen=True)
class RunState:
    """How it is with a run."""

    kind: Kind
    """running; complete: all that was planned is there; stopped: it ended before that; killed: it ended without a
    word, by kill -9 or with the machine."""
    pid: int | None = None
    """Of the process that measures; None where none does, or it left no note."""
    status: int | None = None
    """Its exit status, once it ended."""
    why: str = ""
    """What it said when it ended."""

    @property
    def may_resume(self) -> bool:
        """Whether there is something left to measure."""
        return self.kind in ("stopped", "killed")


def state_of(folder: Path) -> RunState:
    """How it is with the run of a folder now."""
    if is_written(folder):
        run = _measuring(folder)
        return RunState("running", None if run is None else run.pid)
    ended = _ended(folder)
    if not ended and (writer := writer_of(folder)) is not None and not is_written(folder):
        return RunState("running", writer)  # it writes its report
    ended = ended or _ended(folder)
    status = ended.get("status")
    kind: Kind = "complete" if _is_complete(folder) else "stopped" if ended else "killed"
    return RunState(kind, None, status if isinstance(status, int) else None, str(ended.get("why", ""))[:2000])


def stop(folder: Path) -> bool:
    """As Ctrl-C in the run's terminal: what is finished is kept. A second time ends it at once. Whether it was sent."""
    run = _measuring(folder)
    return run is not None and signal_if(run.pid, signal.SIGINT, lambda: _measuring(folder) == run)


def _measuring(folder: Path) -> OtherRun | None:
    return next((run for run in runs_measuring() if run.uid == os.geteuid() and run.folder == noted(folder)), None)


def _ended(folder: Path) -> dict[str, Any]:
    """The last thing that the run told, if that is its end."""
    with contextlib.suppress(OSError), os.fdopen(open_file(folder / EVENTS), "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
        for line in reversed(file.read(TAIL_BYTES).splitlines()):
            try:
                told = json.loads(line)
            except ValueError:  # torn by what killed it
                continue
            return told if isinstance(told, dict) and told.get("what") == "ended" else {}
    return {}


def writer_of(folder: Path) -> int | None:
    """The process that told last that it began, if it is there: it gives the folder free before it has ended."""
    with contextlib.suppress(OSError), os.fdopen(open_file(folder / EVENTS), "rb") as file:
        end = os.fstat(file.fileno()).st_size
        while end > 0:
            start = max(0, end - TAIL_BYTES)
            part = os.pread(file.fileno(), end - start, start)
            for line in reversed(part.splitlines()):
                if b'"began"' in line and (pid := _pid_of(line)) is not None:
                    return pid
            end = start + LINE_BYTES if start else 0  # a line may lie in both parts
    return None


def _pid_of(line: bytes) -> int | None:
    try:
        told = json.loads(line)
        pid = told["pid"]
        there = told["what"] == "began" and told["boot"] == boot_id() and started(pid) == told["pid_started_ticks"]
    except (ValueError, LookupError, TypeError, OverflowError):
        return None
    return pid if there and isinstance(pid, int) else None


def _is_complete(folder: Path) -> bool:
    with contextlib.suppress(OSError, ValueError):
        analysis = read_json(folder / ANALYSIS, DOCUMENT_BYTES)
        return isinstance(analysis, dict) and analysis.get("complete") is True
    return False
