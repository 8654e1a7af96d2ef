"""Drives that take turns over other transports: a Redis Cluster, TLS, and HTTP. Needs the built engine."""

from collections.abc import Callable, Iterator

import pytest
from tests.real_servers import Certificates, UserRedis

from loadstone.drivers.driver import RoundsOptions
from loadstone.drivers.native import NativeDriver
from loadstone.drivers.null_server import NullServerProcess
from loadstone.drivers.outcome import DriveRecord
from loadstone.experiment.plan.drive_plan import Closed, Keys, Phases, Plan, Pool
from loadstone.experiment.plan.endpoints import Endpoint, Tls
from loadstone.experiment.plan.operations import HttpRequest, Operation, ServerCommand
from loadstone.servers import registry
from loadstone.servers.redis.cluster import RedisCluster
from loadstone.servers.server import DeployContext

from .conftest import Store

ROUNDS = RoundsOptions(slice_s=0.05, settle_s=0.005, orders=((0, 1), (1, 0), (1, 0), (0, 1)))
SET = Operation(name="set", commands=(ServerCommand(args=("SET", "{key}", "{value}"), expect="ok"),))


def plan(endpoints: tuple[Endpoint, ...], **parts: object) -> Plan:
    return Plan(
        **{  # type: ignore[arg-type]
            "endpoints": endpoints,
            "model": Closed(users=6),
            "pool": Pool(connections=6),
            "phases": Phases(warm_up_s=0, measure_s=1.0, drain_s=5.0),
            "operations": (SET,),
            "keys": Keys(prefix="loadstone:rounds:", count=50),
            **parts,
        }
    )


def drive(*shares: Plan) -> list[DriveRecord]:
    records = NativeDriver().drive(shares, lambda _, __: None, ROUNDS)
    for record in records:
        assert (record.stopped, record.total.errors, record.connections.lost) == (None, {}, 0)
        assert record.total.offered == record.total.sent == record.total.ok
        done = [operation.window_ok for operation in record.operations.values()]
        assert sum(one.ok for one in record.slices) == sum(done) > 0
        assert len(record.slices) == len(ROUNDS.orders)
    return records


@pytest.fixture
def cluster(context: DeployContext) -> Iterator[RedisCluster]:
    server = registry.make_server("nodes", {"kind": "cluster", "nodes": 3})
    assert isinstance(server, RedisCluster)
    server.start(context)
    yield server
    server.stop()


def test_the_nodes_of_a_cluster_and_one_server(cluster: RedisCluster, stores: tuple[Store, Store]) -> None:
    before = stores[0].calls()
    with cluster.control() as control:
        earlier = control.commandstats().get("set", 0)
        split, single = drive(plan(cluster.endpoints, pipeline_depth=4, threads=2), plan((stores[0].endpoint,)))
        assert control.commandstats()["set"] - earlier == split.commands["SET"].sent
    assert stores[0].calls() - before == single.commands["SET"].sent
    assert [node.sent > 0 for node in split.endpoints] == [True] * 3


def test_tls(user_redis: Callable[..., UserRedis], debian_redis: object, certificates: Certificates) -> None:
    files = ("--tls-cert-file", str(certificates.cert), "--tls-key-file", str(certificates.key))
    ca = ("--tls-ca-cert-file", str(certificates.ca), "--tls-auth-clients", "no")
    theirs = user_redis(*files, *ca, binary=debian_redis, tls=True)
    endpoint = Endpoint(host="localhost", port=theirs.port, tls=Tls(ca_file=str(certificates.ca)))
    drive(plan((endpoint,), threads=2), plan((endpoint,), pool=Pool(connections=2)))


def test_http() -> None:
    servers = [NullServerProcess({"protocol": "http1", "body_bytes": 20}) for _ in range(2)]
    try:
        endpoints = [server.start(DeployContext()) for server in servers]
        get = Operation(name="get", requests=(HttpRequest(path="/items/{number}"),))
        records = drive(*(plan((one,), protocol="http1", operations=(get,)) for one in endpoints))
        assert [record.commands["GET /items/{number}"].replied for record in records] == [
            record.total.ok for record in records
        ]
    finally:
        for server in servers:
            server.stop()
