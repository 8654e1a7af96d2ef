"""The disk: the calls of the system that change what stands on it, behind one seam.

`on_disk` puts another one in its place, as `tests/simulation/disk.py` is, which fails and loses what was not synced.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class SystemDisk:
    """The system's own. Each call takes, returns and raises what that of `os` does."""

    open = staticmethod(os.open)
    write = staticmethod(os.write)
    ftruncate = staticmethod(os.ftruncate)
    fsync = staticmethod(os.fsync)
    mkdir = staticmethod(os.mkdir)
    replace = staticmethod(os.replace)
    unlink = staticmethod(os.unlink)

    @staticmethod
    def remove_tree(path: str | os.PathLike[str]) -> None:
        """Remove a folder with all in it, as far as that can be done. Raises nothing."""
        import shutil  # only now: the guards' programs need none of it

        shutil.rmtree(path, ignore_errors=True)


_SYSTEM = SystemDisk()
_DISK: ContextVar[SystemDisk] = ContextVar("disk", default=_SYSTEM)


def disk() -> SystemDisk:
    """The disk that files are written to."""
    return _DISK.get()


@contextmanager
def on_disk(other: SystemDisk) -> Iterator[None]:
    """Files that this thread writes within are written to another disk."""
    token = _DISK.set(other)
    try:
        yield
    finally:
        _DISK.reset(token)
