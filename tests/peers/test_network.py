"""The network that the bench measures in."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHILD = """
import os, socket
from bench.peers import network
before = os.readlink("/proc/thread-self/ns/net")
is_own = network.enter()
after = os.readlink("/proc/thread-self/ns/net")
if is_own:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        pass
print(is_own, before == after, network.describe(is_own), sep="|")
"""


def test_it_is_a_namespace_with_a_loopback_where_that_is_permitted() -> None:
    found = subprocess.run(
        [sys.executable, "-c", CHILD], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    is_own, is_the_same, text = found.stdout.strip().split("|")
    assert (is_own == "True") == (is_the_same == "False")
    assert (is_own == "True") == ("no packet filter" in text)
    permitted = subprocess.run(["unshare", "--net", "true"], capture_output=True, timeout=60).returncode == 0
    assert is_own == str(permitted)


def test_the_machines_own_says_whether_connections_are_tracked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bench.peers import network

    counted = tmp_path / "count"
    monkeypatch.setattr(network, "TRACKED", counted)
    assert "tracks" not in network.describe(False)
    counted.write_text("0\n")
    assert "tracks" not in network.describe(False)
    counted.write_text("12\n")
    assert "tracks connections" in network.describe(False)
