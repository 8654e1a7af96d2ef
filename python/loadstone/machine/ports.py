"""The ports of this machine: a free one, who listens on one, and those that its connections get (Linux)."""

import contextlib
import random
import socket
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import psutil

from loadstone.safety.errors import UserError

RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
RESERVED = Path("/proc/sys/net/ipv4/ip_local_reserved_ports")
SOCKETS = (Path("/proc/net/sockstat"), Path("/proc/net/sockstat6"))
WIDEN = "widen the range as root (sysctl -w net.ipv4.ip_local_port_range='10240 65535')"
NEARLY = 0.9
"""From this share of the range on the next connection may find no port: its address may have none left."""


@dataclass(frozen=True)
class LocalPorts:
    """The range of ports, of which a connection to one address gets one of its own."""

    first: int
    last: int
    reserved: int
    """Those within that are given to no one."""

    @property
    def count(self) -> int:
        return self.last - self.first + 1 - self.reserved

    @property
    def label(self) -> str:
        """As printed for people."""
        return f"{self.count:,} local ports (net.ipv4.ip_local_port_range {self.first} to {self.last})"


class TcpSockets(NamedTuple):
    """TCP sockets of the machine, or of the container that this process is in."""

    in_use: int
    time_wait: int
    """Connections that this side closed: each keeps its port for a minute, or on the loopback for a second."""


def local_ports() -> LocalPorts | None:
    """The range now; None where the system does not say."""
    try:
        first, last = map(int, RANGE.read_text().split())
    except (OSError, ValueError):
        return None
    return LocalPorts(first, last, sum(max(0, min(b, last) - max(a, first) + 1) for a, b in _reserved()))


def tcp_sockets() -> TcpSockets | None:
    """The sockets now; None where the system does not say."""
    in_use = time_wait = 0
    found = False
    for path in SOCKETS:
        with contextlib.suppress(OSError, ValueError):
            for line in path.read_text().splitlines():
                name, *fields = line.split()
                if name in ("TCP:", "TCP6:"):
                    figures = dict(zip(fields[::2], map(int, fields[1::2]), strict=False))
                    in_use, time_wait = in_use + figures.get("inuse", 0), time_wait + figures.get("tw", 0)
                    found = True
    return TcpSockets(in_use, time_wait) if found else None


def ports_running_out() -> str:
    """That the local ports are nearly all taken, with figures and the remedy; empty while they are not."""
    ports, sockets = local_ports(), tcp_sockets()
    if ports is None or sockets is None or sockets.in_use + sockets.time_wait < NEARLY * ports.count:
        return ""
    return (
        f"this machine has {ports.label}, and {sockets.in_use:,} TCP sockets are open and {sockets.time_wait:,} "
        f"in TIME_WAIT; wait for those, use fewer connections, or {WIDEN}"
    )


def _reserved() -> list[tuple[int, int]]:
    """Ranges of ports, both ends included."""
    with contextlib.suppress(OSError, ValueError):
        parts = [part.partition("-") for part in RESERVED.read_text().strip().split(",") if part]
        return [(int(low), int(high or low)) for low, _, high in parts]
    return []


PORT_TRIES = 5
"""How many ports in a row may be taken by others between our choice and a server's start."""
PORTS = range(10_240, 32_768)
"""Below the ports that systems give to outgoing connections: a client that reconnects to a dead
server of ours can neither take its port nor reach itself."""


def listeners(ports: Collection[int]) -> dict[int, set[int | None]]:
    """Port -> the processes that listen on it; None stands for a process that this user may not see.

    Raises:
        psutil.Error, OSError: this cannot be observed here.
    """
    pids: dict[int, set[int | None]] = {port: set() for port in ports}
    for socket_ in psutil.net_connections("tcp"):
        if socket_.status == psutil.CONN_LISTEN and socket_.laddr and socket_.laddr.port in pids:
            pids[socket_.laddr.port].add(socket_.pid)
    return pids


def free_port(host: str = "127.0.0.1") -> int:
    """A port of an address of this machine on which nothing listens. Raises UserError if there is none."""
    why = ""
    for port in random.sample(PORTS, len(PORTS)):
        try:
            with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as candidate:
                candidate.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                candidate.bind((host, port))
                return port
        except OSError as error:
            why = error.strerror or str(error)
    sockets = tcp_sockets()
    counted = f", {sockets.in_use:,} TCP sockets are open on this machine" if sockets is not None else ""
    raise UserError(
        "no server can listen: none of the {ports_count:,} ports from {start} to {stop} is free "
        "({why}{counted}); end some servers",
        ports_count=len(PORTS),
        start=PORTS.start,
        stop=PORTS.stop - 1,
        why=why,
        counted=counted,
    )
