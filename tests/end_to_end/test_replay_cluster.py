"""`loadstone redis --replay --cluster` on real clusters: which node gets what, slots that move, and what is left."""

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.crc import key_slot

from tests.end_to_end.test_load_commands import DONE, loadstone, trials_of
from tests.monitored import monitored
from tests.real_servers import UserRedis
from tests.users_cluster import PASSWORD, TheirCluster, resharded

TAGS = [f"{{user:{number}}}" for number in range(12)]
TIMES = 8
NODES = 3


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """Where commands are given."""
    return tmp_path / "here"


def session(client: redis.Redis, tag: str) -> None:
    """What one client does: commands of one key, of several in one slot, a transaction, and what no cluster takes."""
    client.hset(f"cart:{tag}", "item", "1")
    client.mset({f"a{tag}": "1", f"b{tag}": "2"})
    client.mget(f"a{tag}", f"b{tag}")
    client.sunionstore(f"all{tag}", f"x{tag}", f"y{tag}")
    with client.pipeline(transaction=True) as pipeline:
        pipeline.incr(f"count{tag}")
        pipeline.rpush(f"log{tag}", "x")
        pipeline.execute()
    client.mset({"one": "1", "another": "2"})
    client.dbsize()
    client.keys("*")


def node_of(tag: str) -> int:
    """Of a cluster whose slots are spread evenly."""
    return key_slot(tag.encode()) * NODES // 16_384


def calls(cluster: TheirCluster, node: int, name: str) -> int:
    return int(cluster.client(node).info("commandstats").get(f"cmdstat_{name}", {}).get("calls", 0))


@pytest.mark.parametrize("options", [("--speed", "1x"), ("--speed", "max", "-P", "8")])
def test_each_node_gets_the_commands_of_its_keys(
    user_redis: Callable[..., UserRedis],
    their_cluster: Callable[..., TheirCluster],
    here: Path,
    options: Sequence[str],
) -> None:
    file = here.parent / "monitor.log"
    source = user_redis()
    clients = [redis.Redis(port=source.port) for _ in range(4)]
    with monitored(source, file):
        for number in range(TIMES):
            for place, tag in enumerate(TAGS):
                session(clients[(place + number) % len(clients)], tag)
    cluster = their_cluster(NODES)
    for node in range(NODES):
        cluster.client(node).config_resetstat()
    theirs = next(f"theirs{number}" for number in count() if node_of(f"theirs{number}") == 0)
    cluster.client(0).set(theirs, "1")
    done = loadstone("redis", cluster.url, "--cluster", "--replay", str(file), *options, "--out", "kept", folder=here)
    assert done.returncode in DONE, done.stderr
    everyone = TIMES * len(TAGS)
    assert "over 5 connections to each node" in done.stderr
    assert f"{everyone} MSET (its keys are in several slots of a cluster)" in done.stderr
    assert f"{everyone} KEYS (it reaches keys that it does not name)" in done.stderr
    (trial,) = trials_of(here)
    drive = trial["facts"]["drive"]
    assert (drive["total"]["errors"], drive["total"]["timeouts"], drive["total"]["dropped"]) == ({}, 0, 0)
    assert drive["redirections"]["moved"] + drive["redirections"]["ask"] == 0
    expected = {node: TIMES * sum(node_of(tag) == node for tag in TAGS) for node in range(NODES)}
    names = ("hset", "mset", "mget", "sunionstore", "incrby", "rpush", "multi", "exec")
    of_nodes = Counter[int]()
    for name in names:
        found = {node: calls(cluster, node, name) for node in range(NODES)}
        assert found == expected, name
        of_nodes.update(found)
        assert drive["commands"][name.upper()]["sent"] == everyone, name
    for name in ("dbsize", "echo"):
        of_nodes.update({node: calls(cluster, node, name) for node in range(NODES)})
    own = 1  # removing what is ours begins with a DBSIZE: how long may it take?
    assert [one["sent"] + own for one in drive["endpoints"]] == [of_nodes[node] for node in range(NODES)]
    assert not sum(calls(cluster, node, name) for node in range(NODES) for name in ("keys", "flushall", "eval"))
    assert cluster.keys() == [theirs]
    checks = {check["name"]: check["verdict"] for check in trial["checks"]}
    assert (checks["server_counter"], checks["replies"], checks["conservation"]) == ("valid", "valid", "valid")
    assert PASSWORD not in "".join(path.read_text(errors="replace") for path in here.rglob("*") if path.is_file())


def tags_in(slots: Sequence[int]) -> list[str]:
    """A hash tag of each of these slots."""
    found: dict[int, str] = {}
    for number in count():
        found.setdefault(key_slot(str(number).encode()), str(number))
        if all(slot in found for slot in slots):
            return [found[slot] for slot in slots]
    raise AssertionError


def test_slots_move_while_a_recording_is_sent_again(their_cluster: Callable[..., TheirCluster], here: Path) -> None:
    cluster = their_cluster(3)
    slots = range(30)
    tags = tags_in(slots)
    commands: list[tuple[Any, ...]] = [
        ("INCR", "n"),
        ("RPUSH", "l", "x"),
        ("LRANGE", "l", "0", "-1"),
        ("HSET", "h", "f", "1"),
    ]
    number, length_s = 6000, 3.0
    file = here.parent / "monitor.log"
    with file.open("w") as out:
        for place in range(number):
            name, key, *rest = commands[place % len(commands)]
            arguments = (name, f"{key}:{place % 7}:{{{tags[place % len(tags)]}}}", *rest)
            written = " ".join(f'"{one}"' for one in arguments)
            at_s = 1_700_000_000 + length_s * place / number
            out.write(f"{at_s:.6f} [0 127.0.0.1:{5000 + place * 13 % 6}] {written}\n")
    with resharded(cluster, slots, 0, 1):
        done = loadstone("redis", cluster.url, "--cluster", "--replay", str(file), "--out", "kept", folder=here)
    assert done.returncode in DONE, done.stderr
    (trial,) = trials_of(here)
    drive = trial["facts"]["drive"]
    assert (drive["total"]["errors"], drive["total"]["ok"]) == ({}, number)
    followed = drive["redirections"]["moved"] + drive["redirections"]["ask"]
    assert followed > 0
    for name, *_ in commands:
        assert cluster.calls(name.lower()) == drive["commands"][name]["sent"], name
    assert sum(drive["commands"][name]["sent"] for name, *_ in commands) == number + followed
    assert drive["endpoints"][1]["ok"] > 0, "all keys were of another node"
    if "✕" not in done.stdout:  # other programs may have spoiled the row
        assert re.search(r"redirections of .*: (moved|ask) [\d,]+", done.stdout)
    assert cluster.keys() == []


@pytest.mark.parametrize("depth", [1, 8])
def test_transactions_whose_slots_move_end_as_errors_of_their_own(
    their_cluster: Callable[..., TheirCluster], here: Path, depth: int
) -> None:
    cluster = their_cluster(3)
    slots = range(10)
    tags = tags_in(slots)
    file = here.parent / "monitor.log"
    number = 1500
    with file.open("w") as out:
        for place in range(number):
            tag, head = tags[place * 7 % 10], f"{1.7e9 + place / 500:.6f} [0 127.0.0.1:{5000 + place % 4}]"
            one, other = f'"INCR" "n{{{tag}}}"', f'"MSET" "a{{{tag}}}" "1" "b{{{tag}}}" "2"'
            out.write("".join(f"{head} {text}\n" for text in ('"MULTI"', one, '"PING"', other, '"EXEC"', one)))
    with resharded(cluster, slots, 0, 1):
        done = loadstone(
            "redis", cluster.url, "--cluster", "--replay", str(file), "-P", str(depth), "--out", "kept", folder=here
        )
    assert done.returncode in DONE, done.stderr
    (trial,) = trials_of(here)
    drive = trial["facts"]["drive"]
    total = drive["total"]
    assert (total["offered"], total["timeouts"], total["dropped"], total["unsent"]) == (6 * number, 0, 0, 0)
    assert total["ok"] + sum(total["errors"].values()) == total["offered"]
    assert set(total["errors"]) <= {"server_moved", "server_ask", "server_execabort", "server_tryagain"}
    assert drive["redirections"]["in_transaction"] > 0
    assert drive["redirections"]["moved"] + drive["redirections"]["ask"] > 0
    assert cluster.keys() == []


def test_a_recording_that_no_cluster_takes_is_refused_and_a_cluster_is_started_for_any_other(here: Path) -> None:
    file = here.parent / "monitor.log"
    file.write_text('1.0 [0 127.0.0.1:1] "MSET" "a" "1" "b" "2"\n')
    done = loadstone("redis", "--cluster", "--replay", str(file), folder=here)
    assert done.returncode == 2
    assert "holds no command that a cluster takes; most of all 1 MSET: its keys are in several slots" in done.stderr
    lines = [f'{1 + number / 1000:.3f} [0 127.0.0.1:{number % 3}] "SET" "k{number}" "x"\n' for number in range(500)]
    file.write_text("".join(lines))
    done = loadstone("redis", "--cluster", "--replay", str(file), "--json", "--out", "kept", folder=here)
    assert done.returncode in DONE, done.stderr
    assert json.loads(done.stdout)
    (trial,) = trials_of(here)
    assert (trial["counts"]["ok"], trial["counts"]["errors"]) == (500, {})
    assert all(one["sent"] > 100 for one in trial["facts"]["drive"]["endpoints"])
