"""The Nest application on real servers: its own tests, and run by PM2 as one process and as a cluster."""

import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from tests.experiments import find_experiment
from tests.real_servers import TLS_PASSWORD, is_gone, wait_until

from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.experiment.plan.endpoints import Endpoint, Tls
from loadstone.machine.placement import place
from loadstone.measure.processes import watch_of
from loadstone.monitors.host.processes import ProcessTreeMonitor
from loadstone.monitors.node import NodeMonitor
from loadstone.programs.build import built
from loadstone.programs.deployments import Deployments
from loadstone.programs.manifest import read_manifest
from loadstone.programs.ready import RunningParts, RunningSubject
from loadstone.programs.subjects.placeholders import ServerFactsForSubject, address_of, resolved
from loadstone.programs.subjects.subject import LocalSubject, SubjectSettings, local_subject
from loadstone.run_folder.ledger import CreatedObjects
from loadstone.safety.errors import UserError
from loadstone.servers import registry
from loadstone.servers.control import TableStore
from loadstone.servers.mariadb.control import MariaDbControl
from loadstone.servers.mariadb.local import MariaDbSettings, find
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.redis.local import EmbeddedSettings
from loadstone.servers.server import DeployContext, Server

NEST = Path(__file__).parents[2] / "subjects" / "nest"
KEY = "loadstone:subject:raffles"
CLUSTER = {"EXEC_MODE": "cluster", "INSTANCES": "2"}

pytestmark = [
    pytest.mark.skipif(shutil.which("npm") is None, reason="no Node: scripts/node installs it"),
    pytest.mark.skipif(find("mariadbd") is None, reason="no MariaDB: scripts/apt installs it where it can"),
    pytest.mark.timeout(600),  # the first build downloads its libraries
]


@dataclass
class Servers:
    """Redis and MariaDB, with the application's tables and twelve raffles."""

    addresses: dict[str, ServerFactsForSubject]
    redis: RedisControl
    mariadb: MariaDbControl


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with started_servers(tmp_path_factory.mktemp("servers")) as found:
        yield found


@contextmanager
def started_servers(folder: Path) -> Iterator[Servers]:
    context = DeployContext(work_root=folder)
    started: dict[str, Server] = {
        "redis": EmbeddedSettings().server("redis"),
        "mariadb": MariaDbSettings().server("mariadb"),
    }
    try:
        at = {name: server.start(context) for name, server in started.items()}
        with started["redis"].control() as redis, started["mariadb"].control() as mariadb:
            assert isinstance(redis, RedisControl)
            assert isinstance(mariadb, MariaDbControl)
            assert isinstance(mariadb, TableStore)
            mariadb.make_tables("nest", read_manifest(NEST)[0].declared_tables, CreatedObjects(), ours=True)
            for number in range(1, 13):
                mariadb.query("INSERT INTO product VALUES (%s, %s, 'good', %s)", number, f"p{number}", 10 * number)
                mariadb.query("INSERT INTO raffle VALUES (%s, %s, %s)", number, 13 - number, f"r{number}")
                mariadb.query("INSERT INTO bid (raffle_id, bidder, amount) VALUES (%s, 'ann', 5)", number)
                mariadb.query("INSERT INTO bid (raffle_id, bidder, amount) VALUES (%s, 'bob', 6)", number)
            addresses = {name: address_of(at[name], one.facts, one.facts.software) for name, one in started.items()}
            yield Servers(addresses, redis, mariadb)
    finally:
        for server in started.values():
            server.stop()


@pytest.fixture
def work(tmp_path: Path) -> Iterator[Path]:
    """Where the subject has its folder, of which nothing is left."""
    folder = tmp_path / "work"
    folder.mkdir()
    yield folder
    wait_until(lambda: list(folder.iterdir()) == [])


def nest(servers: Servers, **environment: str) -> LocalSubject:
    return local_subject(NEST, SubjectSettings(environment=environment, servers=servers.addresses))


def answer(endpoint: Endpoint, method: str, path: str, body: object = None) -> tuple[int, str]:
    connection = http.client.HTTPConnection(endpoint.host, endpoint.port, timeout=60)
    try:
        if body is None:
            connection.request(method, path)
        else:
            connection.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
        reply = connection.getresponse()
        return reply.status, reply.read().decode()
    finally:
        connection.close()


@pytest.mark.parametrize("command", ["npm test", pytest.param("npm run lint", marks=pytest.mark.prove)])
def test_its_own_tests(tmp_path: Path, command: str) -> None:
    """On servers of their own: they put rows of theirs in the place of all others."""
    work = tmp_path / "nest"
    shutil.copytree(NEST, work, ignore=shutil.ignore_patterns("node_modules", "dist", "build-test"))
    manifest = read_manifest(NEST)[0]
    (tmp_path / "build").mkdir()
    libraries = built(manifest, NEST, DeployContext(work_root=tmp_path / "build")) / "node_modules"
    (work / "node_modules").symlink_to(libraries)  # of the build: npm installed them with the same command
    (tmp_path / "servers").mkdir()
    with started_servers(tmp_path / "servers") as servers:
        environment = resolved(manifest.environment, servers.addresses, (), "nest")
        environment |= {"HOST": "127.0.0.1", "PORT": "1", "WORKER_PORTS": ""}
        ran = subprocess.run(
            command.split(), cwd=work, env={**os.environ, **environment}, capture_output=True, text=True, check=False
        )
    assert ran.returncode == 0, (ran.stdout + ran.stderr)[-4000:]
    assert command != "npm test" or "# fail 0" in ran.stdout


@pytest.mark.fault("an application's Redis has a certificate for another name", "nothing is sent", area="transport")
@pytest.mark.parametrize("certificate", ["good", "other"])
def test_a_certificate_is_verified_whatever_the_variables_of_node_say(
    certificate: str, servers: Servers, tls_redis: Callable[[str], int], odd_certificates: Path, work: Path
) -> None:
    tls = Tls(ca_file=str(odd_certificates / "ca.pem"))
    redis = ServerFactsForSubject("localhost", str(tls_redis(certificate)), password=TLS_PASSWORD, encryption=tls)
    addresses = {**servers.addresses, "redis": redis}
    settings = SubjectSettings(environment={"NODE_TLS_REJECT_UNAUTHORIZED": "0"}, servers=addresses)
    subject = local_subject(NEST, settings)
    try:
        if certificate == "good":
            subject.start(DeployContext(work_root=work))
        else:
            with pytest.raises(UserError, match="does not match certificate's altnames"):
                subject.start(DeployContext(work_root=work))
    finally:
        subject.stop()


@pytest.mark.fault("an application is given a prefix of keys of others")
@pytest.mark.parametrize("prefix", ["prod-", pytest.param("loadstone:", marks=pytest.mark.prove)])
def test_a_prefix_of_others_is_refused(prefix: str, servers: Servers, work: Path, tmp_path: Path) -> None:
    subject = nest(servers, REDIS_KEY_PREFIX=prefix)
    with pytest.raises(UserError, match="REDIS_KEY_PREFIX: begin it with loadstone:NAME:"):
        subject.start(DeployContext(work_root=work, log_folder=tmp_path / "logs"))
    subject.stop()


@pytest.mark.parametrize("environment", [pytest.param({}, marks=pytest.mark.prove), CLUSTER], ids=["fork", "cluster-2"])
def test_run_by_pm2(environment: dict[str, str], servers: Servers, work: Path, tmp_path: Path) -> None:
    """The list is that of the database, expires in Redis, and knows nothing of a bid meanwhile, which is stored."""
    home = set(Path.home().iterdir())
    count = int(environment.get("INSTANCES", "1"))
    servers.redis.call("DEL", KEY)
    subject = nest(servers, **environment)
    (endpoint,) = subject.start(DeployContext(work_root=work, log_folder=tmp_path / "logs"))
    try:
        workers = subject.workers["nest"]
        pids = [one.pid for one in workers]
        assert len(set(pids)) == count
        assert None not in pids
        below = {child.pid for child in psutil.Process(subject.pids["nest"]).children(recursive=True)}
        assert below >= set(pids)

        status, text = answer(endpoint, "GET", "/raffles")
        assert status == 200
        raffles = json.loads(text)
        assert [one["id"] for one in raffles] == list(range(12, 2, -1))
        for one in raffles:
            product = servers.mariadb.query("SELECT id, name, price FROM product WHERE id = %s", 13 - one["id"])[0]
            assert [one["product"][name] for name in ("id", "name", "price")] == list(product)
            bids = servers.mariadb.query("SELECT id, bidder, amount FROM bid WHERE raffle_id = %s", one["id"])
            assert sorted([bid["id"], bid["bidder"], bid["amount"]] for bid in one["bids"]) == sorted(map(list, bids))
        assert servers.redis.call("GET", KEY).decode() == text
        assert 0 < servers.redis.call("PTTL", KEY) <= 10_000

        counted = servers.mariadb.query("SELECT COUNT(*) FROM bid")[0][0]
        status, placed = answer(endpoint, "POST", "/raffles/12/bids", {"bidder": "cleo", "amount": 7})
        assert status == 201
        assert json.loads(placed)["raffleId"] == 12
        assert servers.mariadb.query("SELECT COUNT(*) FROM bid")[0][0] == counted + 1
        assert answer(endpoint, "GET", "/raffles") == (200, text), "it is still the cached one"
        servers.redis.call("DEL", KEY)
        assert "cleo" in answer(endpoint, "GET", "/raffles")[1]

        watched(subject, endpoint, count)
    finally:
        subject.stop()
    assert all(is_gone(pid) for pid in pids if pid is not None)
    assert set(Path.home().iterdir()) == home


ATTACK = {
    "HOST": "0.0.0.0",
    "PORT": "1",
    "WORKER_PORTS": "",
    "PM2_HOME": "/nowhere",
    "PM2_PUBLIC_KEY": "stranger",
    "PM2_SECRET_KEY": "stranger",
    "KEYMETRICS_PUBLIC": "stranger",
    "KEYMETRICS_SECRET": "stranger",
    "PM2_APM_ADDRESS": "127.0.0.1:9",
    "PM2_NODE_OPTIONS": "--no-such-option",
    "PM2_LOG_FILE_PATH": "/nowhere/pm2.log",
}


@pytest.fixture(scope="module")
def attacked(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalSubject]:
    """A cluster of two, of an experiment that sets what it must not, and of a user who has a secret."""
    work = tmp_path_factory.mktemp("attacked")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret-of-the-user")
        subject = nest(servers, **ATTACK, **CLUSTER)
        try:
            subject.start(DeployContext(work_root=work))
            yield subject
        finally:
            subject.stop()
    wait_until(lambda: list(work.iterdir()) == [])


@pytest.mark.fault("an experiment has a built-in application open further ports or pages")
@pytest.mark.fault(
    "an experiment gives PM2 the keys of an account",
    "PM2 gets none of its variables and links itself to nobody",
    area="foreign",
)
def test_it_stays_at_its_address_and_its_manager_obeys_no_variable(attacked: LocalSubject) -> None:
    top = psutil.Process(attacked.pids["nest"])
    listening: set[str] = set()
    for process in (top, *top.children(recursive=True)):
        listening |= {one.laddr.ip for one in process.net_connections("inet") if one.status == psutil.CONN_LISTEN}
        assert "agent" not in " ".join(process.cmdline()).lower()
        assert "AWS_SECRET_ACCESS_KEY" not in process.environ()
        if process != top:  # what it was started with, before it drops what it does not read
            assert not process.environ().keys() & ATTACK.keys() - {"HOST", "PORT", "WORKER_PORTS", "PM2_HOME"}
    assert listening == {"127.0.0.1"}


def watched(subject: LocalSubject, endpoint: Endpoint, count: int) -> None:
    """Each worker reports its figures, and the CPU of all together is that of the part."""
    deployed = RunningSubject(subject, (endpoint,), dict(subject.pids), 0)
    watch = watch_of(RunningParts({}, {"nest": deployed}), ())
    (monitor,) = NodeMonitor.watching(watch)
    (tree,) = ProcessTreeMonitor.watching(watch)
    parts = [f"nest-worker-{number}" for number in range(1, count + 1)]
    found: dict[str, dict[str, float]] = {}
    whole: dict[str, float] = {}
    for _ in range(3):
        for _ in range(40):
            answer(endpoint, "GET", "/raffles")
        time.sleep(0.25)
        for sample in monitor.sample(0.0):
            found.setdefault(sample.part, {})[sample.metric] = sample.value
        whole |= {sample.metric: sample.value for sample in tree.sample(0.0)}
    assert sorted(found) == parts
    for figures in found.values():
        assert set(figures) == set(NodeMonitor.METRICS)
        assert figures["node_answers"] == 1
        assert figures["node_heap_used_bytes"] > 1e6
        assert figures["node_cpu_share"] > 0
        assert 0 < figures["event_loop_busy_share"] <= 1
    assert whole["workers"] == count
    assert 0 < whole["main_thread_share"] <= whole["cpu_share"] + 0.2


def test_a_worker_that_is_lost_is_reported_and_it_starts_again(attacked: LocalSubject) -> None:
    lost = attacked.workers["nest"][1]
    assert lost.pid is not None
    os.kill(lost.pid, signal.SIGKILL)
    wait_until(lambda: not attacked.alive())
    assert attacked.how_it_ended() == f"worker 2 (process {lost.pid}) of its 2 workers ended"
    attacked.restart()
    assert attacked.alive()
    assert lost.pid not in [one.pid for one in attacked.workers["nest"]]


PROGRAM = """
import json, sys, time
from pathlib import Path
from loadstone.servers.server import DeployContext
from loadstone.programs.subjects.placeholders import ServerFactsForSubject
from loadstone.programs.subjects.subject import SubjectSettings, local_subject

addresses = {name: ServerFactsForSubject(**fields) for name, fields in json.loads(sys.stdin.read()).items()}
settings = SubjectSettings(environment={"EXEC_MODE": "cluster", "INSTANCES": "2"}, servers=addresses)
subject = local_subject(Path(sys.argv[1]), settings)
subject.start(DeployContext(work_root=Path(sys.argv[2])))
print(json.dumps([subject.pids["nest"], *(one.pid for one in subject.workers["nest"])]), flush=True)
time.sleep(600)
"""


def test_kill_9_of_loadstone_leaves_nothing(servers: Servers, work: Path) -> None:
    fields = {
        name: {"host": at.host, "port": at.port, "user": at.user, "password": at.password, "database": at.database}
        for name, at in servers.addresses.items()
    }
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(NEST), str(work)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with program:
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdin.write(json.dumps(fields))
        program.stdin.close()
        pids = json.loads(program.stdout.readline())
        program.kill()
    assert len(pids) == 3
    wait_until(lambda: all(is_gone(pid) for pid in pids))


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"EXEC_MODE": "cloud"}, "EXEC_MODE: 'cloud' is neither fork nor cluster"),
        ({"INSTANCES": "2"}, "only EXEC_MODE=cluster lets several processes share a port"),
        ({"INSTANCES": "many"}, "environment.INSTANCES: 'many' is no number of workers; write one from 1 to 64"),
        ({"MARIADB_PORT": "1"}, "ECONNREFUSED 127.0.0.1:1"),
    ],
)
def test_what_does_not_start_is_one_line(environment: dict[str, str], said: str, servers: Servers, work: Path) -> None:
    subject = nest(servers, **environment)
    with pytest.raises(UserError) as refused:
        subject.start(DeployContext(work_root=work))
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@contextmanager
def study(folder: Path, **levels: str) -> Iterator[RunningParts]:
    """A trial of `local-vs-cloud` at these levels, running: a tenth of its rows. Nothing but logs is left of it."""
    only = {name: (level,) for name, level in levels.items()}
    run_plan = make_run_plan(find_experiment("local-vs-cloud"), only=only, scale=0.1)
    trial = next(one for one in run_plan.every_trial if levels.items() <= one.condition.items())
    work, placement = folder / "work", place()
    work.mkdir()
    cpus, generator_cpus = placement.server_cpus, placement.generator_cpus
    context = DeployContext(cpus=cpus, generator_cpus=generator_cpus, work_root=work, log_folder=folder / "logs")
    with Deployments(registry.make_server, context) as deployments:
        yield deployments.need(trial)
    wait_until(lambda: list(work.iterdir()) == [])


def raffles_of(endpoint: Endpoint, ready: RunningParts) -> str:
    """The list, held against the study's own rows and against what Redis then keeps."""
    redis, mariadb = ready.servers["redis"].control, ready.servers["mariadb"].control
    assert isinstance(redis, RedisControl)
    assert isinstance(mariadb, MariaDbControl)
    redis.call("DEL", KEY)
    status, text = answer(endpoint, "GET", "/raffles")
    assert status == 200
    raffles = json.loads(text)
    newest = [id for (id,) in mariadb.query("SELECT id FROM raffle ORDER BY id DESC LIMIT 10")]
    assert [one["id"] for one in raffles] == newest
    assert all(one["product"]["name"] for one in raffles)
    bids = mariadb.query("SELECT COUNT(*) FROM bid WHERE raffle_id >= %s", newest[-1])[0][0]
    assert sum(len(one["bids"]) for one in raffles) == bids > 0
    assert redis.call("GET", KEY).decode() == text
    return text


@pytest.mark.parametrize("level", [pytest.param("local", marks=pytest.mark.prove), "local-own"])
def test_local_vs_cloud_with_a_redis_beside_one_process(level: str, tmp_path: Path) -> None:
    """The application reaches the Redis itself, which has CPUs of its own where the condition says so."""
    with study(tmp_path, redis=level, processes="one") as ready:
        (endpoint,) = ready.endpoints("nest")
        assert len(ready.subjects["nest"].subject.workers["nest"]) == 1
        raffles_of(endpoint, ready)
        redis = ready.servers["redis"]
        assert redis.line is None
        if sys.platform == "linux" and len(os.sched_getaffinity(0)) > 1:
            (server,) = (os.sched_getaffinity(pid) for pid in redis.server.pids.values())
            application = os.sched_getaffinity(ready.subjects["nest"].pids["nest"])
            assert bool(server & application) == (level == "local")


def test_local_vs_cloud_with_a_remote_redis_and_a_cluster(tmp_path: Path) -> None:
    """What the workers say to Redis goes through the line, and they find it again when the line lost them."""
    with study(tmp_path, redis="remote", processes="cluster-2") as ready:
        (endpoint,) = ready.endpoints("nest")
        workers = ready.subjects["nest"].subject.workers["nest"]
        assert len({one.pid for one in workers}) == 2
        line = ready.servers["redis"].line
        assert line is not None
        assert line.settings.requested_ns == 1_000_000
        line.report()
        text = raffles_of(endpoint, ready)
        said = line.report()
        assert said is not None
        assert said["to_server"]["pieces"] > 0
        assert said["to_client"]["pieces"] > 0
        assert line.drop() >= 2, "a connection of each worker"
        wait_until(lambda: answer(endpoint, "GET", "/raffles") == (200, text))
        assert len({one.pid for one in workers if one.pid is not None and not is_gone(one.pid)}) == 2
