"""`loadstone upgrade-check` on real servers: what it finds, and what it does not claim."""

import json
import operator
import random
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.calling import called

from loadstone.addons.upgrade.check import CpuFound, Traffic, costs_more, cpu_of, require_room
from loadstone.safety.errors import UserError
from loadstone.servers.redis.append_only_file import require_commands
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.redis.recorded_replies import CpuInParts
from loadstone.servers.registry import make_server
from loadstone.servers.server import DeployContext

Command = Sequence[object]


def recorded(folder: Path, commands: Iterator[Command] | Sequence[Command]) -> Path:
    """A recording of these, a millisecond apart, of three clients."""
    file = folder / "monitor.log"
    lines = (
        f"{1_700_000_000 + number / 1000:.6f} [0 127.0.0.1:{5000 + number % 3}] "
        + " ".join(f'"{word}"' for word in command)
        for number, command in enumerate(commands)
    )
    file.write_text("OK\n" + "".join(f"{line}\n" for line in lines))
    return file


def checked(a: str, b: str, traffic: Path, *options: object) -> tuple[int, dict[str, Any]]:
    """The exit status, and the outcome."""
    done = called("upgrade-check", a, b, "--traffic", traffic, *options, "--json")
    return done.returncode, json.loads(done.stdout)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what a Redis kept: `dump.rdb` of 500 keys, and the `incr.aof` of what came behind it."""
    folder = tmp_path_factory.mktemp("kept")
    server = make_server("kept", {"kind": "embedded", "settings": {"appendonly": "yes"}})
    try:
        server.start(DeployContext())
        with server.control() as control:
            assert isinstance(control, RedisControl)
            for number in range(500):
                control.call("SET", f"k{number}", f"secret{number}")
            control.call("SAVE")
            place = Path(control.config_get(["dir"])["dir"])
            shutil.copy(place / "dump.rdb", folder)
            (aof,) = (place / "appendonlydir").glob("*.incr.aof")
            before = aof.stat().st_size
            for number in range(300):
                control.call("APPEND", f"k{number}", "\r\n*1")
                control.call("SADD", "s", number)
            with aof.open("rb") as file:
                file.seek(before)
                (folder / "incr.aof").write_bytes(file.read())
    finally:
        server.stop()
    return folder


def of_many_kinds(number: int) -> Iterator[Command]:
    drawn = random.Random(7)
    for value in range(number):
        key = f"k{drawn.randrange(20)}"
        yield drawn.choice(
            [
                ("SET", key, f"v{value}"),
                ("GET", key),
                ("INCR", f"n{key}"),
                ("SADD", f"s{key}", drawn.randrange(20)),
                ("SMEMBERS", f"s{key}"),
                ("SPOP", f"s{key}"),
                ("HSET", f"h{key}", drawn.randrange(9), value),
                ("HGETALL", f"h{key}"),
                ("ZADD", f"z{key}", drawn.random(), drawn.randrange(30)),
                ("ZRANGE", f"z{key}", 0, -1, "WITHSCORES"),
                ("XADD", f"x{key}", "*", "field", value),
                ("XLEN", f"x{key}"),
                ("SET", f"e{key}", 1, "PX", drawn.randrange(1, 2000)),
                ("GET", f"e{key}"),
                ("TTL", f"e{key}"),
                ("TIME",),
                ("LPUSH", f"l{key}", value),
                ("LRANGE", f"l{key}", 0, 9),
                ("SORT", f"l{key}", "ALPHA", "STORE", f"o{key}"),
            ]
        )


def test_equal_servers_differ_in_nothing(tmp_path: Path) -> None:
    status, found = checked("redis", "redis", recorded(tmp_path, of_many_kinds(5000)))
    assert (status, found["differ"], found["sent"]) == (0, 0, 5000)
    assert found["answer"] == "yes"
    assert all(size > 0 for size in found["data_bytes"])
    assert found["cpu"]["a_us"] > 0
    assert found["cpu"]["low"] <= found["cpu"]["b_to_a"] <= found["cpu"]["high"]
    back = found["way_back"]
    assert back["from_snapshot"] == back["as_replica"] == back["keys"] > 20
    assert found["compared"] > 2000
    of = {one["name"]: one for one in found["commands"]}
    assert of["TIME"]["free"] == of["TIME"]["sent"]
    assert all(of[name]["equal"] == of[name]["sent"] for name in ("INCR", "SORT"))


def test_replies_of_one_server_alone_are_found(tmp_path: Path) -> None:
    commands = [("SET", f"k{number}", "x" * 2000) for number in range(2000)]
    reads = [("GET", f"k{number}") for number in range(2000)]
    status, found = checked("redis", "redis,maxmemory=3mb", recorded(tmp_path, [*commands, *reads]))
    assert (status, found["answer"]) == (1, "no")
    of = {one["name"]: one for one in found["commands"]}
    assert 0 < of["SET"]["only_b_fails"] < 2000
    assert of["GET"]["differ"] == of["SET"]["only_b_fails"]
    assert of["GET"]["examples"][0].endswith(": text of 2,000 B -> nil")
    assert not any(one["name"] == "maxmemory" for one in found["changed_defaults"]), "the user set it"


def test_a_database_that_the_second_server_lacks_is_a_finding(tmp_path: Path) -> None:
    file = recorded(tmp_path, [*[("SET", "a", 1)] * 150, *[("GET", "a")] * 150])
    file.write_text(file.read_text().replace("[0 ", "[9 "))
    status, found = checked("redis", "redis,databases=4", file)
    assert (status, found["answer"]) == (1, "no")
    assert {one["name"]: one["only_b_fails"] for one in found["commands"]} == {"SELECT": 1, "SET": 0, "GET": 0}
    status, found = checked("redis", "redis", file)
    assert (status, found["sent"]) == (0, 300)


def test_other_servers_commands_and_defaults_are_named(tmp_path: Path) -> None:
    status, found = checked("redis", "valkey", recorded(tmp_path, of_many_kinds(1000)))
    assert (status, found["answer"], found["differ"]) == (0, "yes_but", 0)
    assert "VADD" in found["unknown_commands"]
    assert {"name": "lazyfree-lazy-expire", "a": "no", "b": "yes"} in found["changed_defaults"]
    assert found["versions"][0].startswith("redis 8")
    assert found["versions"][1].startswith("valkey 9")
    assert found["way_back"]["from_snapshot"] is None
    assert "Wrong signature" in found["way_back"]["why_not"][0]
    assert found["way_back"]["as_replica"] == found["way_back"]["keys"]


def test_transactions_are_compared_command_by_command(tmp_path: Path) -> None:
    one = [("WATCH", "a"), ("MULTI",), ("INCR", "a"), ("LPUSH", "b", "x"), ("EXEC",)]
    status, found = checked("redis", "redis", recorded(tmp_path, one * 100))
    assert (status, found["sent"], found["compared"], found["left_out"]) == (0, 200, 200, {})


def test_both_begin_with_the_data_and_get_what_an_append_only_file_has(kept: Path) -> None:
    status, found = checked("redis", "redis", kept / "incr.aof", "--data", kept / "dump.rdb")
    assert (status, found["answer"], found["only_writes"]) == (0, "yes", True)
    of = {one["name"]: one for one in found["commands"]}
    assert (of["APPEND"]["equal"], of["SADD"]["equal"]) == (300, 300)
    assert found["way_back"]["keys"] == 501
    assert "secret" not in json.dumps(found)


def test_what_is_read_of_the_data_is_compared(kept: Path, tmp_path: Path) -> None:
    fills = [("SET", f"new{number}", "x" * 2000) for number in range(2000)]
    file = recorded(tmp_path, [*fills, *[("GET", f"k{number}") for number in range(500)]])
    fewer = "redis,maxmemory=3mb,maxmemory-policy=allkeys-lru"
    status, found = checked("redis", fewer, file, "--data", kept / "dump.rdb")
    assert (status, found["answer"]) == (1, "no"), "the second one throws away what it began with"
    of = {one["name"]: one for one in found["commands"]}
    assert of["GET"]["examples"][0].endswith(" B -> nil")


def test_a_second_server_that_breaks_off_is_a_finding(tmp_path: Path) -> None:
    file = recorded(tmp_path, [*[("GET", "a")] * 300, ("SET", "a", "x" * 1_100_000), *[("GET", "b")] * 300])
    done = called("upgrade-check", "redis", "redis,proto-max-bulk-len=1mb", "--traffic", file)
    assert done.returncode == 1
    assert "breaks off where redis 8" in done.stdout
    assert "B closed the connection at one of the commands of lines 258 to " in done.stdout


def test_a_first_server_that_breaks_off_is_no_answer(tmp_path: Path) -> None:
    file = recorded(tmp_path, [*[("GET", "a")] * 300, ("SET", "a", "x" * 1_100_000)])
    done = called("upgrade-check", "redis,proto-max-bulk-len=1mb", "redis", "--traffic", file)
    assert done.returncode == 3
    assert not done.stdout


def test_few_commands_answer_nothing(tmp_path: Path) -> None:
    status, found = checked("redis", "redis", recorded(tmp_path, [("GET", "a")] * 50))
    assert (status, found["answer"]) == (4, "not_decidable")


def test_what_is_not_sent_is_counted(tmp_path: Path) -> None:
    commands = [("GET", "a")] * 300 + [
        ("BLPOP", "a", 0),
        ("CONFIG", "SET", "maxmemory", 1),
        ("EVAL", "return 1", 0),
    ] * 5
    status, found = checked("redis", "redis", recorded(tmp_path, commands))
    assert (status, found["answer"], found["sent"]) == (0, "yes_but", 300)
    assert sorted(found["left_out"].values()) == [5, 5, 5]


def test_a_recording_of_a_stranger_is_bounded_and_shows_nothing_of_itself(tmp_path: Path) -> None:
    invented = [(f"N{number}X", "\\x1b[31m", "secret") for number in range(2000)]
    odd = [
        ("\\x1b]52;c;x", "secret"),
        ("SORT",),
        ("SORT", "secret", "STORE"),
        ("OBJECT",),
        ("SETRANGE", "secret", "1e9", "x"),
    ]
    expiry = [("SET", "secret", "x", "EX"), ("SET", "secret", "x", "PX", "9" * 30), ("EXPIRE", "secret", "-1")]
    file = recorded(tmp_path, [*invented, *odd, *expiry, *[("GET", "secret")] * 200])
    status, found = checked("redis", "redis", file)
    assert status == 0
    assert len(found["left_out"]) <= 510
    assert sum(found["left_out"].values()) >= 2000
    assert found["differ"] == 0
    assert "secret" not in json.dumps(found)
    assert "\\u001b" not in json.dumps(found)


def test_a_person_reads_the_answer_first(tmp_path: Path) -> None:
    done = called("upgrade-check", "redis", "redis", "--traffic", recorded(tmp_path, [("GET", "a")] * 200))
    lines = done.stdout.splitlines()
    assert lines[0].startswith("YES: 200 replies are the same (redis 8")
    assert lines[3].split() == ["GET", "200", "200", "0", "0", "0", "0", "0", "0"]
    assert "the way back: A loads what B saved, and follows B as a replica (0 keys)" in done.stdout
    assert "loadstone gate redis --base redis --head redis --replay FILE" in lines[-1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("redis", "valkey"), "--traffic: which commands?"),
        (("redis://localhost:6379", "valkey", "--traffic", __file__), "A localhost:6379: is a server that runs"),
        (("redis", "no-such-server", "--traffic", __file__), "B no-such-server: no Redis"),
        (("redis", "valkey", "--traffic", "nothing"), "--traffic nothing: is no file"),
        (("redis", "valkey", "--traffic", __file__, "--data", "nothing"), "--data nothing: is no file"),
        (("/bin/false", "valkey", "--traffic", __file__), "line 1: is no line of MONITOR"),
    ],
)
def test_bad_input_is_one_line(words: Sequence[str], said: str, tmp_path: Path) -> None:
    done = called("upgrade-check", *words, folder=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("magic", [b"REDIS0012", b"VALKEY080"])
def test_a_snapshot_is_no_recording(magic: bytes, tmp_path: Path) -> None:
    (tmp_path / "base.rdb").write_bytes(magic + b"\xfa")
    with pytest.raises(UserError, match="begins with a snapshot; name the commands behind it"):
        require_commands(tmp_path / "base.rdb")


def test_what_does_not_fit_into_memory_is_named_by_what_was_given(tmp_path: Path) -> None:
    require_room(Traffic(tmp_path, None), taken=1000, free=3300, left=3)
    with pytest.raises(UserError, match="end other programs, or take a larger machine") as without:
        require_room(Traffic(tmp_path, None), taken=1000, free=3299, left=3)
    assert "--data" not in str(without.value)
    with pytest.raises(UserError, match="name a part of the data by --data, or take"):
        require_room(Traffic(tmp_path, tmp_path), taken=1000, free=1, left=1)


def test_a_recording_that_fills_the_machine_is_left(tmp_path: Path) -> None:
    size = 10 * psutil.virtual_memory().total
    done = called("upgrade-check", "redis", "redis", "--traffic", recorded(tmp_path, [("SETRANGE", "a", size, "x")]))
    assert done.returncode == 2
    assert "the recording fills this machine" in done.stderr


@pytest.mark.parametrize(
    ("a", "data", "said"),
    [
        ("redis", b"nonsense", "server a: it ended while it started; its log: [offset 0] Unexpected EOF"),
        ("redis,appendonly=yes", b"", "server a: with appendonly it begins with its append-only file"),
    ],
)
def test_data_that_no_server_loads_are_named(a: str, data: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "dump.rdb").write_bytes(data)
    traffic = recorded(tmp_path, [("GET", "a")])
    done = called("upgrade-check", a, "redis", "--traffic", traffic, "--data", tmp_path / "dump.rdb")
    assert done.returncode == 2
    assert said in done.stderr


def test_what_is_dearer_than_other_starts_explain_is_no_plain_yes() -> None:
    drawn = random.Random(7)
    noise = [[round(1e6 * drawn.uniform(0.9, 1.1)) for _ in range(4)] for _ in range(100)]

    def found(*factors: float) -> CpuFound:
        """Of servers that take these times as much: A, B, and their twins."""
        cpu = cpu_of([tuple(map(round, map(operator.mul, part, factors))) for part in noise], sent=1000)  # type: ignore[misc]
        assert cpu is not None
        return cpu

    dearer, one_start = found(1, 1.12, 1, 1.12), found(1, 1.3, 1, 1)
    assert [costs_more(one) for one in (found(1, 1, 1, 1), dearer, one_start)] == [False, True, False]
    assert dearer.low < 1.12 < dearer.high
    assert one_start.low < 1 < one_start.high
    assert cpu_of([(1, 1, 1, 1)] * 19, sent=1) is None
    assert cpu_of([], sent=1) is None


def test_cpu_times_are_kept_in_a_bounded_number_of_parts() -> None:
    cpu = CpuInParts()
    for window in range(10_000):
        cpu.add((window, 2 * window, 0, 0), (window + 1, 2 * window + 2, 5, 5))
    assert 64 <= len(cpu.parts) < 128
    assert len(set(cpu.parts)) == 1
    cpu.add((0, 0, 0, None), (1, 1, 1, None))
    assert cpu.parts == ()


def test_a_line_that_is_none_of_monitor_is_named(tmp_path: Path) -> None:
    file = tmp_path / "odd.log"
    file.write_text('1700000000.1 [0 127.0.0.1:1] "GET" "a"\nnonsense\n')
    done = called("upgrade-check", "redis", "redis", "--traffic", file)
    assert done.returncode == 2
    assert "line 2: is no line of MONITOR" in done.stderr
