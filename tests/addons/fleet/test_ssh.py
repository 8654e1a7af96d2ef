"""Agents by ssh, on hosts with a real sshd: network namespaces with addresses of their own."""

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from loadstone.addons.fleet import clocks
from loadstone.addons.fleet.cluster_seam import AgentLost
from loadstone.addons.fleet.dask_cluster import DaskCluster, open_cluster
from loadstone.addons.fleet.identity import own_identity
from loadstone.addons.fleet.launching import PROGRAM_VARIABLE, ssh_command
from loadstone.addons.fleet.serving import ping
from loadstone.addons.fleet.spec import SshHost, read_fleet
from loadstone.machine.processes.network_namespace import OwnHost
from loadstone.safety.errors import DriveFailed

from .local_fleets import await_true, runs

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/bin")
PROGRAM = Path(sys.executable).with_name("loadstone")

needs_hosts = pytest.mark.skipif(
    SSHD is None or os.geteuid() != 0, reason="needs sshd (Debian: openssh-server), and root for network namespaces"
)


@dataclass
class SshHosts:
    """Two hosts that are logged in to by a key."""

    hosts: list[OwnHost]
    folder: Path

    @property
    def word(self) -> str:
        return "ssh:" + ",".join(host.address for host in self.hosts)

    def listening(self, host: OwnHost) -> list[str]:
        """The addresses at which something listens there."""
        done = subprocess.run([*host.enter, "ss", "-Hltn"], capture_output=True, text=True, check=True)
        return [line.split()[3] for line in done.stdout.splitlines()]

    def trust(self, *, known: bool = True) -> None:
        """Whether the hosts' keys are known here."""
        key = (self.folder / "host_key.pub").read_text().split()[:2]
        lines = [f"{host.address} {' '.join(key)}\n" for host in self.hosts] if known else []
        (self.folder / "known_hosts").write_text("".join(lines))


@pytest.fixture(scope="module")
def made_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshHosts]:
    folder = tmp_path_factory.mktemp("ssh")
    for name in ("host_key", "own_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    shutil.copy(folder / "own_key.pub", folder / "authorized_keys")
    (folder / "ssh").mkdir()
    wrapper = folder / "ssh" / "ssh"
    wrapper.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {folder}/config "$@"\n')
    wrapper.chmod(0o755)
    (folder / "config").write_text(
        f"IdentityFile {folder}/own_key\nIdentitiesOnly yes\nUserKnownHostsFile {folder}/known_hosts\n"
        "GlobalKnownHostsFile /dev/null\nUser root\nStrictHostKeyChecking yes\n"
    )
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    hosts: list[OwnHost] = []
    servers: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(2):
            host = OwnHost("ssh")
            hosts.append(host)
            options = [
                f"ListenAddress={host.address}",
                f"HostKey={folder}/host_key",
                f"AuthorizedKeysFile={folder}/authorized_keys",
                "PidFile=none",
                "StrictModes=no",
                "UsePAM=no",
                "PermitRootLogin=yes",
            ]
            command = [*host.enter, str(SSHD), "-D", "-e", "-f", "/dev/null", *(f"-o{option}" for option in options)]
            servers.append(subprocess.Popen(command, stderr=subprocess.DEVNULL))
        them = SshHosts(hosts, folder)
        for host in hosts:
            await_true(lambda host=host: f"{host.address}:22" in them.listening(host), "sshd listens")  # type: ignore[misc]
        yield them
    finally:
        for server in servers:
            server.terminate()
            server.wait(10)
        for host in hosts:
            host.close()


@pytest.fixture
def hosts(made_hosts: SshHosts, monkeypatch: pytest.MonkeyPatch) -> SshHosts:
    made_hosts.trust()
    monkeypatch.setenv("PATH", f"{made_hosts.folder / 'ssh'}:{os.environ['PATH']}")
    monkeypatch.setenv(PROGRAM_VARIABLE, str(PROGRAM))
    return made_hosts


@contextlib.contextmanager
def link_down(host: OwnHost) -> Iterator[None]:
    """No packet comes to a host or leaves it."""
    link = ["ip", "link", "set", host._card]
    subprocess.run([*link, "down"], check=True)
    try:
        yield
    finally:
        subprocess.run([*link, "up"], check=True)


@needs_hosts
def test_agents_on_two_hosts(hosts: SshHosts) -> None:
    """The scheduler listens at an address that is not the usual one, as by `fleet up --listen`."""
    fleet = open_cluster(read_fleet(hosts.word), listen=("127.0.0.2", 0))
    try:
        assert [member.name for member in fleet.members] == [host.address for host in hosts.hosts]
        for member in fleet.members:
            assert fleet.call(member, own_identity, "agent", timeout_s=10).pid == fleet.identities[member.name].pid
        for host in hosts.hosts:
            others = [at for at in hosts.listening(host) if at != f"{host.address}:22"]
            assert len(others) == 2  # the agent, and the way back to the scheduler
            assert all(at.startswith("127.0.0.1:") for at in others)
        _clocks_are_within_their_bounds(fleet)
        agents = [psutil.Process(identity.pid) for identity in fleet.identities.values()]
        assert len(agents) == 2
    finally:
        fleet.close()
    await_true(lambda: not any(map(runs, agents)), "the agents ended")


def _clocks_are_within_their_bounds(fleet: DaskCluster) -> None:
    """All namespaces are of one kernel: the truth is 0."""
    for _ in range(25):
        for member in fleet.members:
            offset = clocks.measure_clock_offset(fleet, member, exchanges=5).offset
            assert abs(offset.offset_ns) <= offset.bound_ns


@needs_hosts
@pytest.mark.fault(
    "a link to an agent is down for 5 s", "it is no loss for the cluster; calls go on after it", area="fleet"
)
def test_a_link_that_comes_back(hosts: SshHosts) -> None:
    fleet = open_cluster(read_fleet(f"ssh:{hosts.hosts[0].address}"))
    try:
        pid = fleet.identities[fleet.members[0].name].pid
        with link_down(hosts.hosts[0]):
            with pytest.raises(AgentLost, match="did not answer within 1 s"):
                fleet.call(fleet.members[0], ping, timeout_s=1)
            time.sleep(4)
        assert fleet.call(fleet.members[0], own_identity, "agent", timeout_s=20).pid == pid
        assert fleet.lost() == {}
    finally:
        fleet.close()


@needs_hosts
@pytest.mark.fault(
    "a link to an agent by ssh goes down for good", "it is lost within 20 s, with the reason", area="fleet"
)
def test_a_link_that_goes_down(hosts: SshHosts) -> None:
    fleet = open_cluster(read_fleet(hosts.word))
    try:
        with link_down(hosts.hosts[1]):
            begin = time.monotonic()
            await_true(fleet.lost, "lost", 30)
            assert time.monotonic() - begin < 25
            ((name, why),) = fleet.lost().items()
            assert name == hosts.hosts[1].address
            assert "not responding" in str(why)
            assert fleet.call(fleet.members[0], ping, timeout_s=10)
    finally:
        fleet.close()
    # Its sshd ends the agent once it sees that the log-in is gone, or the agent itself after two minutes of silence.


@needs_hosts
@pytest.mark.fault(
    "a host's key is not known", "no agent is started there, and ssh's own reason is given", area="fleet"
)
def test_a_host_that_is_not_known(hosts: SshHosts) -> None:
    hosts.trust(known=False)
    with pytest.raises(DriveFailed, match=r"^agent .* \(by ssh\): .*Host key verification failed"):
        open_cluster(read_fleet(hosts.word))


@needs_hosts
def test_a_host_without_loadstone(hosts: SshHosts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROGRAM_VARIABLE, "/nowhere/loadstone")
    with pytest.raises(DriveFailed, match=r"by ssh\): it ended while it started: .*/nowhere/loadstone: "):
        open_cluster(read_fleet(hosts.word))


@needs_hosts
def test_a_port_that_is_taken_there_is_not_the_end(hosts: SshHosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first ports that are drawn are taken: by sshd's own, which listens at another address, both ways."""
    from loadstone.addons.fleet import launching

    drawn = iter([(22, 23), (20_001, 20_002)])
    monkeypatch.setattr(launching, "_drawn_ports", lambda: next(drawn))
    taken = subprocess.Popen(
        [
            *hosts.hosts[0].enter,
            sys.executable,
            "-c",
            "import socket,time;s=socket.create_server(('127.0.0.1',22));time.sleep(60)",
        ]
    )
    try:
        await_true(lambda: "127.0.0.1:22" in hosts.listening(hosts.hosts[0]), "taken")
        fleet = open_cluster(read_fleet(f"ssh:{hosts.hosts[0].address}"))
        fleet.close()
    finally:
        taken.kill()
        taken.wait()


def test_no_secret_and_no_question_stands_on_its_command_line() -> None:
    words = ssh_command(SshHost("db-1", "load", 2222), {1: 2}, {3: "127.0.0.1:4"})
    assert words[:2] == ["ssh", "-T"]
    assert "-oBatchMode=yes" in words
    assert words[words.index("--") :][1] == "db-1"
    assert {"-L127.0.0.1:1:127.0.0.1:2", "-R127.0.0.1:3:127.0.0.1:4", "-p2222"} <= set(words)
    assert "PRIVATE" not in " ".join(words)
