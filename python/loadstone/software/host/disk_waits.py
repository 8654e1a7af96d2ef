"""For how much of the time the main thread of a process waits for the disk: it is looked at a hundred times a second.

The kernel counts that for each thread (`delayacct_blkio_ticks`) only where it was told to; what state a thread is in it
always says, to everyone. A thread in state D waits for the disk (an fsync, a read of a file) and can do nothing else.
"""

import os
import threading
import time

PERIOD_S = 0.01
_FORGOTTEN_S = 10.0
"""Nobody asks any more: the thread ends."""


class DiskWaits:
    """Looks at the main thread of a process until that is gone, or nobody has asked for a while."""

    def __init__(self, pid: int) -> None:
        self._looks = self._there = 0
        self._asked_s = time.monotonic()
        try:
            self._file: int | None = os.open(f"/proc/{pid}/task/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # gone, or no Linux
            self._file = None
            return
        threading.Thread(target=self._look, args=(self._file,), name="disk waits", daemon=True).start()

    def share(self) -> float | None:
        """Of the time since it was last asked; None where nothing was seen."""
        self._asked_s = time.monotonic()
        looks, there = self._looks, self._there
        self._looks = self._there = 0
        return there / looks if looks else None

    def _look(self, file: int) -> None:
        try:
            while time.monotonic() - self._asked_s < _FORGOTTEN_S:
                state = os.pread(file, 80, 0).rpartition(b")")[2][1:2]
                self._looks += 1
                self._there += state == b"D"
                time.sleep(PERIOD_S)
        except OSError:  # the process is gone
            pass
        finally:
            os.close(file)
