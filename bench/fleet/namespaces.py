"""Hosts as network namespaces of this machine: each with an address and a name of its own, all on one bridge.

    with Network(("agent-1", "db-1")) as network:
        process = network.start("db-1", ["redis-server", "--bind", network.address("db-1")])

This machine itself is on the bridge, too (`network.here`). All hosts share one kernel, so its clock and its CPUs. Needs
root and iproute2. What a process that was killed left behind is removed by the next one.
"""

import contextlib
import os
import random
import re
import socket
import subprocess
from collections.abc import Mapping, Sequence
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any, Self

import psutil

NETWORKS = IPv4Network("10.231.0.0/16")
"""Of it each network of hosts takes 256 addresses."""
NAMED = re.compile(r"lsb(\d+)-")
END_S = 5.0


class Network:
    """Hosts by their names, from when it is entered until it is left; then also what was started there has ended."""

    def __init__(self, hosts: Sequence[str]) -> None:
        if not 1 <= len(hosts) <= 200 or len(set(hosts)) < len(hosts):
            raise ValueError("name 1 to 200 hosts, each once")
        self._names = tuple(hosts)
        self._base = _free()
        self._bridge = f"lsb{os.getpid()}"
        self._started: list[psutil.Popen] = []
        self.here = str(self._base + 1)
        """This machine's address towards them."""

    def __enter__(self) -> Self:
        _remove_left()
        try:
            _ip("link", "add", self._bridge, "type", "bridge")
            _ip("addr", "add", f"{self.here}/24", "dev", self._bridge)
            _ip("link", "set", self._bridge, "up")
            for host in self._names:
                self._add(host)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def namespace(self, host: str) -> str:
        """As `ip netns` has it."""
        return f"{self._bridge}-{host}"

    def address(self, host: str) -> str:
        """Of a host, by which all others reach it."""
        return str(self._base + 10 + self._names.index(host))

    def card(self, host: str) -> str:
        """This machine's end of the host's line: what comes to the host and what it sends is seen there."""
        return f"lsv{os.getpid()}-{self._names.index(host)}"

    def enter(self, host: str) -> list[str]:
        """What stands before a command that is to run there, under the host's name; the command takes its process."""
        named = ("unshare", "--uts", "sh", "-c", 'hostname "$0"; exec "$@"', host)
        return ["ip", "netns", "exec", self.namespace(host), *named]

    def start(
        self, host: str, command: Sequence[str], *, environment: Mapping[str, str] | None = None, **more: Any
    ) -> psutil.Popen:
        """A process there, with its `pid`; ended with the network. `more`: as `subprocess.Popen` takes it."""
        process = psutil.Popen([*self.enter(host), *command], env={**os.environ, **(environment or {})}, **more)
        self._started.append(process)
        return process

    def run(self, host: str, *command: str) -> str:
        """What a command there prints. Raises CalledProcessError."""
        return subprocess.run([*self.enter(host), *command], check=True, capture_output=True, text=True).stdout

    def link(self, host: str, *, up: bool) -> None:
        """Plug the host's cable in, or pull it."""
        _ip("-n", self.namespace(host), "link", "set", "eth0", "up" if up else "down")

    def close(self) -> None:
        """End what was started, and remove all hosts. May be called more than once."""
        for process in reversed(self._started):
            end(process)
        self._started.clear()
        for host in self._names:
            with contextlib.suppress(subprocess.CalledProcessError):
                _ip("netns", "delete", self.namespace(host))
        with contextlib.suppress(subprocess.CalledProcessError):
            _ip("link", "delete", self._bridge)

    def _add(self, host: str) -> None:
        namespace, card = self.namespace(host), self.card(host)
        _ip("netns", "add", namespace)
        _ip("link", "add", card, "type", "veth", "peer", "name", "eth0", "netns", namespace)
        _ip("link", "set", card, "master", self._bridge, "up")
        _ip("-n", namespace, "addr", "add", f"{self.address(host)}/24", "dev", "eth0")
        for device in ("eth0", "lo"):
            _ip("-n", namespace, "link", "set", device, "up")


def end(process: psutil.Popen) -> None:
    """End a process as a user does, and by force after a while, with what it started."""
    children: list[psutil.Process] = []
    with contextlib.suppress(psutil.NoSuchProcess):
        children = process.children(recursive=True)
        process.terminate()
    try:
        process.wait(END_S)
    except (psutil.TimeoutExpired, subprocess.TimeoutExpired):
        process.kill()
        process.wait()
    for child in children:
        with contextlib.suppress(psutil.NoSuchProcess):
            child.kill()


def _free() -> IPv4Address:
    """The first of 256 addresses that no network of hosts has; drawn, as others may look at the same time."""
    own = [one.address for cards in psutil.net_if_addrs().values() for one in cards if one.family == socket.AF_INET]
    taken = {address.rpartition(".")[0] for address in own}
    number = next(
        number
        for number in random.sample(range(1, 255), 254)
        if str(NETWORKS[256 * number]).rpartition(".")[0] not in taken
    )
    return NETWORKS[256 * number]


def _remove_left() -> None:
    """Of processes that are gone."""
    names = [path.name for path in Path("/run/netns").glob("lsb*-*")]
    for name in names:
        owner = NAMED.match(name)
        if owner is not None and not psutil.pid_exists(int(owner[1])):
            with contextlib.suppress(subprocess.CalledProcessError):
                _ip("netns", "delete", name)
            if (Path("/sys/class/net") / f"lsb{owner[1]}").exists():
                with contextlib.suppress(subprocess.CalledProcessError):
                    _ip("link", "delete", f"lsb{owner[1]}")


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)
