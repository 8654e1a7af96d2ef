"""The Spring application on real servers: its own tests, and in the studies that are made for it."""

import dataclasses
import http.client
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from tests.experiments import find_experiment
from tests.real_servers import QUICK_JVM, TLS_PASSWORD, UserRedis

from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.experiment.plan.endpoints import Endpoint, Tls
from loadstone.experiment.plan.run_plan import PlannedTrial
from loadstone.machine.ports import free_port
from loadstone.monitors.jvm import figures
from loadstone.programs.deployments import Deployments, RunningParts
from loadstone.programs.manifest import read_manifest
from loadstone.programs.subjects.placeholders import ServerFactsForSubject, address_of, resolved
from loadstone.programs.subjects.subject import LocalSubject, SubjectSettings, local_subject
from loadstone.run_folder.ledger import CreatedObjects
from loadstone.safety.errors import SubjectFailed
from loadstone.servers import registry
from loadstone.servers.control import TableStore
from loadstone.servers.mariadb.control import MariaDbControl
from loadstone.servers.mariadb.local import MariaDbSettings, find
from loadstone.servers.postgresql import programs
from loadstone.servers.postgresql.control import PostgresqlControl
from loadstone.servers.postgresql.local import PostgresqlSettings
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.redis.local import EmbeddedSettings
from loadstone.servers.redis.session import RedisSession
from loadstone.servers.redis.url import parse_url
from loadstone.servers.server import DeployContext, Server, ServerFacts

SPRING = Path(__file__).parents[2] / "subjects" / "spring"
POST = {"title": "abcdefghij", "content": "klmnopqrst"}
QUICK = {"JAVA_TOOL_OPTIONS": QUICK_JVM}
"""In the application's environment: it starts often here."""
POSTS = 390
"""Of the study's 390,000, at the scale of the test."""

pytestmark = [
    pytest.mark.skipif(shutil.which("mvn") is None, reason="no Maven: scripts/apt installs it where it can"),
    pytest.mark.skipif(find("mariadbd") is None, reason="no MariaDB: scripts/apt installs it where it can"),
    pytest.mark.skipif(programs.find("postgres") is None, reason="no PostgreSQL: scripts/apt installs it where it can"),
    pytest.mark.timeout(600),  # the first build downloads its libraries
]


@pytest.fixture(scope="module", autouse=True)
def _quick_jvm() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", QUICK_JVM)  # of builds and of its own tests; applications inherit none
        yield


@pytest.fixture
def addresses(tmp_path: Path) -> Iterator[dict[str, ServerFactsForSubject]]:
    """Redis, MariaDB and PostgreSQL, started, with the application's tables."""
    work = tmp_path / "servers"
    work.mkdir()
    context = DeployContext(work_root=work)
    tables = read_manifest(SPRING)[0].declared_tables
    started: dict[str, Server] = {
        "redis": EmbeddedSettings().server("redis"),
        "mariadb": MariaDbSettings().server("mariadb"),
        "postgresql": PostgresqlSettings().server("postgresql"),
    }
    try:
        at = {name: server.start(context) for name, server in started.items()}
        for name in ("mariadb", "postgresql"):
            with started[name].control() as control:
                assert isinstance(control, TableStore)
                control.make_tables("spring", tables, CreatedObjects(), ours=True)
        yield {name: address_of(at[name], server.facts, server.facts.software) for name, server in started.items()}
    finally:
        for server in started.values():
            server.stop()


def test_its_own_tests(addresses: dict[str, ServerFactsForSubject], tmp_path: Path) -> None:
    work = tmp_path / "spring"
    shutil.copytree(SPRING, work, ignore=shutil.ignore_patterns("target"))
    here = {"SERVER_ADDRESS": "127.0.0.1", "SERVER_PORT": "0"}
    environment = resolved(read_manifest(SPRING)[0].environment, addresses, (), "spring") | here
    ran = subprocess.run(
        ["mvn", "-q", "-B", "test"], cwd=work, env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout[-4000:]
    reports = list((work / "target/surefire-reports").glob("TEST-*.xml"))
    assert sum(report.read_text().count("<testcase") for report in reports) >= 19


@pytest.mark.fault("an application's Redis has a certificate for another name")
@pytest.mark.parametrize("client", ["jedis", pytest.param("lettuce", marks=pytest.mark.prove)])
def test_a_redis_with_a_certificate_for_another_name_gets_nothing(
    client: str, tls_redis: Callable[[str], int], odd_certificates: Path, tmp_path: Path
) -> None:
    """Jedis by itself compares no name. The same Redis is then given the right certificate, so that nothing else was
    wrong."""
    work = tmp_path / "work"
    work.mkdir()
    port = tls_redis("other")
    redis = ServerFactsForSubject("localhost", str(port), "", TLS_PASSWORD, "0", Tls())
    environment = QUICK | {
        "SUBJECT_STORE": "redis-hash",
        "SPRING_DATA_REDIS_CLIENTTYPE": client,
        "SPRING_DATA_REDIS_SSL_BUNDLE": "theirs",
        "SPRING_SSL_BUNDLE_PEM_THEIRS_TRUSTSTORE_CERTIFICATE": f"file:{odd_certificates}/ca.pem",
    }
    subject = local_subject(SPRING, SubjectSettings(environment=environment, servers={"redis": redis}))
    (endpoint,) = subject.start(DeployContext(work_root=work))
    try:
        refused, _ = answer(endpoint, "POST", "/api/post", {"title": "a", "content": "b"})
        with RedisSession(parse_url(f"rediss://:{TLS_PASSWORD}@localhost:{port}?verify=no")) as session:
            keys = session.call("KEYS", "*")
            session.call("CONFIG", "SET", "tls-cert-file", "good.pem", "tls-key-file", "good.key")
        stored, _ = answer(endpoint, "POST", "/api/post", {"title": "a", "content": "b"})
    finally:
        subject.stop()
    assert (refused, keys, stored) == (500, [], 201)


def planned(study: str, **levels: str) -> PlannedTrial:
    """A trial of the condition, with a thousandth of the study's users and posts."""
    only = {name: (level,) for name, level in levels.items()}
    run_plan = make_run_plan(find_experiment(study), only=only, scale=0.001)
    trial = next(trial for trial in run_plan.trials if levels.items() <= trial.condition.items())
    quick = {
        name: dataclasses.replace(required, environment={**required.environment, **QUICK})
        for name, required in trial.subjects.items()
    }
    return dataclasses.replace(trial, subjects=quick)


@contextmanager
def deployed(trial: PlannedTrial, folder: Path) -> Iterator[RunningParts]:
    """What the trial wants, running. Nothing but logs is left of it afterwards."""
    work = folder / "work"
    work.mkdir()
    with Deployments(registry.make_server, DeployContext(work_root=work, log_folder=folder / "logs")) as deployments:
        yield deployments.need(trial)
    assert list(work.iterdir()) == []


def answer(endpoint: Endpoint, method: str, path: str, body: object = None) -> tuple[int, str]:
    connection = http.client.HTTPConnection(endpoint.host, endpoint.port, timeout=60)
    try:
        connection.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
        reply = connection.getresponse()
        return reply.status, reply.read().decode()
    finally:
        connection.close()


def shape_of(ready: RunningParts, store: str, post_id: int) -> object:
    """How a post is kept: the fields and what they hold, with the id and the letters left out."""
    if store == "mariadb":
        control = ready.servers["mariadb"].control
        assert isinstance(control, MariaDbControl)
        return [len(row) for row in control.query("SELECT * FROM post WHERE id = %s", post_id)]
    if store == "postgresql":
        control = ready.servers["postgresql"].control
        assert isinstance(control, PostgresqlControl)
        return [len(row) for row in control.query("SELECT * FROM post WHERE id = $1::bigint", post_id)]
    control = ready.servers["redis"].control
    assert isinstance(control, RedisControl)
    if store == "redis-json":
        kept = json.loads(control.call("GET", f"loadstone:subject:post-json:{post_id}"))
        assert kept["id"] == post_id
        return [(name, type(value)) for name, value in kept.items()]
    kept = control.call("HGETALL", f"loadstone:subject:post:{post_id}")
    assert int(kept[b"id"]) == post_id
    assert control.call("SISMEMBER", "loadstone:subject:post", post_id) == 1
    return {name: value if name == b"_class" else None for name, value in kept.items()}


@pytest.mark.parametrize(
    ("store", "replicas"),
    [
        ("mariadb", 1),
        pytest.param("postgresql", 1, marks=pytest.mark.prove),
        ("redis-hash", 1),
        ("redis-json", 2),
    ],
)
def test_memory_vs_disk(store: str, replicas: int, tmp_path: Path) -> None:
    """Posts that loadstone wrote are read; what is posted is kept in the same way, read by others, and counted."""
    trial = planned("memory-vs-disk", operation="write", store=store)
    subjects = {name: dataclasses.replace(required, replicas=replicas) for name, required in trial.subjects.items()}
    (stored,) = trial.stored
    with deployed(dataclasses.replace(trial, subjects=subjects), tmp_path) as ready:
        first, *_, last = [*ready.endpoints(trial.target)] * 2
        assert len(ready.subjects["spring"].subject.pids) == replicas
        counted = ready.servers[stored.server].control.count
        assert counted(stored.count) == POSTS
        for number in (1, POSTS):
            status, text = answer(first, "GET", f"/api/post/{number}")
            assert status == 200
            post = json.loads(text)
            assert list(post) == ["id", "title", "content"]
            assert post["id"] == number
            assert {len(post["title"]), len(post["content"])} == {10}
        assert answer(first, "GET", f"/api/post/{POSTS + 1}")[0] == 404

        for times in (1, 2, 3):
            status, text = answer(first, "POST", "/api/post", POST)
            assert status == 201
            post = json.loads(text)
            assert post == {"id": post["id"], **POST}
            assert answer(last, "GET", f"/api/post/{post['id']}") == (200, text)
            assert counted(stored.count) == POSTS + times
        assert shape_of(ready, store, post["id"]) == shape_of(ready, store, 1)


def test_jedis_vs_lettuce(tmp_path: Path) -> None:
    """The pool that was requested stands, its figures are reported, and a page is a JSON string in Redis."""
    trial = planned("jedis-vs-lettuce", client="jedis-128")
    with deployed(trial, tmp_path) as ready:
        (endpoint,) = ready.endpoints(trial.target)
        control = ready.servers["redis"].control
        assert isinstance(control, RedisControl)
        status, page = answer(endpoint, "GET", "/api/feed?page=100")
        assert status == 200
        assert [post["id"] for post in json.loads(page)] == list(range(10, 0, -1))
        assert control.call("GET", "loadstone:subject:feed:100").decode() == page
        tested = control.commandstats()["ping"]
        assert answer(endpoint, "GET", "/api/feed?page=100") == (200, page)
        assert control.commandstats()["ping"] >= tested + 2  # when it was taken, and when it was given back
        status, reported = answer(endpoint, "GET", "/actuator/prometheus")
        assert status == 200
    observed = figures(reported)
    assert observed["redis_pool_active"] == 0
    assert observed["redis_pool_idle"] >= 1
    assert observed["redis_pool_pending"] == 0
    assert observed["tomcat_busy"] >= 1
    assert observed["tomcat_threads"] >= 10
    assert observed["tomcat_connections"] >= 1
    assert {"heap_used_bytes", "hikari_active", "jvm_threads"} <= set(observed)


ATTACK = {
    "SERVER_ADDRESS": "0.0.0.0",
    "MANAGEMENT_ENDPOINTS_WEB_EXPOSURE_INCLUDE": "*",
    "MANAGEMENT_ENDPOINT_ENV_SHOWVALUES": "always",
    "management.endpoints.web.exposure.include": "*",
}


@pytest.fixture
def users_redis(user_redis: Callable[..., UserRedis]) -> UserRedis:
    """A Redis of the user's, where only `lab` may log in."""
    return user_redis("--user", "default", "off", "--user", "lab", "on", ">hunter2", "~loadstone:*", "+@all")


def on(theirs: UserRedis, **environment: str) -> LocalSubject:
    """The application, with its posts in database 2 of a Redis of the user's."""
    endpoint = parse_url(f"redis://lab:hunter2@127.0.0.1:{theirs.port}/2")
    facts = ServerFacts(software="redis", version="", mode="", role="")
    addresses = {"redis": address_of(endpoint, facts, "redis")}
    settings = SubjectSettings(environment=QUICK | environment, servers=addresses)
    return local_subject(SPRING, settings)


@pytest.mark.fault(
    "an application is given a prefix of keys of others",
    "the plan refuses it, and so does the application, by whichever variable it comes",
    area="data",
)
@pytest.mark.parametrize(
    "variable",
    [
        pytest.param({"SUBJECT_KEYPREFIX": "prod-"}, marks=pytest.mark.prove),
        {"SPRING_APPLICATION_JSON": '{"subject": {"key-prefix": "loadstone:"}}'},
        pytest.param({"JAVA_TOOL_OPTIONS": f"{QUICK_JVM} -Dsubject.keyPrefix=loadstone-x:y:"}, marks=pytest.mark.prove),
    ],
    ids=["variable", "json", "option"],
)
def test_a_prefix_of_others_is_refused(
    variable: dict[str, str], users_redis: UserRedis, context: DeployContext, tmp_path: Path
) -> None:
    subject = on(users_redis, **variable)
    with pytest.raises(SubjectFailed, match="begin it with loadstone:NAME:"):
        subject.start(dataclasses.replace(context, log_folder=tmp_path / "logs"))
    subject.stop()


@pytest.mark.fault(
    "an experiment has a built-in application open further ports or pages",
    "it listens at the address that it was given, shows health and figures alone, and has no secret of the user",
    area="foreign",
)
@pytest.mark.parametrize("client", [pytest.param("lettuce", marks=pytest.mark.prove), "jedis"])
def test_it_stays_at_its_address_and_at_the_user_and_the_database_of_its_redis(
    client: str, users_redis: UserRedis, context: DeployContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys of an application that are in another database would be found by nobody."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret-of-the-user")
    subject = on(
        users_redis,
        SUBJECT_STORE="redis-json",
        SUBJECT_KEYPREFIX="loadstone:mine:",
        SPRING_DATA_REDIS_CLIENTTYPE=client,
        MANAGEMENT_SERVER_PORT=str(free_port()),
        **ATTACK,
    )
    (endpoint,) = subject.start(dataclasses.replace(context, log_folder=tmp_path / "logs"))
    try:
        shows_nothing_else(psutil.Process(subject.pids["spring"]), endpoint)
        status, text = answer(endpoint, "POST", "/api/post", POST)
        assert status == 201
    finally:
        subject.stop()
    with users_redis.client(username="lab", password="hunter2", db=2) as there:
        assert there.keys("*") == [f"loadstone:mine:post-json:{json.loads(text)['id']}"]
    with users_redis.client(username="lab", password="hunter2") as elsewhere:
        assert elsewhere.dbsize() == 0


def shows_nothing_else(process: psutil.Process, endpoint: Endpoint) -> None:
    """It listens at its address, shows health and figures, and was given no secret."""
    assert "AWS_SECRET_ACCESS_KEY" not in process.environ()
    listening = {one.laddr for one in process.net_connections("inet") if one.status == psutil.CONN_LISTEN}
    assert {(at.ip.removeprefix("::ffff:"), at.port) for at in listening} == {("127.0.0.1", endpoint.port)}
    pages = ("env", "heapdump", "configprops", "beans", "loggers")
    assert {page: answer(endpoint, "GET", f"/actuator/{page}")[0] for page in pages} == dict.fromkeys(pages, 404)
    assert answer(endpoint, "GET", "/actuator/health/readiness")[0] == 200
