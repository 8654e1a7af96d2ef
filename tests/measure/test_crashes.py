"""Crashes: a real Redis is killed under load, and every acknowledged write is looked up on the one that follows it."""

import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import redis

from loadstone.drivers.native import NativeDriver
from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.experiment.spec.loading import load_experiment
from loadstone.machine.placement import Placement
from loadstone.measure.crashes import Crashes
from loadstone.measure.goals.goal import CrashServer
from loadstone.measure.measurement import Measurement
from loadstone.programs.clients.drivers import Drivers
from loadstone.programs.deployments import Deployments
from loadstone.run_folder.crash import CrashRecord, LookedUp
from loadstone.servers import registry
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.server import DeployContext, Server

from ..fakes import FakeLive, FakeProgress

SET = '{name: set, commands: [{args: "SET {key} {value}", expect: ok}]}'
DOCUMENT = '{name: set, writes: document, commands: [{args: "SET {key} {document}", expect: ok}]}'
JSON = '{name: set, writes: document, commands: [{args: "JSON.SET {key} $ {document}", expect: ok}]}'
HASH = '{name: set, writes: document, commands: [{args: "HSET {key} body {body} version {version}", expect: integer}]}'
EXPERIMENT = """\
format: 1
name: crash
question: What is lost?
factors:
  mode:
    levels: ["no", everysec, always]
    values:
      "no": {appendonly: "no", appendfsync: everysec}
      everysec: {appendonly: "yes", appendfsync: everysec}
      always: {appendonly: "yes", appendfsync: always}
tables:
  - {name: all, title: Writing, vary: {mode: ["no"]}}
servers:
  redis: {kind: SERVER, settings: {appendonly: "${mode.appendonly}", appendfsync: "${mode.appendfsync}"}}
workload:
  model: {kind: closed, users: 20}
  pool: {connections: 20}
  phases: {warm_up_s: 0 s, measure_s: 500 ms}
  keys: {count: COUNT, distribution: DISTRIBUTION}
  operations:
    - OPERATION
crashes:
  - {name: kept, title: What is kept, server: redis, vary: {mode: [MODE]}, after: 500 ms, times: 1}
"""
Lose = Callable[[redis.Redis], None]
Crash = Callable[..., tuple[CrashRecord, LookedUp]]


@pytest.fixture
def crash(tmp_path: Path) -> Iterator[Crash]:
    """Kills one server under load; `lose` takes something away between its new start and the look-up."""
    (tmp_path / "work").mkdir()

    def one(mode: str, operation: str = SET, *, keys: tuple[str, int] = ("exactly_once", 1_000_000),
            kind: str = "embedded", lose: Lose | None = None) -> tuple[CrashRecord, LookedUp]:  # fmt: skip
        words = {"MODE": f'"{mode}"', "OPERATION": operation, "DISTRIBUTION": keys[0], "COUNT": str(keys[1]),
                 "SERVER": kind}  # fmt: skip
        text = EXPERIMENT
        for word, stands_for in words.items():
            text = text.replace(word, stands_for)
        run_plan = make_run_plan(load_experiment(text), blocks=1)
        context = DeployContext(work_root=tmp_path / "work")

        def make(name: str, settings: Mapping[str, Any]) -> Server:
            server = registry.make_server(name, settings)
            return server if lose is None else suspects_loss(server, lose)

        with Deployments(make, context) as servers:
            placement = Placement((), (), shared=True, note="not placed")
            shown = FakeProgress(), FakeLive()
            measurement = Measurement(servers, Drivers(NativeDriver()), placement, threading.Event(), *shown)
            (planned,) = run_plan.crashes
            record = Crashes(measurement).run(CrashServer(planned, 1, 1))
        assert record.failure is None
        assert record.looked_up is not None
        assert record.looked_up.keys > 0
        found = record.looked_up
        assert found.keys == found.present + found.lost + found.unordered
        return record, found

    yield one
    assert list((tmp_path / "work").iterdir()) == []


def suspects_loss(server: Server, lose: Lose) -> Server:
    """A server that comes back without something."""
    restart = server.restart

    def restarted() -> Any:
        endpoint = restart()
        with RedisControl(endpoint) as control:
            lose(control.client)
        return endpoint

    server.restart = restarted  # type: ignore[method-assign]
    return server


@pytest.mark.parametrize("mode", ["no", "everysec", "always"])
def test_what_each_mode_keeps_is_counted_exactly(crash: Crash, mode: str) -> None:
    record, found = crash(mode)
    assert found.keys == record.acknowledged > 0
    assert (found.unordered, record.lost_min, record.lost_max) == (0, found.lost, found.lost)
    assert found.unacknowledged_present <= record.unknown
    if mode == "no":
        assert (found.present, found.lost) == (0, found.keys), "nothing was on the disk"
        assert found.lost_keys[0].endswith(":000000000000")
    if mode == "always":
        assert (found.present, found.lost) == (found.keys, 0), "what was acknowledged was written before"


@pytest.mark.fault("a server is killed to test durability", "every acknowledged key is looked up", area="servers")
def test_a_loss_is_counted_to_the_key(crash: Crash, monkeypatch: pytest.MonkeyPatch) -> None:
    """In several batches of the look-up: small ones, since a busy machine stores few keys in half a second."""
    monkeypatch.setattr("loadstone.measure.crashes.BATCH", 10)
    gone: list[str] = []

    def lose(client: redis.Redis) -> None:
        (first,) = client.scan_iter("*:000000000000", count=100_000)
        prefix = first.decode().removesuffix("000000000000")
        gone.extend(f"{prefix}{number:012d}" for number in (0, 7, 8, 10, 21))
        assert client.unlink(*gone) == len(gone)

    record, found = crash("always", lose=lose)
    assert (found.lost, found.present) == (5, record.acknowledged - 5)
    assert (record.lost_min, record.lost_max) == (5, 5)
    assert list(found.lost_keys) == gone


def test_a_server_that_comes_back_empty_lost_everything(crash: Crash) -> None:
    record, found = crash("always", lose=lambda client: client.flushall())
    assert (found.lost, found.present, found.unacknowledged_present) == (record.acknowledged, 0, 0)


def test_what_is_there_and_was_never_acknowledged_is_counted_apart(crash: Crash) -> None:
    def store_all(client: redis.Redis) -> None:
        (first,) = client.scan_iter("*:000000000000", count=100_000)
        prefix = first.decode().removesuffix("000000000000")
        held = sum(1 for _ in client.scan_iter(f"{prefix}*", count=10_000))
        client.mset({f"{prefix}{number:012d}": "x" for number in range(held + 100)})

    record, found = crash("always", lose=store_all)
    users = 20
    assert (found.lost, found.present) == (0, record.acknowledged)
    # Of each user one write was sent, and one more may have waited for a connection.
    assert record.unknown <= found.unacknowledged_present <= record.unknown + users
    assert found.unacknowledged_present > 0


@pytest.mark.parametrize(
    ("operation", "kind"), [(DOCUMENT, "embedded"), (HASH, "embedded"), (JSON, "embedded, modules: [json]")]
)
def test_overwritten_keys_hold_their_highest_acknowledged_version(crash: Crash, operation: str, kind: str) -> None:
    record, found = crash("always", operation, keys=("uniform", 100), kind=kind)
    assert record.acknowledged > found.keys, "keys were written again and again"
    assert found.lost == 0
    # No one may have written a key, or one of two writes that were in flight at once overtook the other.
    assert found.present > 50
    found = crash("no", operation, keys=("uniform", 100), kind=kind)[1]
    assert found.lost == found.keys > 50


def test_an_older_version_is_a_lost_write(crash: Crash) -> None:
    older: list[str] = []

    def lose(client: redis.Redis) -> None:
        for key in sorted(client.scan_iter("loadstone:*", count=1000)):
            text = client.get(key)
            at = text.index(b'"version":"') + len(b'"version":"')
            if int(text[at : at + 10]) > 1 and len(older) < 3:
                client.set(key, text[:at] + b"0000000001" + text[at + 10 :])
                older.append(key.decode())
        assert len(older) == 3, "they were written again"

    record, found = crash("always", DOCUMENT, keys=("uniform", 50), lose=lose)
    assert (found.lost, list(found.lost_keys)) == (3, older)
    assert record.lost_min == 3


def test_the_keys_of_a_cluster_are_looked_up_on_every_node(crash: Crash) -> None:
    record, found = crash("always", kind="cluster, nodes: 2")
    assert (found.keys, found.lost, found.present) == (record.acknowledged, 0, record.acknowledged)
