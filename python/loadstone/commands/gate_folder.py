"""The temporary folder of a gate: what is made for it goes with it, whatever ends the command."""

import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from loadstone.deploy.processes.cache import cache_folder
from loadstone.deploy.processes.guarded import workspace_of
from loadstone.errors import UserError
from loadstone.secrecy.references import learn_environment

NAME = "gate"
FOLDER = "gates"
"""Of the cache folder."""


@contextmanager
def gate_folder() -> Iterator[Path]:
    """A folder that is removed at the end; after a SIGKILL by the next command that makes one. Raises UserError."""
    learn_environment()  # builds inherit it, and may print it
    workspace = workspace_of(NAME, NAME, private_root())
    try:
        yield workspace.path
    finally:
        workspace.remove()


def private_root(top: Path = Path("/")) -> Path | None:
    """Return the folder in which the folder of a gate is made; None: the system's temporary folder.

    Build tools look for their settings in all folders above a source tree: Maven for `.mvn/jvm.config`, Cargo for
    `.cargo/config.toml`, Go for `go.work`. In a `/tmp` that all users share, another one could put them there. It is
    used only where the cache folder has such a folder above it, too. `top`: no folder above it is looked at.
    """
    if not shared_above(Path(tempfile.gettempdir()), top):
        return None
    try:
        private = cache_folder() / FOLDER
        private.mkdir(mode=0o700, exist_ok=True)
    except (OSError, UserError):
        return None
    return None if shared_above(private, top) else private


def shared_above(folder: Path, top: Path) -> bool:
    """Whether every user may make files in `folder`, or in one above it up to `top`."""
    real = folder.resolve()
    places = [place for place in (real, *real.parents) if place.is_relative_to(top.resolve())]
    return any(place.stat().st_mode & stat.S_IWOTH for place in places)
