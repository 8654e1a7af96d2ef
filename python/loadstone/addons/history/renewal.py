"""Keeps an index renewed for those who look at it: one thread reads, however many ask, and nobody waits long for it."""

import threading
import time
from collections.abc import Callable

from loadstone.addons.history.index import Index
from loadstone.addons.history.run_row import RunRow

_ROUND_S = 2.0
"""After so long it is looked again which folders there are: the newest are read first."""
_REST_S = 0.005
"""Between two batches, in which others of this process have their turn."""


class IndexRenewal:
    """The thread that reads the folders of one index. It begins when it is asked, and ends when it has read all."""

    def __init__(self, index: Index, words_of: Callable[[RunRow], str]) -> None:
        self.index = index
        self._words_of = words_of
        self._changed = threading.Condition()
        self._reads = False
        self._left = 0
        """Folders that are still to be read, as far as it is known."""
        self._asked = 0
        """How often it was asked."""
        self._answered = 0
        """For so many of these all folders were read that were there at that time."""
        self._failed: Exception | None = None

    def renew(self, wait_s: float) -> int:
        """Have the index renewed; how many folders are still to be read after so long, or at once if they are many:
        at least one, where they are not counted by then.

        Raises what reading raised.
        """
        with self._changed:
            self._asked += 1
            mine = self._asked
            if not self._reads:
                self._reads, self._failed = True, None
                threading.Thread(target=self._read, name="history", daemon=True).start()
            if not self._left:
                self._changed.wait_for(lambda: self._answered >= mine or self._failed, wait_s)
            if self._failed is not None:
                raise self._failed
            return 0 if self._answered >= mine else max(1, self._left)

    def _read(self) -> None:
        try:
            while True:
                with self._changed:
                    asked = self._asked
                left = self.index.renew(time.monotonic() + _ROUND_S, self._words_of, self._tell).left
                with self._changed:
                    self._left, self._answered = left, self._answered if left else asked
                    self._reads = left > 0 or self._asked > asked
                    self._changed.notify_all()
                    if not self._reads:
                        return
        except Exception as error:
            with self._changed:
                self._failed, self._reads, self._left = error, False, 0
                self._changed.notify_all()

    def _tell(self, left: int) -> None:
        with self._changed:
            self._left = left
        time.sleep(_REST_S)
