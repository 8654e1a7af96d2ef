"""Kills a server under load, as `kill -9` does."""

import os
import signal
import threading
import time
from types import TracebackType
from typing import Self

from loadstone.drive.outcome import Interval
from loadstone.machine.process_identity import signal_if, started


class Killer:
    """A context around a drive: the process is killed so many seconds after the load's first interval.

    It is spared if the drive ends before that, and if another process has its id by then.
    """

    def __init__(self, pid: int, after_s: float) -> None:
        """Raises:
        PermissionError: it may not be killed, as a container of another user.
        ProcessLookupError: there is no such process.
        """
        os.kill(pid, 0)
        self._pid, self._after_s, self._start = pid, after_s, started(pid)
        self._loaded, self._over = threading.Event(), threading.Event()
        self._began_s = 0.0
        self._killed_s: float | None = None
        self._thread = threading.Thread(target=self._run, name="killer", daemon=True)

    @property
    def killed_after_s(self) -> float | None:
        """Seconds from the begin of the drive to the kill; None: it was spared."""
        return None if self._killed_s is None else self._killed_s - self._began_s

    def on_interval(self, _: int, __: Interval) -> None:
        """The load is there: from the first call on the time runs."""
        self._loaded.set()

    def __enter__(self) -> Self:
        self._began_s = time.monotonic()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._loaded.set()
        self._thread.join()

    def _run(self) -> None:
        self._loaded.wait()
        if not self._over.wait(self._after_s) and signal_if(self._pid, signal.SIGKILL, self._is_the_same):
            self._killed_s = time.monotonic()

    def _is_the_same(self) -> bool:
        return started(self._pid) == self._start
