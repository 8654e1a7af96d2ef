"""What a node of the user's says of its cluster: which nodes there are, and which slots each has.

It is what decides where the load, and a password, are sent to. So it is read once, when a run begins, and an address
that a node of somewhere else cannot have is refused; see `announced.require_plausible`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadstone.bounds.conversation import earn
from loadstone.bounds.replies import read_as, shortened
from loadstone.errors import UserError
from loadstone.plan.endpoints import SLOTS, Endpoint
from loadstone.software.redis.cluster.announced import (
    ANYWHERE,
    Address,
    Allowed,
    require_address,
    require_few,
    require_plausible,
)
from loadstone.software.redis.replicas import ReadFrom, with_readers
from loadstone.software.redis.session import RedisSession

OUT_OF_USE = frozenset({"fail", "handshake", "noaddr"})
"""Flags of nodes that nothing can be sent to."""


@dataclass(frozen=True)
class ClusterNode:
    """One node, by the address that redirections name."""

    id: str
    host: str
    port: int
    is_primary: bool
    slots: tuple[tuple[int, int], ...] = ()
    primary_id: str = ""
    """Of a replica, of the node that it follows."""

    def __post_init__(self) -> None:
        """Raises ValueError if it is no address that can be connected to and printed."""
        require_address(self.host, self.port)
        if not all(0 <= first <= last < SLOTS for first, last in self.slots):
            raise ValueError("slots that no cluster has")

    @property
    def address(self) -> Address:
        """Host and port."""
        return self.host, self.port

    @property
    def label(self) -> str:
        """As printed for people."""
        return f"{self.host}:{self.port}"


def read_topology(session: RedisSession, allowed: Allowed = ANYWHERE) -> list[ClusterNode]:
    """The nodes of a cluster, as one of them announces them: those with slots first, then the others.

    Args:
        session: with the node.
        allowed: the hosts that it may announce.

    Raises:
        UserError: its cluster cannot be loaded; one line with what it says, and the remedy.
        ServerGone: it does not answer, or not as a node of a cluster.
    """
    where = session.endpoint.label
    with read_as(where, "CLUSTER INFO", "its state"):
        state = _state(session.call(b"CLUSTER", "INFO"))
    _require_state(where, state)
    with read_as(where, "CLUSTER NODES", "a line a node"):
        lines = _text(session.call(b"CLUSTER", "NODES")).splitlines()
        require_few(where, "nodes", len(lines))
        described = _described(lines)
    with read_as(where, "CLUSTER SLOTS", "slots, and the nodes that have them"):
        holders = _holders(session.call(b"CLUSTER", "SLOTS"), session.endpoint.host)
        nodes = [*holders.values(), *_without_slots(described, holders)]
    _require_covered(where, [one for node in nodes for one in node.slots])
    require_few(where, "nodes", len(nodes))
    earn(len(nodes))
    for node in nodes:
        what, setting = "a node of its cluster", "cluster-announce-ip"
        require_plausible(session.endpoint, node.host, node.port, what, setting, allowed)
    return nodes


def own_slots(session: RedisSession) -> tuple[str, ...]:
    """The slots of a node as it describes them; what begins with a bracket is one that moves. Raises ServerGone."""
    with read_as(session.endpoint.label, "CLUSTER NODES", "a line of its own"):
        lines = [line.split(" ") for line in _text(session.call(b"CLUSTER", "NODES")).splitlines()]
        return next(tuple(line[8:]) for line in lines if "myself" in line[2].split(","))


def endpoints_of(
    named: Endpoint, nodes: Sequence[ClusterNode], read_from: ReadFrom = "primary"
) -> tuple[Endpoint, ...]:
    """The nodes as endpoints, with the login and the TLS of the node that the user named."""
    holders = {node.id: number for number, node in enumerate(nodes) if node.slots}
    followed = holders if read_from != "primary" else {}
    endpoints = [
        named.model_copy(
            update={
                "host": node.host,
                "port": node.port,
                "slots": node.slots,
                "replica_of": followed.get(node.primary_id),
            }
        )
        for node in nodes
    ]
    return with_readers(endpoints, read_from)


@dataclass(frozen=True)
class _Described:
    """One line of CLUSTER NODES."""

    id: str
    host: str
    port: int
    name: str
    """Its host name, where it announces one."""
    primary_id: str
    flags: frozenset[str]


def _described(lines: Sequence[str]) -> list[_Described]:
    """`<id> <host>:<port>@<bus>[,<name>] <flags> <id of its primary, or -> ...`, a line each."""
    found = []
    for line in lines:
        number, address, flags, primary, *_ = line.split(" ")
        place, _, names = address.partition(",")
        host, _, port = place.partition("@")[0].rpartition(":")
        name = next((one for one in names.split(",")[:1] if one and "=" not in one), "")
        found.append(_Described(number, host, int(port), name, primary, frozenset(flags.split(","))))
    return found


def _holders(reply: Any, own_host: str) -> dict[str, ClusterNode]:
    """The primaries with slots, by their ids."""
    ranges: dict[str, list[tuple[int, int]]] = {}
    places: dict[str, Address] = {}
    for first, last, primary, *_ in reply:
        host, port, number = primary[0], int(primary[1]), _text(primary[2])
        ranges.setdefault(number, []).append((int(first), int(last)))
        places[number] = (_text(host) if host else own_host, port)  # without a host it is where the node was reached
    return {
        number: ClusterNode(number, *places[number], is_primary=True, slots=tuple(sorted(own)))
        for number, own in ranges.items()
    }


def _without_slots(described: Sequence[_Described], holders: Mapping[str, ClusterNode]) -> list[ClusterNode]:
    """Nodes that slots may move to, primaries first: by their names, where nodes with slots are announced by theirs."""
    by_name = any(one.name and one.id in holders and holders[one.id].host == one.name for one in described)
    found = [
        ClusterNode(
            one.id,
            (one.name if by_name else "") or one.host,
            one.port,
            is_primary="master" in one.flags,
            primary_id=one.primary_id if "slave" in one.flags else "",
        )
        for one in described
        if one.id not in holders and not one.flags & OUT_OF_USE and one.host and one.port
    ]
    return sorted(found, key=lambda node: not node.is_primary)


def _state(reply: Any) -> dict[str, str]:
    """The lines of CLUSTER INFO, `name:value`."""
    lines = (line.partition(":") for line in _text(reply).splitlines())
    return {name: value.strip() for name, _, value in lines}


def _require_state(where: str, state: Mapping[str, str]) -> None:
    if state.get("cluster_state") == "ok":
        return
    said = ", ".join(
        f"{name} {shortened(state[name], 12)}"
        for name in ("cluster_state", "cluster_slots_assigned", "cluster_slots_ok", "cluster_slots_fail")
        if name in state
    )
    raise UserError(
        f"server {where}: its cluster does not serve ({said or 'no state'}); repair it first: "
        f"redis-cli --cluster check {where}"
    )


def _require_covered(where: str, ranges: Sequence[tuple[int, int]]) -> None:
    following = 0
    for first, last in sorted(ranges):
        if first > following:
            break
        following = max(following, last + 1)
    if following < SLOTS:
        raise UserError(
            f"server {where}: no node of its cluster has slot {following}; give it to one: "
            f"redis-cli --cluster fix {where}"
        )


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
