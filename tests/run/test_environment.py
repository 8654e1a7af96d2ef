"""The environment: what figures must be read against, and nothing that names a host or a person."""

import getpass
import json
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from loadstone.experiment.plan.endpoints import Endpoint, Tls
from loadstone.machine import hardware
from loadstone.machine.placement import Placement
from loadstone.run.environment import capture
from loadstone.servers.server import ServerFacts

FACTS = ServerFacts("redis", "8.2.3", "standalone", "master", {"ReJSON": "2.8.3"}, 123, {"mem_allocator": "jemalloc"})


@dataclass
class RunningServer:
    """Just what the environment queries of a server."""

    name: str = "redis"
    ours: bool = True
    facts: ServerFacts = FACTS
    settings_read_back: Mapping[str, str] = field(default_factory=lambda: {"appendonly": "no"})


def environment(endpoint: Endpoint | None = None, name: str = "redis"):
    return capture(
        placement=Placement((0,), (1,), shared=False, note="servers on CPU 0, generator on CPU 1"),
        servers={name: RunningServer()},
        endpoints={name: endpoint} if endpoint else {},
        engine_build={"version": "0.1.0", "profile": "release", "backend": "epoll"},
    )


def test_it_holds_machine_kernel_versions_placement_and_servers() -> None:
    found = environment(Endpoint(port=7777))
    assert set(found) == {"machine", "kernel", "versions", "placement", "servers"}
    assert found["machine"]["cpu_count"] >= 1
    assert found["machine"]["memory_bytes"] > 1_000_000
    assert found["kernel"]["release"] == platform.release()
    assert found["versions"]["engine"]["profile"] == "release"
    assert found["versions"]["libraries"]["pydantic"]
    assert found["versions"]["python"].split()[1] == platform.python_version()
    assert found["placement"]["server_cpus"] == [0]
    assert found["servers"]["redis"]["settings"] == {"appendonly": "no"}
    assert found["servers"]["redis"]["modules"] == {"ReJSON": "2.8.3"}
    json.dumps(found, allow_nan=False)


def test_it_names_no_host_and_no_user() -> None:
    text = json.dumps(environment(Endpoint(host="db.internal.example", password="hunter2-very-secret")))
    assert "db.internal.example" not in text
    assert "hunter2" not in text
    node = platform.node()
    assert not node or not re.search(rf"\b{re.escape(node)}\b", text)
    assert f'"{getpass.getuser()}"' not in text


@pytest.mark.parametrize(
    ("endpoint", "network"),
    [
        (Endpoint(host="127.0.0.1"), "loopback"),
        (Endpoint(host="localhost"), "loopback"),
        (Endpoint(host="192.0.2.7"), "network"),
        (Endpoint(host="192.0.2.7", tls=Tls()), "network, TLS"),
        (Endpoint(unix_path="/tmp/redis.sock"), "unix socket"),
        (Endpoint(host="no-such-host.invalid"), "unknown"),
        (None, "unknown"),
    ],
)
def test_the_way_to_the_server_is_reported_without_its_address(endpoint: Endpoint | None, network: str) -> None:
    assert environment(endpoint)["servers"]["redis"]["network"] == network


def test_the_machines_identity_is_stable_and_tells_nothing() -> None:
    one, again = hardware.machine_id("Some CPU"), hardware.machine_id("Some CPU")
    assert one == again
    assert re.fullmatch(r"[0-9a-f]{64}", one)
    assert one != hardware.machine_id("Another CPU")


def test_a_machine_without_an_identity_file_has_one_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "_ID_FILES", ("/nowhere/machine-id",))
    assert hardware.machine_id("CPU") == hardware.machine_id("CPU")
    monkeypatch.setattr(hardware.uuid, "getnode", lambda: 1 << 40)
    assert hardware.machine_id("CPU") == hardware.machine_id("CPU")


CGROUPS = {
    "v2": {"/proc/self/cgroup": "0::/app", "/sys/fs/cgroup/app/cpu.max": "50000 100000"},
    "v1": {
        "/proc/self/cgroup": "4:cpu,cpuacct:/app\n0::/",
        "/sys/fs/cgroup/cpu/app/cpu.cfs_quota_us": "50000",
        "/sys/fs/cgroup/cpu/app/cpu.cfs_period_us": "100000",
    },
    "v2 without limit": {"/proc/self/cgroup": "0::/app", "/sys/fs/cgroup/app/cpu.max": "max 100000"},
    "v1 without limit": {
        "/proc/self/cgroup": "4:cpu:/",
        "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1",
        "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
    },
    "none": {},
}


@pytest.mark.parametrize(
    ("kind", "limit"),
    [("v2", 0.5), ("v1", 0.5), ("v2 without limit", None), ("v1 without limit", None), ("none", None)],
)
def test_a_cpu_limit_is_observed(monkeypatch: pytest.MonkeyPatch, kind: str, limit: float | None) -> None:
    files = CGROUPS[kind]
    monkeypatch.setattr(hardware, "_text", lambda path: files.get(path))
    assert hardware.cpu_limit() == limit
