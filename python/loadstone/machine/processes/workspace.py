"""A temporary folder that does not outlive its owners, whatever kills them.

An open, locked file marks a folder as used. Its guard removes the folder when loadstone ends; a
folder whose lock no one holds any more (both were killed) is removed by the next run. The system's temporary folder is
shared by all users: what another one made or may change there is left alone, whatever its name (`own_folder`).
"""

import contextlib
import fcntl
import os
import tempfile
from pathlib import Path

from loadstone.machine.processes.clean_up import MARK, clear, end_what_runs
from loadstone.machine.processes.own_folder import empty_folder, open_own_file, open_own_folder, require_safe_parents

PREFIX = "loadstone-"


class Workspace:
    """A folder of mode 700 for one server; `lock_fd` is to be passed on to its guard.

    Raises:
        OSError: there is no room for it, or another user could put something else in its place.
    """

    def __init__(self, name: str, root: Path | None = None) -> None:
        root = root or Path(tempfile.gettempdir())
        require_safe_parents(str(root))
        sweep(root)
        self.path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{name}-", dir=root))
        # Locked before it gets its name: a sweep never sees a mark that is not locked yet.
        draft = self.path / "new"
        self.lock_fd = os.open(draft, os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(self.lock_fd, fcntl.LOCK_EX)
        draft.rename(self.path / MARK)

    def remove(self) -> None:
        """Remove the folder and all in it, and its control groups. May be called more than once."""
        clear(str(self.path), without_mark=True)
        if self.lock_fd >= 0:
            os.close(self.lock_fd)
            self.lock_fd = -1


def sweep(root: Path, owner: int | None = None) -> None:
    """Remove our folders in `root` that no one uses any more. `owner`: whose they must be; None: ours."""
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in os.listdir(folder):  # noqa: PTH208 (of a file descriptor)
            if name.startswith(PREFIX):
                with contextlib.suppress(OSError):  # it is another's, or in use
                    _sweep_one(folder, name, owner)
    finally:
        os.close(folder)


def _sweep_one(root: int, name: str, owner: int | None) -> None:
    """Raises OSError if it is not to be swept."""
    folder = open_own_folder(name, root, owner)
    try:
        mark = open_own_file(MARK, folder, os.O_RDWR, owner)
        try:
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
            end_what_runs(folder, name, owner)
            empty_folder(folder)
        finally:
            os.close(mark)
        os.rmdir(name, dir_fd=root)
    finally:
        os.close(folder)
