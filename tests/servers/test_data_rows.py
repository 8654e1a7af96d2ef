"""Rows of data: what their templates make, where they are kept, and how servers get them."""

import errno
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from tests.real_servers import UserRedis

from loadstone.experiment.plan.required import RequiredData
from loadstone.machine.processes.cache_folder import cache_folder
from loadstone.safety.errors import Interrupted, UserError
from loadstone.servers import data_rows as rows_module
from loadstone.servers import registry
from loadstone.servers.data_rows import DataWriter, each_second, rows_of
from loadstone.servers.deployed import RunningServer
from loadstone.servers.mariadb.control import MariaDbControl
from loadstone.servers.mariadb.local import find
from loadstone.servers.pool import ServerPool
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.server import DeployContext

COLUMNS = {
    "id": "{number}",
    "title": "{random 10 lowercase}",
    "score": "{uniform -3..3}",
    "content": "é {{{number} of {random 2 lowercase}, 100 %",
}
TABLE = "CREATE TABLE post (id INT PRIMARY KEY, title VARCHAR(20), score INT, content VARCHAR(100));"
needs_mariadb = pytest.mark.skipif(find("mariadbd") is None, reason="no MariaDB: scripts/apt installs it where it can")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def required(rows: int = 120, columns: Mapping[str, str] = COLUMNS, **changed: object) -> RequiredData:
    return RequiredData(**{"name": "posts", "rows": rows, "columns": columns, "server": "store", **changed})  # type: ignore[arg-type]


def lines_of(data: RequiredData) -> list[bytes]:
    return [line for part in rows_of(data, DeployContext()).lines() for line in part]


def test_templates_make_rows() -> None:
    lines = [line.decode().split("\t") for line in lines_of(required())]
    assert [line[0] for line in lines] == [str(number) for number in range(1, 121)]
    for number, title, score, content in lines:
        assert re.fullmatch("[a-z]{10}", title)
        assert -3 <= int(score) <= 3
        assert re.fullmatch(rf"é \{{{number} of [a-z]{{2}}, 100 %", content)
    assert len({line[1] for line in lines}) == 120
    assert {int(line[2]) for line in lines} == set(range(-3, 4))


def test_the_same_seed_gives_the_same_rows_and_fewer_are_the_first_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "PART_ROWS", 50)
    first = lines_of(required())
    assert lines_of(required(70)) == first[:70]
    assert lines_of(required(seed=2)) != first
    shutil.rmtree(cache_folder())
    assert lines_of(required()) == first


def test_a_column_does_not_depend_on_what_follows_it() -> None:
    alone = lines_of(required(columns={"title": COLUMNS["title"]}))
    beside = lines_of(required(columns={"title": COLUMNS["title"], "more": "{random 3 lowercase}"}))
    assert [line.split(b"\t")[0] for line in beside] == alone


def test_rows_are_made_once_and_forgotten_when_no_one_uses_them(tmp_path: Path) -> None:
    rows = rows_of(required(), DeployContext())
    (part,) = rows.parts
    made = part.stat().st_mtime_ns
    assert rows_of(required(), DeployContext()).parts[0].stat().st_mtime_ns == made
    assert part.is_relative_to(tmp_path / "cache/loadstone/data")
    long_ago = time.time() - 31 * 24 * 3600
    os.utime(part.parent, (long_ago, long_ago))
    (part.parent.parent / "0123456789abcdef.making").mkdir()
    rows_of(required(seed=2), DeployContext())
    assert not part.exists()
    assert (part.parent.parent / "0123456789abcdef.making").exists(), "another run may be at it"


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"rows": 5}', "link", "pipe"])
def test_rows_whose_sum_is_damaged_are_made_again(damage: str, tmp_path: Path) -> None:
    data = required()
    before = lines_of(data)
    [place] = (path.parent for path in cache_folder().glob("data/*/sum.json"))
    whole = (place / "sum.json").read_text()
    (place / "sum.json").unlink()
    if damage == "link":
        (tmp_path / "elsewhere").write_text(whole)
        (place / "sum.json").symlink_to(tmp_path / "elsewhere")
    elif damage == "pipe":
        os.mkfifo(place / "sum.json")
    else:
        (place / "sum.json").write_text(damage)
    assert lines_of(data) == before
    assert not (place / "sum.json").is_symlink()
    assert (place / "sum.json").read_text() == whole


def test_half_made_rows_are_no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, _: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(
            UserError, match=r"data\.posts: its 120 rows cannot be kept .*No space left.*free some room"
        ):
            rows_of(required(), DeployContext())
    assert [path.name for path in (cache_folder() / "data").iterdir() if path.is_dir()] == []
    assert len(lines_of(required())) == 120


@pytest.mark.parametrize(
    ("column", "template", "said"),
    [
        ("title", "{randm 10}", "data.posts.columns.title: '{randm 10}' is not known; known are {number}"),
        ("title", "{random 0 lowercase}", "the number must be 1 to"),
        ("title", "{uniform 3..1}", "must not be above"),
        ("title", "a\tb", "tabs and ends of lines"),
        ("ti-tle", "a", "letters, digits and _ only"),
    ],
)
def test_a_wrong_template_is_one_line(column: str, template: str, said: str) -> None:
    with pytest.raises(UserError) as refused:
        rows_of(required(columns={column: template}), DeployContext())
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_progress_is_reported_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([0.0, 0.5, 1.1, 1.1, 1.5, 2.2, 2.2])
    monkeypatch.setattr(rows_module.time, "monotonic", lambda: next(now))
    reported: list[str] = []
    done = each_second(DeployContext(progress=reported.append), "posts", 1_000_000)
    for count in (1000, 340_000, 500_000, 900_000):
        done(count)
    assert reported == ["posts: 340,000 of 1,000,000 rows", "posts: 900,000 of 1,000,000 rows"]


Serve = Callable[..., dict[str, RunningServer]]


@pytest.fixture
def serve(context: DeployContext) -> Iterator[Serve]:
    """Starts one server by its settings, or gives the one that runs."""
    pool = ServerPool(registry.make_server, context, lambda: None)
    yield lambda **settings: pool.need({"store": settings})
    pool.stop()


def redis_of(servers: Mapping[str, RunningServer]) -> RedisControl:
    control = servers["store"].control
    assert isinstance(control, RedisControl)
    return control


def mariadb_of(servers: Mapping[str, RunningServer]) -> MariaDbControl:
    control = servers["store"].control
    assert isinstance(control, MariaDbControl)
    return control


def test_rows_become_keys_of_redis(serve: Serve) -> None:
    servers = serve(kind="embedded")
    commands = (
        "HSET loadstone:post:{id} title {title} 'of {{' '{score} 100 %'",
        "SADD loadstone:posts {id}",
        "SET loadstone:json:{id} {json}",
    )
    DataWriter(DeployContext()).write([required(2500, commands=commands)], servers)
    control = redis_of(servers)
    assert control.count("SCARD loadstone:posts") == 2500
    assert control.keys() == 5001
    row = json.loads(control.call("GET", "loadstone:json:2500"))
    assert row["id"] == 2500
    assert row["content"].startswith("é {2500 of ")
    assert control.call("HGETALL", "loadstone:post:2500") == {
        b"title": row["title"].encode(),
        b"of {": f"{row['score']} 100 %".encode(),
    }


def test_rows_are_written_once_and_again_after_a_restart_and_over_others(serve: Serve) -> None:
    data = required(commands=("RPUSH loadstone:posts {id}",))
    reported: list[str] = []
    writer = DataWriter(DeployContext(progress=reported.append))
    for _ in range(2):
        servers = serve(kind="embedded")
        writer.write([data], servers)
    assert reported == ["posts: writing 120 rows to store"]
    writer.write([required(7, commands=data.commands)], servers)
    assert redis_of(servers).count("LLEN loadstone:posts") == 7
    redis_of(servers).call("SET", "loadstone:other", 1)
    servers["store"].server.restart()
    again = serve(kind="embedded")
    assert redis_of(again).keys() == 0
    writer.write([data], again)
    assert redis_of(again).count("LLEN loadstone:posts") == 120


def test_a_wish_to_stop_is_honoured_and_what_was_half_made_goes(serve: Serve, tmp_path: Path) -> None:
    data = required(2500, commands=("SET loadstone:post:{id} {json}",))
    with pytest.raises(Interrupted):
        rows_of(data, DeployContext(stopped=lambda: True))
    assert not list((tmp_path / "cache").rglob("*.making"))
    rows_of(data, DeployContext())
    with pytest.raises(Interrupted, match="what was finished is kept"):
        DataWriter(DeployContext(stopped=lambda: True)).write([data], serve(kind="embedded"))


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("SET post:{id} {json}", "data.posts: 'SET post:{id} {json}': its key must begin with 'loadstone:'"),
        ("SET loadstone:{id} 1", "it must name these alone: write loadstone:NAME:{id}"),
        ("SET loadstone:post{id}:x 1", "'SET loadstone:post{id}:x 1': keys are removed by their beginning"),
        ("SET {title} 1", "its key must begin with 'loadstone:'"),
        ("FLUSHALL loadstone:", "begin it with one of APPEND"),
        ("SET", "and its key"),
        (
            "SET loadstone:post:{id} {titel}",
            "'{titel}' is no column; known are {id}, {title}, {score}, {content}, {json}",
        ),
        ("SET loadstone:post:{id} 'x", "no closing quotation"),
    ],
)
def test_a_command_that_is_not_ours_is_refused(command: str, said: str, serve: Serve) -> None:
    servers = serve(kind="embedded")
    with pytest.raises(UserError) as refused:
        DataWriter(DeployContext()).write([required(commands=(command,))], servers)
    assert said in str(refused.value)
    assert redis_of(servers).keys() == 0


@pytest.mark.fault("a server has no room for the data", "one line with the remedy", area="data")
def test_a_redis_that_is_full_is_one_line(serve: Serve) -> None:
    servers = serve(kind="embedded", settings={"maxmemory": "3mb"})
    with pytest.raises(UserError, match=r"^data\.posts: server .*OOM command not allowed.*give it more room"):
        DataWriter(DeployContext()).write([required(50_000, commands=("SET loadstone:post:{id} {json}",))], servers)


@pytest.mark.fault("your server holds keys, databases or tables of others")
def test_the_users_redis_keeps_its_own_keys(user_redis: Callable[..., UserRedis]) -> None:
    theirs = user_redis()
    with theirs.client() as client:
        client.mset({"theirs": 1, "loadstone:other": 1, "loadstone:post*:x": 1, "loadstone:post*2": 1})
        commands = ("SET loadstone:post*:{id} {json}", "SADD loadstone:posts {id}")
        pool = ServerPool(registry.make_server, DeployContext(), lambda: None)
        servers = pool.need({"store": {"kind": "url", "url": theirs.url}})
        DataWriter(DeployContext()).write([required(3000, commands=commands)], servers)
        assert client.dbsize() == 3004
        pool.stop()
        assert sorted(client.keys("*")) == ["loadstone:other", "loadstone:post*2", "theirs"]


@needs_mariadb
def test_rows_become_rows_of_a_table(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "PART_ROWS", 50)
    servers = serve(kind="mariadb")
    control = mariadb_of(servers)
    control.run_script(TABLE)
    reported: list[str] = []
    data = required(table="post")
    DataWriter(DeployContext(progress=reported.append)).write([data], servers)
    rows = control.query("SELECT id, title, score, content FROM post ORDER BY id")
    assert ["\t".join(map(str, row)).encode() for row in rows] == lines_of(data)
    servers["store"].contents.clear()
    DataWriter(DeployContext(progress=reported.append)).write([data], servers)
    assert reported[-1] == "posts: store holds these rows already"
    control.query("UPDATE post SET title = 'x' WHERE id = 7")
    servers["store"].contents.clear()
    DataWriter(DeployContext()).write([data], servers)
    assert control.number("SELECT COUNT(*) FROM post WHERE title = 'x'") == 0
    assert control.count("post") == 120


@needs_mariadb
def test_a_server_that_takes_no_files_gets_the_same_rows(serve: Serve) -> None:
    servers = serve(kind="mariadb", settings={"local_infile": False})
    control = mariadb_of(servers)
    control.run_script(TABLE)
    DataWriter(DeployContext()).write([required(6000, table="post")], servers)
    rows = control.query("SELECT id, title, score, content FROM post ORDER BY id")
    assert ["\t".join(map(str, row)).encode() for row in rows] == lines_of(required(6000))


@needs_mariadb
@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("CREATE TABLE other (id INT);", r"data\.posts: .*doesn't exist"),
        ("CREATE TABLE post (id INT);", r"data\.posts: .*Unknown column 'title'"),
        (TABLE.replace("VARCHAR(20)", "VARCHAR(5)"), r"Data too long for column 'title'|Data truncated.*title"),
        (TABLE.replace("score INT", "score INT UNIQUE"), r"Duplicate entry"),
    ],
    ids=["none", "columns", "too short", "not unique"],
)
def test_a_table_that_does_not_fit_is_one_line(serve: Serve, table: str, said: str) -> None:
    servers = serve(kind="mariadb")
    mariadb_of(servers).run_script(table)
    with pytest.raises(UserError, match=said) as refused:
        DataWriter(DeployContext()).write([required(table="post")], servers)
    assert "\n" not in str(refused.value)


@needs_mariadb
def test_data_for_another_kind_of_server_is_refused(serve: Serve) -> None:
    with pytest.raises(UserError, match="is a MariaDB: name a 'table'"):
        DataWriter(DeployContext()).write([required(commands=("SET loadstone:post:{id} 1",))], serve(kind="mariadb"))
    with pytest.raises(UserError, match="is a Redis: name 'commands'"):
        DataWriter(DeployContext()).write([required(table="post")], serve(kind="embedded"))
