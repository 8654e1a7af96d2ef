"""The null server's process. These tests need the built engine (`make setup`)."""

import os
import signal
import socket
import subprocess
import sys

import pytest
from tests.real_servers import is_gone, wait_until

from loadstone.drivers.null_server import NullServerProcess
from loadstone.safety.errors import UserError
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.server import DeployContext

PROGRAM = """
import time
from loadstone.drivers.null_server import NullServerProcess
from loadstone.servers.server import DeployContext

server = NullServerProcess()
server.start(DeployContext())
print(server.pids["null"], flush=True)
time.sleep(600)
"""


def test_it_answers_any_command() -> None:
    server = NullServerProcess({"document_bytes": 222, "replies": {"JSON.GET": "document"}})
    try:
        endpoint = server.start(DeployContext())
        with RedisControl(endpoint) as control:
            assert control.call("SET", "key", "value")
        with socket.create_connection((endpoint.host, endpoint.port)) as connection:
            connection.sendall(b"*2\r\n$8\r\nJSON.GET\r\n$1\r\nk\r\n")
            received = b""
            while len(received) < 222 + len(b"$222\r\n\r\n"):
                received += connection.recv(4096)
        assert received.startswith(b"$222\r\n")
    finally:
        server.stop()


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system pins nothing")
def test_it_runs_on_the_cpus_of_the_servers() -> None:
    cpu = min(os.sched_getaffinity(0))
    server = NullServerProcess()
    server.start(DeployContext(cpus=(cpu,)))
    assert os.sched_getaffinity(server.pids["null"]) == {cpu}
    server.stop()


def test_stopping_it_ends_its_process() -> None:
    server = NullServerProcess()
    server.start(DeployContext())
    pid = server.pids["null"]
    server.stop()
    server.stop()
    assert is_gone(pid)
    assert not server.alive()


def test_kill_9_of_loadstone_ends_it() -> None:
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        pid = int(program.stdout.readline())
        program.send_signal(signal.SIGKILL)
        wait_until(lambda: is_gone(pid))


def test_options_that_it_does_not_know_are_an_error() -> None:
    with pytest.raises(UserError, match="null server: "):
        NullServerProcess({"document_bytes": "many"}).start(DeployContext())
