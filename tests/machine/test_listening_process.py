"""Which process serves an address: on real sockets, of this network and of one of its own."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.namespaces import ADDRESS, OTHER, PORT, listener
from tests.real_servers import wait_until

from loadstone.machine import listening_process as module
from loadstone.machine.listening_process import (
    ConnectedServer,
    closed_connections,
    connected_servers,
    serving,
    unix_servers,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's own files are read")


@pytest.mark.parametrize("address", [ADDRESS, "0.0.0.0", "::"])
def test_the_process_behind_an_address_is_found_in_its_network(namespace: str, address: str) -> None:
    with listener(namespace, address) as pid:
        assert serving(ADDRESS, PORT) == pid
        assert serving(ADDRESS, PORT + 1) is None
        assert serving(OTHER, PORT) is None


def test_of_workers_that_share_a_socket_it_is_the_parent(namespace: str) -> None:
    with listener(namespace, ADDRESS, workers=3) as pid:
        assert serving(ADDRESS, PORT) == pid


def test_the_loopback_is_no_address_of_a_machine(namespace: str) -> None:
    with listener(namespace, "127.0.0.1"):
        assert serving("127.0.0.1", PORT) is None
        assert serving("localhost", PORT) is None
        assert serving(ADDRESS, PORT) is None


def test_a_name_that_leads_nowhere_is_nobodys() -> None:
    assert serving("no-such-host.invalid", PORT) is None


def test_a_process_that_ended_serves_nothing(namespace: str) -> None:
    with listener(namespace, ADDRESS):
        assert serving(ADDRESS, PORT) is not None
    wait_until(lambda: serving(ADDRESS, PORT) is None)


def test_addresses_are_read_as_the_kernel_writes_them() -> None:
    assert str(module._read_address("0207E70A")) == ADDRESS
    assert str(module._read_address("0000000000000000FFFF00000207E70A")) == ADDRESS
    assert str(module._read_address("00000000000000000000000001000000")) == "::1"


SERVER = """
import socket, sys
listener = socket.socket(socket.AF_UNIX if "/" in sys.argv[1] else socket.AF_INET)
listener.bind(sys.argv[1] if "/" in sys.argv[1] else ("127.0.0.1", int(sys.argv[1])))
listener.listen()
print(listener.getsockname()[1], flush=True)
while True:
    taken, _ = listener.accept()
    if sys.argv[2] == "keeps":
        kept = taken
    else:
        if sys.argv[2] == "follows":
            while taken.recv(10):
                pass
        taken.close()
"""


@contextmanager
def server(at: str = "0", then: str = "keeps") -> Iterator[tuple[int, int]]:
    """A process that listens at a path or a port; its id and its port.

    It keeps each connection until the next one, closes it, or follows the client in that.
    """
    words = [sys.executable, "-c", SERVER, at, then]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = process.stdout.readline().strip()
        try:
            yield process.pid, int(told) if told.isdecimal() else 0
        finally:
            process.kill()


def test_the_server_of_a_connection_by_a_unix_socket_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "db.sock")

    def found(*pids: int) -> list[ConnectedServer]:
        """By this path: other tests may have left connections of this process."""
        return [one for one in connected_servers(pids) if one.address == path]

    with server(path) as (pid, _), socket.socket(socket.AF_UNIX) as client:
        assert found(os.getpid()) == []
        client.connect(path)
        wait_until(lambda: bool(found(os.getpid())))
        assert found(os.getpid()) == [ConnectedServer(path, "db", pid)]
        assert connected_servers([pid]) == [], "connections that came in lead to no server"
        assert found(os.getpid(), pid) == []
        monkeypatch.setattr(module, "_OF_THE_SYSTEM", (str(tmp_path),))
        assert found(os.getpid()) == [], "the system's journal is no part of a service"


SHORT = """
import socket, sys, time
while True:
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(sys.argv[1])
        time.sleep(.002)
    time.sleep(.02)
"""


def test_short_connections_by_unix_sockets_are_seen_by_looking_again_and_again(tmp_path: Path) -> None:
    path = str(tmp_path / "db.sock")
    with server(path) as (pid, _), subprocess.Popen([sys.executable, "-c", SHORT, path]) as client:
        try:
            wait_until(lambda: unix_servers([client.pid], 1.0).certain == [ConnectedServer(path, "db", pid)], 20.0)
            (passing,) = (one for one in unix_servers([os.getpid()], 1.0).passing if one.address == path)
            assert passing == ConnectedServer(path, "db", pid, closed=passing.closed)
            assert 3 < passing.closed < 500
        finally:
            client.kill()


@pytest.mark.parametrize("closed_first", ["client", "server"])
def test_connections_that_were_closed_are_counted_by_their_server(closed_first: str) -> None:
    with server(then="closes" if closed_first == "server" else "follows") as (pid, port):
        from_s = time.monotonic()
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", port)) as client:
                if closed_first == "server":
                    while client.recv(10):
                        pass

        def closed() -> list[ConnectedServer]:
            found = closed_connections([os.getpid()], time.monotonic() - from_s + 0.1)
            return [one for one in found if one.pid == pid]

        wait_until(lambda: closed() == [ConnectedServer(f"127.0.0.1:{port}", str(port), pid, closed=5)])
        assert pid not in {one.pid for one in closed_connections([pid], 60.0)}, "it is no server of its own"
        time.sleep(0.1)
        assert [one for one in closed_connections([os.getpid()], 0.05) if one.pid == pid] == [], "long ago"
