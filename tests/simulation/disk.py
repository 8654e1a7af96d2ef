"""A disk that fails, and that loses at a power cut what was not brought to it.

Files stand in a real folder as the system would show them; what would be left after a cut is kept beside it. It is as
careless as POSIX allows: a file's content is there after its own `fsync`, and its name after that of its folder; of
what was not synced, any part may be there, in any order between files. Names of one folder are written in order.
"""

import errno
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from loadstone.safety.bounds.disk import SystemDisk

from .world import World

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_SECTOR = 512


def _path_of(fd: int) -> str:
    return os.readlink(f"/proc/self/fd/{fd}")


def _at(name: Any, dir_fd: int | None) -> str:
    return os.fspath(name) if dir_fd is None else os.path.join(_path_of(dir_fd), name)


class SimulatedDisk(SystemDisk):
    """One disk, over all sessions of a day."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._synced: dict[int, bytes] = {}
        """Content that survives a cut, by inode."""
        self._names: list[tuple[str, Callable[[], None]]] = []
        """What was done in folders and is not synced: the folder, and how it is undone."""
        self.state = ""
        """"full", "failing" or "read-only"; empty: sound."""
        self.fails_once = False
        self.is_cut = False

    # What breaks

    def breaks(self, state: str, *, once: bool = False) -> None:
        self.world.note(f"disk {state}{' once' if once else ''}")
        self.state, self.fails_once = state, once

    def mended(self) -> None:
        self.state, self.fails_once = "", False

    def cut(self) -> None:
        """The power is cut: the process ends, and `settles` decides what is left."""
        self.world.note("power cut")
        self.world.dead = self.is_cut = True

    def settles(self, root: Path) -> None:
        """After a cut: unsynced names and bytes below `root` are there, or not."""
        self.is_cut = False
        counts = Counter(folder for folder, _ in self._names)
        kept = {folder: self.world.rng.randint(0, count) for folder, count in counts.items()}
        for folder, undo in reversed(self._names):
            counts[folder] -= 1
            if counts[folder] >= kept[folder]:
                undo()
        self._names.clear()
        for path in sorted(path for path in root.rglob("*") if path.is_file()):
            inode, content = path.stat().st_ino, path.read_bytes()
            synced = self._synced.get(inode, b"")
            if content != synced:
                left = self._left(synced, content)
                self.world.tell(f"    {path.name}: {len(left)} of {len(content)} bytes, {len(synced)} were synced")
                path.write_bytes(left)
                self._synced[inode] = left

    def _left(self, synced: bytes, content: bytes) -> bytes:
        rng = self.world.rng
        if not content.startswith(synced):
            return rng.choice((synced, content))
        torn = content[: rng.randint(len(synced), len(content))]
        first = rng.randrange(len(synced), len(content)) // _SECTOR * _SECTOR
        last = min(len(content), first + _SECTOR * rng.randint(1, 8))
        first = max(first, len(synced))
        hole = content[:first] + bytes(last - first) + content[last:]
        return rng.choice((synced, content, torn, torn, hole))

    # The calls

    def open(self, name: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:  # type: ignore[override]
        path = _at(name, dir_fd)
        if not flags & _WRITES:
            if self.world.dead:
                self.world.moment("disk", "")
            return os.open(name, flags, mode, dir_fd=dir_fd)
        new = bool(flags & os.O_CREAT) and not os.path.lexists(path)
        self._moment("open", path, errno.EROFS, errno.ENOSPC if new else 0)
        fd = os.open(name, flags, mode, dir_fd=dir_fd)
        inode = os.fstat(fd).st_ino
        if new:
            self._synced[inode] = b""
            self._done(path, lambda: os.unlink(path))
        elif inode not in self._synced:
            self._synced[inode] = Path(path).read_bytes()  # it stood there before the day
        return fd

    def write(self, fd: int, data: Any) -> int:  # type: ignore[override]
        def half() -> None:
            os.write(fd, bytes(data)[: self.world.rng.randint(0, len(data))])

        was = self.state
        self._moment("write", fd, errno.EROFS, 0, half)
        if self.state == "full":
            room = 0 if was == "full" else self.world.rng.randint(0, len(data) - 1)
            if not room:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return os.write(fd, bytes(data)[:room])
        return os.write(fd, data)

    def ftruncate(self, fd: int, length: int) -> None:  # type: ignore[override]
        self._moment("truncate", fd, errno.EROFS, 0)
        os.ftruncate(fd, length)

    def fsync(self, fd: int) -> None:  # type: ignore[override]
        self._moment("sync", fd, 0, 0)
        path = _path_of(fd)
        if os.path.isdir(path):
            self._names = [(folder, undo) for folder, undo in self._names if folder != path]
        else:
            self._synced[os.fstat(fd).st_ino] = Path(path).read_bytes()

    def mkdir(self, path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:  # type: ignore[override]
        whole = _at(path, dir_fd)
        self._moment("mkdir", whole, errno.EROFS, errno.ENOSPC)
        os.mkdir(path, mode, dir_fd=dir_fd)
        self._done(whole, lambda: SystemDisk.remove_tree(whole))

    def replace(self, src: Any, dst: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:  # type: ignore[override]
        here, there = _at(src, src_dir_fd), _at(dst, dst_dir_fd)
        self._moment("rename", there, errno.EROFS, 0)
        before = self._keep(there)
        os.replace(here, there)

        def undo() -> None:
            os.replace(there, here)
            before()

        self._done(there, undo)

    def unlink(self, path: Any, *, dir_fd: int | None = None) -> None:  # type: ignore[override]
        whole = _at(path, dir_fd)
        self._moment("unlink", whole, errno.EROFS, 0)
        before = self._keep(whole)
        os.unlink(whole)
        self._done(whole, before)

    def remove_tree(self, path: Any) -> None:  # type: ignore[override]
        self.world.moment("disk", "remove the folder")
        if self.state not in ("read-only", "failing"):
            SystemDisk.remove_tree(path)
            self._names = [(folder, undo) for folder, undo in self._names if not folder.startswith(os.fspath(path))]

    def _moment(
        self, what: str, on: str | int, read_only: int, full: int, half: Callable[[], None] = lambda: None
    ) -> None:
        """Raises OSError where the disk is broken for this kind of call: with these numbers, where they are not 0."""
        path = _path_of(on) if isinstance(on, int) else on
        self.world.moment("disk", f"{what} {os.path.basename(path)}", half)
        number = {"": 0, "full": full, "read-only": read_only, "failing": errno.EIO}[self.state]
        if number:
            if self.fails_once:
                self.mended()
            raise OSError(number, os.strerror(number), path)

    def _done(self, path: str, undo: Callable[[], None]) -> None:
        self._names.append((os.path.dirname(path), undo))

    def _keep(self, path: str) -> Callable[[], None]:
        """How a file is put back as it is now."""
        if not os.path.exists(path):
            return lambda: None
        content, synced = Path(path).read_bytes(), self._synced.get(os.stat(path).st_ino, b"")

        def again() -> None:
            Path(path).write_bytes(content)
            self._synced[os.stat(path).st_ino] = synced

        return again
