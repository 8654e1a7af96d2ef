"""A MariaDB of ours, and one that plays the user's."""

import os
import signal
import socket
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pymysql
import pytest
from pydantic import ValidationError
from pymysql.constants import CLIENT
from tests.real_servers import Certificates, wait_until

from loadstone.experiment.plan.endpoints import Endpoint, Tls
from loadstone.safety.errors import ServerGone, UserError
from loadstone.servers.mariadb import local as mariadb_local
from loadstone.servers.mariadb.control import MariaDbControl
from loadstone.servers.mariadb.local import LocalMariaDb, MariaDbSettings, find
from loadstone.servers.mariadb.url import MariaDbUrl, MariaDbUrlSettings, parse_mariadb_url
from loadstone.servers.server import DeployContext
from loadstone.servers.sql import local as sql_local
from loadstone.servers.sql.session import DATABASE

pytestmark = pytest.mark.skipif(find("mariadbd") is None, reason="no MariaDB: scripts/apt installs it where it can")
SETTINGS = {
    "log_bin": False,
    "innodb_buffer_pool_size": "64M",
    "innodb-flush-log-at-trx-commit": 2,
    "query_cache_type": False,
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMariaDb]:
    root = tmp_path_factory.mktemp("work")
    server = MariaDbSettings(settings=SETTINGS).server("mariadb")
    server.start(DeployContext(work_root=root))
    yield server
    server.stop()
    assert list(root.iterdir()) == []


@pytest.fixture
def control(server: LocalMariaDb) -> Iterator[MariaDbControl]:
    with server.control() as control:
        yield control
        for table in control.tables():
            control.query(f"DROP TABLE `{table}`")


def refusal(settings: MariaDbSettings, context: DeployContext) -> str:
    server = settings.server("mariadb")
    with pytest.raises(UserError) as refused:
        server.start(context)
    assert not server.alive()
    assert "\n" not in str(refused.value)
    return str(refused.value)


def url(server: LocalMariaDb, database: str = "") -> str:
    endpoint = server._endpoint
    return f"mariadb://{endpoint.username}:{endpoint.password}@{endpoint.label}/{database}"


def test_it_serves_and_says_what_it_is(server: LocalMariaDb) -> None:
    assert server.facts.software == "mariadb"
    assert server.facts.version.split(".")[0].isdecimal()
    assert server.facts.details["database"] == DATABASE
    assert server.alive()
    assert psutil.Process(server.pids["mariadb"]).name() == "mariadbd"


def test_settings_are_read_back(server: LocalMariaDb) -> None:
    assert server.settings_read_back["innodb_buffer_pool_size"] == str(64 * 1024**2)
    assert server.settings_read_back["innodb_flush_log_at_trx_commit"] == "2"
    assert server.settings_read_back["query_cache_type"] == "OFF"
    assert server.settings_read_back["log_bin"] == "OFF"


@pytest.mark.fault("passwords of servers that loadstone starts")
def test_the_password_is_in_no_command_line_and_its_files_are_ours_alone(server: LocalMariaDb) -> None:
    password = server._endpoint.password
    assert password is not None
    assert len(password) >= 24
    process = server._process
    assert process is not None
    for pid in (server.pids["mariadb"], process.guard_pid):
        assert password not in " ".join(psutil.Process(pid).cmdline())
    holding = [path for path in process.workspace.path.iterdir() if path.is_file() and password in path.read_text()]
    assert [path.name for path in holding] == [mariadb_local.INIT]
    assert stat.S_IMODE(holding[0].stat().st_mode) == 0o600


def test_its_temporary_tables_are_apart_from_those_of_others(server: LocalMariaDb, control: MariaDbControl) -> None:
    assert server._process is not None
    assert Path(control.settings(["tmpdir"])["tmpdir"]).parent == server._process.workspace.path


@pytest.mark.fault(
    "another user reaches a server that loadstone started",
    "it listens on loopback and requires its password",
    area="users",
)
def test_it_listens_on_loopback_alone(server: LocalMariaDb) -> None:
    listening = psutil.Process(server.pids["mariadb"]).net_connections("tcp")
    assert {c.laddr.ip for c in listening if c.status == psutil.CONN_LISTEN} == {"127.0.0.1"}


def test_a_wrong_password_is_refused(server: LocalMariaDb) -> None:
    endpoint = server._endpoint.model_copy(update={"password": "wrong"})
    with MariaDbControl(endpoint) as control, pytest.raises(UserError, match=r"Access denied.*check user, password"):
        control.ping()


def test_rows_are_counted_and_our_tables_emptied(control: MariaDbControl) -> None:
    control.run_script("CREATE TABLE post (id INT);\n\nINSERT INTO post VALUES (1), (2);\n")
    assert control.count_rows("post") == 2
    control.truncate("post")
    assert control.count_rows("post") == 0
    with pytest.raises(UserError, match="not a name"):
        control.truncate("post; DROP TABLE post")


def test_a_setting_is_read_back_as_it_is_now(control: MariaDbControl) -> None:
    for value in ("0", "2"):
        control.query("SET GLOBAL innodb_flush_log_at_trx_commit = %s", int(value))
        assert control.settings(["innodb_flush_log_at_trx_commit"]) == {"innodb_flush_log_at_trx_commit": value}


def test_a_connection_offers_uploads_only_once_it_loads(control: MariaDbControl) -> None:
    def offers_uploads() -> bool:
        assert control._connection is not None
        return bool(control._connection.client_flag & CLIENT.LOCAL_FILES)

    control.run_script("CREATE TABLE post (id INT);")
    assert not offers_uploads()
    control.load("LOAD DATA LOCAL INFILE %s INTO TABLE post", b"1\n2\n")
    assert offers_uploads()
    assert control.count_rows("post") == 2


@pytest.mark.fault("MariaDB that loadstone started dies", "it restarts with its rows", area="servers")
def test_kill_9_is_observed_and_it_starts_again_with_its_rows(server: LocalMariaDb, control: MariaDbControl) -> None:
    control.run_script("CREATE TABLE post (id INT);\nINSERT INTO post VALUES (7);\n")
    control.query("SET GLOBAL innodb_flush_log_at_trx_commit = 1")
    control.query("INSERT INTO post VALUES (8)")
    os.kill(server.pids["mariadb"], signal.SIGKILL)
    wait_until(lambda: not server.alive())
    with pytest.raises(ServerGone, match="no longer answers"):
        control.count_rows("post")
    server.restart()
    assert control.count_rows("post") == 2


def test_a_number_taken_otherwise_than_queried_is_reported() -> None:
    got = {"innodb_buffer_pool_size": "67108864", "log_bin": "OFF", "sync_binlog": "1", "query_cache_type": "ON"}
    control = MariaDbControl(Endpoint())
    requested = {"innodb-buffer-pool-size": "64M", "query_cache_type": True, "sync_binlog": 1}
    assert [*map(str, control.differences(requested, got))] == [
        "sync_binlog has no effect without a binary log (log_bin: true)"
    ]
    assert [*map(str, control.differences({"innodb_buffer_pool_size": 67108865}, got))] == [
        "innodb_buffer_pool_size is 67108864, not 67108865 as requested"
    ]


def test_a_binary_log_can_be_had(context: DeployContext) -> None:
    server = MariaDbSettings(settings={"log_bin": True, "sync_binlog": 1}).server("mariadb")
    reported: list[str] = []
    try:
        server.start(replace(context, progress=reported.append))
        assert server.settings_read_back["log_bin"] == "ON"
        assert server.settings_read_back["sync_binlog"] == "1"
        assert reported == ["starting mariadb (mariadbd)"]
    finally:
        server.stop()


def test_a_setting_that_it_does_not_know_is_named(context: DeployContext) -> None:
    reported = refusal(MariaDbSettings(settings={"inodb_buffer_pool_size": "1M"}), context)
    assert "settings: unknown variable 'inodb_buffer_pool_size=1M'" in reported


@pytest.mark.parametrize("name", ["port", "bind-address", "init_file", "loose-skip-grant-tables"])
def test_what_loadstone_decides_cannot_be_set(name: str) -> None:
    with pytest.raises(ValidationError, match="decided by loadstone"):
        MariaDbSettings(settings={name: 1})


def test_a_value_cannot_add_lines_to_the_option_file() -> None:
    with pytest.raises(ValidationError, match="not a line"):
        MariaDbSettings(settings={"sql_mode": "x\nport=1"})


def test_where_it_is_not_installed_the_remedy_is_reported(context: DeployContext, tmp_path: Path) -> None:
    reported = refusal(MariaDbSettings(folder=tmp_path), context)
    assert "apt-get install mariadb-server" in reported
    assert "set 'folder' to the folder that holds its bin" in reported


@pytest.mark.fault("another program has the port")
def test_a_port_that_is_taken_is_left_to_the_other(context: DeployContext, monkeypatch: pytest.MonkeyPatch) -> None:
    real = sql_local.free_port
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        ports = iter([taken])
        monkeypatch.setattr(sql_local, "free_port", lambda _="": next(ports, None) or real())
        server = MariaDbSettings().server("mariadb")
        try:
            assert server.start(context).port != taken
        finally:
            server.stop()


def test_a_server_by_url_gets_a_database_of_ours_and_loses_it_again(server: LocalMariaDb) -> None:
    theirs = MariaDbUrlSettings(url=url(server, "loadstone_test")).server("theirs")
    endpoint = theirs.start(DeployContext())
    assert isinstance(theirs, MariaDbUrl)
    assert endpoint.password == server._endpoint.password
    assert theirs.pids == {"theirs": server.pids["mariadb"]}
    with theirs.control() as control:
        control.run_script("CREATE TABLE post (id INT);")
        assert control.tables() == ["post"]
    theirs.stop()
    assert theirs.alive() is False, "its database is gone"
    assert server.alive()
    with server.control() as control:
        assert control.query("SHOW DATABASES LIKE 'loadstone\\_test'") == []


@pytest.mark.fault("your server holds keys, databases or tables of others")
def test_a_database_of_the_users_is_neither_made_nor_removed_nor_emptied(server: LocalMariaDb) -> None:
    with pytest.raises(UserError, match="no database 'shop'; create it"):
        MariaDbUrlSettings(url=url(server, "shop")).server("theirs").start(DeployContext())
    with server.control() as ours:
        ours.run_script(
            "CREATE DATABASE shop;\nCREATE TABLE shop.orders (id INT);\nINSERT INTO shop.orders VALUES (1);"
        )
        theirs = MariaDbUrlSettings(url=url(server, "shop")).server("theirs")
        theirs.start(DeployContext())
        with theirs.control() as control:
            with pytest.raises(UserError, match="only tables of the database 'loadstone'"):
                control.truncate("orders")
            with pytest.raises(UserError, match="only databases that begin"):
                control.drop_database()
            theirs.stop()
            assert control.count_rows("orders") == 1
        ours.query("DROP DATABASE shop")


def test_a_server_that_does_not_answer_is_one_line(context: DeployContext) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    server = MariaDbUrlSettings(url=f"mariadb://me:secret@127.0.0.1:{port}/").server("theirs")
    with pytest.raises(UserError, match="Can't connect") as refused:
        server.start(context)
    assert "secret" not in str(refused.value)
    assert not server.alive()
    with pytest.raises(ServerGone, match="--resume"):
        server.restart()


def test_a_user_without_rights_is_reported(server: LocalMariaDb) -> None:
    with server.control() as control:
        control.query("CREATE OR REPLACE USER poor@'127.0.0.1' IDENTIFIED BY 'poor'")
        theirs = MariaDbUrlSettings(url=f"mariadb://poor:poor@{server._endpoint.label}/loadstone_poor").server("theirs")
        with pytest.raises(UserError, match=r"Access denied.*rights"):
            theirs.start(DeployContext())
        control.query("DROP USER poor@'127.0.0.1'")


def test_urls(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse_mariadb_url("mariadb://me:p%40ss@db:3307/shop") == (
        Endpoint(host="db", port=3307, username="me", password="p@ss", tls=Tls()),
        "shop",
    )
    assert parse_mariadb_url("mariadb://db") == (Endpoint(host="db", port=3306, tls=Tls()), "loadstone")
    assert parse_mariadb_url("mariadb://db?ssl=yes")[0].tls == Tls()
    assert parse_mariadb_url("mariadb://db?verify=no&server_name=x")[0].tls == Tls(verify=False, server_name="x")
    monkeypatch.setenv("DB_PASSWORD", "secret")
    assert parse_mariadb_url("mariadb://me@db?password_env=DB_PASSWORD&ssl=no")[0].password == "secret"
    for wrong in (
        "redis://db",
        "mariadb://me:secret@db/x?ssl=of",
        "mariadb://db/x?sll=1",
        "mariadb://db?ssl=no&ca_file=f",
        "mariadb://me:secret@db:99999/x",
        "mariadb://me:secret@db/a;b",
    ):
        with pytest.raises(UserError) as refused:
            parse_mariadb_url(wrong)
        assert "secret" not in str(refused.value)
    with pytest.raises(ValidationError) as invalid:
        MariaDbUrlSettings(url="mariadb://me:secret@db:99999/x")
    assert "secret" not in str(invalid.value)


def test_tls_is_verified(certificates: Certificates, context: DeployContext) -> None:
    secure = {"ssl_cert": str(certificates.cert), "ssl_key": str(certificates.key)}
    server = MariaDbSettings(settings=secure).server("mariadb")
    server.start(context)
    try:
        with server.control() as control:
            control.query("SET GLOBAL require_secure_transport = 1")
        at = f"{url(server)}?ca_file={certificates.ca}"
        for options in ("&server_name=localhost", "&verify=no"):
            theirs = MariaDbUrlSettings(url=at + options).server("theirs")
            theirs.start(DeployContext())
            with theirs.control() as control:
                assert control.query("SHOW SESSION STATUS LIKE 'Ssl_version'")[0][1].startswith("TLS")
            theirs.stop()
        for options, said in (
            (at, "certificate is not accepted.*IP address mismatch"),
            (f"{url(server)}?ssl=yes&server_name=localhost", "certificate is not accepted.*name the CA"),
            (f"{url(server)}?ca_file={certificates.other_ca}&server_name=localhost", "certificate is not accepted"),
            (url(server), r"Access denied.*add \?ssl=yes"),
        ):
            with pytest.raises(UserError, match=said):
                MariaDbUrlSettings(url=options).server("theirs").start(DeployContext())
    finally:
        server.stop()


def test_a_server_without_tls_is_reported(server: LocalMariaDb) -> None:
    with server.control() as control:
        has_tls = control.settings(["have_ssl"])["have_ssl"] == "YES"
    if has_tls:
        pytest.skip("this MariaDB makes its own certificate")
    with pytest.raises(UserError, match="SSL is required but the server doesn't support it"):
        MariaDbUrlSettings(url=f"{url(server)}?ssl=yes").server("theirs").start(DeployContext())


def test_root_cannot_log_in_over_the_network(server: LocalMariaDb) -> None:
    with pytest.raises(pymysql.Error):
        pymysql.connect(host="127.0.0.1", port=server._endpoint.port, user="root", password="")


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("[ERROR] InnoDB: preallocating 12582912 bytes for file ./ibdata1 failed with error 28", "no room is left"),
        (
            "[ERROR] mariadbd: Disk is full writing './post.MAI' (Errcode: 28 \"No space left on device\")",
            "no room is left",
        ),
        (
            "ERROR: 1051  Unknown table 'mysql.tmp'\n2026-11-22 1:00:00 0 [ERROR] Aborting\nPlease check all",
            "its log: ERROR: 1051 Unknown table 'mysql.tmp'",
        ),
        ("2026-11-22 1:00:00 0 [ERROR] Aborting on purpose", "its log: Aborting on purpose"),
        ("Segmentation fault", "its log: Segmentation fault"),
    ],
)
def test_an_end_during_the_start_is_reported_in_one_line(log: str, said: str) -> None:
    lines = f"[Note] starting\n{log}\n".splitlines(keepends=True)
    assert said in str(MariaDbSettings().server("mariadb")._why_it_ended(lines))
