"""The Unix sockets of this network that are connected or listen, as the kernel tells them by sock_diag (Linux).

`/proc/net/unix` does not tell which socket is the other end of which.
"""

import os
import socket
import struct
import sys
from collections.abc import Iterator
from typing import NamedTuple

_SOCK_DIAG, _DUMP = 4, 0x301
"""The kernel's number for this family of netlink, and its flags for a request of all sockets."""
_BY_FAMILY, _ERROR, _DONE = 20, 2, 3
"""Types of messages."""
_CONNECTED, _LISTENS = 1, 10
_NAME, _FILE, _PEER = 0, 1, 2
"""What is asked of each socket, as the number of its attribute; asked for by the bit of this number."""
_PACKET_BYTES, _ANSWER_S = 1 << 17, 1.0


class UnixSocket(NamedTuple):
    """A socket, by its inode."""

    inode: int
    listens: bool
    path: str
    """Where it listens, or took the connection; an abstract one begins with `@`. Empty for a client's end."""
    file: bytes
    """What tells two sockets of one path apart: the inode and device of the path; empty for an abstract one."""
    peer: int
    """Inode of the connection's other end; 0 where there is none."""


def unix_sockets() -> dict[int, UnixSocket]:
    """The sockets of streams in this process's network, by inode; empty where the kernel does not tell."""
    if sys.platform != "linux":
        return {}
    try:
        return {one.inode: one for message in _answers() if (one := _read(message)) is not None}
    except OSError:
        return {}


def _answers() -> Iterator[bytes]:
    """What the kernel tells of each socket. Raises OSError."""
    asked = sum(1 << one for one in (_NAME, _FILE, _PEER))
    states = 1 << _CONNECTED | 1 << _LISTENS
    request = struct.pack("=BBHIIIII", socket.AF_UNIX, 0, 0, states, 0, asked, 0, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as link:
        link.settimeout(_ANSWER_S)
        link.send(struct.pack("=IHHII", 16 + len(request), _BY_FAMILY, _DUMP, 0, 0) + request)
        while True:
            packet = link.recv(_PACKET_BYTES)
            while packet:
                length, kind = struct.unpack_from("=IH", packet)
                if kind in (_DONE, _ERROR):
                    return
                yield packet[16:length]
                packet = packet[_aligned(length) :]


def _read(message: bytes) -> UnixSocket | None:
    """One socket; None where it is none of streams."""
    _, kind, state, _, inode = struct.unpack_from("=BBBBI", message)
    if kind == socket.SOCK_DGRAM:
        return None
    values: dict[int, bytes] = {}
    rest = message[16:]
    while len(rest) >= 4:
        length, attribute = struct.unpack_from("=HH", rest)
        values[attribute] = rest[4:length]
        rest = rest[_aligned(max(length, 4)) :]
    name = values.get(_NAME, b"")
    path = f"@{os.fsdecode(name[1:])}" if name.startswith(b"\0") else os.fsdecode(name.rstrip(b"\0"))
    peer = int.from_bytes(values.get(_PEER, b""), sys.byteorder)
    return UnixSocket(inode, state == _LISTENS, path, values.get(_FILE, b""), peer)


def _aligned(length: int) -> int:
    return length + 3 & ~3
