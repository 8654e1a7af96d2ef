"""A subject's statements on a MariaDB of the user's: what was there before is not changed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from loadstone.programs.manifest import Manifest, Run
from loadstone.programs.subjects.schema import make_tables
from loadstone.safety.errors import UserError
from loadstone.servers import registry
from loadstone.servers.deployed import Deployed
from loadstone.servers.mariadb.control import MariaDbControl
from loadstone.servers.mariadb.local import find
from loadstone.servers.server import DeployContext

pytestmark = pytest.mark.skipif(find("mariadbd") is None, reason="no MariaDB: scripts/apt installs it where it can")
MANIFEST = Manifest(name="shop", run=Run(command="true"), tables={"mariadb": "schema.sql"})


@pytest.fixture
def theirs(context: DeployContext) -> Iterator[Deployed]:
    """A MariaDB of the user's, whose database of ours holds a table with a row."""
    own = registry.server("theirs", {"kind": "mariadb"})
    where = own.start(context)
    try:
        url = f"mariadb://{where.username}:{where.password}@{where.label}/loadstone"
        server = registry.server("mariadb", {"kind": "mariadb-url", "url": url})
        endpoint = server.start(context)
        with server.control() as control, server.control() as monitor:
            assert isinstance(control, MariaDbControl)
            control.run_script("CREATE TABLE post (id INT PRIMARY KEY);\nINSERT INTO post VALUES (1000);\n")
            yield Deployed(server, endpoint, (endpoint,), control, monitor, {})
            assert control.query("SELECT * FROM post") == [(1000,)]
    finally:
        own.stop()


@pytest.mark.fault("a statement would change an existing table", "refused", area="commands")
def test_no_statement_changes_a_table_that_was_there(theirs: Deployed, tmp_path: Path) -> None:
    for statement in (
        "INSERT INTO post VALUES (7)",
        "REPLACE INTO post VALUES (7)",
        "UPDATE Post SET id = 8",
        "DELETE FROM post WHERE id = 1000",
        "ALTER TABLE post ADD COLUMN title TEXT",
        "CREATE INDEX by_id ON post (id)",
        "CREATE OR REPLACE TABLE post (id INT)",
        "TRUNCATE post",
        "DROP TABLE IF EXISTS mine, post",
        "/*!50000 TRUNCATE post */",  # as `--allow-any-command` lets it come this far
    ):
        (tmp_path / "schema.sql").write_text(f"CREATE TABLE IF NOT EXISTS post (id INT);\n{statement};\n")
        with pytest.raises(UserError, match=r"tables\.mariadb: .*table 'post' was there before and is not touched"):
            make_tables("shop", MANIFEST, tmp_path, {"mariadb": theirs})


def test_a_server_takes_what_our_grammar_takes(theirs: Deployed, tmp_path: Path) -> None:
    """Its own tables may be made, filled and changed as the application likes."""
    (tmp_path / "schema.sql").write_text(
        "-- The shop's tables; and more.\n"
        "SET NAMES utf8mb4;\nSET FOREIGN_KEY_CHECKS = 0;\n"
        "CREATE TABLE author (id INT PRIMARY KEY, `user` VARCHAR(20) NOT NULL DEFAULT 'a;''b',\n"
        "  KEY by_user (`user`(9)));\n"
        "CREATE TABLE book (id BIGINT AUTO_INCREMENT, author_id INT, at TIMESTAMP(6) DEFAULT CURRENT_TIMESTAMP(6),\n"
        "  score DECIMAL(5, 2) CHECK (score >= 0), PRIMARY KEY (id), # the key\n"
        "  CONSTRAINT by_author FOREIGN KEY (author_id) REFERENCES author (id) ON DELETE CASCADE) ENGINE = InnoDB;\n"
        "CREATE INDEX by_at ON book (at);\n"
        "ALTER TABLE book ADD COLUMN title TEXT, ADD FULLTEXT INDEX by_title (title);\n"
        "INSERT INTO author (id, `user`) VALUES (1, CONCAT('a', 'b')), (2, 'c');\n"
        "UPDATE author SET `user` = UPPER('x') WHERE id = 2;\nDELETE FROM author WHERE id IN (1);\n"
    )
    make_tables("shop", MANIFEST, tmp_path, {"mariadb": theirs})
    assert theirs.control.count("SELECT COUNT(*) FROM author WHERE `user` = 'X'") == 1
    theirs.control.remove_traces(theirs.traces)
    assert isinstance(theirs.control, MariaDbControl)
    assert theirs.control.tables() == ["post"]
