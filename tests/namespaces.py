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
