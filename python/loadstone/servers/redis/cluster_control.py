"""The control connections to a Redis Cluster: one a node, queried as if they were one server."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from redis.crc import key_slot
from redis.exceptions import AskError

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.monitors.metrics.redis import METRICS
from loadstone.run_folder.ledger import ServerIdentity
from loadstone.safety.bounds.deadlines import extend_deadline
from loadstone.safety.bounds.replies import as_whole_number, read_as
from loadstone.safety.errors import ServerGone
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.redis.session import Redirected
from loadstone.servers.redis.url import place_of_cluster
from loadstone.text.message import said

Key = str | bytes | int
KEYLESS = frozenset({"CLIENT", "CLUSTER", "CONFIG", "INFO", "LATENCY", "MEMORY", "SLOWLOG"})
"""Commands whose arguments are no keys. Of these, and of commands without arguments, every node is queried."""
SEARCHES_IN_VAIN = 3
"""Searches of all nodes for keys of ours, in a row, while slots move."""
REDIRECTIONS_MAX = 5
"""How often a command is sent on."""
OVER_NODES = {metric.name: metric.over_nodes for metric in METRICS}
TEXT_BETWEEN = "+"


class ClusterControl(RedisControl):
    """Queries the node that has a command's key, or all of them; see `RedisControl`.

    Numbers of all nodes are added up and lists joined; of other answers it is the first node's. A slot that moved to
    another of these nodes is looked up there. No other address is ever connected to, whatever a node says.
    """

    def __init__(self, endpoints: Sequence[Endpoint], timeout_s: float = 5.0, named: Endpoint | None = None) -> None:
        """`named`: the node by which the user names the cluster; else the first."""
        super().__init__(named or endpoints[0], timeout_s)
        self.nodes = tuple(NodeControl(self, endpoint, timeout_s) for endpoint in endpoints)
        self._moved: dict[int, NodeControl] = {}

    def close(self) -> None:
        """Close all connections. May be called more than once."""
        if self.reads is not None:
            self.reads.close()
        for node in self.nodes:
            node.close()

    def place(self, server: str) -> ServerIdentity:
        """See `RedisControl.place`."""
        return place_of_cluster(server, self.endpoint)

    def copies(self, server: str) -> None:
        """None that are noted: its nodes say by themselves which of them is a primary."""

    def each_node(self) -> "Sequence[NodeControl]":
        """See `RedisSession.each_node`."""
        return self.nodes

    def node_of(self, key: Key) -> "NodeControl":
        """The node that has a key."""
        slot = key_slot(key if isinstance(key, bytes) else str(key).encode())
        if slot in self._moved:
            return self._moved[slot]
        return next(node for node in self.nodes if any(first <= slot <= last for first, last in node.endpoint.slots))

    def call(self, *command: Any) -> Any:
        """The reply to one command: of the node that has its key, or of all nodes put together.

        UNLINK may name keys of several nodes.
        """
        name = str(command[0]).upper().split()[0]
        if name in KEYLESS or len(command) == 1:
            replies = [node.call(*command) for node in self.nodes]
            with read_as(self.endpoint.label, name, said("the same kind of reply from every node")):
                return _together(replies)
        if name == "UNLINK":
            replies = self.pipelined([(name, key) for key in command[1:]])
            return sum(as_whole_number(self.endpoint.label, name, reply) for reply in replies)
        return self._followed(command)

    def pipelined(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """The replies to several commands, each of the node that has its key; see `RedisControl.pipelined`."""
        places: dict[NodeControl, list[int]] = {}
        for place, command in enumerate(commands):
            places.setdefault(self.node_of(command[1]), []).append(place)
        replies: dict[int, Any] = {}
        for node, own in places.items():
            replies |= dict(zip(own, self._all_followed(node, [commands[place] for place in own]), strict=True))
        return [replies[place] for place in range(len(commands))]

    def _all_followed(self, node: "NodeControl", commands: Sequence[Sequence[Any]]) -> list[Any]:
        """The replies to commands for one node; of those that it sends on, each by itself."""
        replies = node.each_reply(commands)
        if not any(isinstance(reply, AskError) for reply in replies):
            return node.without_errors(commands, replies)
        return [
            self._followed(command) if isinstance(reply, AskError) else node.without_errors([command], [reply])[0]
            for command, reply in zip(commands, replies, strict=True)
        ]

    def _followed(self, command: Sequence[Any]) -> Any:
        """The reply of the node that has a command's key by now. Raises ServerGone."""
        node, asks = self.node_of(command[1]), False
        for redirections in range(REDIRECTIONS_MAX + 1):
            try:
                return node.pipelined([("ASKING",), command])[1] if asks else node.call_here(*command)
            except Redirected as sent_on:
                if redirections == REDIRECTIONS_MAX:
                    raise
                node, asks = self._node_at(node, *sent_on.node), sent_on.slot is None
                if sent_on.slot is not None:
                    self._moved[sent_on.slot] = node
        raise AssertionError("the last attempt returns or raises")

    def _node_at(self, node: "NodeControl", host: str, port: int) -> "NodeControl":
        """The one of our nodes that another names. Raises ServerGone."""
        host = host.strip("[]") or node.endpoint.host
        named = next((ours for ours in self.nodes if (ours.endpoint.host, ours.endpoint.port) == (host, port)), None)
        if named is None:
            raise ServerGone(
                "server {endpoint_label}: a slot moved to {host}:{port}, which was no primary of the cluster "
                "when the run began and is not connected to; begin again",
                endpoint_label=node.endpoint.label,
                host=host,
                port=port,
            )
        return named

    def present(self, keys: Sequence[str]) -> list[bool]:
        """See `RedisControl.present`; keys of several slots are looked up one by one."""
        return [bool(reply) for reply in self.pipelined([("EXISTS", key) for key in keys])]

    def info(self, *sections: str) -> Mapping[str, Any]:
        """INFO of all nodes as of one server; see `merged_info`."""
        extend_deadline(len(self.nodes))
        nodes = [node.info(*sections) for node in self.nodes]
        with read_as(self.endpoint.label, "INFO", said("figures of every node")):
            return merged_info(nodes)

    def config_get(self, names: Iterable[str]) -> dict[str, str]:
        """The settings of these names; where the nodes differ, what each has, with commas between."""
        required = list(names)
        settings: dict[str, list[str]] = {}
        for node in self.nodes:
            for name, value in node.config_get(required).items():
                settings.setdefault(name, []).append(value)
        return {name: ", ".join(dict.fromkeys(values)) for name, values in settings.items()}

    def remove_beginning(self, prefix: str) -> int:
        """Remove every key that begins with `prefix`; how many there were. See `RedisControl.remove_beginning`.

        A key may move to a node that was searched already. So all are searched again where slots moved meanwhile; where
        they go on moving, until several searches in a row found nothing.
        """
        removed, in_vain = 0, 0
        while in_vain < SEARCHES_IN_VAIN:
            before = self._slots()
            now_removed = sum(node.remove_beginning(prefix) for node in self.nodes)
            removed += now_removed
            in_vain = 0 if now_removed else in_vain + 1
            if before == self._slots() and not any(slot.startswith("[") for slots in before for slot in slots):
                break
        return removed

    def _slots(self) -> list[tuple[str, ...]]:
        """Return the slots of each node, as it describes them now."""
        return [node.own_slots() for node in self.nodes]


class NodeControl(RedisControl):
    """One node of a cluster. UNLINK takes keys of different slots, each where it is by now."""

    def __init__(self, cluster: ClusterControl, endpoint: Endpoint, timeout_s: float) -> None:
        super().__init__(endpoint, timeout_s)
        self._cluster = cluster

    def call(self, *command: Any) -> Any:
        """See `RedisControl.call`."""
        return self._cluster.call(*command) if command[0] == "UNLINK" else self.call_here(*command)

    def call_here(self, *command: Any) -> Any:
        """The reply of this node, whatever the command."""
        return super().call(*command)

    def own_slots(self) -> tuple[str, ...]:
        """Its slots as it describes them; what begins with a bracket is one that moves. Raises ServerGone."""
        with read_as(self.endpoint.label, "CLUSTER NODES", said("a line of its own")):
            lines = [line.split(b" ") for line in self.call(b"CLUSTER", "NODES").splitlines()]
            own = next(line for line in lines if b"myself" in line[2].split(b","))
            return tuple(slots.decode() for slots in own[8:])


def _together(replies: Sequence[Any]) -> Any:
    first = replies[0]
    if isinstance(first, int) and not isinstance(first, bool):
        return sum(replies)
    if isinstance(first, list):
        return [item for reply in replies for item in reply]
    return first


def merged_info(nodes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Metrics as each declares it, counts by name added up, and all else the first node's.

    `run_id` is that of all nodes and `uptime_in_seconds` the shortest, so a node's restart is observed as one's.
    """
    merged = {name: values for node in reversed(nodes) for name, values in node.items()}
    for name in merged:
        values = [node[name] for node in nodes if name in node]
        if all(isinstance(value, Mapping) for value in values):
            merged[name] = _added_up(values)
        elif OVER_NODES.get(name) == "sum":
            merged[name] = sum(values)
        elif OVER_NODES.get(name) == "highest":
            merged[name] = max(values)
    if "run_id" in merged:
        merged["run_id"] = TEXT_BETWEEN.join(str(node.get("run_id")) for node in nodes)
    if "uptime_in_seconds" in merged:
        merged["uptime_in_seconds"] = min(node.get("uptime_in_seconds", 0) for node in nodes)
    return merged


def _added_up(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One command's counts (`calls`, `usec`...), one error's, or a database's keys, of all nodes."""
    added: dict[str, Any] = {}
    for part in parts:
        for name, value in part.items():
            is_number = isinstance(value, (int, float)) and isinstance(added.get(name, 0), (int, float))
            added[name] = added.get(name, 0) + value if is_number else value
    if added.get("calls"):
        added["usec_per_call"] = round(added["usec"] / added["calls"], 2)
    return added
