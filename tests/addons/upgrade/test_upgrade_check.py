"""`loadstone upgrade-check` on real servers: what it finds, and what it does not claim."""

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.calling import called

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


def checked(a: str, b: str, traffic: Path) -> tuple[int, dict[str, Any]]:
    """The exit status, and the outcome."""
    done = called("upgrade-check", a, b, "--traffic", traffic, "--json")
    return done.returncode, json.loads(done.stdout)


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


def test_other_servers_commands_and_defaults_are_named(tmp_path: Path) -> None:
    status, found = checked("redis", "valkey", recorded(tmp_path, of_many_kinds(1000)))
    assert (status, found["answer"], found["differ"]) == (0, "yes_but", 0)
    assert "VADD" in found["unknown_commands"]
    assert {"name": "lazyfree-lazy-expire", "a": "no", "b": "yes"} in found["changed_defaults"]
    assert found["versions"][0].startswith("redis 8")
    assert found["versions"][1].startswith("valkey 9")


def test_transactions_are_compared_command_by_command(tmp_path: Path) -> None:
    one = [("WATCH", "a"), ("MULTI",), ("INCR", "a"), ("LPUSH", "b", "x"), ("EXEC",)]
    status, found = checked("redis", "redis", recorded(tmp_path, one * 100))
    assert (status, found["sent"], found["compared"], found["left_out"]) == (0, 200, 200, {})


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
    assert "loadstone gate redis --base redis --head redis --replay FILE" in lines[-1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("redis", "valkey"), "--traffic: which commands?"),
        (("redis://localhost:6379", "valkey", "--traffic", __file__), "A localhost:6379: is a server that runs"),
        (("redis", "no-such-server", "--traffic", __file__), "B no-such-server: no Redis"),
        (("redis", "valkey", "--traffic", "nothing"), "nothing: cannot be read (No such file or directory)"),
    ],
)
def test_bad_input_is_one_line(words: Sequence[str], said: str, tmp_path: Path) -> None:
    done = called("upgrade-check", *words, folder=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_recording_that_fills_the_machine_is_left(tmp_path: Path) -> None:
    size = 10 * psutil.virtual_memory().total
    done = called("upgrade-check", "redis", "redis", "--traffic", recorded(tmp_path, [("SETRANGE", "a", size, "x")]))
    assert done.returncode == 2
    assert "the recording fills this machine" in done.stderr


def test_a_line_that_is_none_of_monitor_is_named(tmp_path: Path) -> None:
    file = tmp_path / "odd.log"
    file.write_text('1700000000.1 [0 127.0.0.1:1] "GET" "a"\nnonsense\n')
    done = called("upgrade-check", "redis", "redis", "--traffic", file)
    assert done.returncode == 2
    assert "line 2: is no line of MONITOR" in done.stderr
