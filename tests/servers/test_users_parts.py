"""Which process of this machine is a server or an application of the user's."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.servers.users_server import listening_pid

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are observed on Linux only")

LISTENER = """
import os, socket, sys
listener = socket.create_server(("127.0.0.1", 0))
children = {"alone": [], "with a helper": ["close"], "before its workers": ["accept"] * 2}[sys.argv[1]]
for what in children:
    if not os.fork():
        if what == "close":
            listener.close()
        os.write(1, b"up\\n")
        sys.stdin.read()
        os._exit(0)
os.write(1, b"%d\\n" % listener.getsockname()[1])
sys.stdin.read()
"""


@pytest.fixture
def listener(request: pytest.FixtureRequest) -> Iterator[tuple[int, int]]:
    """The id of a process that listens, and at which port."""
    words = [sys.executable, "-c", LISTENER, request.param]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = {
            process.stdout.readline().strip() for _ in range(1 + {"alone": 0, "with a helper": 1}.get(request.param, 2))
        }
        (port,) = said - {"up"}
        yield process.pid, int(port)
        assert process.stdin is not None
        process.stdin.close()


@pytest.mark.parametrize("listener", ["alone", "with a helper"], indirect=True)
def test_who_listens_alone_is_known(listener: tuple[int, int]) -> None:
    pid, port = listener
    assert listening_pid(Endpoint(port=port)) == pid


@pytest.mark.parametrize("listener", ["before its workers"], indirect=True)
def test_of_workers_at_one_port_none_is_taken_for_all(listener: tuple[int, int]) -> None:
    _, port = listener
    assert listening_pid(Endpoint(port=port)) is None
    assert listening_pid(Endpoint(host="192.0.2.1", port=port)) is None
