"""A network of its own for what is measured: a namespace whose loopback has no packet filter.

What containers leave in a machine's packet filter (rules of NAT, and with them the tracking of connections) costs every
packet of every generator the same, and brings all ratios closer to 1.
"""

import ctypes
import fcntl
import socket
import struct
from pathlib import Path

TRACKED = Path("/proc/sys/net/netfilter/nf_conntrack_count")
"""Connections that the packet filter tracks."""

_NEW_NETWORK = 0x40000000
_SET_FLAGS = 0x8914
_UP = 0x1


def enter() -> bool:
    """Move this thread, and what it starts from now on; False where that is not permitted."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "unshare") or libc.unshare(_NEW_NETWORK) != 0:
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh14x", b"lo", _UP))
    return True


def describe(is_own: bool) -> str:
    """For the page: through which loopback, and what else each packet goes through."""
    if is_own:
        return "the loopback of a network namespace, which has no packet filter"
    return f"the machine's loopback{', whose packet filter tracks connections' if _tracks() else ''}"


def _tracks() -> bool:
    try:
        return int(TRACKED.read_text()) > 0
    except OSError:
        return False
