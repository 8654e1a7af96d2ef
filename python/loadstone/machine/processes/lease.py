"""A lease on parts that were started for a command on another machine: they end when it is not renewed in time.

Each guard watches over its own (`guard.py`), so that they end whatever became of the command, of the link, or of the
process that holds the guards.
"""

import threading
import time
from collections.abc import Callable


class Lease:
    """Begins when it is created. May be used from any thread."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._renewed_s = time.monotonic()
        self._lock = threading.Lock()
        self._renewals: list[Callable[[], None]] = []

    @property
    def is_over(self) -> bool:
        """Whether it was not renewed for too long."""
        return time.monotonic() - self._renewed_s > self.seconds

    def add(self, renew: Callable[[], None]) -> None:
        """Have this called at each renewal."""
        with self._lock:
            self._renewals.append(renew)

    def remove(self, renew: Callable[[], None]) -> None:
        """Not any more; nothing if it was not added."""
        with self._lock:
            self._renewals = [one for one in self._renewals if one != renew]

    def renew(self) -> None:
        """From now on it lasts its time again."""
        self._renewed_s = time.monotonic()
        with self._lock:
            renewals = list(self._renewals)
        for renew in renewals:
            renew()
