"""Servers and applications of the user's: whether they answer again, and which process they are."""

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import TypeVar

import psutil

from loadstone.deploy.provider import DeployContext
from loadstone.deploy.transport import is_loopback
from loadstone.errors import ServerGone, UserError
from loadstone.language import said
from loadstone.machine.local_ports import listeners
from loadstone.plan.endpoints import Endpoint

Answer = TypeVar("Answer")
PING_TIMEOUT_S = 2.0
"""How long a server of the user's may take to answer whether it is there."""


def answering_again(start: Callable[[DeployContext], Answer]) -> Answer:
    """What `start` returns, for something of the user's that may have come back.

    Raises:
        ServerGone: it did not.
    """
    try:
        return start(DeployContext())
    except UserError as error:
        raise ServerGone(
            said("{error}. Loadstone does not restart what it did not start: start it, then use --resume", error=error)
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
