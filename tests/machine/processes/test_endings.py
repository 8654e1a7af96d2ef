"""Why a part ended is reported: the kernel's OOM killer, a signal, or a status of its own."""

import signal
import sys
from pathlib import Path

import pytest
from tests.real_servers import wait_until

from loadstone.machine.processes.endings import (
    HasExitStatus,
    ending_of_process,
    oom_kills_of_group,
    oom_kills_of_machine,
)
from loadstone.machine.processes.guarded_process import GuardedProcess, ProcessEnvironment
from loadstone.machine.processes.resource_limits import Limits, limit
from loadstone.machine.processes.workspace import Workspace
from loadstone.programs.subjects.subject import LocalSubject
from loadstone.servers.containers.container import ContainerServer
from loadstone.servers.local_server import OwnServer
from loadstone.servers.redis.cluster import RedisCluster
from loadstone.servers.redis.replicated import ReplicatedRedis

EATS = "import time; x = b'x' * 300_000_000; time.sleep(600)"


@pytest.mark.parametrize("kind", [OwnServer, RedisCluster, ReplicatedRedis, ContainerServer, LocalSubject])
def test_every_part_of_ours_can_be_examined(kind: type[object]) -> None:
    assert issubclass(kind, HasExitStatus)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has control groups")
def test_the_oom_killer_is_counted_by_the_group_of_the_part(tmp_path: Path) -> None:
    workspace = Workspace("limited", tmp_path)
    limited = limit(Limits(memory=32 * 1024**2), workspace)
    if limited.unavailable is not None:
        workspace.remove()
        pytest.skip(f"no control groups for us here: {limited.unavailable}")
    around = ProcessEnvironment(groups=limited.groups)
    # What is killed is a child: the part itself lives on.
    process = GuardedProcess(
        ["sh", "-c", f'{sys.executable} -c "{EATS}"; echo ended; exec sleep 600'],
        workspace,
        workspace.path / "log",
        surroundings=around,
    )
    try:
        machine = oom_kills_of_machine()
        assert limited.oom_kills() == 0
        process.start()
        wait_until(lambda: "ended" in process.log.read_text())
        assert process.alive()
        assert limited.oom_kills() == 1
        assert machine is not None
        assert (oom_kills_of_machine() or 0) > machine
    finally:
        process.close()
    assert limited.oom_kills() is None


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        ("memory.events", "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n", 2),
        ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n", 4),
        ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\n", None),
        ("memory.events", "oom_kill many\n", None),
        ("cpu.stat", "oom_kill 1\n", None),
    ],
)
def test_both_versions_of_control_groups_are_read(tmp_path: Path, name: str, text: str, count: int | None) -> None:
    (tmp_path / name).write_text(text)
    assert oom_kills_of_group(tmp_path) == count


def test_an_exit_status_is_reported_as_text() -> None:
    assert ending_of_process(-signal.SIGKILL) == "it was killed by signal 9 (SIGKILL)"
    assert ending_of_process(3) == "it ended with status 3"
    assert ending_of_process(-200) == "it was killed by signal 200"
    assert ending_of_process(None) == ""
