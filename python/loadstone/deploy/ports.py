"""Ports of this machine for what loadstone starts."""

import contextlib
import random
import socket

from loadstone.errors import UserError

PORT_TRIES = 5
"""How many ports in a row may be taken by others between our choice and a server's start."""
PORTS = range(10_240, 32_768)
"""Below the ports that systems give to outgoing connections: a client that reconnects to a dead
server of ours can neither take its port nor reach itself."""


def free_port() -> int:
    """A loopback port on which nothing listens. Raises UserError if there is none."""
    for port in random.sample(PORTS, 100):
        with contextlib.suppress(OSError), socket.socket() as candidate:
            candidate.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            candidate.bind(("127.0.0.1", port))
            return port
    raise UserError(f"no free port found between {PORTS.start} and {PORTS.stop - 1}; end some servers")
