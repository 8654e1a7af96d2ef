"""What the threads of a part wait for, as far as it is seen from outside without being root: its disk, or a lock.

Linux says of each thread that sleeps in which call of the kernel it does (`/proc/PID/task/TID/syscall`, for processes
of the same user). In an fsync it waits for the disk. Several that sleep at one address of a futex wait for one thing:
for a lock that another has, or for work, as the idle threads of a pool do. These were there before the load began, so
that only those beyond them count. Threads that each sleep at an address of their own (a JVM's, Go's) tell nothing.
"""

import os
import platform
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Collection

PERIOD_S = 0.05
SHARE = 0.003
"""Looking takes about such a share of a CPU at most, however many threads there are."""
LISTED_S = 1.0
"""Processes that began since are found so late; threads at once."""
FORGOTTEN_S = 60.0
"""Nobody asks any more: the looks end. They also end when whoever asked is gone."""
HELD_MAX = 64
"""Files of threads that all parts together keep open: opening one takes three times as long as reading it, but the load
needs them, too. Those of further threads are opened for each look."""
_CALLS = {
    "x86_64": (202, frozenset({17, 18, 26, 74, 75, 277, 295, 296})),
    "aarch64": (98, frozenset({67, 68, 69, 70, 81, 82, 83, 84, 227})),
}
"""Machine -> the number of futex, and those of pread, pwrite, fsync, fdatasync, msync, sync_file_range."""
_WAITS = frozenset({0, 6, 9, 11, 13})
"""Operations of a futex that wait."""
_OPERATION = 0x7F
_SHARED = 2
"""So many at one address are no thread that sleeps by itself."""


_held_open: set[int] = set()
"""No lock guards it: a monitor that is dropped gives its files back from wherever Python collects it."""


class Waits:
    """Looks at the threads of some processes many times a second, until it is dropped or nobody has asked for a
    while."""

    def __init__(self, pids: Callable[[], Collection[int]]) -> None:
        """`pids`: the processes of the part at this moment. The load has not begun yet."""
        self._pids = pids
        self._files: dict[tuple[int, str], int | None] = {}
        """Process and thread -> its file; None: it is opened for each look."""
        self._threads_of: dict[int, int] = {}
        self._listed_s = 0.0
        self._shared: set[tuple[int, bytes]] = set()
        self._looks = self._at_disk = self._at_lock = self._waiters = 0
        self._asked_s = time.monotonic()
        self._futex, self._disk = _CALLS.get(platform.machine(), (-1, frozenset[int]()))
        self._list()
        self._idle, _ = self._threads()
        asked_for = threading.Lock()
        asked_for.acquire()
        weakref.finalize(self, _let_go, self._files, asked_for).atexit = False
        if self._files and self._futex >= 0:
            threading.Thread(target=_go_on, args=(weakref.ref(self), asked_for), name="waits", daemon=True).start()
        else:
            _forget(self._files)

    def figures(self) -> dict[str, float]:
        """Since they were last asked for; none where nothing could be seen."""
        self._asked_s = time.monotonic()
        looks, at_disk, at_lock, waiters = self._looks, self._at_disk, self._at_lock, self._waiters
        self._looks = self._at_disk = self._at_lock = self._waiters = 0
        if not looks:
            return {}
        return {
            "disk_wait_share": at_disk / looks,
            "lock_wait_share": at_lock / looks,
            "lock_waiters": waiters / looks,
        }

    def look(self) -> float | None:
        """Look once: for how long to rest then; None where there is nothing left to look at, or nobody asks."""
        if not self._files or time.monotonic() - self._asked_s >= FORGOTTEN_S:
            _forget(self._files)
            return None
        began_s = time.thread_time()
        self._look()
        return max(PERIOD_S, (time.thread_time() - began_s) / SHARE)

    def _look(self) -> None:
        if time.monotonic() - self._listed_s >= LISTED_S or any(map(_changed, self._threads_of.items())):
            self._list()
        there, at_disk = self._threads()
        beyond = {place: count - self._idle[place] for place, count in there.items()}
        self._shared |= {place for place, count in beyond.items() if count >= _SHARED}
        waiters = max((count for place, count in beyond.items() if place in self._shared), default=0)
        self._looks += 1
        self._at_disk += at_disk > 0
        self._at_lock += waiters > 0
        self._waiters += max(0, waiters)

    def _threads(self) -> tuple[Counter[tuple[int, bytes]], int]:
        """How many sleep at each address of a futex, by process; and how many wait for the disk."""
        at: Counter[tuple[int, bytes]] = Counter()
        at_disk = 0
        for (pid, thread), file in list(self._files.items()):
            try:
                call = (_read(pid, thread) if file is None else os.pread(file, 200, 0)).split()
            except OSError:  # it ended
                _forget(self._files, (pid, thread))
                continue
            if len(call) < 3 or not call[0].isdigit():  # it runs, or sleeps in no call
                continue
            number = int(call[0])
            at_disk += number in self._disk
            if number == self._futex and int(call[2], 16) & _OPERATION in _WAITS:
                at[pid, call[1]] += 1
        return at, at_disk

    def _list(self) -> None:
        """Open the files of threads that are new."""
        self._listed_s = time.monotonic()
        self._threads_of.clear()
        for pid in self._pids():
            folder = f"/proc/{pid}/task"
            try:
                self._threads_of[pid] = _links(pid)
                threads = os.listdir(folder)  # noqa: PTH208 (there may be hundreds, and this is done each second)
            except OSError:
                continue
            for thread in threads:
                if (pid, thread) not in self._files:
                    try:
                        file = _opened(pid, thread)
                    except OSError:  # it ended, or belongs to another user, or the system has no such file
                        continue
                    self._files[pid, thread] = _held(file)


def _go_on(seen: "weakref.ref[Waits]", asked_for: threading.Lock) -> None:
    """What the thread does: it keeps nobody, so that files and thread go with whoever asked, however long it rests."""
    while (waits := seen()) is not None and (rest_s := waits.look()) is not None:
        del waits
        asked_for.acquire(timeout=rest_s)


def _let_go(files: dict[tuple[int, str], int | None], asked_for: threading.Lock) -> None:
    _forget(files)
    asked_for.release()


def _opened(pid: int, thread: str) -> int:
    return os.open(f"/proc/{pid}/task/{thread}/syscall", os.O_RDONLY | os.O_CLOEXEC)


def _read(pid: int, thread: str) -> bytes:
    file = _opened(pid, thread)
    try:
        return os.pread(file, 200, 0)
    finally:
        os.close(file)


def _held(file: int) -> int | None:
    """The file, to be kept open; None where it was closed, since enough of them are."""
    if len(_held_open) < HELD_MAX:
        _held_open.add(file)
        return file
    os.close(file)
    return None


def _forget(files: dict[tuple[int, str], int | None], *threads: tuple[int, str]) -> None:
    """Close the files of these threads; without any of all."""
    for thread in threads or list(files):
        file = files.pop(thread, None)
        if file is not None:
            _held_open.discard(file)
            os.close(file)


def _links(pid: int) -> int:
    """As many as the process has threads, and two more. Raises OSError if it is gone."""
    return os.stat(f"/proc/{pid}/task").st_nlink  # noqa: PTH116


def _changed(process: tuple[int, int]) -> bool:
    """Whether a process has another number of threads than it had when they were listed."""
    pid, links = process
    try:
        return _links(pid) != links
    except OSError:
        return True
