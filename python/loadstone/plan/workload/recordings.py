"""Recordings of the user's: each is read once in a process, and its file for drivers is removed at the end of it."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from loadstone import registry
from loadstone.plan.substitute import FieldError
from loadstone.plan.workload.recording import RecordedLoad

_PREPARED: dict[str, RecordedLoad] = {}
"""By the path of the file for drivers."""


@cache
def recorded_load(path: Path) -> RecordedLoad:
    """What a recording holds; reads it, where that was not done before. Raises UserError."""
    found = registry.read_recording(path, _folder())
    _PREPARED[str(found.prepared)] = found
    return found


def recorded_in(prepared: str) -> RecordedLoad:
    """What stands in a file for drivers that was made here."""
    return _PREPARED[prepared]


@cache
def _folder() -> Path:
    """It holds what the user's clients sent: no one else may read it."""
    folder = Path(tempfile.mkdtemp(prefix="loadstone-recording-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def finish_recording(data: dict[str, Any], folder: Path) -> None:
    """The recording of a workload as a plan has it; a path counts from `folder`.

    Raises:
        FieldError: below `workload`.
        UserError: the recording cannot be read.
    """
    written = data.get("recording")
    if written is None or not isinstance(written.get("path"), str):
        return
    found = recorded_load((folder / written["path"]).resolve())
    operations = [[command.get("args") for command in one["commands"]] for one in data["operations"]]
    if operations != [[[name]] for name in found.commands]:
        names = ", ".join(found.commands)
        problem = f"its commands are {names}; write an operation of each name in this order, without arguments"
        raise FieldError(("recording", "path"), problem)
    written |= {"path": str(found.prepared), "stored_bytes": found.stored_bytes}
