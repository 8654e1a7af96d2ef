"""Servers, tables, data and subjects of a run, joined."""

import http.client
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from tests.real_servers import PLAN, REDIS, UserRedis, is_gone, wait_until

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.required import RequiredData, RequiredSubject
from loadstone.experiment.plan.run_plan import PlannedTrial
from loadstone.machine.processes.resource_limits import Limits
from loadstone.programs.deployments import Deployments
from loadstone.programs.subjects import pool as subject_pool
from loadstone.programs.subjects import url as subject_url
from loadstone.run_folder.ledger_file import RunLedger
from loadstone.safety.errors import Interrupted, ServerGone, UserError
from loadstone.servers import registry
from loadstone.servers.mariadb.control import MariaDbControl
from loadstone.servers.mariadb.local import find
from loadstone.servers.pool import ServerPool
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.server import DeployContext, Server

APPLICATION = """
import http.server, json, os, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps(dict(os.environ)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, *_):
        pass

print("listening for", os.environ["COLOUR"], flush=True)
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
MANIFEST = f"""
name: shop
run:
  command: {sys.executable} app.py {{port}}
  metrics: /figures
environment:
  STORE: redis://:${{redis.password}}@${{redis.address}}
  TABLES: ${{mariadb.address}}
  COLOUR: red
optional_servers: [redis, mariadb]
tables: {{post: {{columns: {{id: int}}, key: id}}}}
warm_up_s: 3
"""
SCRIPT = "tables: {mariadb: schema.sql}"
TABLES = "tables: {post: {columns: {id: int}, key: id}}"
DATA = RequiredData("posts", 100, {"id": "{number}"}, "redis", commands=("SADD loadstone:posts {id}",))
needs_mariadb = pytest.mark.skipif(find("mariadbd") is None, reason="no MariaDB: scripts/apt installs it where it can")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(autouse=True)
def _much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """What others leave free on this machine decides on no subject here."""
    monkeypatch.setattr(subject_pool, "available_bytes", lambda: 2 * subject_pool.MEMORY_FLOOR_BYTES)


@pytest.fixture
def shop(tmp_path: Path) -> RequiredSubject:
    """A user's application with its manifest."""
    folder = tmp_path / "shop"
    folder.mkdir()
    for name, text in (("app.py", APPLICATION), ("subject.yaml", MANIFEST)):
        (folder / name).write_text(text)
    return RequiredSubject(manifest=str(folder))


@pytest.fixture
def reported() -> list[str]:
    return []


@pytest.fixture
def run(context: DeployContext, reported: list[str], tmp_path: Path) -> Iterator[Deployments]:
    with Deployments(
        registry.make_server, replace(context, progress=reported.append, log_folder=tmp_path / "logs")
    ) as run:
        yield run


def trial(
    subject: RequiredSubject | None = None,
    servers: Mapping[str, Mapping[str, object]] | None = None,
    data: tuple[RequiredData, ...] = (),
) -> PlannedTrial:
    return PlannedTrial(
        name="t",
        condition={},
        block=1,
        order=1,
        servers={name: dict(settings) for name, settings in (servers or {"redis": REDIS}).items()},
        plan=PLAN,
        load=None,
        subjects={} if subject is None else {"app": subject},
        data=data,
    )


def environment_of(endpoint: Endpoint) -> dict[str, str]:
    connection = http.client.HTTPConnection(endpoint.host, endpoint.port, timeout=20)
    try:
        connection.request("GET", "/")
        found: dict[str, str] = json.loads(connection.getresponse().read())
        return found
    finally:
        connection.close()


def test_a_trial_finds_its_server_its_data_and_its_subject(
    run: Deployments, shop: RequiredSubject, reported: list[str]
) -> None:
    ready = run.need(trial(replace(shop, replicas=2, environment={"COLOUR": "blue"}), data=(DATA,)))
    server, app = ready.servers["redis"], ready.subjects["app"]
    assert server.control.count("SCARD loadstone:posts") == 100
    assert ready.endpoints(None) == ready.endpoints("app") == app.endpoints
    assert ready.endpoints("redis") == (server.endpoint,)
    assert list(app.subject.pids) == ["app-1", "app-2"], "parts are named as in the experiment"
    assert app.subject.metrics["app-2"] == f"http://{app.endpoints[1].label}/figures"
    observed = environment_of(app.endpoints[1])
    assert observed["STORE"] == f"redis://:{server.endpoint.password}@{server.endpoint.label}"
    assert observed["COLOUR"] == "blue"
    assert "TABLES" not in observed
    assert (app.warm_up_s, app.warmed) == (3.0, set())
    starts = [line for line in reported if "starting" in line or "writing" in line]
    assert starts == [
        "starting redis (redis-server)",
        "posts: writing 100 rows to redis",
        "starting app-1, app-2",
    ]


@pytest.mark.fault(
    "an application has a prefix of keys of its own",
    "the ledger names that prefix, and its keys are removed",
    area="leftovers",
)
def test_keys_of_an_application_are_removed_by_the_prefix_that_it_has(
    context: DeployContext, shop: RequiredSubject, user_redis: Callable[..., UserRedis], tmp_path: Path
) -> None:
    theirs = user_redis()
    mine = replace(shop, environment={"SHOP": '{"keyPrefix": "loadstone:mine:"}'})
    folder = tmp_path / "run"
    folder.mkdir()
    with (
        theirs.client() as client,
        closing(RunLedger(folder)) as ledger,
        Deployments(registry.make_server, replace(context, ledger=ledger, log_folder=tmp_path / "logs")) as run,
    ):
        run.need(trial(mine, {"redis": {"kind": "url", "url": theirs.url}}))
        client.mset({"loadstone:mine:1": 1, "loadstone:subject:1": 1, "loadstone:others:1": 1, "mine:1": 1})
        (things,) = ledger.left().values()
        assert {thing.name for thing in things} == {"loadstone:mine:", "loadstone:subject:"}
        run.stop()
        assert sorted(client.keys("*")) == ["loadstone:others:1", "mine:1"]
        assert ledger.left() == {}


def test_all_is_kept_up_between_trials_and_ends_with_the_run(
    run: Deployments, shop: RequiredSubject, tmp_path: Path
) -> None:
    red = run.need(trial(shop, data=(DATA,)))
    red.subjects["app"].warmed.add("get")
    blue = run.need(trial(replace(shop, environment={"COLOUR": "blue"}, warm_up_s=1.5)))
    again = run.need(trial(shop, data=(DATA,)))
    assert again.subjects["app"] is red.subjects["app"]
    assert again.subjects["app"].warmed == {"get"}
    assert blue.servers["redis"] is red.servers["redis"], "equal settings are one process"
    assert blue.subjects["app"].endpoints != red.subjects["app"].endpoints
    assert blue.subjects["app"].warm_up_s == 1.5
    assert (tmp_path / "logs/app.log").read_text() == "listening for red\n"
    assert (tmp_path / "logs/2/app.log").read_text() == "listening for blue\n"
    pids = [pid for ready in (red, blue) for pid in ready.subjects["app"].subject.pids.values()]
    run.stop()
    run.stop()
    assert all(is_gone(pid) for pid in pids)


def test_other_settings_of_a_server_are_another_server_and_another_subject(
    run: Deployments, shop: RequiredSubject
) -> None:
    one = run.need(trial(shop))
    other = run.need(trial(shop, {"redis": {"kind": "embedded", "settings": {"hz": 20}}}))
    assert one.servers["redis"].endpoint.port != other.servers["redis"].endpoint.port
    assert one.subjects["app"].endpoints != other.subjects["app"].endpoints
    assert one.subjects["app"].subject.alive()


def test_a_dead_server_comes_back_with_its_data_and_the_subject_stays(run: Deployments, shop: RequiredSubject) -> None:
    before = run.need(trial(shop, data=(DATA,)))
    os.kill(before.servers["redis"].server.pids["redis"], signal.SIGKILL)
    wait_until(lambda: not before.servers["redis"].server.alive())
    after = run.need(trial(shop, data=(DATA,)))
    assert after.servers["redis"].control.count("SCARD loadstone:posts") == 100
    if after.servers["redis"].endpoint == before.servers["redis"].endpoint:
        assert after.subjects["app"] is before.subjects["app"]


def test_a_server_that_moved_to_another_port_gets_another_subject(
    run: Deployments, shop: RequiredSubject, monkeypatch: pytest.MonkeyPatch, reported: list[str]
) -> None:
    before = run.need(trial(shop))
    server = before.servers["redis"].server
    os.kill(server.pids["redis"], signal.SIGKILL)
    wait_until(lambda: not server.alive())
    monkeypatch.setattr(
        server, "restart", lambda: server.start(DeployContext(work_root=run._servers._context.work_root))
    )
    after = run.need(trial(shop))
    assert "stopping app: its server moved to another port" in reported
    assert not before.subjects["app"].subject.alive()
    assert environment_of(after.subjects["app"].endpoints[0])["STORE"].endswith(after.servers["redis"].endpoint.label)


def test_a_server_that_others_restarted_gets_its_data_again(run: Deployments) -> None:
    first = run.need(trial(data=(DATA,))).servers["redis"]
    first.server.restart()
    second = run.need(trial(data=(DATA,))).servers["redis"]
    assert second is not first
    assert second.control.count("SCARD loadstone:posts") == 100


@pytest.mark.fault("an application that loadstone started dies")
def test_a_dead_subject_is_started_again_and_is_cold(
    run: Deployments, shop: RequiredSubject, reported: list[str]
) -> None:
    before = run.need(trial(shop)).subjects["app"]
    before.warmed.add("get")
    os.kill(before.subject.pids["app"], signal.SIGKILL)
    wait_until(lambda: not before.subject.alive())
    assert str(before.subject.last_output()) == "listening for red"
    after = run.need(trial(shop)).subjects["app"]
    assert reported[-1] == "starting app again"
    assert after.subject.alive()
    assert str(after.subject.last_output()) == ""
    assert after.warmed == set()


def test_a_subject_that_does_not_start_is_reported_and_tried_again(
    run: Deployments, shop: RequiredSubject, tmp_path: Path
) -> None:
    (tmp_path / "shop/app.py").write_text("raise SystemExit('no table post')\n")
    with pytest.raises(
        UserError, match="subject app: it ended while it started, and its last lines are: no table post"
    ):
        run.need(trial(shop))
    (tmp_path / "shop/app.py").write_text(APPLICATION)
    assert run.need(trial(shop)).subjects["app"].subject.alive()


def test_where_memory_is_short_the_subject_that_was_not_used_for_longest_ends(
    run: Deployments, shop: RequiredSubject, monkeypatch: pytest.MonkeyPatch, reported: list[str]
) -> None:
    red, blue, green, grey = (replace(shop, environment={"COLOUR": name}) for name in ("red", "blue", "green", "grey"))
    subjects = [run.need(trial(one)).subjects["app"].subject for one in (red, blue, green)]
    run.need(trial(red))
    room = iter([0, subject_pool.MEMORY_FLOOR_BYTES])
    monkeypatch.setattr(subject_pool, "available_bytes", lambda: next(room))
    run.need(trial(grey))
    assert [subject.alive() for subject in subjects] == [True, False, True]
    assert "stopping app, which this trial does not need: memory is short" in reported
    monkeypatch.setattr(subject_pool, "available_bytes", lambda: 0)
    run.need(trial(red, {"redis": {"kind": "embedded", "settings": {"hz": 20}}, "other": REDIS}))
    assert [subject.alive() for subject in subjects] == [True, False, False], "what the trial needs is never stopped"


def test_a_subject_by_url_is_used_and_left_alone(
    run: Deployments, shop: RequiredSubject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subject_url, "RETURN_S", 1.0)
    ours = run.need(trial(shop)).subjects["app"]
    (endpoint,) = ours.endpoints
    theirs = RequiredSubject(urls=(f"http://{endpoint.label}/base",))
    ready = run.need(trial(theirs))
    assert ready.endpoints(None)[0].base_path == "/base"
    assert not ready.subjects["app"].subject.ours
    assert ready.subjects["app"].subject.throttling() == {}
    assert run.need(trial(theirs)).subjects["app"] is ready.subjects["app"]
    ours.subject.stop()
    assert "Connection refused" in str(ready.subjects["app"].subject.last_output())
    with pytest.raises(ServerGone, match="--resume"):
        run.need(trial(theirs))


def test_limits_of_a_server_are_in_force_or_said_to_be_unavailable(run: Deployments, reported: list[str]) -> None:
    facts = run.need(trial(servers={"redis": REDIS | {"limits": {"cpu": 0.5, "memory": "256 MiB"}}})).servers["redis"]
    limits = facts.server.facts.limits
    if limits["cpu"].value == 0.5:
        assert limits["memory"].value == 256 * 1024**2
    else:
        assert limits["cpu"].status == "unavailable"
        assert any("limits are unavailable" in line for line in reported)


def test_limits_that_are_none_are_named(run: Deployments, shop: RequiredSubject) -> None:
    with pytest.raises(UserError, match=r"subjects\.app\.limits\.cpu: .*write cpu: 0\.5"):
        run.need(trial(replace(shop, limits={"cpu": -1})))
    assert Limits.model_validate({"cpu": 0.5})


def test_targets_that_are_none_are_named(run: Deployments, shop: RequiredSubject) -> None:
    ready = run.need(trial(servers={"a": REDIS, "b": REDIS}))
    assert ready.endpoints(None) == (ready.servers["a"].endpoint, ready.servers["b"].endpoint)
    with pytest.raises(UserError, match="'app' is no part of this condition; its parts are: a, b"):
        ready.endpoints("app")
    ready.subjects |= {name: run.need(trial(shop)).subjects["app"] for name in ("x", "y")}
    with pytest.raises(UserError, match="name one of x, y"):
        ready.endpoints(None)


def test_the_subjects_keys_leave_the_users_redis(
    shop: RequiredSubject, user_redis: Callable[..., UserRedis], context: DeployContext
) -> None:
    theirs = user_redis()
    with theirs.client() as client:
        client.set("theirs", 1)
        with Deployments(registry.make_server, context) as run:
            ready = run.need(trial(shop, {"redis": {"kind": "url", "url": theirs.url}}, (DATA,)))
            assert client.scard("loadstone:posts") == 100
            assert environment_of(ready.endpoints(None)[0])["STORE"] == f"redis://:@127.0.0.1:{theirs.port}"
            client.mset({f"loadstone:subject:post:{number}": number for number in range(2500)})
        assert client.keys("*") == ["theirs"]


@pytest.mark.fault("your server is gone at the end", "the run still ends", area="servers")
def test_a_users_redis_that_is_gone_does_not_keep_the_run_from_ending(
    shop: RequiredSubject, user_redis: Callable[..., UserRedis], run: Deployments, reported: list[str]
) -> None:
    theirs = user_redis()
    ready = run.need(trial(shop, {"redis": {"kind": "url", "url": theirs.url}}))
    os.kill(theirs.pid, signal.SIGKILL)
    wait_until(lambda: not ready.servers["redis"].server.alive())
    run.stop()
    assert any(line.startswith("redis: not everything that loadstone made could be removed") for line in reported)
    assert not ready.subjects["app"].subject.alive()


@needs_mariadb
def test_the_subjects_tables_are_there_before_its_data(run: Deployments, shop: RequiredSubject) -> None:
    posts = replace(DATA, server="mariadb", commands=(), table="post")
    ready = run.need(trial(shop, {"mariadb": {"kind": "mariadb"}}, (posts,)))
    assert ready.servers["mariadb"].control.count("post") == 100
    assert environment_of(ready.endpoints(None)[0])["TABLES"] == ready.servers["mariadb"].endpoint.label


@needs_mariadb
def test_what_the_server_says_of_a_table_is_said(run: Deployments, shop: RequiredSubject, tmp_path: Path) -> None:
    manifest = tmp_path / "shop/subject.yaml"
    manifest.write_text(manifest.read_text().replace(TABLES, "tables: {post: {columns: {id: text 16000}, key: id}}"))
    with pytest.raises(UserError, match=r"subject app: tables: .*key was too long.*; correct the manifest"):
        run.need(trial(shop, {"mariadb": {"kind": "mariadb"}}))


@needs_mariadb
def test_a_file_of_sql_is_run_on_a_server_of_ours_alone(
    run: Deployments, shop: RequiredSubject, context: DeployContext, tmp_path: Path
) -> None:
    manifest, script = tmp_path / "shop/subject.yaml", tmp_path / "shop/schema.sql"
    manifest.write_text(manifest.read_text().replace(TABLES, SCRIPT))
    script.write_text("CREATE TABLE post (id INT PRIMARY KEY);\nINSERT INTO post SELECT 7;\n")
    ready = run.need(trial(shop, {"mariadb": {"kind": "mariadb"}}))
    assert ready.servers["mariadb"].control.count("post") == 1
    theirs = registry.make_server("theirs", {"kind": "mariadb"})
    endpoint = theirs.start(context)
    try:
        url = f"mariadb://{endpoint.username}:{endpoint.password}@{endpoint.label}/loadstone"
        with pytest.raises(UserError, match=r"tables\.mariadb: 'schema\.sql' is run only on a server that loadstone"):
            run.need(trial(shop, {"mariadb": {"kind": "mariadb-url", "url": url}}))
        with theirs.control() as control:
            assert isinstance(control, MariaDbControl)
            assert control.tables() == []
    finally:
        theirs.stop()
    script.write_text("CREATE TABLE oops;")
    with pytest.raises(UserError, match=r"subject app: tables\.mariadb: .*; correct .*schema\.sql"):
        run.need(trial(shop, {"mariadb": {"kind": "mariadb"}}))


@needs_mariadb
def test_the_users_mariadb_is_left_as_it_was(shop: RequiredSubject, context: DeployContext) -> None:
    posts = replace(DATA, server="mariadb", commands=(), table="post")
    theirs = registry.make_server("theirs", {"kind": "mariadb"})
    endpoint = theirs.start(context)
    url = f"mariadb://{endpoint.username}:{endpoint.password}@{endpoint.label}"
    try:
        with theirs.control() as control, Deployments(registry.make_server, context) as run:
            assert not isinstance(control, RedisControl)
            ready = run.need(trial(shop, {"mariadb": {"kind": "mariadb-url", "url": f"{url}/loadstone"}}, (posts,)))
            assert ready.servers["mariadb"].control.count("post") == 100
            control.run_script("CREATE DATABASE shop;")
            with pytest.raises(UserError, match="made in a database of loadstone's only, not in 'shop'"):
                run.need(trial(shop, {"mariadb": {"kind": "mariadb-url", "url": f"{url}/shop"}}))
            with pytest.raises(UserError, match=r"'shop\.post': only tables of the database 'loadstone'"):
                run.need(trial(None, {"mariadb": {"kind": "mariadb-url", "url": f"{url}/shop"}}, (posts,)))
            run.stop()
            assert control.tables() == []
    finally:
        theirs.stop()


@pytest.mark.fault("your server holds keys, databases or tables of others")
@needs_mariadb
def test_tables_of_the_user_are_neither_emptied_nor_removed(
    shop: RequiredSubject, context: DeployContext, tmp_path: Path
) -> None:
    posts = replace(DATA, server="mariadb", commands=(), table="post")
    theirs = registry.make_server("theirs", {"kind": "mariadb"})
    endpoint = theirs.start(context)
    url = f"mariadb://{endpoint.username}:{endpoint.password}@{endpoint.label}/loadstone"
    servers: dict[str, Mapping[str, object]] = {"mariadb": {"kind": "mariadb-url", "url": url}}
    manifest = tmp_path / "shop/subject.yaml"
    more = "row_added: {columns: {id: int, n: int}, key: id, indexes: [[n]]}"
    manifest.write_text(manifest.read_text().replace(TABLES, f"{TABLES[:-1]}, {more}}}"))
    try:
        with theirs.control() as control, Deployments(registry.make_server, context) as run:
            assert not isinstance(control, RedisControl)
            control.run_script("CREATE TABLE post (id INT PRIMARY KEY);\nINSERT INTO post VALUES (1000);")
            run.need(trial(shop, servers))
            assert sorted(control.tables()) == ["post", "row_added"]
            with pytest.raises(UserError, match=r"data\.posts: table 'post' was there before and holds 1 other rows"):
                run.need(trial(None, servers, (posts,)))
            run.stop()
            assert control.tables() == ["post"]
            assert control.number("SELECT id FROM post") == 1000
            control.query("DELETE FROM post")
            ready = run.need(trial(None, servers, (posts,)))
            assert ready.servers["mariadb"].control.count("post") == 100
            run.stop()
            assert control.tables() == ["post"]
            assert control.count_rows("post") == 0
    finally:
        theirs.stop()


class Vanishing:
    """A server that goes away whenever it is started."""

    def __init__(self, ours: bool) -> None:
        self.ours = ours
        self.name = "redis"

    def start(self, _: DeployContext) -> Endpoint:
        raise ServerGone("server 127.0.0.1:1: it no longer answers")

    def stop(self) -> None:
        """It is gone already."""


@pytest.mark.parametrize(("ours", "kind"), [(True, UserError), (False, ServerGone)])
def test_a_server_that_goes_away_while_it_starts_ends_the_run_only_if_it_is_the_users(
    ours: bool, kind: type[Exception], context: DeployContext
) -> None:
    pool = ServerPool(lambda *_: cast(Server, Vanishing(ours)), context, lambda: None)
    with pytest.raises(kind, match=r"^server 127\.0\.0\.1:1: it no longer answers$"):
        pool.need({"redis": {}})


def test_a_wish_to_stop_is_honoured_and_nothing_is_left(shop: RequiredSubject, context: DeployContext) -> None:
    requested = threading.Event()
    pids: list[int] = []

    def progress(line: str) -> None:
        if line.startswith("starting app"):
            pids.extend(pid for deployed in run._servers.all() for pid in deployed.pids.values())
            requested.set()

    with Deployments(registry.make_server, replace(context, progress=progress, stopped=requested.is_set)) as run:
        with pytest.raises(Interrupted, match=r"^interrupted; what was finished is kept$"):
            run.need(trial(shop))
        with pytest.raises(Interrupted):
            ServerPool(registry.make_server, replace(context, stopped=requested.is_set), lambda: None).need(
                {"other": REDIS}
            )
    assert pids
    assert all(is_gone(pid) for pid in pids)


def test_no_two_starts_of_a_subject_share_a_folder_of_logs(
    run: Deployments, shop: RequiredSubject, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    colours = [replace(shop, environment={"COLOUR": colour}) for colour in ("red", "green", "blue")]
    run.need(trial(colours[0]))
    run.need(trial(colours[1]))
    monkeypatch.setattr(subject_pool, "available_bytes", lambda: 0)
    run.need(trial(colours[2]))
    found = sorted(path.relative_to(tmp_path / "logs").as_posix() for path in (tmp_path / "logs").rglob("app.log"))
    assert found == ["2/app.log", "3/app.log", "app.log"]


def test_trials_that_are_measured_together_have_all_their_servers_up_and_the_rest_stands_still(
    run: Deployments, shop: RequiredSubject
) -> None:
    other = {**REDIS, "settings": {"hz": 50}}
    parked = run.need(trial(servers={"redis": {**REDIS, "settings": {"hz": 20}}})).servers["redis"]
    planned = [trial(shop), trial(shop, servers={"redis": other})]
    first, second = run.need_all(planned)
    assert first.servers["redis"].endpoint != second.servers["redis"].endpoint
    assert first.subjects["app"] is not second.subjects["app"]
    assert first.parked == second.parked == {"redis": tuple(parked.server.pids.values())}
    for ready in (first, second):
        ready.servers["redis"].control.ping()
        assert environment_of(ready.subjects["app"].endpoints[0])["STORE"].endswith(
            ready.servers["redis"].endpoint.label
        )
    again = run.need_all(planned)
    assert [one.servers["redis"] for one in again] == [first.servers["redis"], second.servers["redis"]]


def test_servers_of_ours_are_started_again_where_that_is_required(run: Deployments) -> None:
    other = {**REDIS, "settings": {"hz": 50}}
    planned = [trial(), trial(servers={"redis": other}), trial()]
    before = run.need_all(planned, restarted=True)
    control = before[0].servers["redis"].control
    assert isinstance(control, RedisControl)
    control.call("SET", "loadstone:left", "1")
    after = run.need_all(planned, restarted=True)
    pids = [{pid for one in found for pid in one.servers["redis"].server.pids.values()} for found in (before, after)]
    assert after[0].servers["redis"] is after[2].servers["redis"]
    assert before[0].servers["redis"].pids != after[0].servers["redis"].pids
    assert before[1].servers["redis"].pids != after[1].servers["redis"].pids
    assert len(pids[1]) == 2
    assert after[0].servers["redis"].control.keys() == 0, "nothing is left of the start before"


def test_a_server_of_the_users_is_never_started_again(run: Deployments, user_redis: Callable[..., UserRedis]) -> None:
    planned = [trial(servers={"redis": {"kind": "url", "url": user_redis().url}})]
    (before,) = run.need_all(planned)
    (after,) = run.need_all(planned, restarted=True)
    assert after.servers["redis"] is before.servers["redis"]
