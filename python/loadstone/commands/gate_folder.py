"""The temporary folder of a gate: what is made for it goes with it, whatever ends the command."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from loadstone.deploy.processes.guarded import workspace_of
from loadstone.secrecy.references import learn_environment

NAME = "gate"


@contextmanager
def gate_folder() -> Iterator[Path]:
    """A folder that is removed at the end; after a SIGKILL by the next command that makes one. Raises UserError."""
    learn_environment()  # builds inherit it, and may print it
    workspace = workspace_of(NAME, NAME, None)
    try:
        yield workspace.path
    finally:
        workspace.remove()
