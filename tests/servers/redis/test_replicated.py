"""A primary with replicas, all real."""

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from pydantic import ValidationError
from tests.real_servers import is_gone, wait_until

from loadstone.safety.errors import UserError
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.redis.replicated import ReplicatedRedis, ReplicatedSettings
from loadstone.servers.server import DeployContext

WAIT_MS = 20_000
KEY = "loadstone:written"


@pytest.fixture
def server(context: DeployContext, tmp_path: Path) -> Iterator[ReplicatedRedis]:
    # `everysec` puts off even the write while an earlier fsync takes long: what is killed then loses what it answered.
    files = {"appendonly": True, "appendfsync": "always"}
    settings = ReplicatedSettings(replicas=2, settings={**files, "min-replicas-to-write": 1})
    server = settings.server("redis")
    server.start(replace(context, log_folder=tmp_path / "logs"))
    yield server
    server.stop()


def written_to(server: ReplicatedRedis, value: str) -> int:
    """Write, and how many replicas had it within 20 s."""
    with server.control(timeout_s=2 * WAIT_MS / 1000) as control:
        control.call("SET", KEY, value)
        return int(control.call("WAIT", 2, WAIT_MS))


def held_by_replicas(server: ReplicatedRedis) -> list[bytes | None]:
    found = []
    for replica in server._replicas:
        with replica.control() as control:
            found.append(control.call("GET", KEY))
    return found


def test_a_write_reaches_every_replica_that_wait_counts(server: ReplicatedRedis) -> None:
    assert written_to(server, "1") == 2
    assert held_by_replicas(server) == [b"1", b"1"]


def test_the_endpoint_is_the_primary_s(server: ReplicatedRedis) -> None:
    with RedisControl(server._endpoints["redis"]) as control:
        reported = control.info("replication")
    assert reported["role"] == "master"
    assert reported["connected_slaves"] == 2
    assert server.facts.role == "master"
    assert server.facts.process_id == server.pids["redis"]
    assert server.facts.details["replicas in sync"] == "2"


def test_every_process_is_a_part_with_a_name_and_a_log(server: ReplicatedRedis, tmp_path: Path) -> None:
    names = ["redis", "redis-replica-1", "redis-replica-2"]
    assert list(server.pids) == names
    assert {psutil.Process(pid).name() for pid in server.pids.values()} == {"redis-server"}
    assert sorted(path.stem for path in (tmp_path / "logs").iterdir()) == names


def test_settings_are_those_of_all_and_read_back(server: ReplicatedRedis) -> None:
    assert server.settings_read_back["appendonly"] == "yes"
    assert server.settings_read_back["min-replicas-to-write"] == "1"
    for replica in server._replicas:
        assert replica.settings_read_back["appendonly"] == "yes"


def test_replicas_refuse_writes(server: ReplicatedRedis) -> None:
    with server._replicas[0].control() as control, pytest.raises(Exception, match="READONLY"):
        control.call("SET", KEY, "2")


@pytest.mark.parametrize("part", ["redis", "redis-replica-2"])
def test_what_was_killed_comes_back_and_is_in_sync(server: ReplicatedRedis, part: str) -> None:
    assert written_to(server, "kept") == 2
    others = {name: pid for name, pid in server.pids.items() if name != part}
    os.kill(server.pids[part], signal.SIGKILL)
    wait_until(lambda: not server.alive())
    assert part not in server.pids
    server.restart()
    assert server.alive()
    assert {name: server.pids[name] for name in others} == others, "what had not died was started again"
    with server.control() as control:
        assert control.call("GET", KEY) == b"kept"
    assert written_to(server, "again") == 2
    assert held_by_replicas(server) == [b"again", b"again"]


def test_a_restart_of_what_runs_starts_all_afresh(server: ReplicatedRedis) -> None:
    assert written_to(server, "kept") == 2
    before = set(server.pids.values())
    server.restart()
    assert not before & set(server.pids.values())
    wait_until(lambda: held_by_replicas(server) == [b"kept", b"kept"])


def test_stopping_ends_all(server: ReplicatedRedis) -> None:
    pids = list(server.pids.values())
    server.stop()
    server.stop()
    assert all(is_gone(pid) for pid in pids)
    assert server.pids == {}
    assert not server.alive()


def test_a_redis_of_the_system_replicates_too(debian_redis: Path, context: DeployContext) -> None:
    server = ReplicatedSettings(of="process", binary=str(debian_redis), replicas=1).server("redis")
    server.start(context)
    assert Path(psutil.Process(server.pids["redis-replica-1"]).exe()) == debian_redis.resolve()
    server.stop()


def test_a_wrong_setting_starts_nothing(context: DeployContext) -> None:
    server = ReplicatedSettings(settings={"appendfsync": "sometimes"}).server("redis")
    with pytest.raises(UserError, match="does not take 'appendfsync sometimes'"):
        server.start(context)
    assert server.pids == {}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"replicas": 0}, "replicas"),
        ({"settings": {"replicaof": "h 1"}}, "'replicaof' is decided by loadstone"),
        ({"settings": {"apendonly": "yes"}}, "did you mean 'appendonly'"),
        ({"binary": "/usr/bin/redis-server"}, "are for 'of: process'"),
    ],
)
def test_what_cannot_be_is_refused_beforehand(given: dict[str, object], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        ReplicatedSettings.model_validate(given)
