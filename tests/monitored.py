"""What clients send to a real server, as `redis-cli MONITOR` prints it."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.real_servers import UserRedis

THE_END = "the end"


@contextmanager
def monitored(server: UserRedis, file: Path) -> Iterator[None]:
    """Whatever the server is sent within the context stands in the file afterwards, and an ECHO behind it."""
    with socket.create_connection(("127.0.0.1", server.port)) as monitor, file.open("wb") as out:
        monitor.sendall(b"MONITOR\r\n")
        received = monitor.recv(1 << 16)
        yield
        server.client().echo(THE_END)
        while f'"{THE_END}"'.encode() not in received or not received.endswith(b"\n"):
            received += monitor.recv(1 << 16)
        out.write(b"".join(line.removeprefix(b"+") for line in received.splitlines(keepends=True)))
