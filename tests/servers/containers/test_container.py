"""Servers in containers, with a real Podman and images of this machine's own programs."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from pydantic import ValidationError
from tests.podman import Podman
from tests.real_servers import arguments_of, is_gone, wait_until

from loadstone.machine import extras
from loadstone.machine.needs import line_for, missing
from loadstone.machine.ports import free_port
from loadstone.safety.errors import UserError
from loadstone.servers.containers import container_engine, container_guard
from loadstone.servers.containers.container import ContainerServer, ContainerSettings
from loadstone.servers.mariadb.control import MariaDbControl
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.server import DeployContext

IMAGE = "localhost/redis:8"
ORPHAN = """\
import json, sys
from loadstone.servers.containers.container import ContainerSettings
from loadstone.servers.server import DeployContext
server = ContainerSettings(image={image!r}).server("redis")
endpoint = server.start(DeployContext())
print(json.dumps([endpoint.port, dict(server.pids)]), flush=True)
sys.stdin.read()
"""


SETTINGS = ContainerSettings(
    image=IMAGE,
    modules=("json",),
    settings={"appendonly": True, "appendfsync": "always", "maxmemory": "32mb"},
    limits={"cpu": 0.5, "memory": "256 MB"},
)
"""Of every kind that a Redis has."""


def test_the_library_of_containers_is_named_with_what_installs_it(
    monkeypatch: pytest.MonkeyPatch, context: DeployContext
) -> None:
    assert not missing(SETTINGS.needs("redis"))
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    (need,) = missing(SETTINGS.needs("redis"))
    assert need.is_for_setup
    assert "loadstone[containers]" in line_for([need], ())
    with pytest.raises(UserError, match=r"kind: container: loadstone\[containers\] is not installed; type .* \(3 MB\)"):
        SETTINGS.server("redis").start(context)


@pytest.fixture
def server(podman_found: Podman, context: DeployContext, tmp_path: Path) -> Iterator[ContainerServer]:  # noqa: ARG001
    server = SETTINGS.server("redis")
    server.start(replace(context, log_folder=tmp_path / "logs"))
    yield server
    server.stop()


@pytest.fixture(scope="class")
def standing(podman: Podman) -> Iterator[ContainerServer]:
    """One for several tests that only look at it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCKER_HOST", podman.url)
        server = SETTINGS.server("redis")
        server.start(DeployContext())
        yield server
        server.stop()


def refusal(settings: ContainerSettings, context: DeployContext) -> str:
    server = settings.server("redis")
    with pytest.raises(UserError) as refused:
        server.start(context)
    assert not server.alive()
    assert "\n" not in str(refused.value)
    return str(refused.value)


def cgroup_values(pid: int) -> tuple[int, int, int]:
    """CPU quota and period in us, and bytes of memory, of the control groups (version 1 or 2) of a process."""
    groups = {
        name: path
        for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines()
        for _, names, path in [line.split(":", 2)]
        for name in names.split(",")
    }
    root = Path("/sys/fs/cgroup")
    if "cpu" in groups:
        cpu, memory = root / f"cpu{groups['cpu']}", root / f"memory{groups['memory']}"
        values = [cpu / "cpu.cfs_quota_us", cpu / "cpu.cfs_period_us", memory / "memory.limit_in_bytes"]
        quota, period, limit = (int(path.read_text()) for path in values)
        return quota, period, limit
    group = root / groups[""].lstrip("/")
    quota, period = map(int, (group / "cpu.max").read_text().split())
    return quota, period, int((group / "memory.max").read_text())


class TestOneThatStands:
    def test_it_serves_and_says_what_it_is(self, standing: ContainerServer) -> None:
        with standing.control() as control:
            assert isinstance(control, RedisControl)
            control.ping()
        assert standing.facts.version.startswith("8.")
        assert "ReJSON" in standing.facts.modules
        assert standing.facts.details["image"] == IMAGE
        assert standing.facts.details["image id"].startswith("sha256:")
        assert standing.facts.details["container engine"].startswith("Podman Engine ")

    def test_settings_are_read_back(self, standing: ContainerServer) -> None:
        assert standing.settings_read_back["appendonly"] == "yes"
        assert standing.settings_read_back["appendfsync"] == "always"
        assert standing.settings_read_back["maxmemory"] == str(32 * 1024**2)
        assert standing.settings_read_back["save"] == ""

    def test_its_process_is_observed_from_here(self, standing: ContainerServer) -> None:
        process = psutil.Process(standing.pids["redis"])
        assert process.name() == "redis-server"
        assert process.uids().real == 999
        assert standing.facts.process_id == process.pid

    def test_the_limits_are_in_force(self, standing: ContainerServer) -> None:
        assert standing.facts.limits["cpu"].value == 0.5
        assert standing.facts.limits["memory"].value == 256_000_000
        quota, period, memory = cgroup_values(standing.pids["redis"])
        assert quota / period == 0.5
        assert abs(memory - 256_000_000) < 4096, "the kernel counts in pages"

    @pytest.mark.fault("another user reaches a server that loadstone started")
    def test_only_this_machine_reaches_its_port(self, standing: ContainerServer) -> None:
        port = standing._endpoint.port
        others = [a.address for found in psutil.net_if_addrs().values() for a in found if a.family == socket.AF_INET]
        for address in [address for address in others if not address.startswith("127.")]:
            with socket.socket() as probe:
                probe.settimeout(2)
                assert probe.connect_ex((address, port)) != 0

    def test_the_password_is_needed_and_observed_nowhere(self, standing: ContainerServer, podman: Podman) -> None:
        password = standing._endpoint.password
        assert password is not None
        assert len(password) >= 24
        name = next(name for name in podman.ours() if name.startswith("loadstone-redis-"))
        assert password not in podman.run("inspect", name)
        for process in psutil.process_iter():
            try:
                assert password not in " ".join(process.cmdline())
            except psutil.Error:
                continue


def test_it_is_pinned_to_the_servers_cpus(podman_found: Podman, context: DeployContext) -> None:  # noqa: ARG001
    cpu = min(os.sched_getaffinity(0))
    server = ContainerSettings(image=IMAGE).server("redis")
    server.start(replace(context, cpus=(cpu,)))
    try:
        assert psutil.Process(server.pids["redis"]).cpu_affinity() == [cpu]
        assert server.facts.details["CPUs"] == str(cpu)
    finally:
        server.stop()


@pytest.mark.fault("a server in a container dies", "it comes back on its port with its data", area="servers")
def test_it_comes_back_whatever_ended_it_and_leaves_nothing_when_it_is_stopped(
    server: ContainerServer, podman_found: Podman, tmp_path: Path
) -> None:
    endpoint, killed = server._endpoint, server.pids["redis"]
    with server.control() as control:
        control.call("SET", "loadstone:kept", "1")
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: not server.alive())
    assert server.pids == {}
    assert server.restart() == endpoint
    again = server.pids["redis"]
    assert again != killed
    with server.control() as control:
        assert control.count("EXISTS loadstone:kept") == 1
    assert server.facts.limits["cpu"].value == 0.5

    server.restart()
    assert server.pids["redis"] != again, "one that runs is started afresh"

    name = podman_found.ours()[0]
    podman_found.run("rm", "--force", "--volumes", name)
    assert not server.alive()
    server.restart()
    assert server.alive()
    assert name not in podman_found.ours(), "one that somebody removed is made again"

    container, network = podman_found.ours()
    assert container == network
    pid = server.pids["redis"]
    server.stop()
    assert podman_found.ours() == []
    assert podman_found.run("volume", "ls", "--quiet") == ""
    assert is_gone(pid)
    assert server.pids == {}
    server.stop()
    assert "Ready to accept connections" in (tmp_path / "logs" / "redis.log").read_text()


def test_an_image_without_entry_point_and_volume_serves(podman_found: Podman, context: DeployContext) -> None:  # noqa: ARG001
    server = ContainerSettings(image="localhost/bare-redis:8", settings={"appendonly": True}).server("redis")
    server.start(context)
    assert server.settings_read_back["appendonly"] == "yes"
    server.stop()


def test_mariadb_serves_in_one(mariadb_image: str, podman_found: Podman, context: DeployContext) -> None:
    settings = ContainerSettings(
        image=mariadb_image,
        software="mariadb",
        settings={"innodb_flush_log_at_trx_commit": 2, "innodb_buffer_pool_size": "64M"},
    )
    server = settings.server("mariadb")
    endpoint = server.start(context)
    try:
        assert server.facts.software == "mariadb"
        assert server.settings_read_back["innodb_flush_log_at_trx_commit"] == "2"
        assert server.settings_read_back["innodb_buffer_pool_size"] == str(64 * 1024**2)
        assert endpoint.password not in podman_found.run("inspect", podman_found.ours()[0])
        with server.control() as control:
            assert isinstance(control, MariaDbControl)
            control.query("CREATE TABLE kept (id INT PRIMARY KEY) ENGINE = InnoDB")
            control.query("INSERT INTO kept VALUES (1)")
        os.kill(server.pids["mariadb"], signal.SIGKILL)
        wait_until(lambda: not server.alive())
        server.restart()
        with server.control() as control:
            assert control.count("kept") == 1
    finally:
        server.stop()


@pytest.mark.fault("loadstone gets SIGKILL, also in a build")
def test_killing_loadstone_removes_all(podman_found: Podman, tmp_path: Path) -> None:
    program = tmp_path / "orphan.py"
    program.write_text(ORPHAN.format(image=IMAGE))
    parent = subprocess.Popen([sys.executable, str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert parent.stdin is not None
    assert parent.stdout is not None
    with parent.stdin, parent.stdout:
        started = parent.stdout.readline()
        assert len(podman_found.ours()) == 2, started
        parent.kill()
        parent.wait()
    pid = int(re.findall(r"\d+", started)[-1])
    wait_until(lambda: is_gone(pid), patience_s=120)
    wait_until(lambda: podman_found.ours() == [], patience_s=120)


def test_a_guard_that_was_killed_leaves_nothing(server: ContainerServer, podman_found: Podman, tmp_path: Path) -> None:
    guards = [child for child in psutil.Process().children() if container_guard.__file__ in arguments_of(child)]
    assert len(guards) == 1
    guards[0].kill()
    server.stop()
    assert podman_found.ours() == []
    assert "Ready to accept connections" in (tmp_path / "logs" / "redis.log").read_text()


def test_an_image_that_is_not_here_is_pulled(
    podman_found: Podman,  # noqa: ARG001
    image_elsewhere: str,
    context: DeployContext,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("loadstone.servers.containers.container_engine.PULL_TELL_S", -1)
    reported: list[str] = []
    server = ContainerSettings(image=image_elsewhere).server("redis")
    server.start(replace(context, progress=reported.append))
    assert server.alive()
    server.stop()
    assert reported[0] == f"pulling {image_elsewhere}"
    assert re.fullmatch(rf"pulling {image_elsewhere}: \d+ of \d+ layers", reported[1])


def test_an_image_that_cannot_be_had_is_named(podman_found: Podman, context: DeployContext) -> None:  # noqa: ARG001
    reported: list[str] = []
    text = refusal(ContainerSettings(image="localhost/nowhere:1"), replace(context, progress=reported.append))
    assert text.startswith("server redis: image 'localhost/nowhere:1' is not on this machine and cannot be pulled (")
    assert "pulling localhost/nowhere:1" in reported


def test_an_unknown_setting_is_named(podman_found: Podman, context: DeployContext) -> None:  # noqa: ARG001
    text = refusal(ContainerSettings(image=IMAGE, settings={"appendfsyncc": "always"}), context)
    assert text.startswith("server redis: settings: this Redis does not take 'appendfsyncc always'")


def test_a_program_that_the_image_lacks_is_said(podman_found: Podman, context: DeployContext) -> None:  # noqa: ARG001
    text = refusal(ContainerSettings(image=IMAGE, program="valkey-server"), context)
    assert "valkey-server" in text


@pytest.mark.fault("another program has the port")
def test_a_port_that_another_took_is_left_to_it(
    podman_found: Podman,  # noqa: ARG001
    context: DeployContext,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ports = iter([taken.getsockname()[1], free_port()])
        monkeypatch.setattr("loadstone.servers.containers.container.free_port", lambda: next(ports))
        server = ContainerSettings(image=IMAGE).server("redis")
        assert server.start(context).port != taken.getsockname()[1]
        server.stop()


def test_no_engine_says_where_it_looked(
    context: DeployContext, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for given, words in (
        (f"unix://{tmp_path}/none.sock", f"{tmp_path}/none.sock: no socket"),
        ("tcp://elsewhere:2375", "tcp://elsewhere:2375: not a Unix socket of this machine"),
    ):
        monkeypatch.setenv("DOCKER_HOST", given)
        text = refusal(ContainerSettings(image=IMAGE), context)
        assert text.startswith(f"server redis: no container engine answers ({words}); start one (Docker: systemctl")
        assert "podman system service" in text


def test_the_usual_sockets_are_tried_where_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.delenv("CONTAINER_HOST", raising=False)
    assert {"/var/run/docker.sock", "/run/podman/podman.sock"} <= set(container_engine.places())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"settings": {"port": 1}}, "'port' is decided by loadstone"),
        ({"software": "mariadb", "settings": {"datadir": "/x"}}, "'datadir' is decided by loadstone"),
        ({"software": "mariadb", "modules": ["json"]}, "a MariaDB has none"),
        ({"image": "redis 8"}, "image"),
    ],
)
def test_what_cannot_be_is_refused_beforehand(given: dict[str, object], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        ContainerSettings.model_validate({"image": IMAGE} | given)


@pytest.mark.parametrize(
    ("program", "software", "version"), [("valkey-server", "valkey", "9."), ("redis-server", "redis", "7.")]
)
def test_a_relative_runs_by_its_own_program(
    podman_found: Podman,  # noqa: ARG001 (the engine that is found)
    relatives: dict[str, str],
    context: DeployContext,
    program: str,
    software: str,
    version: str,
) -> None:
    if program not in relatives:
        pytest.skip(f"no {program}: scripts/apt installs it where it can")
    settings = ContainerSettings(image=relatives[program], program=program, settings={"maxmemory": "32mb"})
    server = settings.server("cache")
    try:
        server.start(context)
        assert (server.facts.software, server.facts.mode) == (software, "standalone")
        assert server.facts.version.startswith(version)
        assert server.settings_read_back["maxmemory"] == str(32 * 2**20)
    finally:
        server.stop()
