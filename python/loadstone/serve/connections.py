"""A connection to the pages, as uvicorn has it, that takes no other one's place: no one needs a token to open one."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from loadstone.language import said
from loadstone.serve.access import say

ANSWERED_MAX = 400
"""Requests that are answered at the same time; beyond them the answer is 503."""
CONNECTIONS_MAX = 900
"""Open at once: a process has 1024 files, as a rule. Beyond them one that says nothing is closed for each new one."""
REQUEST_S = 10.0
"""How long the line and the headers of a request may take to come."""


class Connection(H11Protocol):
    """See uvicorn."""

    _late: asyncio.TimerHandle | None = None
    """Runs while a request is waited for."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS_MAX:
            silent = [one for one in self.connections if isinstance(one, Connection) and one._late is not None]
            min(silent, key=Connection._until, default=self)._end()
        self._wait()

    def data_received(self, data: bytes) -> None:
        self.app = _busy if len(self.tasks) >= ANSWERED_MAX else self.config.loaded_app
        super().data_received(data)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._forget()

    def _wait(self) -> None:
        """From the first moment on: bytes that come one by one win no time."""
        cycle: Any = self.cycle
        if self.transport.is_closing() or (cycle is not None and not cycle.response_complete):
            self._forget()
        elif self._late is None:
            self._late = self.loop.call_later(REQUEST_S, self._end)

    def _until(self) -> float:
        return 0.0 if self._late is None else self._late.when()

    def _end(self) -> None:
        self._forget()
        self.transport.abort()

    def _forget(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


async def _busy(scope: Any, _receive: Any, send: Any) -> None:
    await say(scope, send, 503, said("too many pages are open here at once; close some, and reload this one"))
