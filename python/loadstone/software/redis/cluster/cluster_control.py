"""The control connections to a Redis Cluster: one a node, queried as if they were one server."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from redis.crc import key_slot

from loadstone.bounds.replies import read_as, whole
from loadstone.plan.drive_plan import Endpoint
from loadstone.software.redis.cluster.cluster_info import merged_info
from loadstone.software.redis.control import RedisControl

Key = str | bytes | int
KEYLESS = frozenset({"CLIENT", "CLUSTER", "CONFIG", "INFO", "LATENCY", "MEMORY", "SLOWLOG"})
"""Commands whose arguments are no keys. Of these, and of commands without arguments, every node is queried."""


class ClusterControl(RedisControl):
    """Queries the node that has a command's key, or all of them; see `RedisControl`.

    Numbers of all nodes are added up and lists joined; of other answers it is the first node's.
    """

    def __init__(self, endpoints: Sequence[Endpoint], timeout_s: float = 5.0) -> None:
        super().__init__(endpoints[0], timeout_s)
        self.nodes = tuple(NodeControl(endpoint, timeout_s) for endpoint in endpoints)

    def close(self) -> None:
        """Close all connections. May be called more than once."""
        for node in self.nodes:
            node.close()

    def each_node(self) -> "Sequence[NodeControl]":
        """See `RedisSession.each_node`."""
        return self.nodes

    def node_of(self, key: Key) -> "NodeControl":
        """The node that has a key."""
        slot = key_slot(key if isinstance(key, bytes) else str(key).encode())
        return next(node for node in self.nodes if any(first <= slot <= last for first, last in node.endpoint.slots))

    def call(self, *command: Any) -> Any:
        """The reply to one command: of the node that has its key, or of all nodes put together.

        UNLINK may name keys of several nodes.
        """
        name = str(command[0]).upper().split()[0]
        if name in KEYLESS or len(command) == 1:
            replies = [node.call(*command) for node in self.nodes]
            with read_as(self.endpoint.label, name, "the same kind of reply from every node"):
                return _together(replies)
        if name == "UNLINK":
            replies = self.pipelined([(name, key) for key in command[1:]])
            return sum(whole(self.endpoint.label, name, reply) for reply in replies)
        return self.node_of(command[1]).call(*command)

    def pipelined(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """The replies to several commands, each of the node that has its key; see `RedisControl.pipelined`."""
        places: dict[NodeControl, list[int]] = {}
        for place, command in enumerate(commands):
            places.setdefault(self.node_of(command[1]), []).append(place)
        found: dict[int, Any] = {}
        for node, own in places.items():
            found |= dict(zip(own, node.pipelined([commands[place] for place in own]), strict=True))
        return [found[place] for place in range(len(commands))]

    def present(self, keys: Sequence[str]) -> list[bool]:
        """See `RedisControl.present`; keys of several slots are looked up one by one."""
        return [bool(reply) for reply in self.pipelined([("EXISTS", key) for key in keys])]

    def info(self, *sections: str) -> Mapping[str, Any]:
        """INFO of all nodes as of one server; see `merged_info`."""
        nodes = [node.info(*sections) for node in self.nodes]
        with read_as(self.endpoint.label, "INFO", "figures of every node"):
            return merged_info(nodes)

    def config_get(self, names: Iterable[str]) -> dict[str, str]:
        """The settings of these names; where the nodes differ, what each has, with commas between."""
        required = list(names)
        found: dict[str, list[str]] = {}
        for node in self.nodes:
            for name, value in node.config_get(required).items():
                found.setdefault(name, []).append(value)
        return {name: ", ".join(dict.fromkeys(values)) for name, values in found.items()}

    def remove_beginning(self, prefix: str) -> int:
        """Remove every key that begins with `prefix`; how many there were. See `RedisControl.remove_beginning`."""
        return sum(node.remove_beginning(prefix) for node in self.nodes)


class NodeControl(RedisControl):
    """One node of a cluster. UNLINK takes keys of different slots: they are sent one by one, all at once."""

    def call(self, *command: Any) -> Any:
        """See `RedisControl.call`."""
        if command[0] != "UNLINK":
            return super().call(*command)
        replies = self.pipelined([("UNLINK", key) for key in command[1:]])
        return sum(whole(self.endpoint.label, "UNLINK", reply) for reply in replies)


def _together(replies: Sequence[Any]) -> Any:
    first = replies[0]
    if isinstance(first, int) and not isinstance(first, bool):
        return sum(replies)
    if isinstance(first, list):
        return [item for reply in replies for item in reply]
    return first
