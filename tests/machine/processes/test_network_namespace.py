"""A server on a host of its own: a real network namespace, with real cards and a real server in it."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
import redis
from tests.real_servers import wait_until

from loadstone.machine.processes import network_namespace
from loadstone.machine.processes.network_namespace import NETWORKS, OwnHost
from loadstone.monitors.host.monitor import HostMonitor
from loadstone.safety.errors import UserError
from loadstone.servers import registry
from loadstone.servers.pool import ServerPool
from loadstone.servers.server import DeployContext

pytestmark = [
    pytest.mark.skipif(
        sys.platform != "linux" or os.geteuid() != 0 or shutil.which("ip", path=network_namespace.PLACES) is None,
        reason="network namespaces can be made by root on Linux, with iproute2",
    ),
]
OURS = {"redis": {"kind": "embedded", "host": "own"}}


@pytest.fixture
def pool() -> Iterator[ServerPool]:
    servers = ServerPool(registry.make_server, DeployContext(), lambda: None)
    yield servers
    servers.stop()


def cards() -> set[str]:
    return {card for _, card in socket.if_nameindex() if card.startswith("lst-")}


def network_of(pid: object) -> str:
    return f"{Path(f'/proc/{pid}/ns/net').readlink()}"


def client_of(host: str, port: int, password: str | None) -> "redis.Redis[bytes]":
    return redis.Redis(host=host, port=port, password=password)


@pytest.mark.parametrize("kind", ["embedded", "valkey", "process"])
def test_it_has_an_address_and_a_network_of_its_own(pool: ServerPool, kind: str) -> None:
    before = cards()
    one = pool.need({"redis": {"kind": kind, "host": "own"}})["redis"]
    assert ip_address(one.endpoint.host) in NETWORKS
    assert network_of(one.pids["redis"]) != network_of("self")
    assert client_of(one.endpoint.host, one.endpoint.port, one.endpoint.password).ping()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", one.endpoint.port), timeout=5)
    assert len(cards() - before) == 1
    assert one.server.facts.details["host"] == f"own, {one.endpoint.host}"
    pool.stop()
    assert cards() == before


def test_a_memcached_has_one(pool: ServerPool) -> None:
    one = pool.need({"cache": {"kind": "memcached", "host": "own"}})["cache"]
    assert ip_address(one.endpoint.host) in NETWORKS
    one.control.ping()
    assert one.server.facts.details["host"] == f"own, {one.endpoint.host}"


def test_it_keeps_its_address_when_it_is_started_again(pool: ServerPool) -> None:
    one = pool.need(OURS)["redis"]
    os.kill(one.pids["redis"], signal.SIGKILL)
    wait_until(lambda: not one.server.alive())
    again = pool.need(OURS)["redis"]
    assert again.endpoint.host == one.endpoint.host
    again.control.ping()


def test_a_line_leads_to_it(pool: ServerPool) -> None:
    one = pool.need({"redis": {**OURS["redis"], "link": "5 ms"}})["redis"]
    assert one.endpoint.host == "127.0.0.1"
    assert ip_address(one.control.endpoint.host) in NETWORKS
    assert client_of(one.endpoint.host, one.endpoint.port, one.endpoint.password).ping()


def test_two_do_not_share_addresses(pool: ServerPool) -> None:
    both = pool.need(dict.fromkeys(("one", "other"), OURS["redis"]))
    hosts = {one.endpoint.host for one in both.values()}
    assert len(hosts) == 2
    for one in both.values():
        one.control.ping()


def test_connections_that_its_queue_has_no_room_for_are_counted() -> None:
    host = OwnHost("redis")
    program = (
        "import socket, sys; s = socket.create_server((sys.argv[1], 0), backlog=0);"
        "print(s.getsockname()[1], flush=True); sys.stdin.read()"
    )
    command = [*host.enter, sys.executable, "-c", program, host.address]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        monitor = HostMonitor(pids=[server.pid])
        before = monitor._read().counters["listen_drops"]
        clients = [socket.socket() for _ in range(3)]
        for client in clients:
            client.setblocking(False)
            client.connect_ex((host.address, port))
        wait_until(lambda: monitor._read().counters["listen_drops"] > before)
        for client in clients:
            client.close()
        server.communicate()
    host.close()


@pytest.mark.parametrize("ended_by", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_of_it_stays_however_loadstone_ends(ended_by: signal.Signals) -> None:
    program = (
        "from loadstone.servers import registry; from loadstone.servers.server import DeployContext;"
        "from loadstone.servers.pool import ServerPool; import time;"
        "pool = ServerPool(registry.make_server, DeployContext(), lambda: None);"
        "one = pool.need({'redis': {'kind': 'embedded', 'host': 'own'}})['redis'];"
        "print(one.pids['redis'], flush=True); time.sleep(600)"
    )
    before = cards()
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        server = int(run.stdout.readline())
        assert cards() > before
        run.send_signal(ended_by)
        run.wait(20)
    wait_until(lambda: not Path(f"/proc/{server}").exists() and cards() == before)


@pytest.mark.parametrize(
    "settings",
    [
        {"kind": "url", "url": "redis://127.0.0.1:6379"},
        {"kind": "mariadb"},
        {"kind": "cluster"},
        {"kind": "replicated"},
    ],
    ids=lambda settings: str(settings["kind"]),
)
def test_other_kinds_have_none(settings: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"host: a server of kind .* has no host of its own; leave out host"):
        registry.make_server("redis", {**settings, "host": "own"})


def without(name: str) -> Callable[..., str | None]:
    found = shutil.which
    return lambda program, path=None: None if program == name else found(program, path=path)


@pytest.mark.parametrize("program", ["unshare", "ip", "nsenter"])
def test_a_missing_program_is_named(program: str, pool: ServerPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_namespace.shutil, "which", without(program))
    before = cards()
    with pytest.raises(UserError, match=rf"servers\.redis\.host: .*\({program} is not installed\); run as root"):
        pool.need(OURS)
    assert cards() == before


def test_who_may_make_none_is_refused(pool: ServerPool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    refusing = tmp_path / "unshare"
    refusing.write_text("#!/bin/sh\necho 'unshare failed: Operation not permitted' >&2\nexit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(UserError, match=r"unshare failed: Operation not permitted\); run as root"):
        pool.need(OURS)
