"""Ports of this machine for what loadstone starts."""

import random
import socket

from loadstone.errors import UserError
from loadstone.machine.local_ports import tcp_sockets

PORT_TRIES = 5
"""How many ports in a row may be taken by others between our choice and a server's start."""
PORTS = range(10_240, 32_768)
"""Below the ports that systems give to outgoing connections: a client that reconnects to a dead
server of ours can neither take its port nor reach itself."""


def free_port() -> int:
    """A loopback port on which nothing listens. Raises UserError if there is none."""
    why = ""
    for port in random.sample(PORTS, len(PORTS)):
        try:
            with socket.socket() as candidate:
                candidate.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                candidate.bind(("127.0.0.1", port))
                return port
        except OSError as error:
            why = error.strerror or str(error)
    sockets = tcp_sockets()
    counted = f", {sockets.in_use:,} TCP sockets are open on this machine" if sockets is not None else ""
    raise UserError(
        f"no server can listen: none of the {len(PORTS):,} ports from {PORTS.start} to {PORTS.stop - 1} is free "
        f"({why}{counted}); end some servers"
    )
