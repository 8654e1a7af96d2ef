"""Which process of this machine serves a Redis of the user's, so that its CPU can be observed."""

import ipaddress
import socket
from collections.abc import Iterable, Sequence

import psutil

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.machine.ports import listeners
from loadstone.servers.redis.session import RedisSession


def local_pid(endpoint: Endpoint, reported: int | None) -> int | None:
    """The process that serves `endpoint`, if it is one of this machine and can be observed; else None.

    `reported` is the id that the server itself gives: a forwarder or a container that listens in its
    place has another.
    """
    if reported is None or not psutil.pid_exists(reported) or not _is_here(endpoint):
        return None
    try:
        listeners = _listeners(endpoint)
    except (psutil.Error, OSError):
        listeners = set()
    listeners.discard(None)
    if listeners:
        return reported if reported in listeners else None
    try:  # no right to see whose socket it is; servers write their address into their title
        title = " ".join(psutil.Process(reported).cmdline())
    except psutil.Error:
        return None
    return reported if (endpoint.unix_path or f":{endpoint.port}") in title else None


def process_id(session: RedisSession) -> int | None:
    """The id that a server gives of itself, where it gives one. Raises ServerGone."""
    number = session.info("server").get("process_id")
    return number if isinstance(number, int) and number > 0 else None


def local_pids(endpoints: Iterable[Endpoint]) -> list[int | None]:
    """The processes that serve these; None of one that is not here. Raises ServerGone."""
    pids = []
    for endpoint in endpoints:
        with RedisSession(endpoint) as session:
            pids.append(local_pid(endpoint, process_id(session)))
    return pids


def parts_of(name: str, pids: Sequence[int | None]) -> dict[str, int]:
    """The processes of a server and of its replicas by part, where all are known; else nothing."""
    parts = {f"{name}-replica-{number}" if number else name: pid for number, pid in enumerate(pids)}
    known = {part: pid for part, pid in parts.items() if pid is not None}
    return known if len(known) == len(parts) else {}


def _listeners(endpoint: Endpoint) -> set[int | None]:
    if endpoint.unix_path is not None:
        return {c.pid for c in psutil.net_connections("unix") if str(c.laddr) == endpoint.unix_path}
    return listeners([endpoint.port])[endpoint.port]


def _is_here(endpoint: Endpoint) -> bool:
    if endpoint.unix_path is not None:
        return True
    mine = {address.address.split("%")[0] for addresses in psutil.net_if_addrs().values() for address in addresses}
    try:
        theirs = {
            str(resolved[4][0])
            for resolved in socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
        }
    except (OSError, UnicodeError):
        return False
    return any(address in mine or ipaddress.ip_address(address).is_loopback for address in theirs)
