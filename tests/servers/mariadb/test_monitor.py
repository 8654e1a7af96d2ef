"""MariaDB's own counters, of a real server."""

import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pymysql
import pytest
from tests.monitored_redis import values

from loadstone.machine.ports import free_port
from loadstone.monitors.monitor import CounterRates
from loadstone.monitors.watch import MonitorTargets
from loadstone.safety.errors import ServerGone
from loadstone.servers.mariadb.monitor import GAUGES, RATES, MariaDbMonitor

ROWS = 500
PATIENCE_S = 100.0


class Connection:
    """A `SqlControl` on PyMySQL."""

    def __init__(self, port: int) -> None:
        self.client = pymysql.connect(host="127.0.0.1", port=port, user="root", autocommit=True, read_timeout=60)

    def query(self, sql: str) -> Sequence[Sequence[Any]]:
        try:
            with self.client.cursor() as cursor:
                cursor.execute(sql)
                return list(cursor.fetchall())
        except (pymysql.Error, OSError) as error:
            raise ServerGone.of(f"mariadb: {error}") from error


class Server:
    def __init__(self, folder: Path) -> None:
        data, user = folder / "data", ["--user=root"] if os.geteuid() == 0 else []
        install = ["mariadb-install-db", "--no-defaults", *user, f"--datadir={data}", "--skip-test-db"]
        subprocess.run([*install, "--auth-root-authentication-method=normal"], check=True, capture_output=True)
        self.port = free_port()
        temporary = folder / "tmp"
        temporary.mkdir()  # as it starts it removes the temporary tables of others that share this folder
        paths = [f"--datadir={data}", f"--socket={folder / 's'}", f"--pid-file={folder / 'pid'}"]
        paths.append(f"--tmpdir={temporary}")
        with (folder / "log").open("wb") as log:
            command = ["mariadbd", "--no-defaults", *user, *paths, f"--port={self.port}", "--bind-address=127.0.0.1"]
            self.process = subprocess.Popen(command, stderr=log)

    def connect(self) -> Connection:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                return Connection(self.port)
            except pymysql.OperationalError:
                assert self.process.poll() is None, "mariadbd ended"
                assert time.monotonic() < deadline, "mariadbd does not answer"
                time.sleep(0.05)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("mariadb"))
    yield server
    server.stop()


@pytest.fixture
def connection(server: Server) -> Iterator[Connection]:
    connection = server.connect()
    yield connection
    connection.client.close()


@pytest.fixture
def a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rates are growths: a second passes between any two samples."""
    of = CounterRates.of

    def exactly(self: CounterRates, counters: dict[str, float]) -> dict[str, float]:
        self._before_s = time.monotonic() - 1.0
        return of(self, counters)

    monkeypatch.setattr(CounterRates, "of", exactly)


@pytest.mark.usefixtures("a_second")
def test_what_the_server_did_is_reported_as_rates(server: Server, connection: Connection) -> None:
    work = server.connect()
    work.query("CREATE DATABASE loadstone")
    work.query("CREATE TABLE loadstone.post (id INT PRIMARY KEY, title VARCHAR(99)) ENGINE=InnoDB")
    monitor = MariaDbMonitor("mariadb", connection)
    for number in range(ROWS):
        work.query(f"INSERT INTO loadstone.post VALUES ({number}, 'title')")
    wrote = values(monitor, "mariadb")
    for number in range(ROWS):
        work.query(f"SELECT title FROM loadstone.post WHERE id = {number}")
    read = values(monitor, "mariadb")
    work.query("UPDATE loadstone.post SET title = 'other' WHERE id < 100")
    work.query("DELETE FROM loadstone.post WHERE id >= 490")
    changed = values(monitor, "mariadb")
    work.client.close()

    assert wrote["answers"] == 1
    assert wrote["writes_per_s"] == pytest.approx(ROWS, rel=0.01)
    assert wrote["rows_inserted_per_s"] == pytest.approx(ROWS, rel=0.02)
    assert wrote["fsyncs_per_s"] + wrote["disk_writes_per_s"] > 0
    assert wrote["log_written_bytes_per_s"] > ROWS * len("title")
    assert wrote["received_bytes_per_s"] > ROWS * len("INSERT INTO loadstone.post VALUES")
    assert wrote["buffer_pool_hits"] > 50
    assert wrote["threads_connected"] == 2
    assert wrote["threads_running"] >= 1
    assert read["selects_per_s"] == pytest.approx(ROWS, rel=0.01)
    assert read["rows_read_per_s"] >= ROWS
    assert read["writes_per_s"] == 0
    assert read["queries_per_s"] >= ROWS
    assert changed["rows_updated_per_s"] == pytest.approx(100, rel=0.01)
    assert changed["rows_deleted_per_s"] == pytest.approx(10, rel=0.01)
    assert set(wrote) == set(monitor.METRICS)


def test_a_statement_a_sample_and_nothing_else(connection: Connection) -> None:
    def questions() -> int:
        return int(connection.query("SHOW SESSION STATUS LIKE 'Questions'")[0][1])

    monitor = MariaDbMonitor("mariadb", connection)
    before = questions()
    values(monitor, "mariadb")
    assert questions() - before == 2  # the sample, and this question


def test_a_server_that_died_does_not_answer(tmp_path: Path) -> None:
    server = Server(tmp_path)
    try:
        control = server.connect()
        monitor = MariaDbMonitor("mariadb", control)
        assert values(monitor, "mariadb")["answers"] == 1
    finally:
        server.stop()
    assert values(monitor, "mariadb") == {"answers": 0}
    assert values(MariaDbMonitor("mariadb", control), "mariadb") == {"answers": 0}


def test_every_metric_has_a_unit_and_a_source(connection: Connection) -> None:
    assert set(MariaDbMonitor.METRICS) == {*RATES, *GAUGES, "answers", "buffer_pool_hits"}
    [monitor] = MariaDbMonitor.watching(MonitorTargets(controls={"mariadb": {"database": connection}}))
    assert {sample.part for sample in monitor.sample(1.0)} == {"database"}
