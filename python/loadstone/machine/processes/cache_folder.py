"""The cache folder: what takes long to make, as builds of subjects and rows of data.

What is built there is run later, so no one else may have put it there.
"""

import errno
import fcntl
import os
import pwd
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from loadstone.machine.processes.own_folder import WRITABLE_BY_OTHERS, empty_folder, require_own, require_safe_parents
from loadstone.safety.errors import UserError

POLL_S = 0.1


def cache_folder() -> Path:
    """Where builds and data are kept between runs: `$XDG_CACHE_HOME/loadstone`, or `~/.cache/loadstone`.

    It is made if it is not there, for this user alone. One that others could write to is emptied once, and closed to
    them.

    Raises:
        UserError: it is another user's, or another one could put something else in its place.
        OSError: it cannot be made, or the user has no home.
    """
    root = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(root) if root else _home() / ".cache") / "loadstone"
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    real = folder.resolve()
    try:
        require_safe_parents(str(real.parent))
        status = real.stat()
        require_own(status, str(real))
    except PermissionError as error:
        raise UserError(
            "cache folder {folder}: {filename}: {strerror}, who could put there what is run later; set "
            "XDG_CACHE_HOME to a folder of your own",
            folder=folder,
            filename=error.filename,
            strerror=error.strerror,
        ) from None
    if status.st_mode & WRITABLE_BY_OTHERS:
        _close_to_others(real)
    return folder


def _close_to_others(folder: Path) -> None:
    """Others may have written what is in it: it is made again."""
    folder.chmod(0o700)
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        empty_folder(opened)
    finally:
        os.close(opened)


def _home() -> Path:
    """The home of the user that this process is of: after `sudo`, HOME may still name another's."""
    try:
        home = Path.home()
    except RuntimeError:  # a user that the system does not know, as a number in a container
        raise FileNotFoundError(errno.ENOENT, "your user has no home folder here", "~") from None
    with suppress(OSError, KeyError):
        if home.stat().st_uid not in (0, os.geteuid()):
            return Path(pwd.getpwuid(os.geteuid()).pw_dir)
    return home


@contextmanager
def only_one(lock: Path, waiting: Callable[[], None], raise_if_stopped: Callable[[], None]) -> Iterator[None]:
    """One maker of the same thing at a time, over all runs of this user.

    `waiting` is called once if another is at it, and `raise_if_stopped` until that one is done; it may raise.
    """
    with lock.open("w") as file:
        if not _held(file):
            waiting()
            while not _held(file):
                raise_if_stopped()
                time.sleep(POLL_S)
        yield


def _held(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
