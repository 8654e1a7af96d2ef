"""Ad hoc runs without `--out`: of those in a folder the newest are kept, and older ones are removed.

Which runs these are is written into each of them when it ends: `kept.json`. So is a count that goes up: the clock may
have been wrong, and runs of a day to come would then push out each new one. It names the folder by its name and its
number in the file system, so that a copy, and a folder that was renamed to keep it, are not taken for it. A folder is
removed through its file descriptor, with the lock of those who write to it, and nothing below it is reached by a link.
What cannot be removed stays, and is tried again with the next run.
"""

import contextlib
import fcntl
import json
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from loadstone.run_folder.files import KEPT, PLAN, RUN
from loadstone.run_folder.ledger_file import is_needed
from loadstone.run_folder.lines import FORMAT
from loadstone.safety.bounds.folder_files import open_file

NEWEST = 20
"""Number of runs that are kept."""
_MARK_BYTES_MAX = 4096
_ORDER_END = 2**53
_Place = tuple[int, str, int, str]
"""Order, time and number of a run, and its name: runs are sorted by these."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def mark(folder: Path) -> None:
    """From now on the run is one of those of which the newest are kept. Where it cannot be noted, it stays for good."""
    with contextlib.suppress(OSError):
        order = min(_ORDER_END - 1, 1 + max((order for order, *_ in _orders(folder.parent)), default=0))
        note = json.dumps({"format": FORMAT, **_identity(folder.name, folder.lstat()), "order": order}) + "\n"
        with os.fdopen(open_file(folder / KEPT, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, folder), "w") as file:
            file.write(note)


def unmark(folder: Path) -> bool:
    """Whether it was one of them: it is none while it is written to, see `mark`."""
    with contextlib.suppress(OSError), _opened(None, str(folder)) as opened:
        if _is_marked(opened, folder.name):
            os.unlink(KEPT, dir_fd=opened)
            return True
    return False


def remove_old(root: Path, spared: Path, newest: int = NEWEST) -> None:
    """Remove all but the newest runs that are marked below `root`, but never `spared`, nor one that is needed.

    Needed is what another process writes to, and what names things that are left on a server (`loadstone clean`).
    """
    with contextlib.suppress(OSError):
        within = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            status = os.fstat(within)
            if status.st_uid == os.geteuid() and not status.st_mode & _OTHERS_WRITE:
                for name in [name for name in _marked(within) if name != spared.name][newest - 1 :]:
                    _remove(within, name, root / name)
        finally:
            os.close(within)


def _orders(root: Path) -> list[_Place]:
    """The places of the runs that are marked below a folder. Raises OSError."""
    within = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return _places(within)
    finally:
        os.close(within)


def _marked(within: int) -> list[str]:
    """The names of the runs that are marked, the newest first."""
    return [name for *_, name in sorted(_places(within), reverse=True)]


def _places(within: int) -> list[_Place]:
    runs: list[_Place] = []
    for name in os.listdir(within):
        if begun := RUN.fullmatch(name):
            with contextlib.suppress(OSError), _opened(within, name) as opened:
                if (order := _order(opened, name)) is not None:
                    runs.append((order, begun["time"], int(begun["number"] or 1), name))
    return runs


def _remove(within: int, name: str, folder: Path) -> None:
    with contextlib.suppress(OSError), _opened(within, name) as opened:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)  # held by who writes to it, or removes it
        if not _is_marked(opened, name) or is_needed(folder):
            return
        # Without its plan it is listed no more; the mark goes last, so that what was interrupted is gone on with.
        entries = os.listdir(opened)  # noqa: PTH208 (of a file descriptor)
        for entry in sorted(entries, key=lambda entry: (entry == KEPT, entry != PLAN)):
            if stat.S_ISDIR(os.stat(entry, dir_fd=opened, follow_symlinks=False).st_mode):
                shutil.rmtree(entry, dir_fd=opened)
            else:
                os.unlink(entry, dir_fd=opened)
        os.rmdir(name, dir_fd=within)


@contextmanager
def _opened(within: int | None, name: str) -> Iterator[int]:
    """A folder, which is no link. Raises OSError."""
    opened = os.open(name, _FOLDER, dir_fd=within)
    try:
        yield opened
    finally:
        os.close(opened)


def _is_marked(opened: int, name: str) -> bool:
    """Whether a run of this user's in an open folder of this name is one of those of which the newest are kept."""
    return _order(opened, name) is not None


def _order(opened: int, name: str) -> int | None:
    """Which of those it was when it was marked, by a count that goes up; None: it is none of them."""
    status = os.fstat(opened)
    if status.st_uid != os.geteuid():
        return None
    try:
        mark = os.open(KEPT, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=opened)
    except FileNotFoundError:
        return None
    with os.fdopen(mark, "rb") as file:
        of_mark = os.fstat(mark)
        if not stat.S_ISREG(of_mark.st_mode) or of_mark.st_uid != os.geteuid():
            return None
        try:
            note = json.loads(file.read(_MARK_BYTES_MAX))
        except (ValueError, RecursionError):
            return None
    expected = _identity(name, status)
    if not isinstance(note, dict) or note.get("format") != FORMAT or not expected.items() <= note.items():
        return None
    order = note.get("order", 0)  # earlier versions wrote none
    return order if isinstance(order, int) and 0 <= order < _ORDER_END else 0


def _identity(name: str, status: os.stat_result) -> dict[str, str | int]:
    return {"name": name, "inode": status.st_ino}
