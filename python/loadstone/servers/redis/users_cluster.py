"""A cluster of the user's, by the URL of any of its nodes: never started or stopped, and only keys of ours change.

Which nodes there are, and which slots each has, is read when the run begins. It decides where the load, and a password,
are sent to, so an address that a node of somewhere else cannot have is refused (`redirect_targets.require_plausible`),
and no other address is connected to later: slots may move among these nodes, and to their replicas, but not to a node
that joins later.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from loadstone.experiment.plan.endpoints import SLOTS, Endpoint
from loadstone.safety.bounds.deadlines import extend_deadline
from loadstone.safety.bounds.replies import read_as, shortened
from loadstone.safety.errors import BadReply, ServerGone, UserError
from loadstone.servers.redis.cluster_control import ClusterControl
from loadstone.servers.redis.probe import probe
from loadstone.servers.redis.redirect_targets import (
    ANYWHERE,
    AllowedHosts,
    NodeAddress,
    require_address,
    require_few,
    require_plausible,
)
from loadstone.servers.redis.replicas import ReadFrom, follows, require_as_many, require_replicas, with_readers
from loadstone.servers.redis.requirements import ask, explain
from loadstone.servers.redis.session import RedisSession
from loadstone.servers.redis.settings import READ_BACK
from loadstone.servers.redis.users_process import local_pid, local_pids, process_id
from loadstone.servers.server import DeployContext, Module, ServerFacts
from loadstone.servers.transport import remark_on_exposure
from loadstone.servers.users_server import UsersServer
from loadstone.text.language import _
from loadstone.text.message import said
from loadstone.text.problem import Problem

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
    """For a replica, the id of the node that it follows."""

    def __post_init__(self) -> None:
        """Raises ValueError if it is no address that can be connected to and printed."""
        require_address(self.host, self.port)
        if not all(0 <= first <= last < SLOTS for first, last in self.slots):
            raise Problem("slots that no cluster has")

    @property
    def address(self) -> NodeAddress:
        """Host and port."""
        return self.host, self.port

    @property
    def label(self) -> str:
        """As printed for people."""
        return f"{self.host}:{self.port}"


def read_topology(session: RedisSession, allowed: AllowedHosts = ANYWHERE) -> list[ClusterNode]:
    """The nodes of a cluster, as one of them announces them: those with slots first, then the others.

    Args:
        session: with the node.
        allowed: the hosts that it may announce.

    Raises:
        UserError: its cluster cannot be loaded; one line with what it says, and the remedy.
        ServerGone: it does not answer, or not as a node of a cluster.
    """
    where = session.endpoint.label
    with read_as(where, "CLUSTER INFO", said("its state")):
        state = _state(session.call(b"CLUSTER", "INFO"))
    _require_state(where, state)
    with read_as(where, "CLUSTER NODES", said("a line a node")):
        lines = _text(session.call(b"CLUSTER", "NODES")).splitlines()
        require_few(where, "nodes", len(lines))
        described = _described(lines)
    with read_as(where, "CLUSTER SLOTS", said("slots, and the nodes that have them")):
        holders = _holders(session.call(b"CLUSTER", "SLOTS"), session.endpoint.host)
        nodes = [*holders.values(), *_without_slots(described, holders)]
    _require_covered(where, [slots for node in nodes for slots in node.slots])
    require_few(where, "nodes", len(nodes))
    extend_deadline(len(nodes))
    for node in nodes:
        what, setting = "a node of its cluster", "cluster-announce-ip"
        require_plausible(session.endpoint, node.host, node.port, what, setting, allowed)
    return nodes


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
    described = []
    for line in lines:
        number, address, flags, primary, *_ = line.split(" ")
        place, _, names = address.partition(",")
        host, _, port = place.partition("@")[0].rpartition(":")
        name = next((name for name in names.split(",")[:1] if name and "=" not in name), "")
        described.append(_Described(number, host, int(port), name, primary, frozenset(flags.split(","))))
    return described


def _holders(reply: Any, own_host: str) -> dict[str, ClusterNode]:
    """The primaries with slots, by their ids."""
    ranges: dict[str, list[tuple[int, int]]] = {}
    places: dict[str, NodeAddress] = {}
    for first, last, primary, *_more in reply:
        host, port, number = primary[0], int(primary[1]), _text(primary[2])
        ranges.setdefault(number, []).append((int(first), int(last)))
        places[number] = (_text(host) if host else own_host, port)  # without a host it is where the node was reached
    return {
        number: ClusterNode(number, *places[number], is_primary=True, slots=tuple(sorted(own)))
        for number, own in ranges.items()
    }


def _without_slots(described: Sequence[_Described], holders: Mapping[str, ClusterNode]) -> list[ClusterNode]:
    """Nodes that slots may move to, primaries first: by their names, where nodes with slots are announced by theirs."""
    by_name = any(line.name and line.id in holders and holders[line.id].host == line.name for line in described)
    nodes = [
        ClusterNode(
            line.id,
            (line.name if by_name else "") or line.host,
            line.port,
            is_primary="master" in line.flags,
            primary_id=line.primary_id if "slave" in line.flags else "",
        )
        for line in described
        if line.id not in holders and not line.flags & OUT_OF_USE and line.host and line.port
    ]
    return sorted(nodes, key=lambda node: not node.is_primary)


def _state(reply: Any) -> dict[str, str]:
    """The lines of CLUSTER INFO, `name:value`."""
    lines = (line.partition(":") for line in _text(reply).splitlines())
    return {name: value.strip() for name, _, value in lines}


def _require_state(where: str, state: Mapping[str, str]) -> None:
    if state.get("cluster_state") == "ok":
        return
    shown = ", ".join(
        f"{name} {shortened(state[name], 12)}"
        for name in ("cluster_state", "cluster_slots_assigned", "cluster_slots_ok", "cluster_slots_fail")
        if name in state
    )
    raise UserError(
        "server {where}: its cluster does not serve ({shown}); repair it first: redis-cli --cluster check {where}",
        where=where,
        shown=shown or said("no state"),
    )


def _require_covered(where: str, ranges: Sequence[tuple[int, int]]) -> None:
    following = 0
    for first, last in sorted(ranges):
        if first > following:
            break
        following = max(following, last + 1)
    if following < SLOTS:
        raise UserError(
            "server {where}: no node of its cluster has slot {following}; give it to one: redis-cli "
            "--cluster fix {where}",
            where=where,
            following=following,
        )


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


class UsersCluster(UsersServer):
    """See `provider.ManyEndpoints`. Its processes, where all are here, are `<name>-1`..."""

    def __init__(
        self,
        name: str,
        named: Endpoint,
        modules: Sequence[Module],
        read_from: ReadFrom = "primary",
        allowed: AllowedHosts = ANYWHERE,
    ) -> None:
        """`named`: the node that the URL names; `allowed`: the hosts that it may announce."""
        super().__init__(name, ServerFacts(software="redis", version="", mode="cluster", role=""))
        self._named = named
        self._modules = modules
        self._read_from: ReadFrom = read_from
        self._allowed = allowed
        self._nodes: tuple[ClusterNode, ...] = ()
        self._known: frozenset[NodeAddress] = frozenset()
        self._readers: int | None = None

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """Where the load goes, and where it may go if slots move."""
        return endpoints_of(self._named, self._nodes, self._read_from)

    @property
    def _replicas(self) -> list[Endpoint]:
        """Those that are read from."""
        return [endpoint for endpoint in self.endpoints if endpoint.replica_of is not None]

    def control(self, timeout_s: float = 5.0) -> ClusterControl:
        """Queries every primary; see `provider.Server.control`. Raises UserError where the nodes are not known yet."""
        if not self._nodes:
            self._read()
        primaries = [node for node in self._nodes if node.is_primary]
        control = ClusterControl(endpoints_of(self._named, primaries), timeout_s, self._named)
        return control.reading_from(self._replicas)

    def _inspect(self, context: DeployContext) -> Endpoint:
        """Ask every primary whether it can be loaded."""
        context.progress(
            _("connecting to the cluster of {name} ({address})", name=self.name, address=self._named.label)
        )
        remark_on_exposure(context, self.name, self._named)
        self._read()
        if not self.facts.version:  # later on replicas may have become primaries
            require_replicas(self._named.label, self.endpoints, self._read_from)
        self._readers = require_as_many(self._named.label, self.endpoints, self._readers)
        with self.control() as control:
            facts = ask(control, self._modules)
            self.settings_read_back = control.config_get(READ_BACK)
            pids = [local_pid(node.endpoint, process_id(node)) for node in control.nodes]
        of_replicas = local_pids(self._replicas)
        self.facts = replace(facts, details={**facts.details, "nodes": str(len(pids))})
        parts = {f"{self.name}-{number}": pid for number, pid in enumerate(pids, start=1)}
        parts |= {f"{self.name}-replica-{number}": pid for number, pid in enumerate(of_replicas, start=1)}
        known = {part: pid for part, pid in parts.items() if pid is not None}
        self.pids = known if len(known) == len(parts) else {}
        return self._named

    def _answers(self) -> bool:
        """Every primary does, and no replica fewer is there to be read from; slots are read again."""
        self._read()
        require_as_many(self._named.label, self.endpoints, self._readers)
        return super()._answers()

    def _read(self) -> None:
        """The nodes, from one that answers. Raises UserError."""
        nodes = self._announced()
        if not self._known:
            self._known = frozenset(node.address for node in nodes)
            for node in nodes:
                self._require_reached(node)
        joined = next((node for node in nodes if node.slots and node.address not in self._known), None)
        if joined is not None:
            raise UserError(
                "server {name} ({named_label}): {joined_label} has slots and was no node of the cluster when the "
                "run began, and is not connected to; begin again",
                name=self.name,
                named_label=self._named.label,
                joined_label=joined.label,
            )
        self._nodes = tuple(node for node in nodes if node.address in self._known)

    def _announced(self) -> list[ClusterNode]:
        probe(self._named)
        with RedisSession(self._named) as session:
            try:
                session.ping()
                if str(session.info("cluster").get("cluster_enabled", "")) != "1":
                    raise UserError(
                        "server {name} ({named_label}): it is no node of a cluster; "
                        "leave out --cluster, or cluster=yes of its URL",
                        name=self.name,
                        named_label=self._named.label,
                    )
                return read_topology(session, self._allowed)
            except BadReply as bad:
                raise UserError.of(str(bad)) from None
            except ServerGone as gone:
                raise UserError.of(explain(session, gone)) from None

    def _require_reached(self, node: ClusterNode) -> None:
        """Who gets load answers at the address that is announced for it, and is that node. Raises UserError."""
        if not node.is_primary and (self._read_from == "primary" or not node.primary_id):
            return
        (endpoint,) = endpoints_of(self._named, [node])
        announced = said(
            "server {name} ({address}): it announces a node of its cluster at {node}",
            name=self.name,
            address=self._named.label,
            node=node.label,
        )
        remedy = said(
            "every node must be reached from here: run loadstone where they are, or set cluster-announce-ip there"
        )
        try:
            probe(endpoint)
        except UserError as error:
            raise UserError(
                "{announced}, which cannot be used ({error}); {remedy}", announced=announced, error=error, remedy=remedy
            ) from None
        with RedisSession(endpoint) as session:
            try:
                own_id = session.call(b"CLUSTER", "MYID")
            except ServerGone as gone:
                raise UserError.of(explain(session, gone)) from None
        if not isinstance(own_id, bytes) or own_id.decode(errors="replace") != node.id:
            raise UserError("{announced}, and another one answers there; {remedy}", announced=announced, remedy=remedy)
        if not node.is_primary and not follows(endpoint):
            raise UserError(
                "{announced}, a replica whose link to its primary is down; wait until it is in sync",
                announced=announced,
            )
