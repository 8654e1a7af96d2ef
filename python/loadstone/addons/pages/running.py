"""Which process a run is, whether it is there, and how it is stopped: from its folder and the machine's notes."""

import contextlib
import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadstone.machine.process_identity import boot_id, signal_if, started
from loadstone.measure.machine_lock import OtherRun, noted, runs_measuring
from loadstone.run_folder.files import EVENTS
from loadstone.safety.bounds.files import load_json
from loadstone.safety.bounds.folder_files import open_file

TAIL_BYTES = 128 * 1024
"""Bytes of the events that are read at once, from the end on."""
SEARCHED_BYTES = 128 * 1024 * 1024
"""A line that lies before these is not looked for: no file that loadstone wrote is longer."""
LINE_BYTES = 64 * 1024
"""Longer than the line that a run begins with."""
LEFT_MAX_S = 1e9


@dataclass(frozen=True)
class Writer:
    """The process that says of itself in a line of the run's events that it begins to measure."""

    pid: int
    started_ticks: int
    boot: str

    @classmethod
    def of(cls, line: Mapping[str, Any]) -> "Writer | None":
        """Return the writer that a line names, which may be another person's; None if it names no process."""
        pid, ticks, boot = (line.get(key) for key in ("pid", "pid_started_ticks", "boot"))
        if line.get("what") != "began" or not isinstance(boot, str) or not boot:
            return None
        whole = all(type(one) is int and 0 < one < 2**63 for one in (pid, ticks))
        return cls(int(pid or 0), int(ticks or 0), boot) if whole else None

    @property
    def is_here(self) -> bool:
        """Whether it began on this machine since that was started: of others nothing can be said."""
        return self.boot == boot_id()

    @property
    def lives(self) -> bool:
        """Whether it is there; False where that cannot be said."""
        return self.is_here and started(self.pid) == self.started_ticks


def stop(folder: Path) -> bool:
    """As Ctrl-C in the run's terminal: what is finished is kept. A second time ends it at once. Whether it was sent."""
    run = _measuring(folder)
    return run is not None and signal_if(run.pid, signal.SIGINT, lambda: _measuring(folder) == run)


def _measuring(folder: Path) -> OtherRun | None:
    return next((run for run in runs_measuring() if run.uid == os.geteuid() and run.folder == noted(folder)), None)


def writer_of(folder: Path) -> Writer | None:
    """The process that told last that it began; None where none did."""
    line = _last(folder, b'"began"', lambda line: Writer.of(line) is not None)
    return None if line is None else Writer.of(line)


def left_of(folder: Path) -> float | None:
    """Seconds that a run still takes, by what it told last; None where it told nothing."""
    line = _last(folder, b'"now"', lambda line: line.get("what") == "now", TAIL_BYTES)
    left_s = None if line is None else line.get("left_s")
    return float(left_s) if isinstance(left_s, int | float) and 0 < left_s < LEFT_MAX_S else None


def _last(
    folder: Path, mark: bytes, wanted: Callable[[Mapping[str, Any]], bool], searched: int = SEARCHED_BYTES
) -> Mapping[str, Any] | None:
    """The last of the lines that a run told which is wanted; it holds the mark."""
    with contextlib.suppress(OSError), os.fdopen(open_file(folder / EVENTS), "rb") as file:
        end = size = os.fstat(file.fileno()).st_size
        while end > max(0, size - searched):
            start = max(0, end - TAIL_BYTES)
            part = os.pread(file.fileno(), end - start, start)
            for line in reversed(part.splitlines()):
                if mark in line and (found := _told(line)) is not None and wanted(found):
                    return found
            end = start + LINE_BYTES if start else 0  # a line may lie in both parts
    return None


def _told(text: bytes) -> Mapping[str, Any] | None:
    try:
        line = load_json(text)
    except ValueError:
        return None
    return line if isinstance(line, dict) else None
