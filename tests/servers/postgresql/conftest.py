"""A PostgreSQL of ours that plays the user's, with databases, tables, a view and functions that are none of ours."""

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from loadstone.servers.postgresql.control import PostgresqlControl
from loadstone.servers.postgresql.local import LocalPostgresql, PostgresqlSettings
from loadstone.servers.postgresql.programs import find
from loadstone.servers.server import DeployContext

THEIRS = """
CREATE TABLE theirs (id SERIAL PRIMARY KEY, secret TEXT);
INSERT INTO theirs (secret) VALUES ('rows'), ('of theirs');
CREATE VIEW theirview AS SELECT * FROM theirs;
CREATE TABLE "Big" (id INT); INSERT INTO "Big" VALUES (7);
CREATE TABLE "solo\u00a0" (id INT); INSERT INTO "solo\u00a0" VALUES (5);
CREATE TABLE delete (delete INT PRIMARY KEY); INSERT INTO delete VALUES (1);
CREATE TABLE refers (id INT REFERENCES delete); INSERT INTO refers VALUES (1);
CREATE FUNCTION theirfunc() RETURNS INT LANGUAGE plpgsql AS 'BEGIN DELETE FROM theirs; RETURN 1; END';
CREATE SCHEMA other; CREATE TABLE other.theirs (id INT); INSERT INTO other.theirs VALUES (3);
SELECT lo_create(4242);
"""
_KEYS = re.compile(r"(?m)^\\(un)?restrict .*$")


@dataclass(frozen=True)
class Users:
    """A server of the user's."""

    server: LocalPostgresql

    def control(self, database: str) -> PostgresqlControl:
        return PostgresqlControl(self.server._endpoint, database)

    def url(self, database: str = "", options: str = "", host: str = "127.0.0.1") -> str:
        ours = self.server._endpoint
        return f"postgresql://{ours.username}:{ours.password}@{host}:{ours.port}/{database}{options}"

    def client(self, program: str, *arguments: str) -> str:
        """What a program of PostgreSQL's own prints: loadstone's code has no part in it."""
        ours, path = self.server._endpoint, find(program)
        assert path is not None
        login = {"PGHOST": "127.0.0.1", "PGPORT": str(ours.port), "PGUSER": ours.username or ""}
        done = subprocess.run(
            [path, *arguments],
            env={**os.environ, **login, "PGPASSWORD": ours.password or ""},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def psql(self, database: str, statements: str) -> str:
        return self.client("psql", "-qAt", "-v", "ON_ERROR_STOP=1", "-d", database, "-c", statements)

    def all_of(self, database: str) -> str:
        """All that is in a database; each dump has keys of its own, which are left out."""
        return _KEYS.sub("", self.client("pg_dump", "-d", database))

    def roles(self) -> str:
        """What is beside the databases."""
        return _KEYS.sub("", self.client("pg_dumpall", "-g", "--no-role-passwords"))


@pytest.fixture(scope="session")
def users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Users]:
    if find("initdb") is None or find("pg_dumpall") is None:
        pytest.skip("no PostgreSQL: scripts/apt installs it where it can")
    root: Path = tmp_path_factory.mktemp("users")
    server = PostgresqlSettings(settings={"fsync": False}).server("db")
    server.start(DeployContext(work_root=root))
    yield Users(server)
    server.stop()
    assert list(root.iterdir()) == []


@pytest.fixture(scope="session")
def with_theirs(users: Users) -> str:
    """A database whose name is ours, and whose tables are the user's."""
    users.psql("postgres", "CREATE DATABASE loadstone_theirs")
    users.psql("loadstone_theirs", THEIRS)
    return "loadstone_theirs"
