"""Reads from replicas on real servers: who gets what, what is late, and what happens without them."""

import os
import signal
import threading
from collections.abc import Callable

import pytest
import redis
from tests.real_servers import UserRedis, wait_until
from tests.users_cluster import TheirCluster

from loadstone.drivers.driver import drive_alone
from loadstone.drivers.native import NativeDriver
from loadstone.drivers.outcome import DriveRecord
from loadstone.experiment.plan.drive_plan import Closed, Keys, Phases, Plan, Pool
from loadstone.experiment.plan.operations import Operation, ServerCommand
from loadstone.measure.driven_plan import with_reads
from loadstone.safety.errors import ServerGone, UserError
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.redis.replicated import ReplicatedSettings
from loadstone.servers.redis.users_server import UrlSettings
from loadstone.servers.server import DeployContext, ManyEndpoints

Make = Callable[..., UserRedis]
PREFIX = "loadstone:reads:"
KEYS = 100
SET = ServerCommand(args=("SET", "{key}", "{document}"), expect="ok")
GET = ServerCommand(args=("GET", "{key}"), expect="document")
OPERATIONS = (
    Operation(name="set", commands=(SET,), writes="document"),
    Operation(name="get", commands=(GET,)),
    Operation(name="incr", commands=(ServerCommand(args=("INCR", "loadstone:reads:counter:1")),)),
)


def plan_of(server: ManyEndpoints, control: RedisControl, **changes: object) -> Plan:
    """As a run makes it."""
    in_service = sum(endpoint.in_service for endpoint in server.endpoints)
    fields = {
        "endpoints": server.endpoints,
        "model": Closed(users=4),
        "pool": Pool(connections=4 * in_service),
        "phases": Phases(warm_up_s=0, measure_s=0.3, drain_s=20),
        "operations": OPERATIONS,
        "keys": Keys(prefix=PREFIX, count=KEYS),
    }
    return with_reads(Plan.model_validate({**fields, **changes}), [control])


def drive(plan: Plan) -> DriveRecord:
    return drive_alone(NativeDriver(), plan)


def calls(node: redis.Redis) -> dict[str, int]:
    """What a server counted of the load's commands."""
    stats = node.info("commandstats")
    return {name: stats.get(f"cmdstat_{name}", {}).get("calls", 0) for name in ("get", "set", "incr")}


@pytest.fixture
def followed(user_redis: Make) -> Callable[[int], list[UserRedis]]:
    """A primary of the user's, with so many replicas in sync."""

    def make(replicas: int) -> list[UserRedis]:
        primary = user_redis("--repl-diskless-sync-delay", "0")
        link = ("--replicaof", f"127.0.0.1 {primary.port}")
        servers = [primary, *(user_redis(*link) for _ in range(replicas))]
        wait_until(lambda: in_sync(primary) == replicas)
        return servers

    return make


def in_sync(primary: UserRedis) -> int:
    said = primary.client().info("replication")
    return sum(said[name]["state"] == "online" for name in said if name.startswith("slave") and name[5:].isdigit())


def url(server: UserRedis, read_from: str) -> str:
    return f"redis://127.0.0.1:{server.port}?read_from={read_from}"


@pytest.mark.parametrize("read_from", ["replica", "any"])
def test_each_server_counts_exactly_what_went_there(
    followed: Callable[[int], list[UserRedis]], context: DeployContext, read_from: str
) -> None:
    servers = followed(2)
    nodes = [server.client() for server in servers]
    server = UrlSettings(url=url(servers[0], read_from)).server("redis")
    server.start(context)
    assert isinstance(server, ManyEndpoints)
    assert [one.replica_of for one in server.endpoints] == [None, 0, 0]
    assert set(server.pids) == {"redis", "redis-replica-1", "redis-replica-2"}
    with server.control() as control:
        plan = plan_of(server, control, pipeline_depth=2, threads=2)
        assert [one.reads_only for one in plan.operations] == [False, True, False]
        before, own = [calls(node) for node in nodes], control.snapshot()
        record = drive(plan)
        wait_until(lambda: len({int(node.info("replication")["master_repl_offset"]) for node in nodes}) == 1)
        after, own_after = [calls(node) for node in nodes], control.snapshot()
        assert control.remove_numbered(PREFIX, KEYS) + control.remove_key("loadstone:reads:counter:1") > 0
    assert (record.total.errors, record.total.timeouts) == ({}, 0)
    got = [{name: now[name] - then[name] for name in now} for then, now in zip(before, after, strict=True)]
    written = record.commands["SET"].sent + record.commands["INCR"].sent
    assert [one.sent for one in record.endpoints[1:]] == [one["get"] for one in got[1:]]
    assert record.endpoints[0].sent == got[0]["set"] + got[0]["incr"] + got[0]["get"]
    assert (got[0]["set"] + got[0]["incr"], got[0]["get"] > 0) == (written, read_from == "any")
    for name in ("get", "set", "incr"):
        counted = own_after.commands[name].calls - (own.commands[name].calls if name in own.commands else 0)
        assert counted == record.commands[name.upper()].sent, "a replicated write is no second one"


def test_each_node_of_a_cluster_counts_exactly_what_went_there(
    their_cluster: Callable[..., TheirCluster], context: DeployContext
) -> None:
    cluster = their_cluster(2, replicas=1)
    with pytest.raises(UserError, match=r"has no replica in sync that could be read from; add one, or write any"):
        UrlSettings(url=f"{cluster.url}?cluster=yes&read_from=replica").server("redis").start(context)
    server = UrlSettings(url=f"{cluster.url}?cluster=yes&read_from=any").server("redis")
    server.start(context)
    assert isinstance(server, ManyEndpoints)
    ports = [node.port for node in cluster.nodes]
    places = {one.port: number for number, one in enumerate(server.endpoints)}
    assert server.endpoints[places[ports[2]]].replica_of == places[ports[0]]
    assert set(server.pids.values()) == {node.pid for node in cluster.nodes}
    with server.control() as control:
        before = [calls(cluster.client(number)) for number in range(3)]
        record = drive(plan_of(server, control))
        after = [calls(cluster.client(number)) for number in range(3)]
        assert control.remove_numbered(PREFIX, KEYS) > 0
        control.remove_key("loadstone:reads:counter:1")
    assert record.total.errors == {}
    got = [{name: now[name] - then[name] for name in now} for then, now in zip(before, after, strict=True)]
    replica = record.endpoints[places[ports[2]]]
    assert replica.sent == got[2]["get"] > 0
    assert sum(one["get"] for one in got) == record.commands["GET"].sent
    assert got[0]["set"] + got[1]["set"] == record.commands["SET"].sent
    assert record.redirections is not None
    assert record.redirections.moved == record.redirections.ask == 0
    assert cluster.keys() == []


def test_what_a_replica_without_its_link_answers_is_stale(
    followed: Callable[[int], list[UserRedis]], context: DeployContext
) -> None:
    primary, replica = followed(1)
    server = UrlSettings(url=url(primary, "replica")).server("redis")
    server.start(context)
    assert isinstance(server, ManyEndpoints)
    replica.client().execute_command("REPLICAOF", "127.0.0.1", "1")  # it keeps its data, and gets no more
    with server.control() as control:
        missing = drive(plan_of(server, control))
        control.remove_numbered(PREFIX, KEYS)
        once = Keys(prefix=PREFIX, count=KEYS, distribution="exactly_once")
        drive(plan_of(server, control, keys=once, operations=OPERATIONS[:1]))
        replica.client().execute_command("REPLICAOF", "127.0.0.1", primary.port)
        wait_until(lambda: in_sync(primary) == 1 and replica.client().dbsize() > KEYS)
        replica.client().execute_command("REPLICAOF", "127.0.0.1", "1")
        older = drive(plan_of(server, control, keys=Keys(prefix=PREFIX, count=KEYS, loaded=True)))
        control.remove_numbered(PREFIX, KEYS)
        control.remove_key("loadstone:reads:counter:1")
    for record in (missing, older):
        assert record.total.errors == {}
        assert 0 < record.endpoints[1].stale <= record.endpoints[1].ok == record.endpoints[1].sent
        assert record.endpoints[0].stale == 0
    assert missing.commands["GET"].missed >= missing.endpoints[1].stale
    assert older.commands["GET"].missed == 0


def test_a_replica_that_is_killed_leaves_its_reads_to_the_others(
    followed: Callable[[int], list[UserRedis]], context: DeployContext
) -> None:
    servers = followed(2)
    server = UrlSettings(url=url(servers[0], "replica")).server("redis")
    server.start(context)
    assert isinstance(server, ManyEndpoints)
    other = servers[2].client()
    killed = threading.Event()

    def kill() -> None:
        wait_until(lambda: calls(servers[1].client())["get"] > 100)
        os.kill(servers[1].pid, signal.SIGKILL)
        at = calls(other)["get"]
        wait_until(lambda: calls(other)["get"] > at + 1000)
        killed.set()

    thread = threading.Thread(target=kill)
    with server.control() as control:
        plan = plan_of(server, control, phases=Phases(warm_up_s=0, measure_s=3, drain_s=20))
        thread.start()
        record = drive(plan)
        thread.join()
        control.remove_numbered(PREFIX, KEYS)
        control.remove_key("loadstone:reads:counter:1")
    assert killed.is_set()
    assert set(record.total.errors) <= {"connection_closed", "connection_reset"}
    most = 4 + plan.pool.connections  # a user a request, and one each connection that is not yet noticed as lost
    assert sum(record.total.errors.values()) <= most, "what was on its way"
    assert (record.stopped, record.total.timeouts) == (None, 0)
    assert not server.alive()
    with pytest.raises(ServerGone, match=r"replicas that can be read from: 2 when the run began, 1 by now"):
        server.restart()


def test_a_replica_that_joins_later_is_never_read(
    followed: Callable[[int], list[UserRedis]], user_redis: Make, context: DeployContext
) -> None:
    primary, replica = followed(1)
    server = UrlSettings(url=url(primary, "any")).server("redis")
    server.start(context)
    joined = user_redis("--replicaof", f"127.0.0.1 {primary.port}")
    wait_until(lambda: in_sync(primary) == 2)
    server.restart()
    assert isinstance(server, ManyEndpoints)
    assert [one.port for one in server.endpoints] == [primary.port, replica.port]
    assert joined.client().info("stats")["total_connections_received"] == 1, "the test's own"


def test_replicas_that_cannot_be_read_are_named_in_one_line(
    followed: Callable[[int], list[UserRedis]], user_redis: Make, context: DeployContext
) -> None:
    primary, replica = followed(1)

    def refusal(address: str) -> str:
        with pytest.raises(UserError) as refused:
            UrlSettings(url=address).server("redis").start(context)
        assert "\n" not in str(refused.value)
        return str(refused.value)

    assert f"give the address of its primary, 127.0.0.1:{primary.port}" in refusal(url(replica, "any"))
    assert "has no replica in sync that could be read from" in refusal(url(user_redis(), "any"))
    gone = user_redis("--replicaof", f"127.0.0.1 {primary.port}", "--replica-announce-port", "1")
    wait_until(lambda: in_sync(primary) == 2)
    assert "it announces a replica at 127.0.0.1:1, which cannot be used" in refusal(url(primary, "any"))
    stranger = user_redis()
    gone.client().config_set("replica-announce-port", stranger.port)
    gone.client().execute_command("REPLICAOF", "NO", "ONE")
    gone.client().execute_command("REPLICAOF", "127.0.0.1", primary.port)
    wait_until(lambda: str(stranger.port) in str(primary.client().info("replication")) and in_sync(primary) == 2)
    assert "and another one answers there" in refusal(url(primary, "any"))


def test_our_own_replicas_are_read(context: DeployContext) -> None:
    server = ReplicatedSettings(replicas=1, read_from="any").server("redis")
    try:
        server.start(context)
        assert isinstance(server, ManyEndpoints)
        with server.control() as control:
            record = drive(plan_of(server, control))
        assert record.total.errors == {}
        assert all(one.ok > 0 for one in record.endpoints)
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("redis://127.0.0.1?read_from=both", "read_from 'both' is none of primary, replica, any"),
        ("unix:///tmp/redis.sock?read_from=any", "replicas are reached by TCP"),
        ("redis+sentinel://127.0.0.1/main?read_from=", "read_from '' is none of primary, replica, any"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused(address: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        UrlSettings(url=address)
