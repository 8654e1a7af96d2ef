"""What all users of a load share: its clock, and why it ends before the time."""

import threading
import time
from itertools import pairwise

from driver.schedule import S, ns


class Control:
    """The clock counts nanoseconds since the load began."""

    def __init__(self, gone_s: float) -> None:
        self.stopped = threading.Event()
        self.reason: str | None = None
        self.started_unix_ns = 0
        self._origin_ns = 0
        self._gone_ns = ns(gone_s)
        self._failing_since_ns: int | None = None

    def begin(self) -> None:
        """The load begins now."""
        self._origin_ns = time.monotonic_ns()
        self.started_unix_ns = time.time_ns()

    def now(self) -> int:
        return time.monotonic_ns() - self._origin_ns

    def wait_until(self, time_ns: int) -> bool:
        """Sleeps until then; False if the load is stopped."""
        left_ns = time_ns - self.now()
        return not (self.stopped.wait(left_ns / S) if left_ns > 0 else self.stopped.is_set())

    def stop(self, reason: str) -> None:
        """The load ends now; the first reason stands."""
        if not self.stopped.is_set():
            self.reason = reason
            self.stopped.set()

    def answered(self) -> None:
        """The server is there: it replied, or at least it did not end a connection."""
        self._failing_since_ns = None

    def unreachable(self, now_ns: int, why: str) -> None:
        """A connection failed. With nothing else for long enough, the server is gone."""
        if self._failing_since_ns is None:
            self._failing_since_ns = now_ns
        elif now_ns - self._failing_since_ns > self._gone_ns:
            self.stop(f"server gone: no connection for {self._gone_ns / S:.1f} s, last: {why}")


def clock_quantum_ns() -> int:
    """The smallest step between two different readings of the clock."""
    readings = [time.monotonic_ns() for _ in range(2000)]
    return min(later - earlier for earlier, later in pairwise(readings) if later > earlier)
