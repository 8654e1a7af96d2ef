"""A Redis Cluster as a user has it: plain redis-servers, and slots that move while they are loaded."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
import redis

from loadstone.experiment.plan.endpoints import SLOTS, even_slots
from tests.real_servers import UserRedis, wait_until

PASSWORD = "only-for-this-test"
OPTIONS = ("--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--requirepass", PASSWORD)
OPTIONS_TOO = ("--masterauth", PASSWORD, "--repl-diskless-sync-delay", "0", "--enable-debug-command", "yes")


@dataclass
class TheirCluster:
    """The first `holders` of its nodes have the slots."""

    nodes: list[UserRedis]
    holders: int

    @property
    def url(self) -> str:
        """Of the second node: any will do."""
        return f"redis://:{PASSWORD}@127.0.0.1:{self.nodes[1].port}"

    def client(self, number: int) -> redis.Redis:
        """Of one node."""
        return self.nodes[number].client(password=PASSWORD)

    def id(self, number: int) -> str:
        return str(self.client(number).execute_command("CLUSTER", "MYID"))

    def keys(self) -> list[str]:
        """Of all nodes."""
        return [str(key) for number in range(len(self.nodes)) for key in self.client(number).keys("*")]

    def calls(self, command: str) -> int:
        """Of all nodes together, refused ones too."""
        found = [
            self.client(number).info("commandstats").get(f"cmdstat_{command}", {}) for number in range(len(self.nodes))
        ]
        return sum(one.get("calls", 0) + one.get("rejected_calls", 0) for one in found)

    def move(
        self, slots: Sequence[int], source: int, target: int, *, halfway: Callable[[], None] | None = None
    ) -> None:
        """Move slots with their keys, as redis-cli --cluster reshard does it. `halfway`: between keys and slots."""
        ids = {number: self.id(number) for number in (source, target)}
        theirs, ours = self.client(source), self.client(target)
        for slot in slots:
            ours.execute_command("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[source])
            theirs.execute_command("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[target])
            self._migrate(slot, source, target)
            if halfway is not None:
                halfway()
            ours.execute_command("CLUSTER", "SETSLOT", slot, "NODE", ids[target])
            while not self._let_go(slot, source, ids[target]):  # a transaction that was queued before made keys again
                self._migrate(slot, source, target)

    def _migrate(self, slot: int, source: int, target: int) -> None:
        theirs = self.client(source)
        while keys := theirs.execute_command("CLUSTER", "GETKEYSINSLOT", slot, 100):
            to = ("127.0.0.1", self.nodes[target].port, "", 0, 5000, "REPLACE")
            theirs.execute_command("MIGRATE", *to, "AUTH", PASSWORD, "KEYS", *keys)

    def _let_go(self, slot: int, source: int, new: str) -> bool:
        """Whether the node gave a slot away; False where it still holds keys of it."""
        try:
            self.client(source).execute_command("CLUSTER", "SETSLOT", slot, "NODE", new)
        except redis.ResponseError:
            if not self.client(source).execute_command("CLUSTER", "GETKEYSINSLOT", slot, 1):
                raise
            return False
        return True


@contextmanager
def resharded(cluster: TheirCluster, slots: Sequence[int], source: int, target: int) -> Iterator[None]:
    """Moves slots there and back again as long as the context lasts, at least once; fails where one cannot be moved."""
    done, moved, failures = threading.Event(), threading.Event(), []

    def move() -> None:
        try:
            while not (done.is_set() and moved.is_set()):
                cluster.move(slots, source, target)
                cluster.move(slots, target, source)
                moved.set()
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=move)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
    assert not failures, failures


@pytest.fixture
def their_cluster(user_redis: Callable[..., UserRedis]) -> Callable[..., TheirCluster]:
    """Makes a cluster of primaries, `spare` of them without slots, and `replicas` of the first one."""

    def make(holders: int = 3, *, spare: int = 0, replicas: int = 0, options: Sequence[str] = ()) -> TheirCluster:
        nodes = [user_redis(*OPTIONS, *OPTIONS_TOO, *options) for _ in range(holders + spare + replicas)]
        cluster = TheirCluster(nodes, holders)
        for number, ((first, last),) in enumerate(even_slots(holders)):
            cluster.client(number).execute_command("CLUSTER", "ADDSLOTSRANGE", first, last)
        for number in range(len(nodes)):
            cluster.client(number).execute_command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            cluster.client(0).execute_command("CLUSTER", "MEET", "127.0.0.1", nodes[number].port)
        everyone = range(len(nodes))
        wait_until(lambda: all(_is_formed(cluster.client(number), len(nodes)) for number in everyone))
        for number in range(holders + spare, len(nodes)):
            cluster.client(number).execute_command("CLUSTER", "REPLICATE", cluster.id(0))
        wait_until(lambda: all(_replicas(cluster.client(number)) == replicas for number in everyone))
        wait_until(lambda: cluster.client(0).info("replication")["connected_slaves"] == replicas)
        return cluster

    return make


def _replicas(client: redis.Redis) -> int:
    """That a node knows of."""
    return str(client.execute_command(b"CLUSTER", "NODES")).count("slave")


def _is_formed(client: redis.Redis, nodes: int) -> bool:
    info = client.execute_command("CLUSTER INFO")
    return (info["cluster_state"], info["cluster_known_nodes"], info["cluster_slots_ok"]) == (
        "ok",
        str(nodes),
        str(SLOTS),
    )
