"""What the threads of a part wait for: a disk or a lock. The engine looks at them (`machine/waits.rs`)."""

from collections.abc import Callable, Collection

from loadstone import _engine


class ThreadWaitSampler:
    """Looks at the threads of some processes many times a second, until it is dropped."""

    def __init__(self, pids: Callable[[], Collection[int]], main: int | None = None) -> None:
        """The load has not begun yet.

        Args:
            pids: returns the processes of the part at this moment.
            main: the process whose main thread is looked at for state D, a hundred times a second; None: of none.
        """
        self._pids = pids
        self._looked = _engine.Waits(list(pids()), main)

    def figures(self) -> dict[str, float]:
        """Return the shares of time since they were last asked for; empty where nothing could be seen."""
        looks, at_disk, at_lock, waiters, main, main_at_disk = self._looked.take(list(self._pids()))
        figures = {"main_thread_disk_share": main_at_disk / main} if main else {}
        if looks:
            figures |= {
                "disk_wait_share": at_disk / looks,
                "lock_wait_share": at_lock / looks,
                "lock_waiters": waiters / looks,
            }
        return figures
