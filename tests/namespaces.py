"""A network of its own on this machine, and a process that listens in it, as on another host."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest

ADDRESS, OTHER, PORT = "10.231.7.2", "10.231.7.3", 7117
LISTENER = f"""
import os, socket, sys, time
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
with socket.create_server((sys.argv[1], {PORT}), family=family, dualstack_ipv6=sys.argv[1] == "::") as server:
    if all(os.fork() for _ in range(int(sys.argv[2]))):
        print(flush=True)
"""


@contextmanager
def listener(namespace: str, address: str = ADDRESS, workers: int = 0, then: str = "time.sleep(60)") -> Iterator[int]:
    """A process that listens in a network, with children that share its socket; its id. `then`: what each does."""
    command = [
        "ip",
        "netns",
        "exec",
        namespace,
        sys.executable,
        "-c",
        LISTENER + f"    {then}\n",
        address,
        str(workers),
    ]
    process = psutil.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
    finally:
        for one in [*process.children(recursive=True), process]:
            one.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture
def namespace() -> Iterator[str]:
    """A network of its own with one address, which nothing leads to."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("needs root and iproute2")
    name = f"serving-{os.getpid()}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        subprocess.run(["ip", "-n", name, "addr", "add", f"{ADDRESS}/32", "dev", "lo"], check=True)
        subprocess.run(["ip", "-n", name, "link", "set", "lo", "up"], check=True)
        yield name
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=True)


HERE, HOST = "10.231.9.1", "10.231.9.2"
"""The ends of the line to `joined_namespace`."""


@contextmanager
def joined_namespace() -> Iterator[str]:
    """A network of its own with one address, which is reached from here."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("needs root and iproute2")
    name, line = f"joined-{os.getpid()}", f"ls{os.getpid()}"
    _ip("netns", "add", name)
    try:
        _ip("link", "add", line, "type", "veth", "peer", "name", "eth0", "netns", name)
        for words in (("addr", "add", f"{HERE}/30", "dev", line), ("link", "set", line, "up")):
            _ip(*words)
        for words in (("addr", "add", f"{HOST}/30", "dev", "eth0"), ("link", "set", "eth0", "up")):
            _ip("-n", name, *words)
        yield name
    finally:
        _ip("link", "delete", line)  # the kernel takes its time to remove it with the network
        _ip("netns", "delete", name)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)
