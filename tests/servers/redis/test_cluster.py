"""A real Redis Cluster of ours: how it comes and goes, what is requested of it, and load on it."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis.crc import key_slot
from tests.real_servers import wait_until
from tests.servers.redis.counted import counted

from loadstone.drivers.driver import drive_alone
from loadstone.drivers.native import NativeDriver
from loadstone.drivers.outcome import DriveRecord
from loadstone.experiment.plan.drive_plan import Closed, Keys, Open, Phases, Plan, Pool
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.operations import Operation, ServerCommand
from loadstone.monitors.metric import Metric
from loadstone.monitors.metrics.redis import METRICS, PART
from loadstone.safety.errors import ServerGone, UserError
from loadstone.servers import registry
from loadstone.servers.redis.cluster import ClusterSettings, RedisCluster
from loadstone.servers.redis.cluster_control import ClusterControl, merged_info
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.redis.monitor import snapshot
from loadstone.servers.server import DeployContext, ManyEndpoints

NODES = 3
PREFIX = "loadstone:cluster:"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisCluster]:
    """One for the tests that leave it as it was."""
    root = tmp_path_factory.mktemp("cluster")
    cluster = ClusterSettings(nodes=NODES, modules=("json",)).server("store")
    cluster.start(DeployContext(work_root=root))
    yield cluster
    cluster.stop()
    assert list(root.iterdir()) == []


@pytest.fixture
def control(cluster: RedisCluster) -> Iterator[ClusterControl]:
    with cluster.control() as control:
        control.remove_beginning("loadstone:")
        yield control
        control.remove_beginning("loadstone:")


def store(control: ClusterControl, key: str, keys: int) -> None:
    """The keys `key.format(0...)`, each with its number."""
    for number in range(keys):
        control.call("SET", key.format(number), number)


def kept(context: DeployContext, nodes: int) -> RedisCluster:
    """A started cluster that keeps its data when it ends."""
    settings = {"kind": "cluster", "nodes": nodes, "settings": {"appendonly": True, "appendfsync": "always"}}
    cluster = registry.make_server("store", settings)
    assert isinstance(cluster, RedisCluster)
    cluster.start(context)
    return cluster


def plan(endpoints: tuple[Endpoint, ...], *commands: ServerCommand, **parts: object) -> Plan:
    return Plan(
        **{
            "endpoints": endpoints,
            "model": Closed(users=4),
            "pool": Pool(connections=4 * len(endpoints)),
            "phases": Phases(warm_up_s=0, measure_s=0.3),
            "operations": (Operation(name="work", commands=commands),),
            "keys": Keys(prefix=PREFIX, count=300),
            **parts,
        }
    )


def drive(plan: Plan) -> DriveRecord:
    return drive_alone(NativeDriver(), plan)


SET = ServerCommand(args=("SET", "{key}", "{value}"), expect="ok")
GET = ServerCommand(args=("GET", "{key}"), expect="value")


def test_it_is_a_cluster_of_as_many_nodes_as_requested(cluster: RedisCluster) -> None:
    assert isinstance(cluster, ManyEndpoints)
    assert list(cluster.pids) == ["store-1", "store-2", "store-3"]
    assert (cluster.facts.mode, cluster.facts.details["nodes"]) == ("cluster", "3")
    assert cluster.facts.modules["ReJSON"]
    assert cluster.settings_read_back["appendonly"] == "no"
    assert len({endpoint.password for endpoint in cluster.endpoints}) == NODES
    planned = [ranges for endpoint in cluster.endpoints for ranges in endpoint.slots]
    for endpoint in cluster.endpoints:
        with RedisControl(endpoint) as node:
            reported = node.call("CLUSTER SLOTS")
        assert sorted((first, last) for first, last, *_ in reported) == planned


def test_each_key_is_queried_of_its_node(control: ClusterControl) -> None:
    keys = [f"loadstone:k{number}" for number in range(30)]
    for key in keys:
        control.call("SET", key, 5)
    assert control.keys() == 30
    assert [node.keys() for node in control.nodes] == [
        sum(any(first <= key_slot(key.encode()) <= last for first, last in node.endpoint.slots) for key in keys)
        for node in control.nodes
    ]
    assert control.count("GET loadstone:k7") == 5
    assert control.count("DBSIZE") == 30
    assert control.remove_key("loadstone:k7") == 1
    assert control.remove_beginning("loadstone:k1") == 11
    assert control.keys() == 18


def test_commands_are_sent_to_their_nodes_and_a_plans_keys_removed(control: ClusterControl) -> None:
    store(control, f"{PREFIX}{{:012d}}", 1500)
    control.call("SET", "loadstone:other", 1)
    assert control.remove_numbered(PREFIX, 1400) == 1400
    assert control.remove_numbered(PREFIX, 1500) == 100
    assert control.keys() == 1
    with pytest.raises(UserError, match="loadstone:"):
        control.remove_numbered("theirs:", 1)


def test_its_counters_are_those_of_all_nodes(control: ClusterControl) -> None:
    before = snapshot(control)
    store(control, "loadstone:{}", 90)
    with pytest.raises(ServerGone, match="WRONGTYPE"):
        control.call("LPUSH", "loadstone:1", 1)
    after = snapshot(control)
    assert after.figures["keys"] == 90
    assert after.slow_log_entries is not None
    assert after.monitor_clients == 0
    done = counted(before, after)
    assert done.commands["set"].calls == 90
    assert done.errors == {"WRONGTYPE": 1}
    assert control.settings(["maxmemory", "hz"]) == {"maxmemory": "0", "hz": "10"}


def test_info_of_several_adds_up_what_adds_up() -> None:
    one = {"run_id": "a", "uptime_in_seconds": 9, "used_memory": 5, "hz": 10, "total_system_memory": 7, "loading": 0}
    one |= {"cmdstat_get": {"calls": 2, "usec": 10, "usec_per_call": 5.0}, "db0": {"keys": 1}}
    two = {"run_id": "b", "uptime_in_seconds": 3, "used_memory": 6, "hz": 10, "total_system_memory": 7, "loading": 1}
    two |= {"cmdstat_get": {"calls": 3, "usec": 20, "usec_per_call": 6.67}, "cmdstat_set": {"calls": 1, "usec": 4}}
    assert merged_info([one, two]) == {
        "run_id": "a+b",
        "uptime_in_seconds": 3,
        "used_memory": 11,
        "hz": 10,
        "total_system_memory": 7,
        "loading": 1,
        "cmdstat_get": {"calls": 5, "usec": 30, "usec_per_call": 6.0},
        "cmdstat_set": {"calls": 1, "usec": 4, "usec_per_call": 4.0},
        "db0": {"keys": 1},
    }


@pytest.mark.parametrize("metric", [one for one in METRICS if one.part == PART], ids=lambda one: one.name)
def test_every_metric_says_what_it_is_over_all_nodes(metric: Metric) -> None:
    expected = {"sum": 5, "highest": 3, "first": 2}
    assert metric.over_nodes is not None
    assert merged_info([{metric.name: 2}, {metric.name: 3}])[metric.name] == expected[metric.over_nodes]


def test_rates_of_the_network_are_those_of_all_nodes() -> None:
    merged = merged_info([{"instantaneous_input_kbps": 1.5}, {"instantaneous_input_kbps": 4.0}])
    assert merged == {"instantaneous_input_kbps": 5.5}


@pytest.mark.parametrize("pipeline_depth", [1, 8])
def test_load_goes_to_the_nodes_that_have_the_keys(
    cluster: RedisCluster, control: ClusterControl, pipeline_depth: int
) -> None:
    before = [node.commandstats() for node in control.nodes]
    record = drive(plan(cluster.endpoints, SET, GET, pipeline_depth=pipeline_depth))
    after = [node.commandstats() for node in control.nodes]
    assert (record.total.errors, record.total.timeouts) == ({}, 0)
    assert record.total.ok > 0
    for name in ("set", "get"):
        each = [node[name] - old.get(name, 0) for node, old in zip(after, before, strict=True)]
        assert each == [endpoint.sent for endpoint in record.endpoints]
        assert sum(each) == record.commands[name.upper()].sent
        assert all(each)


def test_every_planned_key_is_stored_once(cluster: RedisCluster, control: ClusterControl) -> None:
    keys = Keys(prefix=PREFIX, count=500, distribution="exactly_once")
    record = drive(plan(cluster.endpoints, SET, keys=keys, threads=2))
    assert record.total.ok == 500
    assert control.keys() == 500
    assert control.remove_numbered(PREFIX, 500) == 500


def test_arrivals_and_read_backs_find_their_nodes(cluster: RedisCluster, control: ClusterControl) -> None:
    operation = Operation(
        name="set",
        commands=(ServerCommand(args=("JSON.SET", "{key}", "$", "{document}"), expect="ok"),),
        writes="document",
        read_back=ServerCommand(args=("JSON.GET", "{key}"), expect="document"),
    )
    record = drive(plan(cluster.endpoints, operations=(operation,), model=Open(rate_per_s=500)))
    assert record.total.errors == {}
    assert record.read_back.checked > 0
    assert record.read_back.wrong == 0
    assert control.keys() <= 300


def test_lists_are_popped_and_an_empty_one_is_an_error(cluster: RedisCluster, control: ClusterControl) -> None:
    push = ServerCommand(args=("LPUSH", "{{{key}}}:list", "x"), expect="positive")
    pop = ServerCommand(args=("LPOP", "{{{key}}}:list"), expect="item")
    assert drive(plan(cluster.endpoints, push, pop)).total.errors == {}
    control.remove_beginning("loadstone:")
    empty = drive(plan(cluster.endpoints, pop))
    assert (empty.total.ok, list(empty.total.errors)) == (0, ["nil_reply"])


@pytest.mark.usefixtures("control")
def test_a_slot_that_is_not_where_the_plan_has_it_is_found(cluster: RedisCluster) -> None:
    first, second, third = cluster.endpoints
    swapped = (
        first.model_copy(update={"slots": second.slots}),
        second.model_copy(update={"slots": first.slots}),
        third,
    )
    record = drive(plan(swapped, SET))
    assert record.total.errors == {}
    assert record.redirections is not None
    assert record.redirections.moved > 0
    assert all(endpoint.ok for endpoint in record.endpoints)


@pytest.mark.fault("a cluster node dies", "the cluster comes back with its data", area="servers")
def test_it_keeps_its_data_over_a_restart_after_a_node_died(context: DeployContext) -> None:
    cluster = kept(context, nodes=2)
    try:
        with cluster.control() as control:
            store(control, "loadstone:{}", 50)
        killed = cluster.pids["store-2"]
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: not cluster.alive())
        assert list(cluster.pids) == ["store-1"]
        assert cluster.restart() == cluster.endpoints[0]
        assert cluster.alive()
        assert cluster.pids["store-2"] != killed
        with cluster.control() as control:
            assert control.keys() == 50
            assert control.count("GET loadstone:33") == 33
        pids = list(cluster.pids.values())
    finally:
        cluster.stop()
        cluster.stop()
    assert cluster.pids == {}
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_a_node_that_lost_its_folder_makes_the_cluster_again(context: DeployContext) -> None:
    cluster = kept(context, nodes=2)
    try:
        os.kill(cluster._nodes[0]._process.guard_pid, signal.SIGKILL)
        wait_until(lambda: not cluster.alive())
        cluster.restart()
        with cluster.control() as control:
            control.call("SET", "loadstone:1", 1)
            control.call("SET", "loadstone:2", 1)
            assert control.keys() == 2
    finally:
        cluster.stop()


def test_what_cannot_be_a_node_is_refused(context: DeployContext) -> None:
    with pytest.raises(UserError, match=r"servers\.store\.settings: 'cluster-enabled' is decided by loadstone"):
        registry.make_server("store", {"kind": "cluster", "settings": {"cluster-enabled": "no"}})
    unknown = {"kind": "cluster", "settings": {"no-such-setting": 1}}
    with pytest.raises(UserError, match=r"servers\.store\.settings: 'no-such-setting' is not a Redis setting"):
        registry.make_server("store", unknown)
    cluster = registry.make_server("store", unknown | {"of": "process"})
    with pytest.raises(UserError, match=r"server store-1: settings: this Redis does not take 'no-such-setting"):
        cluster.start(context)
    assert cluster.pids == {}
