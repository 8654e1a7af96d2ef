"""Files in a folder that others may have laid out, as a run's folder is: nothing that is opened lies outside of it.

Each step from the folder on is opened through the file descriptor of the one before, and none follows a link, so no one
can put another folder or file in a place between a look and its use. The folder itself is what the user named, and may
be reached by a link. Nothing is waited for: a named pipe, a socket or a device is refused.

Standard library only, and little of it: the guards' programs write their logs by it. `folder` is the same everywhere:
what `path` lies in, from which on nothing may be a link; None: the folder that the file stands in.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator

from loadstone.safety.bounds.disk import disk

Path = str | os.PathLike[str]

_ANY = os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_ODD = {errno.ELOOP, errno.EMLINK, errno.ENOTDIR, errno.ENXIO, errno.EOPNOTSUPP, errno.EEXIST}
"""How the system refuses to open a link, or anything else that is not a file."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_WRITES = os.O_WRONLY | os.O_RDWR


class NotOfFolder(OSError):
    """What stands there is no file of the folder's own; `strerror` says what it is, and what helps."""

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


class IsADirectory(NotOfFolder, IsADirectoryError):
    """A folder stands where a file is expected."""


def open_file(path: Path, flags: int = os.O_RDONLY, folder: Path | None = None) -> int:
    """A file descriptor of a regular file. One that is made (`os.O_CREAT`) is its owner's alone.

    Raises:
        NotOfFolder: the file, or a folder on the way to it, is a link; it is no regular file; or it has a second name
            elsewhere (a hard link) by which writing would change another's file, or reading would show it.
        OSError: it does not exist, or cannot be opened.
    """
    with _within(path, folder) as (within, name):
        try:
            opened = disk().open(name, flags | os.O_NOFOLLOW | _ANY, 0o600, dir_fd=within)
        except OSError as error:
            raise _explained(error, path, within, name, "file") from None
        try:
            _require_own(os.fstat(opened), path, within, writes=bool(flags & _WRITES))
        except OSError:
            os.close(opened)
            raise
    return opened


def is_file(path: Path, folder: Path | None = None) -> bool:
    """Whether a regular file stands there, not a link."""
    try:
        with _within(path, folder) as (within, name):
            return stat.S_ISREG(os.stat(name, dir_fd=within, follow_symlinks=False).st_mode)
    except OSError:
        return False


def make_folder(path: Path, folder: Path) -> None:
    """Make `path` and the folders on the way to it, for their owner alone; those that are there stay as they are.

    Raises:
        NotOfFolder: one of them is a link.
        OSError: one cannot be made, or is no folder.
    """
    with _within(os.path.join(path, "x"), folder, make=True):
        pass


def names(path: Path, folder: Path) -> list[str]:
    """What stands in the folder `path`, sorted; nothing where it is missing. Raises NotOfFolder if it is a link."""
    try:
        with _within(os.path.join(path, "x"), folder) as (within, _):
            return sorted(os.listdir(within))
    except FileNotFoundError:
        return []


def replace_file(path: Path, data: bytes, folder: Path | None = None) -> None:
    """Replace a file by `data`, whole or not at all, for its owner's eyes only, and bring it to the disk.

    A link that stands in its place is replaced, and not followed.

    Raises:
        NotOfFolder: a folder on the way to it is a link, or a folder stands in its place.
        OSError: it cannot be written; what was there stays.
    """
    with _within(path, folder) as (within, name):
        beside = f".{name[:100]}.{os.urandom(4).hex()}.new"
        made = disk().open(beside, _NEW, 0o600, dir_fd=within)
        try:
            try:
                left = memoryview(data)
                while left:
                    left = left[disk().write(made, left) :]
                disk().fsync(made)
            finally:
                os.close(made)
            disk().replace(beside, name, src_dir_fd=within, dst_dir_fd=within)
        except BaseException as error:
            with contextlib.suppress(OSError):
                disk().unlink(beside, dir_fd=within)
            if isinstance(error, IsADirectoryError):
                raise _is_folder(path) from None
            raise
        disk().fsync(within)


@contextlib.contextmanager
def _within(path: Path, folder: Path | None, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """The folder that a file stands in, opened step by step, and the file's name in it."""
    start = (os.path.dirname(path) or ".") if folder is None else os.fspath(folder)
    *steps, name = os.path.relpath(path, start).split(os.sep)
    if name == "." or ".." in (*steps, name):
        raise NotOfFolder(errno.EPERM, "it leads out of its folder", os.fspath(path))
    within, place = os.open(start, _FOLDER), start
    try:
        for step in steps:
            place = os.path.join(place, step)
            below = _step(place, within, step, make=make)
            os.close(within)
            within = below
        yield within, name
    finally:
        os.close(within)


def _step(place: Path, within: int, name: str, *, make: bool) -> int:
    if make:
        with contextlib.suppress(FileExistsError):
            disk().mkdir(name, 0o700, dir_fd=within)
    try:
        return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=within)
    except OSError as error:
        raise _explained(error, place, within, name, "folder") from None


def _explained(error: OSError, path: Path, within: int, name: str, kind: str) -> OSError:
    """The error with the whole path, and with what stands there where it is not what it is to be."""
    with contextlib.suppress(OSError):
        mode = os.stat(name, dir_fd=within, follow_symlinks=False).st_mode if error.errno in _ODD else 0
        if stat.S_ISLNK(mode):
            what = f"it is a link, and links in a run's folder are not followed; put the {kind} itself there"
            return NotOfFolder(errno.ELOOP, what, os.fspath(path))
        if mode and not stat.S_ISDIR(mode) and not (kind == "file" and stat.S_ISREG(mode)):
            what = "it is not a regular file" if kind == "file" else "it is not a folder"
            return NotOfFolder(errno.EINVAL, f"{what}; remove it", os.fspath(path))
    return _is_folder(path) if error.errno == errno.EISDIR else OSError(error.errno, error.strerror, os.fspath(path))


def _is_folder(path: Path) -> IsADirectory:
    return IsADirectory(errno.EISDIR, "it is a folder, and a file is expected there; move it away", os.fspath(path))


def _require_own(status: os.stat_result, path: Path, within: int, *, writes: bool) -> None:
    """Raises OSError if what was opened is not a regular file, or may be another's by a second name."""
    if stat.S_ISDIR(status.st_mode):
        raise _is_folder(path)
    if not stat.S_ISREG(status.st_mode):
        raise NotOfFolder(errno.EINVAL, "it is not a regular file; remove it", os.fspath(path))
    if status.st_nlink > 1 and (writes or status.st_uid != os.fstat(within).st_uid):
        what = "it has a second name elsewhere (a hard link); put a copy of it there"
        raise NotOfFolder(errno.EPERM, what, os.fspath(path))
