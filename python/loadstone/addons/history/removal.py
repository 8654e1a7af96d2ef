"""Runs that a person removes, puts into the archive beside them (`archive/`), or takes out of it.

Only a run of this user's is touched, by its name in the folder of runs, through file descriptors and never through a
link; not one that a loadstone writes to, and none that names things it left on a server (`loadstone clean`).
"""

import contextlib
import fcntl
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from loadstone.addons.history.baselines import branches_of
from loadstone.run_folder.files import ARCHIVE, PLAN
from loadstone.run_folder.ledger_file import is_needed
from loadstone.safety.errors import UserError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_run(root: Path, name: str, *, archived: bool = False) -> None:
    """Remove a run's folder with all that is in it. What was interrupted can be gone on with: its plan goes last.

    Raises:
        UserError: there is no such run, it is not this user's, it is written to, it is a baseline, or it names what
            is on a server.
    """
    with _run(root, name, archived=archived) as (within, opened):
        folder = root / ARCHIVE / name if archived else root / name
        if is_needed(folder):
            raise UserError(
                "{folder}: names what it left on a server, which only this folder knows of; remove that with "
                "`loadstone clean {folder}`, then the run",
                folder=folder,
            )
        if branches := branches_of(root, name):
            raise UserError(
                "{folder}: is the baseline on {branches}; make another run the baseline, or forget it with "
                "`loadstone baseline remove`, then remove the run",
                folder=folder,
                branches=", ".join(branches),
            )
        try:
            entries = os.listdir(opened)  # noqa: PTH208 (of a file descriptor)
            for entry in sorted(entries, key=lambda entry: entry == PLAN):
                if stat.S_ISDIR(os.stat(entry, dir_fd=opened, follow_symlinks=False).st_mode):
                    shutil.rmtree(entry, dir_fd=opened)
                else:
                    os.unlink(entry, dir_fd=opened)
            os.rmdir(name, dir_fd=within)
        except OSError as error:
            raise UserError(
                "{folder}: not wholly removed: {filename}: {strerror}",
                folder=folder,
                filename=error.filename,
                strerror=error.strerror,
            ) from None


def archive_run(root: Path, name: str) -> None:
    """Move a run into `archive/`: it keeps its name, and every command reads it there. Raises as `remove_run`."""
    with _opened_root(root) as outside, contextlib.suppress(FileExistsError):
        os.mkdir(ARCHIVE, 0o700, dir_fd=outside)
    _move(root, name, archived=False)


def restore_run(root: Path, name: str) -> None:
    """Move a run out of `archive/`. Raises as `remove_run`."""
    _move(root, name, archived=True)


def _move(root: Path, name: str, *, archived: bool) -> None:
    with _run(root, name, archived=archived) as (within, _), _opened_root(root) as outside:
        target = outside if archived else _folder(ARCHIVE, outside, root / ARCHIVE)
        try:
            if _is_there(name, target):
                raise UserError(
                    "{root}: a run called {name} is in the archive and beside it; rename one of them",
                    root=root,
                    name=name,
                )
            os.rename(name, name, src_dir_fd=within, dst_dir_fd=target)
        except OSError as error:
            raise UserError("{root}: cannot be moved: {strerror}", root=root / name, strerror=error.strerror) from None
        finally:
            if target != outside:
                os.close(target)


@contextmanager
def _run(root: Path, name: str, *, archived: bool) -> Iterator[tuple[int, int]]:
    """The folder that a run stands in and the run's own, which no other process writes to meanwhile."""
    folder = root / ARCHIVE / name if archived else root / name
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise UserError("{name!r}: not the name of a run's folder", name=name)
    with contextlib.ExitStack() as stack:
        within = stack.enter_context(_opened_root(root))
        if archived:
            within = _folder(ARCHIVE, within, root / ARCHIVE)
            stack.callback(os.close, within)
        opened = _folder(name, within, folder)
        stack.callback(os.close, opened)
        if os.fstat(opened).st_uid != os.geteuid():
            raise UserError("{folder}: it is another user's; nothing was changed", folder=folder)
        if not _is_file(PLAN, opened):
            raise UserError(
                "{folder}: not a run's folder ({plan} is missing); nothing was changed", folder=folder, plan=PLAN
            )
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UserError("{folder}: the run goes on; stop it first", folder=folder) from None
        yield within, opened


@contextmanager
def _opened_root(root: Path) -> Iterator[int]:
    try:
        opened = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise UserError("{root}: cannot be opened: {strerror}", root=root, strerror=error.strerror) from None
    try:
        yield opened
    finally:
        os.close(opened)


def _folder(name: str, within: int, path: Path) -> int:
    """A folder that is no link, opened. Raises UserError."""
    try:
        return os.open(name, _FOLDER, dir_fd=within)
    except FileNotFoundError:
        raise UserError("{path}: there is no such run; it was removed, moved or renamed", path=path) from None
    except OSError as error:
        if _is_link(name, within):
            raise UserError("{path}: it is a link, and nothing is changed through a link", path=path) from None
        raise UserError("{path}: cannot be opened: {strerror}", path=path, strerror=error.strerror) from None


def _is_link(name: str, within: int) -> bool:
    with contextlib.suppress(OSError):
        return stat.S_ISLNK(os.stat(name, dir_fd=within, follow_symlinks=False).st_mode)
    return False


def _is_file(name: str, within: int) -> bool:
    with contextlib.suppress(OSError):
        return stat.S_ISREG(os.stat(name, dir_fd=within, follow_symlinks=False).st_mode)
    return False


def _is_there(name: str, within: int) -> bool:
    with contextlib.suppress(OSError):
        os.stat(name, dir_fd=within, follow_symlinks=False)
        return True
    return False
