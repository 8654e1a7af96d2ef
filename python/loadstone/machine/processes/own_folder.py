"""Folders and files that no other user can have made or changed: what stands in them may be trusted.

Standard library only: the guard runs with nothing else. A folder is opened once, and what is in it is reached through
its file descriptor, so that no one can put another one in its place meanwhile.
"""

import contextlib
import errno
import os
import shutil
import stat

WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE_BYTES_MAX = 1024 * 1024
"""What is read of a file at most; none of ours comes near it."""
WHOLE_MAP = ["0", "0", "4294967295"]
"""What /proc/self/uid_map says outside of a user namespace."""


def open_own_folder(path: str, within: int | None = None, owner: int | None = None) -> int:
    """A file descriptor of a folder that belongs to `owner` (None: this process's user), and only that may write to.

    `within`: a file descriptor of the folder that `path` starts from.

    Raises:
        OSError: there is none, it is a link, or it is another's or open to others.
    """
    fd = os.open(path, FOLDER_FLAGS, dir_fd=within)
    try:
        _require_closed(os.fstat(fd), path, owner)
    except OSError:
        os.close(fd)
        raise
    return fd


def open_own_file(name: str, folder: int, flags: int, owner: int | None = None) -> int:
    """A file descriptor of a plain file in a folder, that belongs to `owner`, and only that may write to.

    Raises:
        OSError: there is none, it is a link or no plain file, or it is another's or open to others.
    """
    fd = os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600, dir_fd=folder)
    try:
        status = os.fstat(fd)
        _require_plain_file(status, name)
        _require_closed(status, name, owner)
    except OSError:
        os.close(fd)
        raise
    return fd


def read_own_file(name: str, folder: int, owner: int | None = None) -> str:
    """The text of such a file; empty if there is none."""
    with contextlib.suppress(OSError):
        fd = open_own_file(name, folder, os.O_RDONLY, owner)
        with os.fdopen(fd, "rb") as file:
            return file.read(FILE_BYTES_MAX).decode(errors="surrogateescape")
    return ""


def empty_folder(folder: int) -> None:
    """Remove all that is in a folder, as far as possible; links are removed and not followed."""
    for name in os.listdir(folder):
        try:
            os.unlink(name, dir_fd=folder)
        except OSError:  # it is a folder
            shutil.rmtree(name, ignore_errors=True, dir_fd=folder)


def require_safe_parents(path: str, owner: int | None = None) -> None:
    """No one but root and `owner` (None: this process's user) can put something else where `path` leads.

    Raises:
        OSError: somebody can; names the folder and why.
    """
    place = os.path.realpath(path)
    while True:
        status = os.stat(place)  # noqa: PTH116
        if status.st_uid not in _trusted(owner):
            raise OSError(errno.EPERM, f"it belongs to another user, {status.st_uid}", place)
        if status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX:
            raise OSError(errno.EPERM, "every user may replace what is in it; remove that permission: chmod o-w", place)
        if place == "/":
            return
        place = os.path.dirname(place)  # noqa: PTH120


def _trusted(owner: int | None) -> set[int]:
    """Users who may own the folders that lead to ours."""
    trusted = {0, os.geteuid() if owner is None else owner}
    with contextlib.suppress(OSError, ValueError):
        if _text("/proc/self/uid_map").split() != WHOLE_MAP:  # root of the machine itself has this number inside
            trusted.add(int(_text("/proc/sys/kernel/overflowuid")))
    return trusted


def _require_plain_file(status: os.stat_result, name: str) -> None:
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        raise OSError(errno.EPERM, "it is no plain file", name)


def require_own(status: os.stat_result, path: str, owner: int | None = None) -> None:
    """It belongs to `owner` (None: this process's user). Raises OSError."""
    if status.st_uid != (os.geteuid() if owner is None else owner):
        raise OSError(errno.EPERM, f"it belongs to another user, {status.st_uid}", path)


def _require_closed(status: os.stat_result, path: str, owner: int | None) -> None:
    require_own(status, path, owner)
    if status.st_mode & WRITABLE_BY_OTHERS:
        raise OSError(errno.EPERM, "other users may write to it", path)


def _text(path: str) -> str:
    with open(path) as file:  # noqa: PTH123
        return file.read()
