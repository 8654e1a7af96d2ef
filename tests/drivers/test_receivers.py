"""Subscribers and consumers on a real Redis: every message is received, as often as it must be, and when."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.real_servers import UserRedis, wait_until

from loadstone import _engine
from loadstone.drivers.driver import RoundsOptions, drive_alone
from loadstone.drivers.histogram import decode
from loadstone.drivers.native import NativeDriver
from loadstone.drivers.outcome import DriveRecord, ReceiversRecord
from loadstone.experiment.plan.drive_plan import Plan
from loadstone.safety.errors import DriveFailed, UserError

PREFIX = "loadstone:received:"
PUBLISH = ["PUBLISH", "{key}", "{message}"]
XADD = ["XADD", "{key}", "MAXLEN", "~", "100000", "*", "first", "x", "message", "{message}"]
OPERATIONS = 3000
LONG = {"warm_up_s": 0, "measure_s": 100, "drain_s": 20}


def fields(port: int, args: list[str], receivers: dict[str, Any], channels: int = 1, **changed: Any) -> dict[str, Any]:
    """A plan that ends after so many operations."""
    plan = {
        "endpoints": [{"port": port}],
        "model": {"kind": "closed", "users": 8},
        "pool": {"connections": 8},
        "phases": {"warm_up_s": 0.05, "measure_s": 0.01, "measure_operations": OPERATIONS, "measure_max_s": 60},
        "operations": [{"name": "send", "commands": [{"args": args}]}],
        "receivers": receivers,
        "keys": {"prefix": PREFIX, "count": channels},
        "documents": {"payload_bytes": 32},
    }
    plan["phases"]["drain_s"] = 20
    return {**plan, **changed}


def driven(*args: Any, **changed: Any) -> tuple[DriveRecord, ReceiversRecord]:
    record = drive_alone(NativeDriver(), Plan.model_validate(fields(*args, **changed)))
    assert record.receivers is not None
    return record, record.receivers


@contextmanager
def begun(plan: dict[str, Any]) -> Iterator[_engine.Engine]:
    """A drive that is under way, and is stopped in the end."""
    engine = _engine.Engine(Plan.model_validate(plan).model_dump_json())
    engine.start()
    yield engine
    engine.stop()
    while not engine.finished():
        engine.next_interval(0.1)


def found_of(engine: _engine.Engine) -> ReceiversRecord:
    return ReceiversRecord.model_validate(json.loads(engine.result())["receivers"])


def calls(server: UserRedis) -> dict[str, int]:
    stats: dict[str, Any] = server.client().info("commandstats")
    return {name.removeprefix("cmdstat_"): stat["calls"] for name, stat in stats.items()}


@pytest.mark.parametrize("protocol", ["resp2", "resp3"])
@pytest.mark.parametrize(("threads", "channels", "message_bytes"), [(1, 1, 32), (2, 3, 5000)])
def test_every_subscriber_of_a_channel_gets_each_message_once(
    user_redis: Callable[..., UserRedis], protocol: str, threads: int, channels: int, message_bytes: int
) -> None:
    server = user_redis()
    receivers = {"kind": "subscribe", "connections": 6}
    size = {"payload_bytes": message_bytes}
    record, found = driven(
        server.port, PUBLISH, receivers, channels, threads=threads, protocol=protocol, documents=size
    )
    (operation,) = record.operations.values()
    assert found.published == operation.counts.ok >= OPERATIONS
    assert found.expected == found.delivered == found.published * 6 // channels
    assert (found.missing, found.repeated, found.unreadable, found.disconnected) == (0, 0, 0, 0)
    assert found.delivery_ns.count == decode(found.delivery_histogram).total == found.delivered
    assert 0 < found.delivery_ns.p50 <= found.delivery_ns.max
    assert found.bytes_received > found.delivered * message_bytes
    assert len(record.threads) == 2 * threads
    counted = calls(server)
    assert (counted["publish"], counted["subscribe"]) == (record.commands["PUBLISH"].sent, 6)
    assert server.client().keys("*") == []


@pytest.mark.parametrize("protocol", ["resp2", "resp3"])
@pytest.mark.parametrize("threads", [1, 2])
def test_each_entry_of_a_stream_goes_to_one_consumer_and_is_acknowledged(
    user_redis: Callable[..., UserRedis], protocol: str, threads: int
) -> None:
    server = user_redis()
    receivers = {"kind": "stream_group", "connections": 4, "count": 7}
    for _ in range(2):  # what is there already belongs to others
        before = calls(server)
        record, found = driven(server.port, XADD, receivers, 2, threads=threads, protocol=protocol)
        assert found.expected == found.delivered == found.published >= OPERATIONS
        assert (found.missing, found.repeated, found.unreadable, found.disconnected) == (0, 0, 0, 0)
        assert calls(server)["xadd"] - before.get("xadd", 0) == record.commands["XADD"].sent
    client = server.client()
    groups = [group for number in range(2) for group in client.xinfo_groups(f"{PREFIX}{number:012d}")]
    assert [(group["name"], group["consumers"], group["pending"]) for group in groups] == [("loadstone", 2, 0)] * 2
    lengths = sum(client.xlen(f"{PREFIX}{number:012d}") for number in range(2))
    assert sum(group["entries-read"] for group in groups) == lengths == calls(server)["xadd"]


def test_at_a_rate_messages_count_from_the_time_that_they_were_due(user_redis: Callable[..., UserRedis]) -> None:
    """A server that sleeps for 300 ms is late for all that was due meanwhile, sent or not."""
    server = user_redis("--enable-debug-command", "local")
    plan = fields(server.port, PUBLISH, {"kind": "subscribe", "connections": 2})
    plan |= {"phases": LONG, "model": {"kind": "open", "rate_per_s": 1000}}
    with begun(plan) as engine:
        wait_until(lambda: calls(server).get("publish", 0) > 100)
        server.client().execute_command("DEBUG", "SLEEP", "0.3")
        after = calls(server)["publish"]
        wait_until(lambda: calls(server)["publish"] > after + 300)
    late = decode(found_of(engine).delivery_histogram)
    waited = late.counts[late.layout.highest_in(late.places) > 200e6]
    assert waited.sum() > 150, "of the 100 messages that were due in its first 100 ms; 8 at once can be sent"


def test_a_subscriber_that_the_server_drops_is_named(user_redis: Callable[..., UserRedis]) -> None:
    server = user_redis()
    plan = fields(server.port, PUBLISH, {"kind": "subscribe", "connections": 3})
    with begun({**plan, "phases": LONG}) as engine:
        client = server.client()
        wait_until(lambda: calls(server).get("publish", 0) > 100)
        subscribed = [one for one in client.client_list() if one["sub"] == "1"]
        assert len(subscribed) == 3
        assert client.client_kill_filter(_id=subscribed[0]["id"]) == 1
        before = calls(server)["publish"]
        wait_until(lambda: calls(server)["publish"] > before + 100)
    found = found_of(engine)
    assert (found.connections, found.disconnected) == (3, 1)
    assert found.why_disconnected is not None
    assert str(server.port) in found.why_disconnected
    assert found.missing >= 100
    assert found.expected == found.delivered + found.missing
    assert found.delivered >= 2 * found.published


def test_messages_of_others_are_counted_apart(user_redis: Callable[..., UserRedis]) -> None:
    server = user_redis()
    plan = fields(server.port, PUBLISH, {"kind": "subscribe", "connections": 1})
    with begun({**plan, "phases": LONG}) as engine:
        assert server.client().publish(f"{PREFIX}{0:012d}", "theirs") == 1
        published = calls(server)["publish"]
        wait_until(lambda: calls(server)["publish"] > published + 100)
    assert found_of(engine).unreadable == 1


def test_a_subscription_that_is_refused_ends_the_drive_before_it_begins(user_redis: Callable[..., UserRedis]) -> None:
    server = user_redis()
    server.client().execute_command("ACL", "SETUSER", "few", "on", ">pw", "~*", "&other:*", "+@all")
    login = [{"port": server.port, "username": "few", "password": "pw"}]
    with pytest.raises((DriveFailed, UserError), match="NOPERM"):
        driven(server.port, PUBLISH, {"kind": "subscribe", "connections": 1}, endpoints=login)


def test_a_subscriber_that_gets_no_connection_ends_the_drive_before_it_begins(
    user_redis: Callable[..., UserRedis],
) -> None:
    server = user_redis()
    server.client().config_set("maxclients", str(int(server.client().info("clients")["connected_clients"]) + 8 + 5))
    with pytest.raises((DriveFailed, UserError), match=r"clients|closed|reset"):
        driven(server.port, PUBLISH, {"kind": "subscribe", "connections": 12}, threads=2)
    wait_until(lambda: server.client().info("clients")["connected_clients"] < 8)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"keys": {"count": 3}}, "must be a multiple of keys.count"),
        ({"documents": {"payload_bytes": 31}}, "a message has at least 32 bytes"),
        ({"protocol": "memcached"}, "receivers"),
        ({"endpoints": [{}, {}]}, "name one"),
        ({"operations": [{"name": "get", "commands": [{"args": ["GET", "{key}"]}]}]}, "PUBLISH"),
        ({"receivers": {"kind": "stream_group", "connections": 2}}, "XADD"),
        ({"receivers": None}, "{message} needs"),
    ],
)
def test_what_cannot_be_received_is_refused_here_and_by_the_engine(changed: dict[str, Any], said: str) -> None:
    plan = {**fields(1, PUBLISH, {"kind": "subscribe", "connections": 4}, 2), **changed}
    with pytest.raises(ValueError, match=r".") as ours:
        Plan.model_validate(plan)
    with pytest.raises(ValueError, match=r".") as engines:
        _engine.Engine(json.dumps({name: value for name, value in plan.items() if value is not None}))
    assert said in str(ours.value)
    assert said.removeprefix("{message} ") in str(engines.value)


def test_it_is_not_driven_in_slices() -> None:
    plan = Plan.model_validate(fields(1, PUBLISH, {"kind": "subscribe", "connections": 1}))
    phases = plan.phases.model_copy(update={"measure_operations": None})
    rounds = RoundsOptions(slice_s=0.05, settle_s=0.005, orders=((0,),))
    with pytest.raises(ValueError, match="receivers: receive in whole drives"):
        _engine.Rounds([plan.model_copy(update={"phases": phases}).model_dump_json()], rounds.model_dump_json())
