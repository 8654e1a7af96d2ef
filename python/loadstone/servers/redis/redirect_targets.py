"""Addresses that a server of the user's announces: where the load, and a password, would be sent to."""

import ipaddress
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.safety.bounds.deadlines import require_time
from loadstone.safety.errors import UserError
from loadstone.text.message import AnyText, said
from loadstone.text.problem import Problem

HOST = re.compile(r"[A-Za-z0-9._:-]{1,255}")
PORT_END = 65_536
NodeAddress = tuple[str, int]
ANNOUNCED_MAX = 1000
"""Nodes of a cluster, or replicas, that one server may announce."""
HOSTS = "hosts"
"""The option of a URL: who may be announced."""
_Ip = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True)
class AllowedHosts:
    """Hosts that may be announced: by name, by address, or by network; any where there are none."""

    names: frozenset[str] = frozenset()
    networks: tuple[_Network, ...] = ()

    def include(self, host: str) -> bool:
        """Whether a host that is announced so is one of them. No name is looked up: whoever announces it may own it."""
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return host.lower().rstrip(".") in self.names
        return any(address in network for network in self.networks)


ANYWHERE = AllowedHosts()


def allowed_hosts(options: Mapping[str, str], shown: str) -> AllowedHosts:
    """What `hosts` of a URL says: names, addresses and networks with commas between. Raises UserError."""
    names: set[str] = set()
    networks: list[_Network] = []
    for text in options[HOSTS].split(",") if HOSTS in options else ():
        try:
            networks.append(ipaddress.ip_network(text.strip("[]"), strict=False))
        except ValueError:
            if "/" in text or not HOST.fullmatch(text):
                raise UserError(
                    "url '{shown}': {hosts} '{text}' is no host; write names, addresses or networks with commas "
                    "between: ?{hosts}=db-1.example,10.0.0.0/8",
                    shown=shown,
                    hosts=HOSTS,
                    text=text[:40],
                ) from None
            names.add(text.lower().rstrip("."))
    return AllowedHosts(frozenset(names), tuple(networks))


def allowed_by(url: str) -> AllowedHosts:
    """Who may be announced to a URL that was checked."""
    return allowed_hosts(dict(parse_qsl(urlsplit(url).query)), "")


def require_address(host: str, port: int) -> None:
    """Raises ValueError if it is nothing that can be connected to and printed."""
    if not HOST.fullmatch(host) or not 0 < port < PORT_END:
        raise Problem("{host!r} and port {port}", host=host, port=port)


def require_few(where: str, what: str, count: int) -> None:
    """No more are announced than loadstone works with. Raises UserError."""
    if count > ANNOUNCED_MAX:
        raise UserError(
            "server {where}: it announces {count:,} {what}; at most {announced_max:,} are loaded",
            where=where,
            count=count,
            what=what,
            announced_max=ANNOUNCED_MAX,
        )


def require_plausible(
    named: Endpoint, host: str, port: int, what: AnyText, setting: str, allowed: AllowedHosts = ANYWHERE
) -> None:
    """An address that means something else here than at the server which announces it is never connected to.

    That is what a wrong setting says, and what an attacker would: this machine's own services, those of its network
    card's link (where clouds keep their secrets), everybody. Nor is one that the user does not allow.

    Args:
        named: the server that the user named, which announces it.
        host: what it announces.
        port: of that.
        what: it is said to be.
        setting: what helps, of the server that is announced.
        allowed: who may be announced beside the host that the user named.

    Raises:
        UserError: it is not connected to; names it, and what helps.
    """
    require_time()  # each name is looked up, and a server may announce many
    if allowed != ANYWHERE and host != named.host and not allowed.include(host):
        raise UserError(
            "server {named_label}: it announces {what} at {host}:{port}, which is none of {hosts} of its "
            "URL; add it there if it is yours (nothing was sent to it)",
            named_label=named.label,
            what=what,
            host=host,
            port=port,
            hosts=HOSTS,
        )
    theirs, ours = _addresses(host, port), _addresses(named.host, named.port)
    for address in theirs:
        kinds = (("is_loopback", said("of this machine alone")), ("is_link_local", said("of one link alone")))
        reach = next((reach for kind, reach in kinds if getattr(address, kind)), "")
        alike = any(getattr(own, kind) for kind, its in kinds if its is reach for own in ours)
        if address.is_unspecified or address.is_multicast or (reach and not alike):
            raise UserError(
                "server {named_label}: it announces {what} at {host}:{port}, an address {reach}; set {setting} "
                "there to one that it can be reached by",
                named_label=named.label,
                what=what,
                host=host,
                port=port,
                reach=reach or said("of no host"),
                setting=setting,
            )


def _addresses(host: str, port: int) -> list[_Ip]:
    """What a host stands for; nothing where it has no address, which shows when it is connected to."""
    try:
        resolved = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    addresses = [ipaddress.ip_address(str(result[4][0]).partition("%")[0]) for result in resolved]
    return [getattr(address, "ipv4_mapped", None) or address for address in addresses]
