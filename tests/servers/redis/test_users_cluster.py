"""A cluster of the user's by URL: found, loaded, resharded under load, and left as it was."""

import os
import re
import signal
import threading
from collections.abc import Callable

import pytest
from redis.crc import key_slot
from tests.real_servers import UserRedis, wait_until
from tests.users_cluster import PASSWORD, TheirCluster, resharded

from loadstone.drivers.driver import drive_alone
from loadstone.drivers.native import NativeDriver
from loadstone.drivers.outcome import DriveRecord
from loadstone.experiment.plan.drive_plan import Closed, Keys, Phases, Plan, Pool
from loadstone.experiment.plan.operations import Operation, ServerCommand
from loadstone.safety.errors import ServerGone, UserError
from loadstone.servers import registry
from loadstone.servers.redis.cluster_control import NodeControl
from loadstone.servers.redis.url import names_cluster, parse_url
from loadstone.servers.redis.users_cluster import UsersCluster
from loadstone.servers.redis.users_server import UrlSettings
from loadstone.servers.server import DeployContext, ManyEndpoints

Make = Callable[..., TheirCluster]
PREFIX = "loadstone:cluster:"
KEYS = 200
SET = ServerCommand(args=("SET", "{key}", "{document}"), expect="ok")
GET = ServerCommand(args=("GET", "{key}"), expect="document")


def server_of(cluster: TheirCluster) -> UsersCluster:
    server = UrlSettings(url=f"{cluster.url}?cluster=yes").server("redis")
    assert isinstance(server, UsersCluster)
    return server


def drive(server: UsersCluster, *, measure_s: float = 0.5, pipeline_depth: int = 1, threads: int = 1) -> DriveRecord:
    operations = (
        Operation(name="set", commands=(SET,), writes="document", read_back=GET),
        Operation(name="get", commands=(GET,)),
        Operation(name="both", commands=(SET, GET), writes="document"),
    )
    plan = Plan(
        endpoints=server.endpoints,
        model=Closed(users=6),
        pool=Pool(connections=6 * len(server.endpoints)),
        pipeline_depth=pipeline_depth,
        threads=threads,
        phases=Phases(warm_up_s=0, measure_s=measure_s, drain_s=20),
        operations=operations,
        keys=Keys(prefix=PREFIX, count=KEYS),
    )
    return drive_alone(NativeDriver(), plan)


def own_slots(cluster: TheirCluster, count: int, of: int = 0) -> list[int]:
    """Slots of one node, the first if nothing is said, that have keys of the plan."""
    slots = {key_slot(f"{PREFIX}{number:012d}".encode()) for number in range(KEYS)}
    return sorted(slot for slot in slots if slot * cluster.holders // 16_384 == of)[:count]


def refusal(url: str) -> str:
    with pytest.raises(UserError) as refused:
        UrlSettings(url=url).server("redis").start(DeployContext())
    assert PASSWORD not in str(refused.value)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_its_nodes_are_found_by_any_of_them(their_cluster: Make, context: DeployContext) -> None:
    cluster = their_cluster(3, spare=1, replicas=1)
    server = server_of(cluster)
    assert isinstance(server, ManyEndpoints)
    assert server.start(context).port == cluster.nodes[1].port
    ports = [node.port for node in cluster.nodes]
    assert [(one.port, bool(one.slots)) for one in server.endpoints[3:]] == [(ports[3], False), (ports[4], False)]
    assert {one.port for one in server.endpoints[:3]} == set(ports[:3])
    assert {one.password for one in server.endpoints} == {PASSWORD}
    assert set(server.pids.values()) == {node.pid for node in cluster.nodes[:4]}
    assert (server.facts.mode, server.facts.details["nodes"]) == ("cluster", "4")
    assert server.alive()
    with server.control() as control:
        assert control.place("redis").address == f"redis://127.0.0.1:{ports[1]}/0?cluster=yes"
    assert cluster.keys() == []


def test_a_reshard_under_load_is_no_error(their_cluster: Make, context: DeployContext) -> None:
    cluster = their_cluster(3)
    server = server_of(cluster)
    server.start(context)
    before = {name: cluster.calls(name) for name in ("set", "get")}
    with resharded(cluster, own_slots(cluster, 12), 0, 2):
        record = drive(server, measure_s=2, threads=2)
    assert (record.total.errors, record.total.timeouts) == ({}, 0)
    assert record.redirections is not None
    assert record.redirections.moved > 0
    assert record.redirections.unknown == record.redirections.too_many == 0
    assert record.read_back.wrong == 0
    assert sum(one.sent for one in record.endpoints) == record.total.sent
    for name in ("SET", "GET"):
        calls = cluster.calls(name.lower()) - before[name.lower()]
        assert record.commands[name].replied <= calls <= record.commands[name].sent
    with server.control() as control:
        assert control.remove_numbered(PREFIX, KEYS) == KEYS
    assert cluster.keys() == []


@pytest.mark.parametrize("pipeline_depth", [1, 8])
def test_a_key_that_is_moving_is_asked_for(their_cluster: Make, context: DeployContext, pipeline_depth: int) -> None:
    cluster = their_cluster(2, spare=1)
    server = server_of(cluster)
    server.start(context)
    moving, records = threading.Event(), []

    def load() -> None:
        records.append(drive(server, pipeline_depth=pipeline_depth))

    def halfway() -> None:
        """Of the last slot: its keys are at the target, and the source still has the slot."""
        if not moving.is_set():
            moving.set()
            load()

    cluster.move(own_slots(cluster, 1), 0, 2, halfway=halfway)
    (record,) = records
    assert record.total.errors == {}
    assert record.redirections is not None
    assert record.redirections.ask > 0
    assert record.endpoints[2].ok > 0, "the node that had no slots"
    with server.control() as control:
        assert control.remove_beginning(PREFIX) == KEYS
    after = drive(server, pipeline_depth=pipeline_depth)
    assert after.total.errors == {}
    assert after.redirections is not None
    assert 0 < after.redirections.moved <= 6 * pipeline_depth
    with server.control() as control:
        assert control.remove_beginning(PREFIX) == KEYS
    assert cluster.keys() == []


def test_keys_are_removed_while_their_slot_moves(their_cluster: Make, context: DeployContext) -> None:
    cluster = their_cluster(2)
    server = server_of(cluster)
    server.start(context)
    drive(server)
    removed = []

    def halfway() -> None:
        with server.control() as control:
            removed.append(control.remove_numbered(PREFIX, KEYS))

    cluster.move(own_slots(cluster, 1), 0, 1, halfway=halfway)
    assert cluster.keys() == []
    assert removed[0] == KEYS
    drive(server)
    with server.control() as control:
        control.remove_beginning(PREFIX)
    assert cluster.keys() == []
    assert server.alive()
    assert drive(server).redirections.moved == 0, "the slots were read again"  # type: ignore[union-attr]


def test_keys_that_go_where_the_search_was_already_are_removed(
    their_cluster: Make, context: DeployContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = their_cluster(2)
    server = server_of(cluster)
    server.start(context)
    drive(server)
    of_the_second, search = own_slots(cluster, 20, of=1), NodeControl.remove_beginning
    searched: list[NodeControl] = []

    def moving(node: NodeControl, prefix: str) -> int:
        searched.append(node)
        if len(searched) == 2:
            cluster.move(of_the_second, 1, 0)
        return search(node, prefix)

    monkeypatch.setattr(NodeControl, "remove_beginning", moving)
    with server.control() as control:
        control.remove_beginning(PREFIX)
    assert cluster.keys() == []
    assert len(searched) == 4
    drive(server)
    with server.control() as control:
        assert control.remove_beginning(PREFIX) == KEYS
    assert len(searched) == 6, "where nothing moves once is enough"


def test_a_replica_takes_over_under_load(their_cluster: Make, context: DeployContext) -> None:
    cluster = their_cluster(3, replicas=1)
    server = server_of(cluster)
    server.start(context)
    records: list[DriveRecord] = []
    thread = threading.Thread(target=lambda: records.append(drive(server, measure_s=7)))
    thread.start()
    wait_until(lambda: cluster.calls("set") > 100)
    os.kill(cluster.nodes[0].pid, signal.SIGKILL)
    thread.join()
    (record,) = records
    assert set(record.total.errors) <= {"connection_reset", "connection_closed", "server_clusterdown"}
    assert record.redirections is not None
    assert record.redirections.moved > 0
    assert record.endpoints[-1].ok > 0, "the replica"


def test_a_node_that_joined_later_is_not_connected_to(their_cluster: Make, context: DeployContext) -> None:
    cluster = their_cluster(2, spare=1)
    server = server_of(cluster)
    server.start(context)
    late = cluster.nodes[2].port
    server._known = frozenset(place for place in server._known if place[1] != late)
    server._nodes = tuple(node for node in server._nodes if node.port != late)
    slots = own_slots(cluster, 1)
    cluster.move(slots, 0, 2)
    before = cluster.client(2).info("stats")["total_connections_received"]
    record = drive(server)
    assert list(record.total.errors) == ["server_moved"]
    assert record.redirections is not None
    assert record.redirections.unknown == record.total.errors["server_moved"]
    assert record.redirections.unknown_address == f"127.0.0.1:{late}"
    with server.control() as control, pytest.raises(ServerGone, match=f"moved to 127.0.0.1:{late}, which was no"):
        control.remove_numbered(PREFIX, KEYS)
    assert not server.alive()
    with pytest.raises(ServerGone, match="has slots and was no node of the cluster when the run began"):
        server.restart()
    assert cluster.client(2).info("stats")["total_connections_received"] - before <= 2, "the test's own"


def test_what_cannot_be_loaded_is_refused_by_name(their_cluster: Make, user_redis: Callable[..., UserRedis]) -> None:
    cluster = their_cluster(2)
    port = cluster.nodes[1].port
    assert re.search(
        rf"server (redis \()?127.0.0.1:{port}\)?: this server is one node of a Redis Cluster; add --cluster",
        refusal(cluster.url),
    )
    assert "it is no node of a cluster; leave out --cluster" in refusal(f"{user_redis().url}?cluster=yes")
    assert "it requires a password" in refusal(f"redis://127.0.0.1:{port}?cluster=yes")
    client = cluster.client(1)
    client.config_set("cluster-announce-port", 1)
    wait_until(lambda: b":1@" in cluster.client(0).execute_command(b"CLUSTER", "NODES").encode())
    url = cluster.url.replace(str(port), str(cluster.nodes[0].port))
    said = refusal(f"{url}?cluster=yes")
    assert "it announces a node of its cluster at 127.0.0.1:1, which cannot be used" in said
    assert "set cluster-announce-ip" in said
    client.config_set("cluster-announce-port", 0)
    cluster.client(0).execute_command("CLUSTER", "DELSLOTS", 77)
    said = refusal(f"{url}?cluster=yes")
    assert "its cluster does not serve (cluster_state fail" in said
    cluster.client(0).config_set("cluster-require-full-coverage", "no")
    wait_until(lambda: "no node of its cluster has slot 77" in refusal(f"{url}?cluster=yes"))


def test_the_option_of_the_url_says_so() -> None:
    assert names_cluster("redis://h:1?cluster=yes")
    assert not names_cluster("redis://h:1?cluster=no")
    assert not names_cluster("redis://h:1")
    for url, said in (
        ("redis://h:1?cluster=maybe", "cluster 'maybe' is neither yes nor no"),
        ("redis://h:1/3?cluster=yes", "a cluster has database 0 alone; leave the 3 out"),
        ("unix:///x?cluster=yes", "a cluster's nodes are reached by TCP; write redis://HOST:PORT of one of them"),
    ):
        with pytest.raises(UserError, match=said):
            parse_url(url)
    place = registry.room("redis").place("redis", "redis://h:1?cluster=yes")
    assert place.address == "redis://h:1/0?cluster=yes"
    assert registry.room("redis").place("redis", place.address) == place
