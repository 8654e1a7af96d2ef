"""A Redis of the user's that has little room, and one that is killed and comes back: the whole command."""

import json
import os
import signal

import pytest
import redis

from loadstone.servers.redis.local import LocalRedis
from tests.end_to_end.conftest import CALM, MANY, MANY_CONNECTIONS, Lab, check_of

pytestmark = pytest.mark.timeout(600)
FOREIGN = 20_000
LIMIT_BYTES = 12_000_000


def fill(client: redis.Redis, name: str, keys: int, value_bytes: int) -> None:
    with client.pipeline(transaction=False) as pipe:
        for number in range(keys):
            pipe.set(f"{name}:{number}", "x" * value_bytes)
        pipe.execute()


@pytest.fixture
def small_cache(users_redis: tuple[LocalRedis, str]) -> tuple[str, redis.Redis]:
    """12 MB, `allkeys-lru`, and 20,000 keys that are not loadstone's; its URL, and a client of somebody else's."""
    _, url = users_redis
    client = redis.Redis.from_url(url)
    fill(client, "theirs", FOREIGN, 100)
    client.config_set("maxmemory-policy", "allkeys-lru")
    client.config_set("maxmemory", LIMIT_BYTES)
    assert client.dbsize() == FOREIGN
    return url, client


@pytest.mark.fault(
    "your Redis has room, may evict, and holds foreign keys",
    "refused where the plan may not fit; no key is lost",
    area="data",
)
def test_what_may_not_fit_beside_foreign_keys_is_refused(lab: Lab, small_cache: tuple[str, redis.Redis]) -> None:
    url, client = small_cache
    size = "documents: {payload_bytes: 100 B => documents: {payload_bytes: 200 kB"
    done = lab.loadstone("run", lab.experiment(size=size), "--server", f"redis={url}")
    assert done.status == 2
    for words in ("server redis (127.0.0.1:", "policy allkeys-lru", f"({FOREIGN:,} keys there)", "raise maxmemory"):
        assert words in done.error_line
    assert client.dbsize() == FOREIGN
    assert lab.runs() == []


@pytest.mark.fault("your Redis has room, may evict, and holds foreign keys")
def test_what_fits_runs_and_no_foreign_key_is_lost(lab: Lab, small_cache: tuple[str, redis.Redis]) -> None:
    url, client = small_cache
    done = lab.loadstone("run", lab.experiment(), "--only", "operation=set", "--server", f"redis={url}")
    assert "loadstone: " not in done.err
    assert [check_of(trial, "evicted_keys")["verdict"] for trial in lab.trials()] == ["valid", "valid"], done.err
    assert client.dbsize() == FOREIGN


@pytest.mark.fault("your Redis evicts under load", "the run ends with status 3 and its keys are removed", area="data")
def test_the_first_eviction_ends_the_run(lab: Lab, small_cache: tuple[str, redis.Redis]) -> None:
    """Somebody else fills the server while it is loaded, so that it throws keys away."""
    url, client = small_cache
    command = lab.begin("run", lab.experiment(measure="60 s", many=MANY, calm=CALM), "--server", f"redis={url}")
    lab.until(lambda: client.info("clients")["connected_clients"] >= MANY_CONNECTIONS)
    fill(client, "more", 2000, 10_000)
    done = command.wait()
    assert done.status == 3, done.err
    assert "server redis (127.0.0.1:" in done.error_line
    assert "evicted" in done.error_line or "are free" in done.error_line
    assert "--resume" in done.error_line
    (spoiled,) = lab.lines()
    assert spoiled["verdict"] == "invalid"
    assert "because its memory was full" in json.dumps(spoiled["checks"]) or "are free" in json.dumps(spoiled["checks"])
    assert spoiled["duration_s"] < 60, "it was stopped, and not driven to its end"
    assert (lab.run() / "report.html").is_file()
    assert not list(client.scan_iter("loadstone:*"))


def writes(client: redis.Redis) -> int:
    """Commands that set something, since the server began."""
    stats = client.info("commandstats")
    return sum(one["calls"] for name, one in stats.items() if name.lower().endswith(("_set", ".set")))


@pytest.mark.fault(
    "a server, node or replica restarts in a trial",
    "the trial is invalid and names it; data is written again",
    area="servers",
)
def test_a_redis_that_was_killed_and_came_back_is_invalid(lab: Lab, users_redis: tuple[LocalRedis, str]) -> None:
    server, url = users_redis
    patience = "  keys: {count: 100} =>   keys: {count: 100}\n  timeouts: {gone_s: 60}"
    only = ("--only", "operation=set", "--only", "workers=1")
    path = lab.experiment(measure="5 s", many=MANY, patience=patience)
    command = lab.begin("run", path, *only, "--server", f"redis={url}")
    with redis.Redis.from_url(url) as client:
        lab.until(lambda: writes(client) > 1000)  # all connections are open by then
    os.kill(next(iter(server.pids.values())), signal.SIGKILL)
    server.restart()
    done = command.wait()
    (trial,) = lab.trials()
    assert check_of(trial, "restarted")["verdict"] == "invalid"
    assert trial["verdict"] == "invalid"
    assert done.status == 3
    assert "redis was restarted during the trial" in " ".join((done.out + done.err).split())
