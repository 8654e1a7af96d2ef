"""`loadstone redis --replay` and `--documents` on real servers: recorded, sent again, verified, and removed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import redis

from tests.end_to_end.test_load_commands import DONE, loadstone, trials_of
from tests.monitored import monitored
from tests.real_servers import UserRedis

COMMANDS: list[tuple[Any, ...]] = [
    ("SET", "a", b"v\x00\xff\r\n"),
    ("MSET", "a", "1", "b", "2"),
    ("GET", "a"),
    ("HSET", "h", "f", 'quote " \\ end'),
    ("EVAL", "return redis.call('SET', KEYS[1], 'by a script')", "1", "s"),
    ("EXPIRE", "a", "100"),
]


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """Where commands are given."""
    return tmp_path / "here"


def recorded(server: UserRedis, file: Path, times: int) -> None:
    """What MONITOR prints of some commands of two clients, and of a database of its own."""
    clients = [redis.Redis(port=server.port, db=database) for database in (0, 0, 3)]
    with monitored(server, file):
        for number in range(times):
            for command in COMMANDS:
                clients[number % len(clients)].execute_command(*command)
    for client in clients:
        client.close()


@pytest.mark.parametrize("speed", ["1x", "max"])
def test_a_recording_is_sent_again_under_keys_of_our_own(
    user_redis: Callable[..., UserRedis], here: Path, speed: str
) -> None:
    file = here.parent / "monitor.log"
    recorded(user_redis(), file, times=30)
    server = user_redis()
    client = server.client()
    client.set("a", "theirs")
    client.config_resetstat()
    done = loadstone("redis", server.url, "--replay", str(file), "--speed", speed, "--out", "kept", folder=here)
    assert done.returncode in DONE, done.stderr
    assert "left out of it" in done.stderr
    assert "30 EVAL (a script may reach any key)" in done.stderr
    stats = client.info("commandstats")
    calls = {name: stats[f"cmdstat_{name}"]["calls"] for name in ("mset", "get", "hset", "expire", "echo")}
    assert calls == {"mset": 30, "get": 30, "hset": 30, "expire": 30, "echo": 1}
    assert 60 <= stats["cmdstat_set"]["calls"] < 65, "with those of the script, and a few of loadstone's own"
    assert not {"cmdstat_eval", "cmdstat_config|set", "cmdstat_flushall", "cmdstat_select"} & set(stats)
    assert (client.keys("*"), client.get("a")) == (["a"], "theirs"), "all of its own keys are removed"
    (trial,) = trials_of(here)
    assert trial["counts"]["ok"] == sum(calls.values()) + 60
    assert trial["facts"]["drive"]["commands"]["SET"]["sent"] == 60
    assert not trial["counts"]["errors"]


def test_what_is_no_recording_is_refused_before_anything_is_sent(
    user_redis: Callable[..., UserRedis], here: Path
) -> None:
    server = user_redis()
    file = here.parent / "monitor.log"
    file.write_text('1700000000.0 [0 127.0.0.1:1] "SET" "a" "1"\nrubbish\n')
    done = loadstone("redis", server.url, "--replay", str(file), folder=here)
    assert done.returncode == 2
    assert f"{file}, line 2: is no line of MONITOR" in done.stderr
    assert "Traceback" not in done.stderr
    assert "cmdstat_set" not in server.client().info("commandstats")
    assert not list(here.iterdir())


def test_documents_of_the_users_are_stored_read_and_verified(user_redis: Callable[..., UserRedis], here: Path) -> None:
    file = here.parent / "documents.jsonl"
    values = [{"name": f"größe {number}", "list": [number, 1.5, None], "text": "x" * number} for number in range(50)]
    lines = [json.dumps(value, ensure_ascii=number % 2 == 0) for number, value in enumerate(values)]
    file.write_text("".join(f"{line}\n" for line in lines))
    server = user_redis()
    client = server.client()
    done = loadstone(
        "redis", server.url, "--documents", str(file), "--verify", "-t", "set,get", "-n", "1000", "-c", "4",
        "--out", "kept", folder=here,
    )  # fmt: skip
    assert done.returncode in DONE, done.stderr
    assert client.keys("*") == []
    stats = client.info("commandstats")
    assert stats["cmdstat_get"]["calls"] >= 1000
    assert stats["cmdstat_set"]["calls"] >= 1050
    for trial in trials_of(here):
        assert trial["counts"]["ok"] >= 1000
        assert not trial["counts"]["errors"], "each reply was the document of its key"
    received = {trial["condition"]["operation"]: trial["facts"]["drive"] for trial in trials_of(here)}
    assert received["get"]["bytes_received"] > 1000 * min(map(len, lines))


def test_json_documents_are_the_same_whatever_way_they_are_written(here: Path) -> None:
    file = here.parent / "documents.jsonl"
    file.write_text('{"key": "user:1", "value": {"a": [1, 2.50, "\\u00e9"], "b": {"c": null}}}\n' * 3)
    done = loadstone(
        "redis", "--documents", str(file), "--verify", "-t", "json-set,json-get", "-n", "300", "-c", "2",
        "--out", "kept", folder=here,
    )  # fmt: skip
    assert done.returncode in DONE, done.stderr
    for trial in trials_of(here):
        assert trial["counts"]["ok"] >= 300
        assert not trial["counts"]["errors"]


def test_latency_by_rate_shows_how_much_is_done_at_once(here: Path) -> None:
    done = loadstone(
        "redis", "--rates", "500,4000", "-t", "get", "-P", "4", "--test-time", "1", "-c", "8", "--out", "kept",
        folder=here,
    )  # fmt: skip
    assert done.returncode in DONE, done.stderr
    (run,) = (here / "kept").glob("*/")
    rows = json.loads((run / "analysis.json").read_text())["tables"][0]["rows"]
    measured = [row["at_once"] for row in rows if row["at_once"] is not None]
    for found in measured:
        assert found["requests_a_send"] > 0.98, "a send and its request may fall on two sides of the phase's edge"
        assert found["wakeups_per_s"] > 100
        assert found["server_wakeups_per_s"] > 100
    assert not measured or "replies/wake-up" in (run / "report.md").read_text(), "others may take too much CPU"
