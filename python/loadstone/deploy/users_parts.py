"""Servers and applications of the user's: whether they answer again, and which process they are."""

from collections.abc import Callable
from typing import TypeVar

import psutil

from loadstone.deploy.provider import DeployContext
from loadstone.deploy.transport import is_loopback
from loadstone.errors import ServerGone, UserError
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
            f"{error}. Loadstone does not restart what it did not start: start it, then use --resume"
        ) from None


def listening_pid(endpoint: Endpoint) -> int | None:
    """The one process of this machine that listens at a loopback endpoint, where that can be observed."""
    if not is_loopback(endpoint.host):
        return None
    try:
        pids = listeners([endpoint.port])[endpoint.port]
    except (psutil.Error, OSError):
        return None
    return next(iter(pids)) if len(pids) == 1 else None
