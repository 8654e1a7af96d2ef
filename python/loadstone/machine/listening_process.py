"""Which process of this machine serves an address, in whichever of its networks, also in a container; and which
servers of this machine a process has connections to (Linux).

Networks of others are seen by who may look at their processes: root, with the host's process ids where it is in a
container itself. All others see their own.
"""

import contextlib
import ipaddress
import os
import re
import socket
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from loadstone.machine import process_table
from loadstone.machine.unix_sockets import UnixSocket, unix_sockets

SocketAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
_PROC = "/proc"
_LISTENS, _ESTABLISHED, _CLOSED = "0A", "01", "06"
"""The kernel's numbers for a socket that listens, for one end of a connection, and for one that is kept after its end
(TIME_WAIT)."""
_KEPT_S, _TICKS_PER_S = 60.0, 100
"""How long the kernel keeps the latter (TCP_TIMEWAIT_LEN); its row tells how much of that is left, in ticks."""
_OF_THE_SYSTEM = ("/run/systemd/", "/run/dbus/", "/var/run/dbus/")
"""Unix sockets that the processes of a system have in common: its journal, its bus."""
_FIRST = 1
"""The first process of the machine, which may hold the sockets of services that it starts on demand."""
_UNIX_LOOKS, _UNIX_LONGEST = 100, 10
"""Looks at connections by Unix sockets that are made where time is given, and how many times as long they may take on a
machine that is busy."""
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


class ConnectedServer(NamedTuple):
    """A server of this machine that some process has a connection to."""

    address: str
    """As the connection has its other end: host and port, or the path of a Unix socket."""
    mark: str
    """What tells it apart from another server of its program: its port, or the name of its socket."""
    pid: int | None
    """The process that listens there; None: it is another user's, and may not be looked at."""
    closed: int = 0
    """Number of connections to it, by whomever, that were closed, or of those of them that were seen; 0 of one that has
    a connection."""


class UnixServers(NamedTuple):
    """The servers of this machine that were connected to by Unix sockets in some time."""

    certain: list[ConnectedServer]
    """Those that processes which are asked about had a connection to, each once; not these processes themselves."""
    passing: list[ConnectedServer]
    """Those with connections of others, or of whom there was no time to tell, that ended meanwhile."""


def connected_servers(pids: Collection[int]) -> list[ConnectedServer]:
    """The servers of this machine that these processes have connections to, each once; not these processes themselves.

    Connections that came in are none. Unix sockets of other networks than this process's are not seen.
    """
    servers: dict[str, ConnectedServer] = {}
    for network in _networks():
        members = [pid for pid in pids if pid in network.pids]
        links = {link for pid in members for link in _files(pid)}
        rows = list(_rows(network, links)) if links else []
        own_ports = {row.port for row in rows if row.state == _LISTENS and row.link in links}
        for row in rows:
            outgoing = row.state == _ESTABLISHED and row.link in links and row.port not in own_ports
            place = shown_address(str(row.peer), row.peer_port)
            if outgoing and place not in servers and (found := _at_other_end(network, rows, row)) is not None:
                servers[place] = found
    return [one for one in (*servers.values(), *unix_servers(pids).certain) if one.pid not in pids]


def unix_servers(pids: Collection[int], for_s: float = 0.0) -> UnixServers:
    """The servers that are connected to by Unix sockets, of which some last for a request only: looked at for `for_s`.

    Whose such a connection is can be told if it lasts from one look to the next.
    """
    links: set[str] = set()
    ends: dict[int, UnixSocket] = {}  # a server's
    begun_s, looks = time.monotonic(), 0
    while True:
        links |= {link for pid in pids for link in _files(pid)}
        seen = unix_sockets()
        ends |= {one.inode: one for one in seen.values() if one.path and not one.listens}
        looks, looked_s = looks + 1, time.monotonic() - begun_s
        if looked_s >= (for_s if looks >= _UNIX_LOOKS else _UNIX_LONGEST * for_s):
            break
    certain: dict[tuple[str, bytes], int] = {}
    passing: Counter[tuple[str, bytes]] = Counter()
    for one in ends.values():
        if one.path.startswith(_OF_THE_SYSTEM):
            continue
        if f"socket:[{one.peer}]" in links:
            certain[one.path, one.file] = one.inode
        elif one.inode not in seen:
            passing[one.path, one.file] += 1
    servers = [(_at_path(*place, inode, seen.values()), 0) for place, inode in certain.items()]
    servers += [(_at_path(*place, 0, seen.values()), passing[place]) for place in passing.keys() - certain.keys()]
    found = [one._replace(closed=closed) for one, closed in servers if one is not None and one.pid not in pids]
    return UnixServers([one for one in found if not one.closed], [one for one in found if one.closed])


def closed_connections(pids: Collection[int], since_s: float) -> list[ConnectedServer]:
    """The servers of this machine to which connections were closed in the last `since_s` seconds, in the networks of
    these processes; not these processes themselves.

    The kernel does not tell whose they were, and keeps none that was reset.
    """
    closed: list[ConnectedServer] = []
    for network in _networks():
        if set(network.pids).isdisjoint(pids):
            continue
        rows = list(_rows(network, (), since_s))
        ports = {row.port for row in rows if row.state == _LISTENS}
        ends = [_to_server(row, ports) for row in rows if row.state == _CLOSED]
        times = Counter((row.peer, row.peer_port) for row in ends)
        for place, row in {(row.peer, row.peer_port): row for row in ends}.items():
            if (found := _at_other_end(network, rows, row)) is not None:
                closed.append(found._replace(closed=times[place]))
    return [one for one in closed if one.pid not in pids]


def shown_address(host: str, port: int) -> str:
    """A host and a port as one word."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _at_path(path: str, file: bytes, inode: int, sockets: Iterable[UnixSocket]) -> ConnectedServer | None:
    """The server that listens at a path, or else has this end of a connection to it; None where it is not one."""
    listening = {str(one.inode) for one in sockets if one.listens and (one.path, one.file) == (path, file)}
    everyone = process_table.pids()
    owners = _owners(listening, everyone) - {_FIRST} or _owners({str(inode)}, everyone)
    pid = _eldest(owners) or _common_parent(owners)
    return ConnectedServer(path, Path(path).stem, pid) if pid is not None or not owners else None


def listening_here(host: str, port: int) -> int | None:
    """The process of this network that a connection from here to this address reaches.

    Where several do, as workers of one parent, it is the one that all others descend from, or the parent that all have
    in common and that runs the same program. None: there is none, or it is another user's.
    """
    network = _network_of(os.getpid())
    owners = _owners(_listening(network, host, port), network.pids) - {_FIRST}
    return _eldest(owners) or _common_parent(owners)


def is_another_users(host: str, port: int) -> bool:
    """Whether something listens there in this network, and no process may be seen that does."""
    network = _network_of(os.getpid())
    inodes = _listening(network, host, port)
    return bool(inodes) and not _owners(inodes, network.pids)


def is_of_this_network(host: str, port: int) -> bool:
    """Whether an address is one of this machine's, as it is seen from this network."""
    own = _addresses(_network_of(os.getpid()))
    return any(address.is_loopback or address in own for address in _resolved(host, port))


def _listening(network: _Network, host: str, port: int) -> set[str]:
    """The inodes of the sockets that take connections to an address; none where that is not this network's own."""
    own = _addresses(network)
    asked = {address for address in _resolved(host, port) if address.is_loopback or address in own}
    return _sockets(network, port, asked) if asked else set()


class _Row(NamedTuple):
    """A socket of a network."""

    address: SocketAddress
    port: int
    peer: SocketAddress
    peer_port: int
    state: str
    link: str
    """What a descriptor of it stands for."""


def _to_server(row: _Row, ports: Collection[int]) -> _Row:
    """A connection as its client had it; the kernel keeps the end that was closed first. `ports`: of servers."""
    if row.peer_port in ports or row.port not in ports:
        return row
    return row._replace(address=row.peer, port=row.peer_port, peer=row.address, peer_port=row.port)


def _rows(network: _Network, links: Collection[str], closed_s: float = 0.0) -> Iterator[_Row]:
    """Those that listen, those of these links, and those that were closed in the last seconds: there may be thousands
    of others."""
    closed_ticks = round((_KEPT_S - closed_s) * _TICKS_PER_S)
    for name in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in (network.files / name).read_text().splitlines()[1:]:
                fields = line.split()
                link = f"socket:[{fields[9]}]"
                closed = fields[3] == _CLOSED and int(fields[5].partition(":")[2], 16) > closed_ticks
                if fields[3] != _LISTENS and link not in links and not closed:
                    continue
                (own, _, port), (peer, _, peer_port) = (fields[place].partition(":") for place in (1, 2))
                ends = _read_address(own), int(port, 16), _read_address(peer), int(peer_port, 16)
                yield _Row(*ends, fields[3], link)


def _at_other_end(network: _Network, rows: Iterable[_Row], row: _Row) -> ConnectedServer | None:
    """The server behind a connection; None where it is not on this machine, or no server."""
    listening = {
        one.link.removeprefix("socket:[").removesuffix("]")
        for one in rows
        if one.state == _LISTENS
        and one.port == row.peer_port
        and (one.address.is_unspecified or one.address == row.peer)
    }
    if listening and (row.peer.is_loopback or row.peer in _addresses(network)):
        owners = _owners(listening, network.pids)
        pid = _eldest(owners - {_FIRST}) or _common_parent(owners - {_FIRST})
        return _server(row, pid) if pid is not None or not owners else None
    pid = None if row.peer.is_loopback else serving(str(row.peer), row.peer_port)
    return None if pid is None else _server(row, pid)


def _server(row: _Row, pid: int | None) -> ConnectedServer:
    return ConnectedServer(shown_address(str(row.peer), row.peer_port), str(row.peer_port), pid)


def _network_of(pid: int) -> _Network:
    """The network of a process, with the processes in it that may be looked at."""
    return next((network for network in _networks() if pid in network.pids), _Network([pid]))


def _common_parent(pids: Collection[int]) -> int | None:
    """The parent of all of these, where that runs their program."""
    seen = [process for pid in pids if (process := process_table.process(pid)) is not None]
    parents, programs = {one.parent for one in seen}, {one.name for one in seen}
    if len(seen) < 2 or len(parents) != 1 or len(programs) != 1:
        return None
    parent = parents.pop()
    above = process_table.process(parent)
    return parent if above is not None and above.name in programs else None


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
