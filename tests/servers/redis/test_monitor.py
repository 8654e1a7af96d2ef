"""Redis's own counters, exactly."""

import sys
import time

import pytest
import redis
from tests.monitored_redis import values
from tests.servers.redis.counted import counted

from loadstone.machine import clock
from loadstone.monitors.host.processes import ProcessMonitor
from loadstone.safety.errors import ServerGone
from loadstone.servers.redis import monitor as redis_monitor
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.redis.local import LocalRedis
from loadstone.servers.redis.monitor import RedisMonitor, snapshot

OF_A_SNAPSHOT = {"client|list", "config|get", "slowlog|len", "latency|latest"}
"""What a snapshot queries beside INFO."""

AOF = {"aof_delayed_fsync", "aof_current_size", "aof_buffer_length", "aof_pending_bio_fsync"}
"""Reported where the append-only file is on."""


def test_calls_are_counted_exactly(control: RedisControl) -> None:
    before = snapshot(control)
    for number in range(100):
        control.call("SET", f"loadstone:{number}", "x")
    for number in range(10):
        control.call("JSON.SET", f"loadstone:json:{number}", "$", '{"a": 1}')
    control.call("GET", "loadstone:none")
    found = counted(before, snapshot(control))
    calls = {name: stat.calls for name, stat in found.commands.items()}
    assert {name: number for name, number in calls.items() if name not in OF_A_SNAPSHOT} == {
        "set": 100,
        "json.set": 10,
        "get": 1,
        "info": 2,
    }
    assert found.counters["keyspace_misses"] == 1
    assert found.counters["total_commands_processed"] == sum(calls.values())
    assert found.counters["total_net_input_bytes"] > 100 * len("*3\r\n$3\r\nSET\r\n")
    assert found.errors == {}
    assert snapshot(control).figures["keys"] == 110


def test_what_its_latency_monitor_saw_is_reported(control: RedisControl) -> None:
    assert snapshot(control).latency_events == {}
    control.call("CONFIG SET", "latency-monitor-threshold", "1")
    control.call("EVAL", "local t = 0; for i = 1, 3000000 do t = t + i end; return 1", "0")
    events = snapshot(control).latency_events
    assert events["command"] >= 1


def test_failures_are_counted_by_kind(control: RedisControl) -> None:
    control.call("SET", "loadstone:text", "x")
    before = snapshot(control)
    for _ in range(3):
        with pytest.raises(ServerGone, match="WRONGTYPE"):
            control.call("LPUSH", "loadstone:text", "x")
    found = counted(before, snapshot(control))
    assert found.commands["lpush"].failed_calls == 3
    assert found.errors == {"WRONGTYPE": 3}
    assert found.counters["total_error_replies"] == 3


def test_a_server_that_was_started_again_is_noticed(server: LocalRedis, control: RedisControl) -> None:
    before = snapshot(control)
    with RedisControl(server.restart()) as anew:
        assert snapshot(anew).run_id != before.run_id


def test_the_monitor_sends_info_and_nothing_else(control: RedisControl) -> None:
    monitor = RedisMonitor("redis", control)
    calls = control.commandstats()
    seen = values(monitor, "redis")
    more = {name: number - calls.get(name, 0) for name, number in control.commandstats().items()}
    assert {name: number for name, number in more.items() if number} == {"info": 2}
    assert seen["answers"] == 1
    assert seen["connected_clients"] == 1
    assert seen["used_memory"] > 100_000
    assert seen["used_cpu_user_main_thread"] + seen["used_cpu_sys_main_thread"] > 0
    missing = set(monitor.METRICS) - set(seen)
    assert missing == AOF


def test_figures_of_the_append_only_file_are_reported_where_it_is_on(control: RedisControl) -> None:
    control.call("CONFIG SET", "appendonly", "yes")
    for number in range(10):
        control.call("SET", f"loadstone:{number}", "x" * 100)
    seen = values(RedisMonitor("redis", control), "redis")
    assert set(seen) >= AOF
    assert set(seen) == set(RedisMonitor.METRICS)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_a_background_save_takes_is_seen_while_it_writes_and_kept_when_it_ends(
    server: LocalRedis, control: RedisControl
) -> None:
    """The process has it while the child lives; what Redis itself reports comes when that has ended."""
    (pid,) = server.pids.values()
    process, own = ProcessMonitor("redis", pid), RedisMonitor("redis", control)
    control.call("EVAL", "for i = 1, 200000 do redis.call('SET', 'loadstone:' .. i, 'value ' .. i) end", "0")
    before = values(process, "redis")
    control.call("BGSAVE")
    alive = before
    for _ in range(600):
        observed = values(process, "redis")
        if values(own, "redis")["rdb_bgsave_in_progress"] == 0:
            break
        alive = observed
        time.sleep(0.02)
    ended, reported = values(process, "redis"), values(own, "redis")
    children_s = reported["used_cpu_user_children"] + reported["used_cpu_sys_children"]
    assert children_s > 0.01
    assert ended["children_s"] - before["children_s"] == pytest.approx(children_s, rel=0.2, abs=0.05)
    assert alive["children_s"] <= ended["children_s"], "it never falls"


def test_a_dead_server_does_not_answer_and_one_that_is_back_does(server: LocalRedis, control: RedisControl) -> None:
    monitor = RedisMonitor("redis", control)
    assert server._process is not None
    server._process.end()
    assert values(monitor, "redis") == {"answers": 0}
    server.restart()
    assert values(monitor, "redis")["answers"] == 1


def test_a_snapshot_sees_settings_and_who_listens(server: LocalRedis, control: RedisControl) -> None:
    found = snapshot(control)
    assert found.settings["loglevel"] == "notice"
    assert found.settings["slowlog-log-slower-than"] == "10000"
    assert (found.monitor_clients, found.slow_log_entries) == (0, 0)
    control.call("CONFIG SET", "slowlog-log-slower-than", 0)
    with redis.Redis(port=server._endpoint.port, password=server._endpoint.password) as client, client.monitor():
        found = snapshot(control)
    assert found.monitor_clients == 1
    assert found.slow_log_entries
    assert found.settings["slowlog-log-slower-than"] == "0"


def test_a_server_that_refuses_all_but_info_is_queried_no_further(server: LocalRedis, control: RedisControl) -> None:
    control.call("ACL SETUSER", "guest", "on", "nopass", "+info")
    endpoint = server._endpoint.model_copy(update={"username": "guest", "password": "any"})
    with RedisControl(endpoint) as guest:
        found = snapshot(guest)
    assert found.run_id
    assert (dict(found.settings), found.monitor_clients, found.slow_log_entries) == ({}, None, None)


def test_a_crowded_server_is_not_queried_who_is_connected(
    control: RedisControl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_monitor, "CLIENTS_MAX", 0)
    assert snapshot(control).monitor_clients is None
    assert "client|list" not in control.commandstats()


def test_a_snapshot_says_when(control: RedisControl) -> None:
    started = clock.unix_s()
    first, second = snapshot(control), snapshot(control)
    assert started <= first.unix_s <= second.unix_s <= clock.unix_s()
