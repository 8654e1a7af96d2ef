"""A PostgreSQL of ours, and one that plays the user's."""

import os
import signal
import zlib
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from pydantic import ValidationError
from tests.monitored_redis import values
from tests.real_servers import wait_until

from loadstone.monitors.host.processes import ProcessTreeMonitor, cpu_seconds
from loadstone.monitors.watch import MonitorTargets
from loadstone.run_folder.ledger import CreatedObject
from loadstone.safety.errors import ServerGone, UserError
from loadstone.servers.control import RowFiles
from loadstone.servers.postgresql import local as postgresql_local
from loadstone.servers.postgresql.control import PostgresqlControl
from loadstone.servers.postgresql.local import LocalPostgresql, PostgresqlSettings
from loadstone.servers.postgresql.monitor import PostgresqlMonitor
from loadstone.servers.postgresql.programs import find
from loadstone.servers.postgresql.session import PostgresqlSession
from loadstone.servers.postgresql.url import PostgresqlUrlSettings
from loadstone.servers.server import DeployContext
from loadstone.servers.sql.traces import create_marked, marked_tables, marking_table, owner_of, remove_database

pytestmark = pytest.mark.skipif(find("initdb") is None, reason="no PostgreSQL: scripts/apt installs it where it can")
SETTINGS = {"shared_buffers": "32MB", "Synchronous_Commit": False, "checkpoint_timeout": "15min"}
RUN = "0123456789abcdef" * 2


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalPostgresql]:
    root = tmp_path_factory.mktemp("work")
    server = PostgresqlSettings(settings=SETTINGS).server("db")
    server.start(DeployContext(work_root=root))
    yield server
    server.stop()
    assert list(root.iterdir()) == []


@pytest.fixture
def control(server: LocalPostgresql) -> Iterator[PostgresqlControl]:
    with server.control() as control:
        yield control
        if control.tables():
            control.drop_table(*control.tables())


def url(server: LocalPostgresql, database: str = "", options: str = "") -> str:
    endpoint = server._endpoint
    return f"postgresql://{endpoint.username}:{endpoint.password}@{endpoint.label}/{database}{options}"


def rows_of(lines: list[str], folder: Path) -> RowFiles:
    path = folder / "part"
    path.write_text("".join(f"{line}\n" for line in lines))
    total = sum(zlib.crc32(line.encode()) for line in lines)
    return RowFiles(("id", "note"), frozenset({"id"}), len(lines), total, (path,))


def test_it_serves_and_says_what_it_is(server: LocalPostgresql) -> None:
    assert server.facts.software == "postgresql"
    assert server.facts.version.split(".")[0].isdecimal()
    assert psutil.Process(server.pids["db"]).name() == "postgres"
    assert psutil.Process(server.pids["db"]).uids().effective != 0


def test_settings_are_read_back_with_their_units(server: LocalPostgresql) -> None:
    assert server.settings_read_back["shared_buffers"] == "32MB"
    assert server.settings_read_back["synchronous_commit"] == "off"
    assert server.settings_read_back["checkpoint_timeout"] == "15min"


def test_the_password_is_in_no_command_line_and_no_file(server: LocalPostgresql) -> None:
    password, process = server._endpoint.password, server._process
    assert password is not None
    assert process is not None
    for pid in (server.pids["db"], process.guard_pid):
        assert password not in " ".join(psutil.Process(pid).cmdline())
    files = [path for path in process.workspace.path.rglob("*") if path.is_file()]
    assert not [path for path in files if password.encode() in path.read_bytes()]


def test_it_listens_on_loopback_alone(server: LocalPostgresql) -> None:
    listening = psutil.Process(server.pids["db"]).net_connections("all")
    assert {c.laddr.ip for c in listening if c.status == psutil.CONN_LISTEN} == {"127.0.0.1"}


def test_a_wrong_password_is_refused(server: LocalPostgresql) -> None:
    endpoint = server._endpoint.model_copy(update={"password": "wrong"})
    with PostgresqlControl(endpoint) as control, pytest.raises(UserError, match="check user, password"):
        control.ping()


def test_passwords_are_kept_as_scram(control: PostgresqlControl) -> None:
    assert control.query("SELECT left(rolpassword, 13) FROM pg_authid WHERE rolname = 'loadstone'") == [
        ("SCRAM-SHA-256",)
    ]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"port": 1}, "decided by loadstone"),
        ({"archive_command": "touch /tmp/x"}, "decided by loadstone"),
        ({"work mem": 1}, "not a line"),
        ({"work_mem": "1\nport = 5"}, "not a line"),
    ],
)
def test_what_is_no_setting_is_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        PostgresqlSettings.model_validate({"settings": settings})


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"no_such": 1}, "unrecognized configuration parameter"),
        ({"shared_buffers": "lots"}, "invalid value for parameter"),
        ({"work_mem": 4096}, "has no unit"),
    ],
)
def test_what_the_server_does_not_take_is_said_in_one_line(
    settings: dict[str, object], said: str, tmp_path: Path
) -> None:
    server = PostgresqlSettings.model_validate({"settings": settings}).server("db")
    with pytest.raises(UserError, match=said) as refused:
        server.start(DeployContext(work_root=tmp_path))
    assert "\n" not in str(refused.value)
    server.stop()
    assert list(tmp_path.iterdir()) == []


def test_without_the_package_its_name_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(postgresql_local, "find", lambda *_: None)
    with pytest.raises(UserError, match="apt-get install postgresql"):
        PostgresqlSettings().server("db").start(DeployContext(work_root=tmp_path))


def test_after_a_kill_it_starts_again_with_what_was_committed(tmp_path: Path) -> None:
    server = PostgresqlSettings().server("db")
    server.start(DeployContext(work_root=tmp_path))
    try:
        with server.control() as control:
            control.run_script("CREATE TABLE post (id INT);\nINSERT INTO post VALUES (1);")
            first = control.start()
            os.kill(server.pids["db"], signal.SIGKILL)
            wait_until(lambda: not server.alive())
            with pytest.raises(ServerGone):
                control.ping()
            server.restart()
        with server.control() as control:
            assert control.count_rows("post") == 1
            assert control.start() != first
    finally:
        server.stop()


def test_rows_are_written_once_and_found_again(control: PostgresqlControl, tmp_path: Path) -> None:
    control.run_script("CREATE TABLE post (id INT PRIMARY KEY, note TEXT);")
    rows = rows_of(["1\tplain", "2\tback\\slash \\N \\.", "3\t한글 ' \" $$"], tmp_path)
    claims: list[int] = []
    assert control.write_table("post", rows, lambda _: None, claims.append)
    assert control.query("SELECT note FROM post WHERE id = 2") == [("back\\slash \\N \\.",)]
    assert not control.write_table("post", rows, lambda _: None, claims.append)
    control.query("UPDATE post SET note = 'other' WHERE id = 1")
    assert control.write_table("post", rows, lambda _: None, claims.append)
    assert claims == [0, 3]
    assert control.count("post") == 3


@pytest.mark.parametrize(("written", "given"), [(["1\ta", "7\tb"], 8), (["-3\ta"], 1)])
def test_the_table_numbers_on_after_the_rows(
    written: list[str], given: int, control: PostgresqlControl, tmp_path: Path
) -> None:
    control.run_script("CREATE TABLE post (id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, note TEXT);")
    control.write_table("post", rows_of(written, tmp_path), lambda _: None, lambda _: None)
    assert control.query("INSERT INTO post (note) VALUES ('new') RETURNING id") == [(given,)]


def test_what_does_not_fit_is_said_and_the_connection_goes_on(control: PostgresqlControl, tmp_path: Path) -> None:
    control.run_script("CREATE TABLE post (id INT PRIMARY KEY, note TEXT);")
    with control.patient() as patient:
        with pytest.raises(ServerGone, match="duplicate key"):
            control.write_table("post", rows_of(["1\ta", "1\tb"], tmp_path), lambda _: None, lambda _: None)
        patient.ping()
    with pytest.raises(ServerGone, match="syntax"):
        control.query("SELEC 1")
    assert control.query("SELECT $1::int", 7) == [(7,)]


@pytest.mark.parametrize("name", ['post"; DROP TABLE post; --', "post post", "", "a" * 64, "póst", "public.post"])
def test_a_hostile_name_is_refused(control: PostgresqlControl, name: str) -> None:
    for act in (control.truncate, control.drop_table, control.count_rows):
        with pytest.raises(UserError, match="not a name"):
            act(name)


@pytest.mark.parametrize("change", ["nextval('s')", "setval('s', 9)"])
def test_a_count_changes_nothing(control: PostgresqlControl, change: str) -> None:
    """A view of the user's may call whatever it likes."""
    control.run_script(f"CREATE SEQUENCE s;\nCREATE VIEW harmful AS SELECT 1 AS id WHERE {change} > 0;")
    with pytest.raises(UserError, match=r"^count 'harmful': .*read-only transaction"):
        control.count("harmful")
    control.query("DROP VIEW harmful")
    control.query("DROP SEQUENCE s")


def test_its_figures_move(control: PostgresqlControl) -> None:
    monitor = PostgresqlMonitor("db", control)
    control.run_script("CREATE TABLE post (id INT);\nINSERT INTO post SELECT generate_series(1, 1000);")
    found: dict[str, float] = {}

    def moved() -> bool:
        found.update({s.metric: max(s.value, found.get(s.metric, 0.0)) for s in monitor.sample(1.0)})
        return found.get("tuples_inserted_per_s", 0.0) > 0

    wait_until(moved, 30.0)
    assert set(found) <= set(PostgresqlMonitor.METRICS)
    assert found["answers"] == 1
    assert found["client_sessions"] >= 1
    assert found["wal_written_bytes_per_s"] > 0
    assert 0 < found["shared_buffer_hits"] <= 100
    control.query("CHECKPOINT")
    before = found["checkpoints_requested"]
    wait_until(lambda: {s.metric: s.value for s in monitor.sample(2.0)}["checkpoints_requested"] > before, 30.0)


def test_the_cpu_time_of_its_connections_is_its_own(server: LocalPostgresql, control: PostgresqlControl) -> None:
    (pid,) = server.pids.values()
    (of_all,) = ProcessTreeMonitor.watching(MonitorTargets(pids={"postgresql": pid}, trees=frozenset({"postgresql"})))
    before_s = values(of_all, "postgresql")["cpu_s"]
    alone_before_s = cpu_seconds(pid)
    assert alone_before_s is not None
    (row,) = control.query("SELECT count(*) FROM generate_series(1, 4000000)")
    assert row == (4_000_000,)
    spent_s = values(of_all, "postgresql")["cpu_s"] - before_s
    assert spent_s > 0.1
    assert (cpu_seconds(pid) or 0.0) - alone_before_s < spent_s / 2, "the first process does not work itself"


def test_a_users_server_gets_our_database_and_loses_it(server: LocalPostgresql) -> None:
    theirs = PostgresqlUrlSettings(url=url(server, "loadstone_url")).server("db")
    theirs.start(DeployContext())
    with theirs.control() as control:
        assert control.has_database()
        control.run_script("CREATE TABLE post (id INT);")
    theirs.stop()
    theirs.stop()
    assert server.alive()
    with theirs.control() as control:
        assert not control.has_database()


def test_a_users_database_is_left_as_it_was(server: LocalPostgresql) -> None:
    with PostgresqlSession(server._endpoint) as anywhere:
        anywhere.query("CREATE DATABASE shop")
    theirs = PostgresqlUrlSettings(url=url(server, "shop")).server("db")
    with theirs.control() as control:
        control.query("CREATE TABLE post (id INT)")
        control.query("INSERT INTO post VALUES (1)")
        for act in (control.truncate, control.drop_table):
            with pytest.raises(UserError, match="only tables of the database 'loadstone'"):
                act("post")
        with pytest.raises(UserError, match="only databases that begin with 'loadstone'"):
            control.drop_database()
    theirs.start(DeployContext())
    theirs.stop()
    with theirs.control() as control:
        assert control.tables() == ["post"]
        assert control.count_rows("post") == 1
    missing = PostgresqlUrlSettings(url=url(server, "no_such")).server("db")
    with pytest.raises(UserError, match="has no database 'no_such'"):
        missing.start(DeployContext())


def test_only_what_has_the_runs_mark_is_removed(server: LocalPostgresql) -> None:
    with PostgresqlControl(server._endpoint, "loadstone_marked") as control:
        assert create_marked(control, RUN, "a run")
        owner = owner_of(control)
        assert owner is not None
        assert (owner.run_id, owner.run_name) == (RUN, "unnamed")
        control.list_as_ours(marking_table(RUN), [CreatedObject("table_made", "post")])
        assert marked_tables(control, RUN) == {CreatedObject("table_made", "post")}
        with pytest.raises(UserError, match="is not marked as made by this run"):
            remove_database(control, "f" * 32)
        assert remove_database(control, RUN)
        assert not remove_database(control, RUN)
