"""Addresses that a server of the user's announces: where the load, and a password, would be sent to."""

import ipaddress
import re
import socket

from loadstone.errors import UserError
from loadstone.plan.drive_plan import Endpoint

HOST = re.compile(r"[A-Za-z0-9._:-]{1,255}")
PORT_END = 65_536
Address = tuple[str, int]
_Ip = ipaddress.IPv4Address | ipaddress.IPv6Address


def require_address(host: str, port: int) -> None:
    """Raises ValueError if it is nothing that can be connected to and printed."""
    if not HOST.fullmatch(host) or not 0 < port < PORT_END:
        raise ValueError(f"{host!r} and port {port}")


def require_plausible(named: Endpoint, host: str, port: int, what: str, setting: str) -> None:
    """An address that means something else here than at the server which announces it is never connected to.

    That is what a wrong setting says, and what an attacker would: this machine's own services, those of its network
    card's link (where clouds keep their secrets), everybody. Raises UserError.

    Args:
        named: the server that the user named, which announces it.
        host: what it announces.
        port: of that.
        what: it is said to be.
        setting: what helps, of the server that is announced.
    """
    theirs, ours = _addresses(host, port), _addresses(named.host, named.port)
    for address in theirs:
        kinds = (("is_loopback", "of this machine alone"), ("is_link_local", "of one link alone"))
        said = next((said for kind, said in kinds if getattr(address, kind)), "")
        alike = any(getattr(one, kind) for kind, its in kinds if its == said for one in ours)
        if address.is_unspecified or address.is_multicast or (said and not alike):
            raise UserError(
                f"server {named.label}: it announces {what} at {host}:{port}, an address {said or 'of no host'}; set "
                f"{setting} there to one that it can be reached by"
            )


def _addresses(host: str, port: int) -> list[_Ip]:
    """What a host stands for; nothing where no one knows it, which is found out when it is connected to."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    addresses = [ipaddress.ip_address(str(one[4][0]).partition("%")[0]) for one in found]
    return [getattr(one, "ipv4_mapped", None) or one for one in addresses]
