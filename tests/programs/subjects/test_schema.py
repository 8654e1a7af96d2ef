"""A subject's declared tables on a MariaDB of the user's: what was there before is not changed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loadstone.programs.manifest import Manifest, StartCommand
from loadstone.programs.subjects.schema import make_tables
from loadstone.run_folder.ledger import CreatedObject, CreatedObjects
from loadstone.run_folder.ledger_file import RunLedger
from loadstone.safety.errors import UserError
from loadstone.servers import registry
from loadstone.servers.deployed import RunningServer
from loadstone.servers.mariadb.control import MariaDbControl
from loadstone.servers.mariadb.local import find
from loadstone.servers.server import DeployContext

pytestmark = pytest.mark.skipif(find("mariadbd") is None, reason="no MariaDB: scripts/apt installs it where it can")
POST = {"columns": {"id": "int", "title": "text 100"}, "key": "id", "indexes": [["title"]]}


def manifest(tables: dict[str, Any], environment: str = "${mariadb.host}") -> Manifest:
    written = {
        "name": "shop",
        "run": StartCommand(command="true"),
        "environment": {"DB": environment},
        "tables": tables,
    }
    return Manifest.model_validate(written)


@pytest.fixture
def theirs(context: DeployContext, tmp_path: Path) -> Iterator[RunningServer]:
    """A MariaDB of the user's, whose database of ours holds a table with a row."""
    own = registry.make_server("theirs", {"kind": "mariadb"})
    where = own.start(context)
    try:
        url = f"mariadb://{where.username}:{where.password}@{where.label}/loadstone"
        server = registry.make_server("mariadb", {"kind": "mariadb-url", "url": url})
        endpoint = server.start(context)
        with server.control() as control, server.control() as monitor:
            assert isinstance(control, MariaDbControl)
            control.run_script("CREATE TABLE post (id INT PRIMARY KEY);\nINSERT INTO post VALUES (1000);\n")
            before = control.query("SHOW CREATE TABLE post")
            traces = CreatedObjects(control.place("mariadb"), RunLedger(tmp_path))
            yield RunningServer(server, endpoint, (endpoint,), control, monitor, {}, traces=traces)
            assert control.query("SELECT * FROM post") == [(1000,)]
            assert control.query("SHOW CREATE TABLE post") == before
    finally:
        own.stop()


@pytest.mark.fault("a declared table is there before", "it is left as it is, and not removed", area="commands")
def test_no_table_is_changed_that_was_there(theirs: RunningServer, tmp_path: Path) -> None:
    make_tables("shop", manifest({"post": POST, "author": POST}), tmp_path, {"mariadb": theirs})
    assert isinstance(theirs.control, MariaDbControl)
    assert CreatedObject("table_made", "author") in theirs.traces.things
    assert CreatedObject("table_made", "post") not in theirs.traces.things
    assert theirs.control.count("author") == 0
    theirs.control.remove_traces(theirs.traces)
    assert theirs.control.tables() == ["post"]


def test_a_file_of_sql_is_not_run(theirs: RunningServer, tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text("DROP TABLE post;\n")
    with pytest.raises(
        UserError,
        match=r"^subject shop: tables\.mariadb: 'schema\.sql' is run only on a server that loadstone starts, and "
        r"mariadb \(127\.0\.0\.1:\d+\) is not one; declare its tables \(NAME: \{columns: ",
    ):
        make_tables("shop", manifest({"mariadb": "schema.sql"}), tmp_path, {"mariadb": theirs})


def test_a_server_that_the_environment_does_not_name_gets_no_tables(theirs: RunningServer, tmp_path: Path) -> None:
    make_tables("shop", manifest({"author": POST}, "${other.host}"), tmp_path, {"mariadb": theirs})
    assert isinstance(theirs.control, MariaDbControl)
    assert theirs.control.tables() == ["post"]


def test_tables_are_made_once(theirs: RunningServer, tmp_path: Path) -> None:
    declared = manifest({"author": POST})
    make_tables("shop", declared, tmp_path, {"mariadb": theirs})
    assert isinstance(theirs.control, MariaDbControl)
    theirs.control.drop_table("author")
    make_tables("shop", declared, tmp_path, {"mariadb": theirs})
    assert "author" not in theirs.control.tables()
