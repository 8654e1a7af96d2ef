"""Servers and applications on machines of a fleet: real ones, at an address of their own."""

import contextlib
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import psutil
import pytest
import redis
from tests.addons.fleet.local_fleets import await_true, certified, listening, loadstone, runs, text_of
from tests.addons.fleet.test_monitors import OneMonitor

from loadstone.addons.fleet import cluster_seam, hosting
from loadstone.addons.fleet.cluster_seam import AgentFailed, AgentLost, Member
from loadstone.addons.fleet.dask_cluster import open_cluster
from loadstone.addons.fleet.hosts import FleetHosts
from loadstone.addons.fleet.spec import read_fleet
from loadstone.experiment.plan.required import RequiredSubject
from loadstone.machine.ports import free_port
from loadstone.machine.processes.idle import IdleCriteria, await_quiet_of
from loadstone.programs.deployments import Deployments
from loadstone.programs.subjects.pool import SubjectPool
from loadstone.safety.errors import ServerGone, UserError
from loadstone.servers import registry
from loadstone.servers.remote_host import HostLost
from loadstone.servers.remote_part import HostedServer
from loadstone.servers.server import DeployContext

T = TypeVar("T")
ADDRESS = "127.0.0.2"
DB = Member("db-1", f"tls://{ADDRESS}:8787", "monitor", "machine-1")
OTHER = Member("db-2", "tls://127.0.0.3:8787", "monitor", "machine-1")
REDIS: Mapping[str, Any] = {"kind": "embedded", "host": "db-1", "settings": {"maxmemory": "64mb"}}


class Here(OneMonitor):
    """A cluster whose members are this process; what fails there fails as in a fleet."""

    def call(self, member: Member, function: Callable[..., T], *args: object, timeout_s: float) -> T:
        assert timeout_s > 0
        if self.gone:
            raise AgentLost(member.name, "its link is down")
        try:
            return function(*args)
        except UserError as error:
            raise AgentFailed(member.name, error.message) from None

    def send(self, member: Member, function: Callable[..., object], *args: object) -> None:  # noqa: ARG002
        if not self.gone:
            function(*args)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Here]:
    monkeypatch.setattr(hosting, "_RUNS", {})
    cluster_seam.be_at(ADDRESS)
    yield Here(DB, Member("agent", "tls://127.0.0.3:1", "agent", "machine-2"))
    for run in hosting._RUNS.values():
        run.end()


@pytest.fixture
def context(cluster: Here, tmp_path: Path) -> Iterator[DeployContext]:
    with FleetHosts(cluster) as hosts:
        yield DeployContext(log_folder=tmp_path / "logs", host_of=hosts.host)


def served(port: int) -> psutil.Process:
    """The process that listens at the host's address."""
    (pid,) = {
        one.pid for one in psutil.net_connections("tcp") if one.status == "LISTEN" and one.laddr == (ADDRESS, port)
    }
    assert pid is not None
    return psutil.Process(pid)


def hosted(settings: Mapping[str, Any] = REDIS) -> HostedServer:
    plain = {key: value for key, value in settings.items() if key != "host"}
    model = registry.make_server("redis", plain)
    return HostedServer("redis", settings, model)  # type: ignore[arg-type]


def test_a_server_runs_on_its_host_and_is_ended_with_its_log_kept(context: DeployContext, tmp_path: Path) -> None:
    server = hosted()
    endpoint = server.start(context)
    process = served(endpoint.port)
    try:
        assert (endpoint.host, server.ours, dict(server.pids)) == (ADDRESS, True, {})
        assert listening(process.pid) == [(ADDRESS, endpoint.port)]
        with pytest.raises(redis.AuthenticationError):
            redis.Redis(ADDRESS, endpoint.port).ping()
        with server.control() as control:
            control.ping()
        assert server.settings_read_back["maxmemory"] == "67108864"
        assert server.facts.details["host"] == f"db-1, {ADDRESS}"
        server.hold()
        assert (server.held, process.status()) == (True, psutil.STATUS_STOPPED)
        server.release()
        assert not server.held
        again = server.restart()
        assert (again.port, server.alive()) == (endpoint.port, True)
        assert served(endpoint.port).pid != process.pid
        process = served(endpoint.port)
    finally:
        server.stop()
    assert not runs(process)
    assert not server.alive()
    assert b"Ready to accept connections" in (tmp_path / "logs" / "redis.log").read_bytes()
    assert endpoint.password is not None
    assert endpoint.password.encode() not in text_of(tmp_path)


@pytest.mark.fault(
    "A command with servers on other hosts is not heard of", "they end by their lease of 10 s", area="fleet"
)
def test_a_server_ends_when_its_command_is_not_heard_of(
    cluster: Here, context: DeployContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosting, "LEASE_S", 2.0)
    server = hosted()
    process = served(server.start(context).port)
    time.sleep(2.5)
    assert runs(process)  # it is renewed
    cluster.gone = True
    await_true(lambda: not runs(process), "its lease ran out", 5)
    assert not server.alive()
    assert server.how_it_ended() == "host db-1: its link is down"
    with pytest.raises(HostLost, match="host db-1: its link is down"):
        server.restart()
    server.stop()


def test_of_a_server_that_was_killed_the_host_says_how(context: DeployContext) -> None:
    server = hosted()
    served(server.start(context).port).kill()
    try:
        await_true(lambda: not server.alive(), "killed")
        assert server.how_it_ended() == "it was killed by signal 9 (SIGKILL)"
    finally:
        server.stop()


def test_what_a_host_says_is_the_users_error(context: DeployContext, tmp_path: Path) -> None:
    missing = {"kind": "process", "host": "db-1", "binary": str(tmp_path / "none")}
    with pytest.raises(UserError, match=r"host db-1: server redis: binary '.*none' is not an executable file"):
        hosted(missing).start(context)


def test_a_host_is_a_monitors_name_or_its_machines(cluster: Here) -> None:
    with FleetHosts(cluster) as hosts:
        assert hosts.host("db-1").name == hosts.host("machine-1").name == "db-1"
        with pytest.raises(
            UserError, match=r"host: agent: no monitor of the fleet is called so.*there are: db-1; start"
        ):
            hosts.host("agent")
    with FleetHosts(Here(DB, OTHER)) as hosts:
        assert hosts.host("db-2").name == "db-2"
        with pytest.raises(UserError, match=r"host: machine-1: several monitors of the fleet run there.*: db-1, db-2"):
            hosts.host("machine-1")


def subject_of(folder: Path, listen: str) -> RequiredSubject:
    """An application of one file, which says what it was told."""
    folder.mkdir()
    (folder / "app.py").write_text(
        textwrap.dedent("""
            import http.server, os, sys
            class Pages(http.server.BaseHTTPRequestHandler):
                def do_GET(self):
                    self.send_response(200)
                    self.end_headers()
                    self.wfile.write(os.environ["REDIS"].encode())
            http.server.HTTPServer((os.environ.get("HOST", "127.0.0.1"), int(sys.argv[1])), Pages).serve_forever()
        """)
    )
    (folder / "subject.yaml").write_text(
        f"name: app\nrun: {{command: 'python3 {folder}/app.py {{port}}', ready: /}}\n"
        f"environment: {{{listen}REDIS: '${{redis.address}}'}}\n"
    )
    return RequiredSubject(manifest=str(folder), host="db-1")


def test_an_application_runs_on_its_host(context: DeployContext, tmp_path: Path) -> None:
    required = subject_of(tmp_path / "app", "HOST: '{host}', ")
    with Deployments(registry.make_server, context) as parts:
        servers = parts._servers.need({"redis": REDIS})
        pool = SubjectPool(context)
        try:
            deployed = pool.need({"app": required}, servers)["app"]
            (endpoint,) = deployed.endpoints
            process = served(endpoint.port)
            assert (endpoint.host, deployed.pids, deployed.subject.alive()) == (ADDRESS, {}, True)
            assert await_quiet_of(deployed.subject, IdleCriteria(0.5, 0.05, 2, 10.0), lambda: None) is None
            assert pool.need({"app": required}, servers)["app"] is deployed
            process.kill()
            await_true(lambda: not deployed.subject.alive(), "killed")
            assert pool.need({"app": required}, servers)["app"].endpoints == deployed.endpoints
            process = served(endpoint.port)
        finally:
            pool.stop()
    assert not runs(process)


def test_an_application_must_be_told_where_to_listen_and_reach_its_servers(
    context: DeployContext, tmp_path: Path
) -> None:
    here = {"kind": "embedded"}
    with Deployments(registry.make_server, context) as parts:
        servers = parts._servers.need({"redis": here})
        pool = SubjectPool(context)
        with pytest.raises(UserError, match=r"subjects.app.host: db-1 does not reach servers.redis"):
            pool.need({"app": subject_of(tmp_path / "a", "HOST: '{host}', ")}, servers)
        servers = parts._servers.need({"redis": REDIS})
        with pytest.raises(UserError, match=r"subjects.app.host: its manifest does not say where to listen"):
            pool.need({"app": subject_of(tmp_path / "b", "")}, servers)
        required = replace(subject_of(tmp_path / "c", "HOST: '{host}', "), host="gone")
        with pytest.raises(UserError, match=r"subjects.app.host: gone: no monitor of the fleet is called so"):
            pool.need({"app": required}, servers)


def test_other_sources_on_the_host_are_refused(context: DeployContext, tmp_path: Path) -> None:
    required = subject_of(tmp_path / "app", "HOST: '{host}', ")
    made = hosting.make

    def changed_there(run: str, part: str, kind: Any, name: str, settings: Any) -> None:
        if "manifest" in settings:
            settings["manifest"]["sources"] = "0" * 64
        made(run, part, kind, name, settings)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("loadstone.addons.fleet.hosts.hosting.make", changed_there)
        parts = Deployments(registry.make_server, context)
        with parts, pytest.raises(UserError, match=r"host db-1: .*/app has other sources than here"):
            SubjectPool(context).need({"app": required}, parts._servers.need({"redis": REDIS}))


@pytest.mark.fault(
    "The monitor that started a server is killed", "the server ends at once; the run ends, status 3", area="fleet"
)
def test_a_monitor_of_a_real_fleet_starts_a_server_that_ends_with_it(tmp_path: Path) -> None:
    """Killed, it leaves nothing; the run hears of it at once."""
    environment = certified(tmp_path / "them")
    address = f"tls://127.0.0.1:{free_port()}"
    with contextlib.ExitStack() as held:
        held.enter_context(
            loadstone("fleet", "scheduler", "--listen", address.removeprefix("tls://"), environment=environment)
        )
        started = {}
        for name, role in (("one", "agent"), ("db-1", "monitor")):
            words = ("fleet", "agent", address, "--name", name, "--role", role, "--listen", ADDRESS)
            started[name] = held.enter_context(loadstone(*words, environment=environment))
            stderr = started[name].stderr
            assert stderr is not None
            while "joined" not in stderr.readline():
                pass
        fleet = open_cluster(read_fleet(address), folder=tmp_path / "them")
        try:
            with FleetHosts(fleet) as hosts:
                server = hosted()
                process = served(server.start(DeployContext(host_of=hosts.host)).port)
                started["db-1"].kill()
                await_true(lambda: not runs(process), "its guard ended it")
                await_true(lambda: "it left the fleet" in server.how_it_ended(), "heard of")
                with pytest.raises(ServerGone, match="host db-1: it left the fleet"):
                    server.restart()
        finally:
            fleet.close()
