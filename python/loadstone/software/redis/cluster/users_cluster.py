"""A cluster of the user's, by the URL of any of its nodes: never started or stopped, and only keys of ours change.

Which nodes there are is read when the run begins. From then on no other address is connected to: slots may move among
these nodes, and to their replicas, but not to a node that joins later.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from loadstone.bounds.conversation import LOOK, OPENING, within
from loadstone.deploy.provider import DeployContext, Module, ServerFacts
from loadstone.deploy.transport import remark_on_exposure
from loadstone.deploy.users_parts import PING_TIMEOUT_S, answering_again
from loadstone.errors import BadReply, ServerGone, UserError
from loadstone.plan.endpoints import Endpoint
from loadstone.software.redis.cluster.announced import ANYWHERE, Address, Allowed
from loadstone.software.redis.cluster.cluster_control import ClusterControl
from loadstone.software.redis.cluster.topology import ClusterNode, endpoints_of, read_topology
from loadstone.software.redis.probe import probe
from loadstone.software.redis.replicas import ReadFrom, follows, require_as_many, require_replicas
from loadstone.software.redis.requirements import ask, explain
from loadstone.software.redis.session import RedisSession
from loadstone.software.redis.settings import READ_BACK
from loadstone.software.redis.users_process import local_pid, local_pids, process_id


class UsersCluster:
    """See `provider.Server` and `provider.ManyEndpoints`. Its processes, where all are here, are `<name>-1`..."""

    ours = False

    def __init__(
        self,
        name: str,
        named: Endpoint,
        modules: Sequence[Module],
        read_from: ReadFrom = "primary",
        allowed: Allowed = ANYWHERE,
    ) -> None:
        """`named`: the node that the URL names; `allowed`: the hosts that it may announce."""
        self.name = name
        self.facts = ServerFacts(software="redis", version="", mode="cluster", role="")
        self.settings_read_back: Mapping[str, str] = {}
        self.pids: Mapping[str, int] = {}
        self._named = named
        self._modules = modules
        self._read_from: ReadFrom = read_from
        self._allowed = allowed
        self._nodes: tuple[ClusterNode, ...] = ()
        self._known: frozenset[Address] = frozenset()
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

    @within(OPENING)
    def start(self, context: DeployContext) -> Endpoint:
        """Ask every primary whether it can be loaded; see `provider.Server.start`."""
        context.progress(f"connecting to the cluster of {self.name} ({self._named.label})")
        remark_on_exposure(context, self.name, self._named)
        self._read()
        if not self.facts.version:  # later on replicas may have become primaries
            require_replicas(self._named.label, self.endpoints, self._read_from)
        self._readers = require_as_many(self._named.label, self.endpoints, self._readers)
        try:
            with self.control() as control:
                facts = ask(control, self._modules)
                self.settings_read_back = control.config_get(READ_BACK)
                pids = [local_pid(node.endpoint, process_id(node)) for node in control.nodes]
            of_replicas = local_pids(self._replicas)
        except ServerGone as gone:
            raise UserError(str(gone)) from None
        self.facts = replace(facts, details={**facts.details, "nodes": str(len(pids))})
        parts = {f"{self.name}-{number}": pid for number, pid in enumerate(pids, start=1)}
        parts |= {f"{self.name}-replica-{number}": pid for number, pid in enumerate(of_replicas, start=1)}
        known = {part: pid for part, pid in parts.items() if pid is not None}
        self.pids = known if len(known) == len(parts) else {}
        return self._named

    def restart(self) -> Endpoint:
        """Go on if it answers again. Raises ServerGone: it does not."""
        return answering_again(self.start)

    @within(LOOK)
    def alive(self) -> bool:
        """Whether every primary answers a PING, and no replica fewer is there to be read from; slots are read again."""
        try:
            self._read()
            require_as_many(self._named.label, self.endpoints, self._readers)
            with self.control(PING_TIMEOUT_S) as control:
                control.ping()
        except (ServerGone, UserError):
            return False
        return True

    def stop(self) -> None:
        """Nothing: the cluster is the user's."""

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
                f"server {self.name} ({self._named.label}): {joined.label} has slots and was no node of the cluster "
                "when the run began, and is not connected to; begin again"
            )
        self._nodes = tuple(node for node in nodes if node.address in self._known)

    def _announced(self) -> list[ClusterNode]:
        probe(self._named)
        with RedisSession(self._named) as session:
            try:
                session.ping()
                if str(session.info("cluster").get("cluster_enabled", "")) != "1":
                    raise UserError(
                        f"server {self.name} ({self._named.label}): it is no node of a cluster; leave out --cluster, "
                        "or cluster=yes of its URL"
                    )
                return read_topology(session, self._allowed)
            except BadReply as bad:
                raise UserError(str(bad)) from None
            except ServerGone as gone:
                raise UserError(explain(session, gone)) from None

    def _require_reached(self, node: ClusterNode) -> None:
        """Who gets load answers at the address that is announced for it, and is that node. Raises UserError."""
        if not node.is_primary and (self._read_from == "primary" or not node.primary_id):
            return
        (endpoint,) = endpoints_of(self._named, [node])
        announced = f"server {self.name} ({self._named.label}): it announces a node of its cluster at {node.label}"
        remedy = "every node must be reached from here: run loadstone where they are, or set cluster-announce-ip there"
        try:
            probe(endpoint)
        except UserError as error:
            raise UserError(f"{announced}, which cannot be used ({error}); {remedy}") from None
        with RedisSession(endpoint) as session:
            try:
                found = session.call(b"CLUSTER", "MYID")
            except ServerGone as gone:
                raise UserError(explain(session, gone)) from None
        if not isinstance(found, bytes) or found.decode(errors="replace") != node.id:
            raise UserError(f"{announced}, and another one answers there; {remedy}")
        if not node.is_primary and not follows(endpoint):
            raise UserError(f"{announced}, a replica whose link to its primary is down; wait until it is in sync")
