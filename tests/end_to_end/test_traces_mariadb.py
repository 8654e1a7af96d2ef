"""A run that is killed leaves its database on a MariaDB of the user's; resume goes on, clean removes it."""

import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pymysql
import pytest

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.servers import registry
from loadstone.servers.mariadb.local import find
from loadstone.servers.server import DeployContext
from tests.end_to_end.conftest import Lab
from tests.end_to_end.test_subjects import EXPERIMENT, MANIFEST

pytestmark = [
    pytest.mark.timeout(600),  # several commands in a row, which take long on a busy machine
    pytest.mark.skipif(find("mariadbd") is None, reason="no MariaDB: scripts/apt installs it where it can"),
]
DATA = """
data:
  posts:
    rows: 500
    columns: {id: "{number}"}
    into: [{server: mariadb, table: post}]
"""


@pytest.fixture
def mariadb(tmp_path: Path) -> Iterator[Endpoint]:
    """A MariaDB of the user's, with a table of theirs."""
    server = registry.make_server("theirs", {"kind": "mariadb"})
    root = tmp_path / "theirs"
    root.mkdir()
    endpoint = server.start(DeployContext(work_root=root))
    try:
        for statement in ("CREATE DATABASE shop", "CREATE TABLE shop.orders (id INT)"):
            query(endpoint, statement)
        query(endpoint, "INSERT INTO shop.orders VALUES (1), (2)")
        yield endpoint
    finally:
        server.stop()


def query(endpoint: Endpoint, statement: str) -> list[tuple[Any, ...]]:
    """By a client of its own."""
    login = {"user": endpoint.username, "password": endpoint.password or ""}
    with (
        closing(pymysql.connect(host=endpoint.host, port=endpoint.port, autocommit=True, **login)) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)
        return list(cursor.fetchall())


def databases(endpoint: Endpoint) -> list[str]:
    assert query(endpoint, "SELECT COUNT(*) FROM shop.orders") == [(2,)], "the user's own rows"
    return sorted(str(row[0]) for row in query(endpoint, "SHOW DATABASES"))


def experiment(lab: Lab, measure: str) -> Path:
    folder = lab.folder / "app"
    folder.mkdir(exist_ok=True)
    manifest = MANIFEST.replace("environment:\n", "environment:\n  TABLES: ${mariadb.address}\n")
    (folder / "subject.yaml").write_text(f"{manifest}tables: {{post: {{columns: {{id: int}}, key: id}}}}\n")
    text = EXPERIMENT.replace("BEHAVIOURS", "[right]").replace("REPLICAS", "[1]") + DATA
    text = text.replace("servers:\n", "servers:\n  mariadb: {kind: mariadb}\n").replace("700 ms", measure)
    path = lab.folder / "application.yaml"
    path.write_text(text)
    return path


def kill(lab: Lab, mariadb: Endpoint, *arguments: str | Path) -> None:
    """Start a run, and kill it once its rows are there and its load began."""
    command = lab.begin("run", "--trust", *arguments)
    lab.until(lambda: list(lab.folder.glob("runs/*/intervals.jsonl")) and "loadstone_lab" in databases(mariadb))
    lab.until(lambda: any(path.stat().st_size for path in lab.folder.glob("runs/*/intervals.jsonl")))
    command.signal(signal.SIGKILL)
    command.wait()
    lab.until_nothing_is_left()
    assert query(mariadb, "SELECT COUNT(*) FROM loadstone_lab.post")[0][0] == 500


@pytest.mark.fault(
    "`kill -9` with your MariaDB",
    "a new run is refused; `--resume` continues, `clean` drops the database",
    area="leftovers",
)
def test_after_kill_9(lab: Lab, mariadb: Endpoint) -> None:
    before = databases(mariadb)
    url = f"mariadb=mariadb://{mariadb.username}:{mariadb.password}@{mariadb.label}/loadstone_lab"
    kill(lab, mariadb, experiment(lab, "20 s"), "--server", url)
    run = lab.run()
    other = lab.loadstone("run", "--trust", experiment(lab, "700 ms"), "--server", url)
    assert other.status == 2
    assert f"was made by the run {run.name}" in other.error_line
    assert f"loadstone clean {run.name}" in other.error_line
    assert lab.run() == run, "a run that never began leaves no folder"
    assert query(mariadb, "SELECT COUNT(*) FROM loadstone_lab.post")[0][0] == 500
    experiment(lab, "20 s")
    command = lab.begin("run", "--resume", run, "--server", url)
    lab.until(lambda: (run / "ledger.jsonl").read_text().count('"what":"run"') == 2)
    lab.until(lambda: '"attempt":2' in (run / "intervals.jsonl").read_text())
    command.signal(signal.SIGKILL)
    command.wait()
    lab.until_nothing_is_left()
    done = lab.loadstone("clean", "--server", url)
    assert done.status == 0, done.out
    assert "database loadstone_lab: removed" in done.out
    assert databases(mariadb) == before
