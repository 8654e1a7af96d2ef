"""Which process of this machine serves an address, in whichever of its networks: also one in a container (Linux).

Networks of others are seen by who may look at their processes: root, with the host's process ids where it is in a
container itself. All others see their own.
"""

import contextlib
import ipaddress
import os
import re
import socket
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from loadstone.machine import process_table

SocketAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
_PROC = "/proc"
_LISTENS = "0A"
"""The kernel's number for a socket that listens."""
_LOCAL = re.compile(r"\|-- (\S+)\n\s+/32 host LOCAL")


@dataclass
class _Network:
    """One network of this machine, and the processes in it."""

    pids: list[int] = field(default_factory=list)

    @property
    def files(self) -> Path:
        return Path(_PROC) / str(self.pids[0]) / "net"


def serving(host: str, port: int) -> int | None:
    """The process of this machine that a connection to this address reaches; None: it is another's, or not to be told.

    Where several have the socket, as with workers of one parent, it is the one that all others descend from. `host` is
    a name or an address; of a name all addresses are looked at, and the loopback is no address of a machine.
    """
    asked = {address for address in _resolved(host, port) if not address.is_loopback}
    found: set[int] = set()
    for network in _networks() if asked else ():
        own = asked & _addresses(network)
        if own:
            found |= _owners(_sockets(network, port, own), network.pids)
    return _eldest(found)


def _resolved(host: str, port: int) -> set[SocketAddress]:
    try:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return set()
    return {ipaddress.ip_address(str(answer[4][0]).partition("%")[0]) for answer in answers}


def _networks() -> list[_Network]:
    """Those of which a process may be looked at."""
    networks: dict[int, _Network] = {}
    for pid in process_table.pids():
        with contextlib.suppress(OSError):
            network = os.stat(f"{_PROC}/{pid}/ns/net").st_ino  # noqa: PTH116
            networks.setdefault(network, _Network()).pids.append(pid)
    return list(networks.values())


def _addresses(network: _Network) -> set[SocketAddress]:
    """Those by which a network is reached from outside; the loopback is every network's own."""
    addresses: set[SocketAddress] = set()
    with contextlib.suppress(OSError):
        text = (network.files / "fib_trie").read_text()
        addresses |= {ipaddress.ip_address(found) for found in _LOCAL.findall(text)}
    with contextlib.suppress(OSError):
        lines = (network.files / "if_inet6").read_text().splitlines()
        addresses |= {ipaddress.IPv6Address(int(line.split()[0], 16)) for line in lines}
    return {address for address in addresses if not address.is_loopback}


def _sockets(network: _Network, port: int, asked: Collection[SocketAddress]) -> set[str]:
    """The inodes of sockets that listen on a port, at one of these addresses or at all."""
    inodes: set[str] = set()
    for name in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in (network.files / name).read_text().splitlines()[1:]:
                fields = line.split()
                address, _, number = fields[1].partition(":")
                if fields[3] != _LISTENS or int(number, 16) != port:
                    continue
                at = _read_address(address)
                if at.is_unspecified or at in asked:
                    inodes.add(fields[9])
    return inodes


def _read_address(text: str) -> SocketAddress:
    """As the kernel writes it: words of 32 bits in the order of the machine."""
    words = [bytes.fromhex(text[at : at + 8])[::-1] for at in range(0, len(text), 8)]
    address = ipaddress.ip_address(b"".join(words))
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _owners(inodes: Collection[str], pids: Iterable[int]) -> set[int]:
    links = {f"socket:[{inode}]" for inode in inodes}
    return {pid for pid in pids if links and not links.isdisjoint(_files(pid))}


def _files(pid: int) -> Iterator[str]:
    with contextlib.suppress(OSError), os.scandir(f"{_PROC}/{pid}/fd") as files:
        for file in files:
            with contextlib.suppress(OSError):
                yield os.readlink(file.path)  # noqa: PTH115


def _eldest(pids: set[int]) -> int | None:
    """The one that all others descend from; None where there is no such one."""
    return next((pid for pid in pids if pids <= process_table.tree([pid])), None)
