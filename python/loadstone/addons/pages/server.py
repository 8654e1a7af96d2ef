"""The server of the pages: where it listens, what it is called, which connections it keeps, and how it ends."""

import asyncio
import contextlib
import ipaddress
import logging
import signal
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from loadstone.addons.history.run_row import is_written
from loadstone.addons.pages.access import TOKEN, may_host, say
from loadstone.addons.pages.app import application
from loadstone.addons.pages.settings import PageSettings
from loadstone.safety.errors import UserError
from loadstone.text.message import said

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


LOOPBACK = "127.0.0.1"
PORT = 8428
STAYS_S = 600.0
"""Time that the page of one run stays after the run, and after it was looked at last."""
TICK_S = 1.0
END_S = 2.0
"""How long answers that are under way may take when the server ends."""


@dataclass(frozen=True)
class Listening:
    """Where the pages are offered."""

    address: str = LOOPBACK
    port: int | None = None
    """None: `PORT`, or another one where that is taken."""
    certificate: Path | None = None
    key: Path | None = None
    insecure: bool = False
    """The user says that others of the network may read along."""

    @property
    def secure(self) -> bool:
        """Whether over TLS."""
        return self.certificate is not None

    def check(self) -> None:
        """Raises UserError where it would let others read along, unasked."""
        if (self.certificate is None) != (self.key is None):
            raise UserError("--cert, --key: give both, or neither")
        if not _is_loopback(self.address) and not self.secure and not self.insecure:
            raise UserError(
                "--listen {address}: who reads the network could start programs here; add --cert FILE --key FILE "
                "for TLS, or --insecure if no one else is there",
                address=self.address,
            )


class _PageServer(uvicorn.Server):
    """Ends at a signal without passing it on: the pages have nothing to lose."""

    def __init__(self, config: uvicorn.Config, place: PageSettings) -> None:
        super().__init__(config)
        self.servers: list[asyncio.base_events.Server] = []
        self._place = place
        self._signalled = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn's, where a TLS handshake may take a minute: who says nothing has no longer than for a request."""
        tls = self.config.ssl
        for listening in sockets or ():
            made = await asyncio.get_running_loop().create_server(
                self._connection, sock=listening, ssl=tls, ssl_handshake_timeout=REQUEST_S if tls else None
            )
            self.servers.append(made)
        self.started = True

    def _connection(self) -> Connection:
        return Connection(config=self.config, server_state=self.server_state, app_state={})

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._signalled.set)
        yield

    async def main_loop(self) -> None:
        """As uvicorn's, which wakes up ten times a second. The page of one run ends some time after it."""
        while not (self._signalled.is_set() or await self.on_tick(0) or _is_over(self._place)):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TICK_S):
                    await self._signalled.wait()


def serve(place: PageSettings, listening: Listening, ready: Callable[[str, str], None], path: str = "/") -> None:
    """Offer the pages until a signal ends it.

    `ready` gets the address with its token once it is reached, and one that opens the pages only once: it is for the
    command line of a browser, which every user of the machine can read.

    Raises UserError where it cannot listen there.
    """
    listening.check()
    socket_ = _socket(listening)
    with contextlib.closing(socket_):
        port = socket_.getsockname()[1]
        names = _names(listening.address)
        app = application(place, may_host(names, port, any_address=_is_any(listening.address)))
        logging.getLogger("uvicorn").addHandler(logging.NullHandler())
        logging.getLogger("uvicorn").propagate = False
        server = _PageServer(
            uvicorn.Config(
                app,
                http=Connection,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=int(END_S),
                ssl_certfile=listening.certificate,
                ssl_keyfile=listening.key,
            ),
            place,
        )
        try:
            server.config.load()
        except (OSError, ssl.SSLError) as error:
            raise UserError(
                "--cert {path}: {why}; name a PEM file", path=listening.certificate, why=error.strerror or error
            ) from None
        place.memory.starts.give_way()
        address = f"{'https' if listening.secure else 'http'}://{_shown(listening.address)}:{port}{path}?{TOKEN}="
        ready(address + place.token, address + place.memory.once)
        asyncio.run(server.serve([socket_]))


def _is_over(place: PageSettings) -> bool:
    """Whether the one run that is shown has ended, and nobody looked at it for a while."""
    if place.only_run is None or time.monotonic() - place.memory.asked_s < STAYS_S:
        return False
    return not is_written(place.runs / place.only_run)


def _socket(listening: Listening) -> socket.socket:
    """Raises UserError."""
    ports = [PORT, 0] if listening.port is None else [listening.port]
    for port in ports:
        try:
            family, kind, protocol, _, at = socket.getaddrinfo(listening.address, port, type=socket.SOCK_STREAM)[0]
            made = socket.socket(family, kind, protocol)
        except OSError as error:
            raise UserError(
                "--listen {address}: {why}; name one of this machine", address=listening.address, why=error.strerror
            ) from None
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind(at)
            made.listen(128)
        except OSError as error:
            made.close()
            if port != ports[-1]:
                continue
            raise UserError(
                "--port {port}: cannot listen at {address}: {why}; choose another port, or 0 for any that is free",
                port=port,
                address=listening.address,
                why=error.strerror,
            ) from None
        made.setblocking(False)
        return made
    raise AssertionError("a port was tried")


def _names(address: str) -> list[str]:
    """What the server may be called in a request."""
    own = ["localhost", "127.0.0.1", "::1"] if _is_loopback(address) or _is_any(address) else []
    far = [] if _is_loopback(address) else [socket.gethostname(), socket.getfqdn()]
    return [address.strip("[]"), *own, *far]


def _shown(address: str) -> str:
    """The address as a browser takes it."""
    if _is_any(address):
        return socket.gethostname()
    return f"[{address}]" if ":" in address else address


def _is_loopback(address: str) -> bool:
    if address == "localhost":
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(address).is_loopback
    return False


def _is_any(address: str) -> bool:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(address).is_unspecified
    return False
