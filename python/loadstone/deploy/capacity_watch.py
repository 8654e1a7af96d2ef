"""Watches the room of servers that are not ours while a run stores something there, and ends it at the first loss."""

import contextlib
import threading
from collections.abc import Callable, Iterable
from typing import Self

from loadstone.bounds.conversation import LOOK, conversation
from loadstone.deploy.control import Control, LossWatch
from loadstone.deploy.deployed import Deployed
from loadstone.errors import LoadstoneError, OutOfRoom

INTERVAL_S = 0.25
"""How often each server is looked at: less than a thousandth of its time."""
TIMEOUT_S = 2.0


class RoomWatch:
    """A context: from its beginning to its end every server that is not ours, and may lose something, is watched.

    It does so in a thread. `reason` says in one line what was lost; `stop` is called once, as soon as it is known. A
    server that does not answer is not reported as lost here: whoever loads it does that.
    """

    def __init__(self, servers: Iterable[Deployed], stop: Callable[[], None] = lambda: None) -> None:
        self.reason: str | None = None
        self._stop = stop
        self._servers = [one.server for one in servers if not one.server.ours]
        self._watched: list[tuple[Control, LossWatch]] = []
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        for server in self._servers:
            control = server.control(TIMEOUT_S)
            try:
                with conversation(LOOK):
                    watch = control.loss_watch(server.name)
            except LoadstoneError:
                watch = None
            if watch is None:
                control.close()
            else:
                self._watched.append((control, watch))
        if self._watched:
            self._thread = threading.Thread(target=self._run, name="room", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Look once more, and end. May be called more than once."""
        self._over.set()
        thread, self._thread = self._thread, None
        if thread is None:
            return
        thread.join()
        self._look()
        for control, _ in self._watched:
            control.close()

    def note_refused(self, commands: int) -> None:
        """So many commands of our own load were refused because memory was full. Not every server counts them."""
        if commands > 0 and self.reason is None and self._watched:
            self._look()
            watches = [watch for _, watch in self._watched]
            where = ", ".join(watch.where for watch in watches)
            self.reason = (
                self.reason
                or f"{where}: its memory is full and it refused {commands:,} commands; {watches[0].what_helps}"
            )
            self._stop()

    def require(self) -> None:
        """Raises OutOfRoom if something was lost."""
        if self.reason is not None:
            raise OutOfRoom(self.reason)

    def _run(self) -> None:
        while self.reason is None and not self._over.wait(INTERVAL_S):
            self._look()
            if self.reason is not None:
                self._stop()

    def _look(self) -> None:
        for _, watch in self._watched:
            with contextlib.suppress(LoadstoneError), conversation(LOOK):
                self.reason = self.reason or watch.lost()
