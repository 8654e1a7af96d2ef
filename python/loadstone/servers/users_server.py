"""A server of the user's, of whatever software: it is asked, and never started or stopped."""

import contextlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

import psutil

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.machine.ports import listeners
from loadstone.safety.bounds.deadlines import LOOK, OPENING, with_deadline
from loadstone.safety.errors import LoadstoneError, ServerGone, UserError
from loadstone.servers.server import DeployContext, ServerFacts
from loadstone.servers.transport import is_loopback

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
            raise UserError.of(str(gone)) from None

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
