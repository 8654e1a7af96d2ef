"""Real memcached servers, of ours and of the user's; and a scripted one, that says what no real one does."""

import contextlib
import getpass
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from tests.real_servers import wait_until

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.machine.ports import free_port
from loadstone.servers.memcached.local import LocalMemcached, MemcachedSettings, find
from loadstone.servers.server import DeployContext


@dataclass
class UsersMemcached:
    """A server that is not loadstone's."""

    pid: int
    port: int

    @property
    def url(self) -> str:
        return f"memcached://127.0.0.1:{self.port}"

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(port=self.port)


@pytest.fixture
def memcached(context: DeployContext) -> Iterator[LocalMemcached]:
    """One of ours, up."""
    if find() is None:
        pytest.skip("no memcached: scripts/apt installs it where it can")
    server = MemcachedSettings(settings={"memory-limit": 32, "threads": 2}).server("cache")
    server.start(context)
    yield server
    server.stop()


@pytest.fixture
def users_memcached() -> Iterator[Callable[..., UsersMemcached]]:
    """Starts plain memcacheds, as a user has them; further arguments at will."""
    program = find()
    if program is None:
        pytest.skip("no memcached: scripts/apt installs it where it can")
    with contextlib.ExitStack() as stack:

        def start(*arguments: str) -> UsersMemcached:
            port = free_port()
            command = [str(program), "-l", "127.0.0.1", "-p", str(port), "-U", "0", "-u", getpass.getuser()]
            process = subprocess.Popen([*command, *arguments])
            stack.callback(process.wait)
            stack.callback(process.kill)
            wait_until(lambda: listens(port))
            return UsersMemcached(process.pid, port)

        yield start


def listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
        return True
    return False


Answers = dict[bytes, bytes]


@pytest.fixture
def scripted_memcached() -> Iterator[Callable[[Answers], int]]:
    """Starts servers that answer each line by what it begins with; to others by ERROR. Returns the port."""
    with contextlib.ExitStack() as stack:

        def serve(connection: socket.socket, answers: Answers) -> None:
            with contextlib.suppress(OSError), connection, connection.makefile("rb") as lines:
                for line in lines:
                    found = next((text for word, text in answers.items() if line.startswith(word)), b"ERROR\r\n")
                    if not found:
                        return
                    if line.startswith(b"ms "):
                        next(lines)  # its data
                    connection.sendall(found)

        def start(answers: Answers) -> int:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))

            def accept() -> None:
                with contextlib.suppress(OSError):
                    while True:
                        connection, _ = listener.accept()
                        threading.Thread(target=serve, args=(connection, answers), daemon=True).start()

            threading.Thread(target=accept, daemon=True).start()
            stack.callback(lambda: listener.shutdown(socket.SHUT_RDWR))
            return int(listener.getsockname()[1])

        yield start
