"""A server of the user's, of whatever software: it is asked, and never started or stopped."""

import contextlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, TypeVar
from urllib.parse import parse_qsl, urlsplit

import psutil

from loadstone.experiment.action import (
    Destination,
    PlannedAction,
    Sending,
    names_variable_as_host,
    shown_address,
    shown_file,
)
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.machine.ports import listeners
from loadstone.safety.bounds.deadlines import LOOK, OPENING, with_deadline
from loadstone.safety.errors import LoadstoneError, ServerGone, UserError
from loadstone.servers.server import DeployContext, ServerFacts, ServerSettings, SettingsRoom
from loadstone.servers.transport import is_loopback
from loadstone.text.message import said

PingResult = TypeVar("PingResult")
PING_TIMEOUT_S = 2.0
"""How long a server of the user's may take to answer whether it is there."""


def answering_again(start: Callable[[DeployContext], PingResult]) -> PingResult:
    """What `start` returns, for something of the user's that may have come back.

    Raises:
        ServerGone: it did not.
    """
    try:
        return start(DeployContext())
    except UserError as error:
        raise ServerGone(
            "{error}. Loadstone does not restart what it did not start: start it, then use --resume", error=error
        ) from None


def listening_pid(endpoint: Endpoint) -> int | None:
    """The one process of this machine that listens at a loopback endpoint, where that can be observed.

    None of workers that share the socket of their parent: none of them has the CPU of all.
    """
    if not is_loopback(endpoint.host):
        return None
    try:
        pids = listeners([endpoint.port])[endpoint.port]
    except (psutil.Error, OSError):
        return None
    pid = next(iter(pids)) if len(pids) == 1 else None
    return None if pid is None or _shares_its_socket(pid, endpoint.port) else pid


def _shares_its_socket(pid: int, port: int) -> bool:
    """Whether the parent or a child has the socket by which this process listens. Systems without /proc do not say."""
    try:
        process = psutil.Process(pid)
        connections = [one for one in process.net_connections("tcp") if one.status == psutil.CONN_LISTEN and one.laddr]
        own = {os.readlink(f"/proc/{pid}/fd/{one.fd}") for one in connections if one.laddr.port == port}  # noqa: PTH115
        relatives = [*process.parents()[:1], *process.children(recursive=True)]
        return any(not own.isdisjoint(_files(relative.pid)) for relative in relatives)
    except (psutil.Error, OSError):
        return False


def _files(pid: int) -> Iterator[str]:
    """What the descriptors of a process stand for."""
    with contextlib.suppress(OSError), os.scandir(f"/proc/{pid}/fd") as files:
        for file in files:
            with contextlib.suppress(OSError):
                yield os.readlink(file.path)  # noqa: PTH115


class BaseControl(Protocol):
    """Implements the methods of `control.Control` that are the same for all software."""

    def ping(self) -> None:
        """Returns if the server answers. Raises LoadstoneError."""


class UsersServer(ABC):
    """See `server.Server`."""

    ours = False

    def __init__(self, name: str, facts: ServerFacts) -> None:
        """`facts`: what is known before it is asked."""
        self.name = name
        self.facts = facts
        self.settings_read_back: Mapping[str, str] = {}
        self.pids: Mapping[str, int] = {}

    @abstractmethod
    def control(self, timeout_s: float = 5.0) -> AbstractContextManager[BaseControl]:
        """See `server.Server.control`."""

    @abstractmethod
    def _inspect(self, context: DeployContext) -> Endpoint:
        """Find out what it is, and whether it can be loaded. Raises UserError, ServerGone."""

    @with_deadline(OPENING)
    def start(self, context: DeployContext) -> Endpoint:
        """Ask it whether it can be loaded; see `server.Server.start`."""
        try:
            return self._inspect(context)
        except ServerGone as gone:
            raise UserError.of(gone.message) from None

    def restart(self) -> Endpoint:
        """Go on if it answers again.

        Raises:
            ServerGone: it does not.
        """
        return answering_again(self.start)

    @with_deadline(LOOK)
    def alive(self) -> bool:
        """Whether it answers, as what it was."""
        try:
            return self._answers()
        except LoadstoneError:
            return False

    def _answers(self) -> bool:
        """Return whether the server answers; raises LoadstoneError where it does not."""
        with self.control(PING_TIMEOUT_S) as control:
            control.ping()
        return True

    def stop(self) -> None:  # noqa: B027 - what made nothing on it keeps this
        """Nothing: it is the user's."""


class UsersServerSettings(ServerSettings):
    """Base of the settings of every kind that is the user's, by URL."""

    url: str

    def destination(self, name: str, written: Mapping[str, Any], room: SettingsRoom) -> Destination:
        """See `ServerSettings.destination`."""
        place, url = room.place(name, self.url).address, str(written.get("url", ""))
        to = said("server {name} ({address})", name=name, address=shown_address(url))
        return Destination(to, not _is_here(place) or names_variable_as_host(url), others=True)

    def actions(
        self, name: str, written: Mapping[str, Any], room: SettingsRoom, sending: Sending
    ) -> Iterator[PlannedAction]:
        """What connecting to it does."""
        to, url = self.destination(name, written, room), str(written.get("url", ""))
        at, options = ("servers", name, "url"), _options(url)
        names_others = not options.keys().isdisjoint(("cluster", "read_from")) or "sentinel" in url.partition("://")[0]
        more = said(", and to the servers that it names") if names_others else ""
        what = said("{what} (server {name}){more}", what=shown_address(url), name=name, more=more)
        yield PlannedAction("connects to", what, asks=to.outside, at=at)
        yield from sending.variables(written, [to], "servers", name)
        for option, value in options.items():
            if option.endswith("_env"):
                yield sending.variable(f"env:{value}", [to], *at)
            if option.endswith("_file"):
                file = shown_file(Path(value))
                what = said("{what} ({option} of server {name})", what=file, option=option, name=name)
                yield PlannedAction("reads the file", what, at=("servers", name))
        yield from self._programs(name)


def _is_here(address: str) -> bool:
    """Whether the address of a place is this machine's, by its text alone."""
    parts = urlsplit(address)
    if not parts.netloc:
        return True  # a socket
    hosts = [urlsplit(f"//{one}").hostname for one in parts.netloc.rpartition("@")[2].split(",")]
    return all(host is not None and is_loopback(host) for host in hosts)


def _options(url: str) -> dict[str, str]:
    try:
        return dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))
    except ValueError:
        return {}
