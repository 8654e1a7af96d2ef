"""A temporary folder that does not outlive its owners, whatever kills them.

An open, locked file marks a folder as used. Its guard removes the folder when loadstone ends; a
folder whose lock nobody holds any more (both were killed) is removed by the next run.
"""

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

from loadstone.deploy.guard import MARK, remove_groups

PREFIX = "loadstone-"


class Workspace:
    """A folder of mode 700 for one server; `lock_fd` is to be passed on to its guard."""

    def __init__(self, name: str, root: Path | None = None) -> None:
        root = root or Path(tempfile.gettempdir())
        sweep(root)
        self.path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{name}-", dir=root))
        # Locked before it gets its name: a sweep never sees a mark that is not locked yet.
        draft = self.path / "new"
        self.lock_fd = os.open(draft, os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(self.lock_fd, fcntl.LOCK_EX)
        draft.rename(self.path / MARK)

    def remove(self) -> None:
        """Remove the folder and all in it, and its control groups. May be called more than once."""
        remove_groups(str(self.path))
        shutil.rmtree(self.path, ignore_errors=True)
        if self.lock_fd >= 0:
            os.close(self.lock_fd)
            self.lock_fd = -1


def sweep(root: Path) -> None:
    """Remove our folders in `root` that nobody uses any more."""
    for mark in root.glob(f"{PREFIX}*/{MARK}"):
        try:
            fd = os.open(mark, os.O_RDWR)
        except OSError:
            continue
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            pass
        else:
            remove_groups(str(mark.parent))
            shutil.rmtree(mark.parent, ignore_errors=True)
        finally:
            os.close(fd)
