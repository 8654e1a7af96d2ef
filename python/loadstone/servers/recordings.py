"""Recordings of what users' clients sent: read once, and kept ready for drivers as long as this process lives."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from loadstone.experiment.plan.operations import RecordedLoad
from loadstone.servers import registry

_PREPARED: dict[str, RecordedLoad] = {}
"""Recorded loads by the path of the file for drivers."""


@cache
def recorded_load(path: Path) -> RecordedLoad:
    """What a recording holds; reads it, where that was not done before. Raises UserError."""
    recorded = registry.read_recording(path, _folder())
    _PREPARED[str(recorded.prepared)] = recorded
    return recorded


def recorded_in(prepared: str) -> RecordedLoad:
    """What stands in a file for drivers that was made here."""
    return _PREPARED[prepared]


@cache
def _folder() -> Path:
    """It holds what the user's clients sent: no one else may read it."""
    folder = Path(tempfile.mkdtemp(prefix="loadstone-recording-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
