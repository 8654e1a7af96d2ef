"""`loadstone capacity` on runs as they were measured: what it prints, its files and its exit status."""

import json
import os
import shutil
from pathlib import Path

import pytest
from tests.frozen_runs import unpacked

from loadstone.addons.capacity.command import read_users
from loadstone.cli import main
from loadstone.safety import terminal
from loadstone.safety.errors import UserError


@pytest.fixture(scope="module")
def redis_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A search for a saturation point: ten numbers of users from 1 to 32, 160,000 GETs a second."""
    return unpacked("saturate-closed", tmp_path_factory.mktemp("capacity"))


@pytest.fixture(scope="module")
def nest_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nest with Redis and MariaDB, always with 20 users."""
    return unpacked("local-vs-cloud", tmp_path_factory.mktemp("capacity"))


def ran(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.argv", ["loadstone", "capacity", *map(str, words)])
    terminal.prepare()
    with pytest.raises(SystemExit) as ended:
        main.main()
    printed = capsys.readouterr()
    return int(ended.value.code or 0), printed.out, printed.err


Print = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch


def test_parts_limit_and_predictions(redis_run: Path, monkeypatch: Patch, capsys: Print) -> None:
    status, out, _ = ran(monkeypatch, capsys, redis_run)
    assert status == 0
    assert "CPU per request" in out
    said = " ".join(out.split())
    assert "a second: redis (94.6 % busy, at most 184,923 a second)" in said
    assert " 94.6 % 184,923 [" in said, "one figure of a part in the table and in the sentence"
    assert "redis 94.7 % ▇" in said, "of a level that was measured, how busy it was is not predicted"
    assert "next: generator" in said
    assert "levels that it was not fitted on" in said


def test_what_if(redis_run: Path, tmp_path: Path, monkeypatch: Patch, capsys: Print) -> None:
    file, picture = tmp_path / "capacity.json", tmp_path / "curve.svg"
    cheaper = ("--cost", "redis=-50%", "--cost", "generator=-50%", "--users", "8..32")
    status, out, _ = ran(monkeypatch, capsys, redis_run, *cheaper, "--json-out-file", file, "--svg", picture, "-q")
    assert status == 0
    assert [line.split()[0] for line in out.splitlines()] == ["8", "16", "32"]
    made = json.loads(file.read_text())["capacities"][0]["predictions"]
    _, plain, _ = ran(monkeypatch, capsys, redis_run, "--users", "8..32", "--json")
    before = json.loads(plain)["capacities"][0]["predictions"]
    for after, one in zip(made, before, strict=True):
        assert after["per_s"] == pytest.approx(2 * one["per_s"], rel=0.1)
        assert after["low_per_s"] < after["per_s"] < after["high_per_s"]
        assert one["measured_per_s"] is None or one["low_per_s"] < one["measured_per_s"] < one["high_per_s"]
    assert picture.read_bytes().startswith(b"<svg")
    assert b"Predicted rate over users" in picture.read_bytes()


def test_more_instances_move_the_limit(redis_run: Path, monkeypatch: Patch, capsys: Print) -> None:
    _, out, _ = ran(monkeypatch, capsys, redis_run, "--instances", "redis=4", "--users", "1000", "--json")
    capacity = json.loads(out)["capacities"][0]
    assert capacity["predictions"][0]["busiest"] == "generator"
    assert capacity["predictions"][0]["per_s"] > capacity["per_s"]


def test_one_number_of_users_gives_parts_alone(nest_run: Path, monkeypatch: Patch, capsys: Print) -> None:
    status, out, _ = ran(monkeypatch, capsys, nest_run, "--only", "redis=local")
    assert status == 0
    assert out.count("CPU per request") == 2
    assert out.count("1 number of users measured, and it takes 4") == 1, "what holds of all conditions is said once"
    assert "nest" in out
    status, out, _ = ran(monkeypatch, capsys, nest_run, "--instances", "nest=2", "-q")
    assert status == 3
    assert len(out.splitlines()) == 4


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--cpus", "redis=2"], "--cpus redis=2: redis works in one thread"),
        (["--cpus", "reds=2"], "'reds' is no part; did you mean 'redis'?"),
        (["--cpus", "redis"], "write NAME=..., each part once; parts are: redis, generator"),
        (["--instances", "redis=0"], "write a number above 0"),
        (["--instances", "redis=2", "--instances", "redis=3"], "each part once"),
        (["--cost", "redis=20"], "write how much more or less in per cent"),
        (["--cpus", "redis=1e-300"], "write a number above 0, from 0.001 to 10000"),
        (["--cost", "redis=-99.99999999%"], "write how much more or less in per cent"),
        (["--cost", "redis=nan%"], "write how much more or less in per cent"),
        (["--think", "1e999s"], "--think 1e999s: '1e999s' is not a time"),
        (["--users", "1..1000000000000000000"], "not numbers of users"),
        (["--cost", "redis=-100%"], "write how much more or less in per cent"),
        (["--users", "5..1"], "not numbers of users"),
        (["--users", "0"], "not numbers of users"),
        (["--think", "soon"], "--think soon"),
        (["--only", "workers=1"], "'workers' is no factor"),
        (["--svg", "/nowhere/x.svg"], "--svg /nowhere/x.svg: there is no folder /nowhere; make it"),
    ],
)
def test_bad_input_is_one_line(redis_run: Path, words: list[str], said: str, monkeypatch: Patch, capsys: Print) -> None:
    status, out, err = ran(monkeypatch, capsys, redis_run, *words)
    assert (status, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1


def test_a_run_without_users_who_wait_is_refused(tmp_path: Path, monkeypatch: Patch, capsys: Print) -> None:
    status, _, err = ran(monkeypatch, capsys, unpacked("redis-rate", tmp_path))
    assert status == 2
    assert "no condition has users who wait for their replies" in err


def test_a_folder_cut_short_is_still_read(redis_run: Path, tmp_path: Path, monkeypatch: Patch, capsys: Print) -> None:
    """Only the search was done: its few steps count where there are no sweeps."""
    cut = tmp_path / "cut"
    shutil.copytree(redis_run, cut)
    lines = (cut / "trials.jsonl").read_text().splitlines(keepends=True)
    (cut / "trials.jsonl").write_text("".join(line for line in lines if '"phase": "sweep"' not in line))
    status, out, _ = ran(monkeypatch, capsys, cut)
    assert status in (0, 3)
    assert "redis" in out


@pytest.mark.parametrize(
    ("text", "users"),
    [("64", (64,)), ("8,1,64", (1, 8, 64)), ("1..2000", (*(2**power for power in range(11)), 2000)), ("3..3", (3,))],
)
def test_numbers_of_users(text: str, users: tuple[int, ...]) -> None:
    assert read_users("--users", text).numbers == users


def test_too_many_users() -> None:
    with pytest.raises(UserError, match="from 1 to 100000"):
        read_users("--users", "1..100001")


def test_a_server_with_cpus_of_its_own_shares_the_generators(nest_run: Path, monkeypatch: Patch, capsys: Print) -> None:
    """On two CPUs there is no other: behind a line Redis takes none of the application's."""
    _, out, _ = ran(monkeypatch, capsys, nest_run, "--only", "processes=one", "--json")
    shared = {
        one["condition"]["redis"]: {part["name"]: part["shares_with"] for part in one["parts"]}
        for one in json.loads(out)["capacities"]
    }
    assert shared["local"]["redis"] == ["nest"]
    assert "nest" not in shared["remote"]["redis"]


def test_what_is_no_file_and_what_the_run_consists_of_is_not_replaced(
    redis_run: Path, tmp_path: Path, monkeypatch: Patch, capsys: Print
) -> None:
    """As root a device would be replaced by a file."""
    pipe, record = tmp_path / "pipe", redis_run / "trials.jsonl"
    os.mkfifo(pipe)
    before = record.read_bytes()
    for words, said in (
        (["--svg", pipe], "is a device or a pipe, and no file; name a file"),
        (["--json-out-file", pipe], "is a device or a pipe, and no file; name a file"),
        (["--json-out-file", record], "is a file of the run itself; name another one"),
        (["--svg", tmp_path / "x", "--json-out-file", tmp_path / "x"], "name two files"),
    ):
        status, out, err = ran(monkeypatch, capsys, redis_run, *words)
        assert (status, out) == (2, "")
        assert said in err
    assert pipe.is_fifo()
    assert record.read_bytes() == before


def test_one_user_and_users_who_do_not_pause(redis_run: Path, monkeypatch: Patch, capsys: Print) -> None:
    _, out, _ = ran(monkeypatch, capsys, redis_run, "--users", "1,8", "--think", "100ms", "-q")
    assert out.startswith("1 user: ")
    _, plain, _ = ran(monkeypatch, capsys, redis_run, "--users", "8", "-q")
    _, none, _ = ran(monkeypatch, capsys, redis_run, "--users", "8", "--think", "0s", "-q")
    assert none == plain
