"""What a killed run left on servers of the user's, and ledgers that lie: only what is provably the run's goes."""

import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pymysql
import pytest
from tests.real_servers import PLAN, UserRedis

from loadstone.cli.clean_command import clean
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.required import RequiredData, RequiredSubject
from loadstone.experiment.plan.run_plan import PlannedTrial
from loadstone.machine.process_identity import started
from loadstone.programs.deployments import Deployments
from loadstone.programs.subjects.schema import make_tables
from loadstone.run_folder.ledger import CreatedObject, ServerIdentity
from loadstone.run_folder.ledger_file import RunLedger
from loadstone.safety.errors import LoadstoneError, UserError
from loadstone.servers import registry
from loadstone.servers.leftovers import remove_left
from loadstone.servers.mariadb.local import find
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.server import DeployContext

needs_mariadb = pytest.mark.skipif(find("mariadbd") is None, reason="no MariaDB: scripts/apt installs it where it can")
POSTS = RequiredData("posts", 100, {"id": "{number}"}, "mariadb", table="post")
RUN_ID = "0123456789abcdef" * 2


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "runs" / "20261122T101112Z-shop"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture(scope="module")
def users_mariadb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """One of the user's for all tests."""
    server = registry.make_server("theirs", {"kind": "mariadb"})
    endpoint = server.start(DeployContext(work_root=tmp_path_factory.mktemp("work")))
    own = everything(endpoint)
    try:
        yield endpoint
        assert everything(endpoint) == own
    finally:
        server.stop()


@pytest.fixture
def mariadb(users_mariadb: Endpoint) -> Iterator[Endpoint]:
    """It has a database of theirs, and one called loadstone_kept with a table of theirs."""
    endpoint = users_mariadb
    try:
        for statement in (
            "CREATE DATABASE shop",
            "CREATE TABLE shop.orders (id INT)",
            "INSERT INTO shop.orders VALUES (1), (2)",
            "CREATE DATABASE loadstone_kept",
            "CREATE TABLE loadstone_kept.customers (id INT)",
            "INSERT INTO loadstone_kept.customers VALUES (7)",
            "CREATE TABLE loadstone_kept.post (id INT PRIMARY KEY)",
        ):
            query(endpoint, statement)
        yield endpoint
    finally:
        for name in ("shop", "loadstone_kept"):
            query(endpoint, f"DROP DATABASE IF EXISTS {name}")


def query(endpoint: Endpoint, statement: str) -> list[tuple[Any, ...]]:
    """By a client of its own."""
    with (
        closing(
            pymysql.connect(
                host=endpoint.host,
                port=endpoint.port,
                user=endpoint.username,
                password=endpoint.password or "",
                autocommit=True,
            )
        ) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)
        return list(cursor.fetchall())


def everything(endpoint: Endpoint) -> dict[str, int]:
    """Tables that are no part of the server itself -> their rows; databases without tables, too."""
    own = "('mysql', 'information_schema', 'performance_schema', 'sys')"
    names = query(
        endpoint,
        "SELECT schema_name, table_name FROM information_schema.schemata LEFT JOIN information_schema.tables "
        f"ON schema_name = table_schema WHERE schema_name NOT IN {own}",
    )
    return {
        f"{base}.{table}": query(endpoint, f"SELECT COUNT(*) FROM `{base}`.`{table}`")[0][0] if table else 0
        for base, table in names
    }


def url(endpoint: Endpoint, database: str) -> str:
    return f"mariadb://{endpoint.username}:{endpoint.password}@{endpoint.label}/{database}"


def shop(tmp_path: Path, tables: str) -> RequiredSubject:
    """An application whose tables are made; it is by URL, so that nothing is started."""
    folder = tmp_path / "shop"
    folder.mkdir(exist_ok=True)
    environment = "environment: {DB: '${mariadb.address}'}"
    (folder / "subject.yaml").write_text(f"name: shop\nrun: {{command: 'true'}}\n{environment}\ntables: {tables}\n")
    return RequiredSubject(manifest=str(folder))


def killed(context: DeployContext, folder: Path, address: str, *, tables: str = "", data: bool = True) -> None:
    """What a run makes before its first trial; then its process is gone, which takes nothing but the lock with it."""
    with closing(RunLedger(folder)) as ledger:
        run = Deployments(registry.make_server, replace(context, ledger=ledger))
        servers = run._servers.need({"mariadb": {"kind": "mariadb-url", "url": address}})
        try:
            if tables:
                subject = shop(folder.parent, tables)
                manifest = run._subjects.manifest(subject)
                assert manifest is not None
                make_tables("app", *manifest, servers)
            if data:
                run._data.write([POSTS], servers)
        finally:
            for deployed in servers.values():
                deployed.close()


def cleaned(folder: Path, *servers: str, status: int = 0, dry_run: bool = False) -> str:
    lines: list[str] = []
    found = clean(str(folder), servers, lines.append, dry_run=dry_run)
    assert found == status, lines
    return "\n".join(lines)


TABLES = "{post: {columns: {id: int}, key: id}}"
TWO_TABLES = "{post: {columns: {id: int}, key: id}, feed: {columns: {id: int}, key: id}}"


@needs_mariadb
def test_a_database_that_was_made_goes(mariadb: Endpoint, context: DeployContext, run_folder: Path) -> None:
    before = everything(mariadb)
    address = url(mariadb, "loadstone_lab")
    killed(context, run_folder, address, tables=TABLES)
    assert everything(mariadb) == {**before, "loadstone_lab.post": 100}
    assert "add --server mariadb=URL" in cleaned(run_folder, status=3)
    assert "database loadstone_lab: would be removed" in cleaned(run_folder, f"mariadb={address}", dry_run=True)
    assert everything(mariadb) == {**before, "loadstone_lab.post": 100}
    assert "database loadstone_lab: removed" in cleaned(run_folder, f"mariadb={address}")
    assert everything(mariadb) == before
    assert cleaned(run_folder) == "nothing is left on any server"
    assert str(mariadb.password) not in (run_folder / "ledger.jsonl").read_text()


@needs_mariadb
def test_a_new_run_names_the_one_that_left_it_and_resume_goes_on(
    mariadb: Endpoint, context: DeployContext, run_folder: Path
) -> None:
    before = everything(mariadb)
    address = url(mariadb, "loadstone_lab")
    killed(context, run_folder, address, tables=TABLES)
    other = run_folder.with_name("20261122T202122Z-other")
    other.mkdir()
    with pytest.raises(
        UserError, match=r"'loadstone_lab' was made by the run 20261122T101112Z-shop.*loadstone clean 2026"
    ):
        killed(context, other, address)
    killed(context, run_folder, address, tables=TABLES)  # the same run goes on
    assert everything(mariadb) == {**before, "loadstone_lab.post": 100}
    with closing(RunLedger(run_folder)) as ledger:
        with Deployments(registry.make_server, replace(context, ledger=ledger)) as run:
            run._servers.need({"mariadb": {"kind": "mariadb-url", "url": address}})
        assert ledger.left() == {}
    assert everything(mariadb) == before


@needs_mariadb
def test_tables_in_a_database_that_was_there_go_and_no_others(
    mariadb: Endpoint, context: DeployContext, run_folder: Path
) -> None:
    before = everything(mariadb)
    address = url(mariadb, "loadstone_kept")
    killed(context, run_folder, address, tables=TWO_TABLES)
    made = everything(mariadb)
    assert made["loadstone_kept.post"] == 100
    assert "loadstone_kept.feed" in made
    text = cleaned(run_folder, f"mariadb={address}")
    assert "table feed: removed" in text
    assert "rows of table post: removed" in text
    assert everything(mariadb) == before


@pytest.mark.fault("a planted ledger names keys, tables or addresses of others")
@needs_mariadb
def test_a_planted_ledger_removes_nothing_from_mariadb(
    mariadb: Endpoint, context: DeployContext, run_folder: Path
) -> None:
    killed(context, run_folder, url(mariadb, "loadstone_kept"), tables=TWO_TABLES)
    before = everything(mariadb)
    server = "mariadb"
    for database, things in {
        "mysql": [CreatedObject("database", "mysql"), CreatedObject("table_made", "user")],
        "shop": [
            CreatedObject("database", "shop"),
            CreatedObject("table_made", "orders"),
            CreatedObject("table_filled", "orders"),
        ],
        "loadstone_kept": [
            *(
                CreatedObject("database", "loadstone_kept"),
                CreatedObject("database", "shop"),
                CreatedObject("database", "mysql"),
            ),
            *(
                CreatedObject("table_made", "customers"),
                CreatedObject("table_filled", "customers"),
                CreatedObject("table_made", "shop`.`orders"),
            ),
            *(
                CreatedObject("key", "loadstone:x"),
                CreatedObject("table_made", "a` (id INT); DROP TABLE customers; -- "),
            ),
        ],
    }.items():
        planted = run_folder.with_name(f"planted-{database}")
        plant(planted, ServerIdentity(server, f"mariadb://{mariadb.label}/{database}", True), things)
        text = cleaned(planted, f"mariadb={url(mariadb, database)}", status=3)
        assert "removed" not in text.replace("are removed", "")
        assert everything(mariadb) == before
    ledger = run_folder / "ledger.jsonl"  # the run's own, with lines by somebody else
    line = json.loads(ledger.read_text().splitlines()[-1]) | {
        "what": "makes",
        "kind": "table_made",
        "name": "customers",
    }
    ledger.write_text(f"{ledger.read_text()}{json.dumps(line)}\n")
    assert "has no mark that this run created it" in cleaned(
        run_folder, f"mariadb={url(mariadb, 'loadstone_kept')}", status=3
    )
    assert everything(mariadb)["loadstone_kept.customers"] == 1


def plant(folder: Path, place: ServerIdentity, things: list[CreatedObject], **session: object) -> Path:
    """A ledger as loadstone would write it, with other things in it."""
    folder.mkdir(exist_ok=True)
    with closing(RunLedger(folder)) as ledger:
        ledger.makes(place, things)
    path = folder / "ledger.jsonl"
    if session:
        first, *rest = path.read_text().splitlines()
        path.write_text("\n".join([json.dumps(json.loads(first) | session), *rest, ""]))
    return path


@pytest.fixture
def theirs(user_redis: Callable[..., UserRedis]) -> Iterator[UserRedis]:
    """A Redis without a password, with keys of the user's and of other runs."""
    server = user_redis()
    with server.client() as client:
        client.mset({"theirs": 1, "loadstone": 2, "loadstone:1": 3, "loadstone-x:y": 4})
        yield server


def address(server: UserRedis, database: int = 0) -> ServerIdentity:
    return ServerIdentity("redis", f"redis://127.0.0.1:{server.port}/{database}", False)


@pytest.mark.fault(
    "a planted ledger names keys, tables or addresses of others",
    "nothing is removed; no secret is sent",
    area="leftovers",
)
def test_keys_that_are_not_ours_are_never_removed(theirs: UserRedis, run_folder: Path) -> None:
    things = [
        *(
            CreatedObject("keys_beginning", name)
            for name in ("", "*", "t", "loadstone", "loadstone:", "loadstone::", "loadstone-x:")
        ),
        *(CreatedObject("key", name) for name in ("theirs", "", "loadstone", "../theirs")),
        *(CreatedObject("numbered_keys", name, 10**15) for name in ("", "theirs", "loadstone:")),
        *(CreatedObject("database", "0"), CreatedObject("table_made", "theirs")),
    ]
    plant(run_folder, address(theirs), things)
    with theirs.client() as client:
        before = sorted(client.keys("*"))
        text = cleaned(run_folder, status=3)
        assert text.count("left: ") == len(things)
        assert sorted(client.keys("*")) == before


def test_a_great_number_of_keys_takes_no_longer_than_to_look_at_those_that_are_there(
    theirs: UserRedis, run_folder: Path
) -> None:
    plant(run_folder, address(theirs), [CreatedObject("numbered_keys", "loadstone:00000001:002:", 10**15)])
    with theirs.client() as client:
        client.mset({f"loadstone:00000001:002:{number:012d}": 1 for number in range(1500)})
        assert "1,500 removed" in cleaned(run_folder)
        assert client.dbsize() == 4


def test_what_a_pattern_would_match_is_taken_for_its_letters(theirs: UserRedis, run_folder: Path) -> None:
    plant(run_folder, address(theirs), [CreatedObject("keys_beginning", "loadstone:*:")])
    with theirs.client() as client:
        client.mset({"loadstone:a:1": 1, "loadstone:*:1": 1})
        assert "1 removed" in cleaned(run_folder)
        assert client.exists("loadstone:a:1")


@pytest.mark.fault("a planted ledger names keys, tables or addresses of others")
@pytest.mark.parametrize(
    "odd",
    [
        "redis://127.0.0.1:{port}/0?password_env=SECRET",
        "redis://user:secret@127.0.0.1:{port}/0",
        "redis://:secret@127.0.0.1:{port}/0",
        "rediss://127.0.0.1:{port}/0?verify=no",
        "http://127.0.0.1:{port}/",
        "unix:relative/0?password_env=SECRET",
        "mysql://127.0.0.1:{port}/mysql?password_env=SECRET",
        "",
    ],
)
def test_no_secret_goes_where_a_ledger_points(odd: str, run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "hunter2-hunter2")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        plant(run_folder, ServerIdentity("redis", odd.format(port=port), False), [CreatedObject("key", "loadstone:x")])
        text = cleaned(run_folder, status=3)
        text += cleaned(run_folder, f"redis=redis://:hunter2-hunter2@127.0.0.1:{port}/1", status=3)
        assert "another server or database" in text
        assert "hunter2" not in text
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):  # no one came
            listener.accept()


def test_an_address_of_another_machine_is_not_followed(theirs: UserRedis, run_folder: Path) -> None:
    plant(run_folder, address(theirs), [CreatedObject("key", "loadstone:1")], machine="0" * 64)
    assert "on another machine; clean there, or add --server redis=URL" in cleaned(run_folder, status=3)
    with theirs.client() as client:
        assert client.exists("loadstone:1")
        assert "1 removed" in cleaned(run_folder, f"redis=redis://localhost:{theirs.port}")
        assert not client.exists("loadstone:1")


@pytest.mark.fault(
    "a ledger is a link, damaged, another user's or writable by others", "it is not used", area="leftovers"
)
def test_ledgers_that_cannot_be_trusted_are_not_used(theirs: UserRedis, run_folder: Path) -> None:
    path = plant(run_folder, address(theirs), [CreatedObject("key", "loadstone:1")])
    text, elsewhere = path.read_text(), run_folder.parent / "elsewhere"
    path.chmod(0o666)
    assert "other users may write to it" in cleaned(run_folder, status=3)
    path.rename(elsewhere)
    elsewhere.chmod(0o600)
    path.symlink_to(elsewhere)
    assert "it is a link" in cleaned(run_folder, status=3)
    path.unlink()
    os.mkfifo(path)
    assert "it is not a regular file" in cleaned(run_folder, status=3)
    path.unlink()
    for damaged in ("x\n", '{"format": 1}\n', "[]\n" * 3, "[" * 100_000 + "\n"):
        path.write_text(damaged)
        assert "does not begin as a ledger does" in cleaned(run_folder, status=3)
    path.write_text(text.replace('"format":1', '"format":99'))
    assert "format 99 is not known" in cleaned(run_folder, status=3)
    path.write_text(text[: len(text) // 2 - 200])
    assert cleaned(run_folder) == "nothing is left on any server"
    with theirs.client() as client:
        assert client.exists("loadstone:1")


@pytest.mark.fault("a ledger is a link, damaged, another user's or writable by others")
@pytest.mark.skipif(os.geteuid() != 0, reason="to give a file to another user needs root")
def test_a_ledger_of_another_user_is_not_used(theirs: UserRedis, run_folder: Path) -> None:
    path = plant(run_folder, address(theirs), [CreatedObject("key", "loadstone:1")])
    os.chown(path, 65534, 65534)
    assert "belongs to the user with the id 65534" in cleaned(run_folder, status=3)
    with theirs.client() as client:
        assert client.exists("loadstone:1")


def test_keys_that_a_run_beside_it_uses_stay(theirs: UserRedis, run_folder: Path) -> None:
    me = psutil.Process().parent() or psutil.Process()
    thing = CreatedObject("keys_beginning", "loadstone:subject:")
    plant(run_folder, address(theirs), [thing, CreatedObject("key", "loadstone:1")])
    session = {"pid": me.pid, "pid_started_ticks": started(me.pid)}
    plant(run_folder.with_name("running"), address(theirs), [thing], **session)
    with theirs.client() as client:
        client.set("loadstone:subject:1", 1)
        text = cleaned(run_folder, status=3)
        assert "the run running goes on and uses it" in text
        assert client.exists("loadstone:subject:1")
        assert not client.exists("loadstone:1")


@pytest.mark.fault("the ledger cannot be written", "nothing is made on the server", area="leftovers")
def test_nothing_is_made_that_cannot_be_noted(theirs: UserRedis, run_folder: Path, context: DeployContext) -> None:
    class Full(RunLedger):
        def makes(self, place: ServerIdentity, things: object) -> None:  # noqa: ARG002 (the seam's signature)
            raise UserError.of(f"{place.server}: no space left to write")

    trial = PlannedTrial(
        name="t",
        condition={},
        block=1,
        order=1,
        servers={"redis": {"kind": "url", "url": theirs.url}},
        plan=PLAN,
        load=None,
        data=(RequiredData("posts", 9, {"id": "{number}"}, "redis", commands=("SADD loadstone:posts {id}",)),),
    )
    with closing(Full(run_folder)) as ledger, Deployments(registry.make_server, replace(context, ledger=ledger)) as run:
        with pytest.raises(LoadstoneError, match="no space left"):
            run.need(trial)
        with theirs.client() as client:
            assert client.dbsize() == 4


HALVES = ("loadstone:00000001:\ud800", "loadstone:\udfff", "\ud800")


@pytest.mark.parametrize("name", HALVES)
def test_half_a_character_in_a_name_stops_no_removal_behind_it(name: str, user_redis: Callable[..., UserRedis]) -> None:
    theirs = user_redis()
    theirs.client().set("loadstone:hits", 1)
    things = [
        CreatedObject("key", name),
        CreatedObject("numbered_keys", name, 3),
        CreatedObject("keys_beginning", name),
        CreatedObject("key", "loadstone:hits"),
    ]
    with RedisControl(Endpoint(port=theirs.port)) as control:
        outcomes = list(remove_left(control, RUN_ID, things))
    assert {outcome.thing: outcome.left for outcome in outcomes} == {thing: thing is not things[-1] for thing in things}
    assert theirs.client().keys() == []


@pytest.mark.parametrize(("field", "value"), [("address", "redis://\ud800:1/0"), ("server", "\udfff")])
def test_half_a_character_in_an_address_sends_nothing(field: str, value: str, run_folder: Path) -> None:
    path = plant(
        run_folder, ServerIdentity("redis", "redis://127.0.0.1:1/0", False), [CreatedObject("key", "loadstone:1")]
    )
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:-1], json.dumps({**json.loads(lines[-1]), field: value})]) + "\n")
    assert cleaned(run_folder) == "nothing is left on any server"


def test_a_count_of_thousands_of_digits_is_a_short_line(run_folder: Path) -> None:
    plant(
        run_folder,
        ServerIdentity("redis", "redis://127.0.0.1:1/0", False),
        [CreatedObject("numbered_keys", "loadstone:00000001:", 10**4000)],
    )
    assert len(cleaned(run_folder, status=3)) < 500
