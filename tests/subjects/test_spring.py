"""The Spring application on real servers: its own tests, and two replicas of it over HTTP."""

import http.client
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import redis

from loadstone.deploy.embedded import EmbeddedSettings
from loadstone.deploy.mariadb import LocalMariaDb, MariaDbSettings, find
from loadstone.deploy.provider import DeployContext
from loadstone.deploy.references import Address, address_of
from loadstone.deploy.subject import LocalSubject, SubjectSettings, local_subject
from loadstone.plan.model import Endpoint

SPRING = Path(__file__).parents[2] / "subjects" / "spring"
POST = {"title": "abcdefghij", "content": "klmnopqrst"}

pytestmark = [
    pytest.mark.skipif(shutil.which("mvn") is None, reason="no Maven: scripts/apt installs it where it can"),
    pytest.mark.skipif(find("mariadbd") is None, reason="no MariaDB: scripts/apt installs it where it can"),
    pytest.mark.timeout(400),  # the first build downloads its libraries
]


@dataclass
class Servers:
    """Redis and MariaDB, started, with the application's tables."""

    mariadb: LocalMariaDb
    redis: redis.Redis
    addresses: dict[str, Address]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    context = DeployContext(work_root=tmp_path_factory.mktemp("servers"))
    store, database = EmbeddedSettings().server("redis"), MariaDbSettings().server("mariadb")
    try:
        at, table_at = store.start(context), database.start(context)
        with database.control() as control:
            control.run_script((SPRING / "src/main/resources/schema.sql").read_text())
        addresses = {"redis": address_of(at, store.facts), "mariadb": address_of(table_at, database.facts)}
        client = redis.Redis(port=at.port, password=at.password, decode_responses=True)
        yield Servers(database, client, addresses)
        client.close()
    finally:
        store.stop()
        database.stop()


@pytest.fixture(scope="module", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def test_its_own_tests(servers: Servers, tmp_path: Path) -> None:
    work = tmp_path / "spring"
    shutil.copytree(SPRING, work, ignore=shutil.ignore_patterns("target"))
    mariadb, store = servers.addresses["mariadb"], servers.addresses["redis"]
    environment = {
        "SPRING_DATASOURCE_URL": f"jdbc:mariadb://{mariadb.address}/{mariadb.database}",
        "SPRING_DATASOURCE_USERNAME": mariadb.user,
        "SPRING_DATASOURCE_PASSWORD": mariadb.password,
        "SPRING_DATA_REDIS_PORT": store.port,
        "SPRING_DATA_REDIS_PASSWORD": store.password,
    }
    ran = subprocess.run(
        ["mvn", "-q", "-B", "test"], cwd=work, env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout[-4000:]
    reports = list((work / "target/surefire-reports").glob("TEST-*.xml"))
    assert sum(report.read_text().count("<testcase") for report in reports) >= 12


def subject(store: str, servers: Servers) -> LocalSubject:
    wanted = SubjectSettings(replicas=2, environment={"SUBJECT_STORE": store}, servers=servers.addresses)
    return local_subject(SPRING, wanted)


def ask(endpoint: Endpoint, method: str, path: str, body: object = None) -> tuple[int, dict[str, object]]:
    connection = http.client.HTTPConnection(endpoint.host, endpoint.port, timeout=30)
    try:
        connection.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read() or b"{}")
    finally:
        connection.close()


@pytest.mark.parametrize("store", ["mariadb", "redis-hash", "redis-json"])
def test_what_one_replica_stores_the_other_reads(store: str, servers: Servers, tmp_path: Path) -> None:
    application = subject(store, servers)
    servers.redis.flushall()  # the test's own server
    with servers.mariadb.control() as control:
        control.truncate("post")
    try:
        first, second = application.start(DeployContext(work_root=tmp_path, log_folder=tmp_path / "logs"))
        assert set(application.pids) == {"spring-1", "spring-2"}
        status, stored = ask(first, "POST", "/api/post", POST)
        assert (status, stored["title"]) == (201, POST["title"])
        assert ask(second, "GET", f"/api/post/{stored['id']}") == (200, stored)
        assert ask(second, "GET", "/api/post/1234567890123")[0] == 404
        with servers.mariadb.control() as control:
            assert control.count_rows("post") == (1 if store == "mariadb" else 0)
        kinds = {"mariadb": 0, "redis-hash": 2, "redis-json": 1}  # a hash is in the set of ids, too
        assert len(servers.redis.keys("loadstone:subject:*")) == kinds[store]
        assert application.details["environment.SPRING_DATASOURCE_PASSWORD"] == "${mariadb.password}"
    finally:
        application.stop()
    assert application.pids == {}
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]
