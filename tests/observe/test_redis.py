"""Redis's own counters, exactly."""

import time

import pytest

from loadstone.deploy.local_redis import LocalRedis
from loadstone.deploy.redis_control import RedisControl
from loadstone.errors import ServerGone
from loadstone.observe.redis import RedisMonitor, difference, snapshot

from .conftest import values


def test_calls_are_counted_exactly(control: RedisControl) -> None:
    before = snapshot(control)
    for number in range(100):
        control.call("SET", f"loadstone:{number}", "x")
    for number in range(10):
        control.call("JSON.SET", f"loadstone:json:{number}", "$", '{"a": 1}')
    control.call("GET", "loadstone:none")
    found = difference(before, snapshot(control))
    assert {name: stat.calls for name, stat in found.commands.items()} == {
        "set": 100,
        "json.set": 10,
        "get": 1,
        "info": 1,
    }
    assert found.counters["keyspace_misses"] == 1
    assert found.counters["total_commands_processed"] == 112
    assert found.counters["total_net_input_bytes"] > 100 * len("*3\r\n$3\r\nSET\r\n")
    assert not found.restarted
    assert found.errors == {}
    assert snapshot(control).figures["keys"] == 110


def test_failures_are_counted_by_kind(control: RedisControl) -> None:
    control.call("SET", "loadstone:text", "x")
    before = snapshot(control)
    for _ in range(3):
        with pytest.raises(ServerGone, match="WRONGTYPE"):
            control.call("LPUSH", "loadstone:text", "x")
    found = difference(before, snapshot(control))
    assert found.commands["lpush"].failed_calls == 3
    assert found.errors == {"WRONGTYPE": 3}
    assert found.counters["total_error_replies"] == 3


def test_a_server_that_was_started_again_is_noticed(server: LocalRedis, control: RedisControl) -> None:
    before = snapshot(control)
    with RedisControl(server.restart()) as anew:
        assert difference(before, snapshot(anew)).restarted


def test_the_monitor_sends_info_and_nothing_else(control: RedisControl) -> None:
    monitor = RedisMonitor("redis", control)
    before = snapshot(control)
    seen = values(monitor, "redis")
    found = difference(before, snapshot(control))
    assert {name: stat.calls for name, stat in found.commands.items()} == {"info": 2}
    assert seen["answers"] == 1
    assert seen["connected_clients"] == 1
    assert seen["used_memory"] > 100_000
    assert seen["used_cpu_user_main_thread"] + seen["used_cpu_sys_main_thread"] > 0
    missing = set(monitor.UNITS) - set(seen)
    assert missing == {"aof_delayed_fsync"}  # told where AOF is on


def test_a_dead_server_does_not_answer_and_one_that_is_back_does(server: LocalRedis, control: RedisControl) -> None:
    monitor = RedisMonitor("redis", control)
    assert server._process is not None
    server._process.end()
    assert values(monitor, "redis") == {"answers": 0}
    server.restart()
    assert values(monitor, "redis")["answers"] == 1


def test_a_snapshot_says_when(control: RedisControl) -> None:
    started = time.time()
    first, second = snapshot(control), snapshot(control)
    assert started <= first.unix_s <= second.unix_s <= time.time()
    assert difference(first, second).elapsed_s == second.unix_s - first.unix_s
