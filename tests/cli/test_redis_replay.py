"""`loadstone redis --replay`: what its options make of the plan, and what they refuse."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.said import Said

from loadstone.experiment.plan.drive_plan import Closed, Open
from loadstone.safety.errors import UserError
from loadstone.servers.recordings import recorded_in

Redis = Callable[..., Said]
LINES = [
    "OK",
    '1700000000.000000 [0 127.0.0.1:1] "SET" "a" "1"',
    '1700000001.000000 [0 127.0.0.1:2] "GET" "a"',
    '1700000002.000000 [0 127.0.0.1:3] "FLUSHALL"',
    '1700000004.000000 [0 127.0.0.1:2] "GET" "b"',
]


@pytest.fixture
def redis(said: Callable[..., Said]) -> Redis:
    return lambda *arguments: said("redis", *arguments)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "monitor.log"
    file.write_text("\n".join(LINES) + "\n")
    return file


def test_it_comes_at_its_own_speed_over_a_connection_a_client(
    redis: Redis, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = redis("--replay", str(log))
    plan = found.plan()
    assert plan.model == Open(rate_per_s=0.75, arrivals="recorded")
    assert (plan.pool.connections, plan.phases.warm_up_s, plan.phases.measure_s) == (2, 0.0, 4.0)
    assert plan.recording is not None
    assert plan.recording.speed == 1
    assert recorded_in(plan.recording.path).number == 3
    assert found.sent() == {"set": (1, "SET"), "get": (1, "GET")}
    assert len(found.run_plan.trials) == 1
    said = capsys.readouterr().err
    assert f"replay of {log}: 3 commands of 2 clients in 4.0 s, at its own speed, over 2 connections" in said
    assert "left out of it: 1: 1 FLUSHALL (it acts on the whole server)" in said
    assert "1 FLUSHALL" in found.experiment.description


def test_it_comes_faster_or_as_fast_as_possible(redis: Redis, log: Path) -> None:
    faster = redis("--replay", str(log), "--speed", "2x", "-c", "5", "--warm-up", "1").plan()
    assert faster.model == Open(rate_per_s=1.5, arrivals="recorded")
    assert (faster.pool.connections, faster.phases.warm_up_s, faster.phases.measure_s) == (5, 1.0, 1.0)
    assert faster.recording is not None
    assert faster.recording.speed == 2
    fastest = redis("--replay", str(log), "--speed", "max", "--repeat", "3", "-P", "8")
    assert (fastest.plan().model, fastest.plan().pipeline_depth) == (Closed(users=2), 8)
    assert fastest.run_plan.groups[0].looks == (3,)
    short = redis("--replay", str(log), "--test-time", "2").plan()
    assert short.phases.measure_max_s == 2


def test_commands_that_are_spelled_alike_are_operations_of_their_own(redis: Redis, tmp_path: Path) -> None:
    file = tmp_path / "monitor.log"
    file.write_text('1.0 [0 lua] "JSON.SET" "a" "$" "{}"\n2.0 [0 lua] "json.get" "a"\n')
    found = redis("--replay", str(file))
    assert found.sent() == {"json-set": (1, "JSON.SET"), "json-get": (1, "JSON.GET")}
    assert found.experiment.servers["redis"]["modules"] == ["json"]


def test_transactions_need_a_connection_for_each_client(redis: Redis, tmp_path: Path) -> None:
    file = tmp_path / "monitor.log"
    file.write_text('1.0 [0 127.0.0.1:1] "MULTI"\n1.0 [0 127.0.0.1:1] "EXEC"\n2.0 [0 127.0.0.1:2] "PING"\n')
    assert redis("--replay", str(file)).plan().pool.connections == 2
    with pytest.raises(UserError, match="-c 1: the recording has transactions, and 2 clients: each needs a connection"):
        redis("--replay", str(file), "-c", "1")


@pytest.mark.parametrize("cluster", [["--cluster"], ["redis://h:1", "--cluster"], ["redis://h:1/?cluster=yes"]])
def test_on_a_cluster_more_is_left_out_and_said(
    redis: Redis, tmp_path: Path, capsys: pytest.CaptureFixture[str], cluster: list[str]
) -> None:
    file = tmp_path / "monitor.log"
    lines = [*LINES, '1700000005.0 [0 127.0.0.1:2] "MGET" "a" "b"', '1700000006.0 [0 127.0.0.1:2] "MGET" "{a}1" "{a}2"']
    file.write_text("\n".join(lines) + "\n")
    found = redis(*cluster, "--replay", str(file))
    assert found.plan().model == Open(rate_per_s=round(4 / 6, 3), arrivals="recorded")
    said = capsys.readouterr().err
    assert "4 commands of 2 clients in 6.0 s, at its own speed, over 2 connections to each node" in said
    assert "left out of it: 2: 1 FLUSHALL (it acts on the whole server), 1 MGET (its keys are in several slots" in said
    assert "1 MGET" in found.experiment.description
    redis("--replay", str(file))
    assert "MGET" not in capsys.readouterr().err


def test_what_no_cluster_takes_is_refused_for_one(redis: Redis, tmp_path: Path) -> None:
    file = tmp_path / "monitor.log"
    file.write_text('1.0 [0 127.0.0.1:1] "DEL" "a" "b"\n')
    assert redis("--replay", str(file)).sent() == {"del": (1, "DEL")}
    with pytest.raises(UserError, match="holds no command that a cluster takes; most of all 1 DEL: its keys are in"):
        redis("--replay", str(file), "--cluster")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--speed", "2x"], "--speed: belongs to a recording; add --replay FILE"),
        (["--replay", "LOG", "--speed", "fast"], "--speed fast: no speed; write 2x, 0.5x, or max for as fast as"),
        (["--replay", "LOG", "--speed", "0x"], "--speed 0x: no speed"),
        (["--replay", "LOG", "-t", "get"], "--replay, -t: the recording says what is sent, and when; leave one"),
        (["--replay", "LOG", "--rate", "5"], "--replay, --rate: the recording says what is sent, and when"),
        (["--replay", "LOG", "--against", "redis://h:1"], "--replay, --against: the recording says"),
        (["--replay", "LOG", "-n", "5"], "--replay, -n: the recording says"),
        (
            ["--replay", "LOG", "--warm-up", "4"],
            "--warm-up: as long as the recording (4.0 s at this speed); write less",
        ),
        (["--replay", "/none.log"], "--replay /none.log: cannot be read (No such file or directory); name a recording"),
    ],
)
def test_a_slip_names_the_option(redis: Redis, log: Path, arguments: list[str], error: str) -> None:
    with pytest.raises(UserError) as raised:
        redis(*(str(log) if word == "LOG" else word for word in arguments))
    assert error in str(raised.value)


@pytest.mark.fault("absurd names, numbers or values for any option")
@pytest.mark.parametrize(
    ("line", "says"),
    [
        (
            f'1700000000.5 [0 127.0.0.1:1] "LMPOP" "{"9" * 5000}" "a" "LEFT"',
            "most of all 1 LMPOP: loadstone does not know",
        ),
        ('1700000000.5 [0 127.0.0.1:1] "LMPOP" "²" "a" "LEFT"', "1 LMPOP: loadstone does not know"),
        ('99999999999.5 [0 127.0.0.1:1] "GET" "a"', "line 2: is 1,137,731 days after the first command, and 366 are"),
        (f'{"9" * 5000}.5 [0 127.0.0.1:1] "GET" "a"', "line 2: is no line of MONITOR"),
        (f'1700000000.5 [{"9" * 5000} 127.0.0.1:1] "GET" "a"', "line 2: is no line of MONITOR"),
    ],
)
def test_a_number_that_is_none_is_one_line(redis: Redis, tmp_path: Path, line: str, says: str) -> None:
    file = tmp_path / "monitor.log"
    first = '1700000000.0 [0 127.0.0.1:1] "GET" "a"' if "line 2" in says else "OK"
    file.write_text(f"{first}\n{line}\n")
    with pytest.raises(UserError) as caught:
        redis("--replay", str(file))
    assert says in str(caught.value)
