"""CPU and memory limits hold, and nothing of them stays behind."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from pydantic import ValidationError
from tests.busy_loops import LOOP
from tests.real_servers import is_gone, wait_until

from loadstone.machine.limits_in_force import LimitInForce
from loadstone.machine.processes import resource_limits
from loadstone.machine.processes.guarded_process import GuardedProcess, ProcessEnvironment
from loadstone.machine.processes.resource_limits import Limited, Limits, limit, limits_in_force
from loadstone.machine.processes.workspace import Workspace, sweep

BUSY = [sys.executable, "-c", LOOP]


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    workspace = Workspace("limited", tmp_path)
    yield workspace
    workspace.remove()


def in_force(limits: Limits, workspace: Workspace) -> Limited:
    limited = limit(limits, workspace)
    if limited.unavailable is not None:
        pytest.skip(f"no control groups for us here: {limited.unavailable}")
    return limited


def run(command: list[str], workspace: Workspace, limited: Limited) -> GuardedProcess:
    around = ProcessEnvironment(groups=limited.groups)
    process = GuardedProcess(command, workspace, workspace.path / "log", surroundings=around)
    process.start()
    return process


def test_a_twentieth_of_a_cpu_is_a_twentieth_of_a_cpu(workspace: Workspace) -> None:
    # Far below what a busy machine leaves to one process, so the limit is what holds it back.
    limited = in_force(Limits(cpu=0.05), workspace)
    process = run(BUSY, workspace, limited)
    try:
        assert process.pid is not None
        watched = psutil.Process(process.pid)
        time.sleep(0.5)
        started, used = time.monotonic(), sum(watched.cpu_times()[:2])
        time.sleep(2.5)
        share = (sum(watched.cpu_times()[:2]) - used) / (time.monotonic() - started)
        throttling = limited.throttling()
        assert share < 0.1
        assert throttling is not None
        assert throttling.throttled > 0
        assert throttling.throttled_s > 0
    finally:
        process.close()
    assert [group for group in limited.groups if group.exists()] == []


@pytest.mark.fault("a part exceeds its memory limit", "the kernel ends that part alone", area="limits")
def test_memory_beyond_the_limit_ends_the_process(workspace: Workspace) -> None:
    limited = in_force(Limits(memory=64 * 1024**2), workspace)
    process = run([sys.executable, "-c", "x = b'x' * 300_000_000; import time; time.sleep(600)"], workspace, limited)
    try:
        wait_until(lambda: not process.alive())
        assert process.exit_status == -signal.SIGKILL
    finally:
        process.close()


def test_the_process_is_inside_from_its_first_instruction(workspace: Workspace) -> None:
    limited = in_force(Limits(cpu=1), workspace)
    process = run(["cat", "/proc/self/cgroup"], workspace, limited)
    try:
        wait_until(lambda: not process.alive())
        assert limited.groups[0].name in process.log.read_text()
    finally:
        process.close()


def test_what_left_its_session_stays_limited_and_ends(workspace: Workspace) -> None:
    limited = in_force(Limits(cpu=0.5), workspace)
    process = run(["sh", "-c", "setsid sleep 600 & echo $!; wait"], workspace, limited)
    try:
        wait_until(lambda: process.log.read_text().endswith("\n"))
        procs = (limited.groups[0] / "cgroup.procs").read_text().split()
        assert len(procs) == 2
    finally:
        process.close()
    assert all(is_gone(int(pid)) for pid in procs)


PROGRAM = """
import json, sys, time
from pathlib import Path
from loadstone.machine.processes.guarded_process import GuardedProcess, ProcessEnvironment
from loadstone.machine.processes.resource_limits import Limits, limit
from loadstone.machine.processes.workspace import Workspace

workspace = Workspace("limited", Path(sys.argv[1]))
limited = limit(Limits(cpu=0.2), workspace)
process = GuardedProcess(
    ["sleep", "600"], workspace, workspace.path / "log", surroundings=ProcessEnvironment(groups=limited.groups)
)
process.start()
print(json.dumps([process.guard_pid, process.pid, [str(group) for group in limited.groups]]), flush=True)
time.sleep(600)
"""


@pytest.mark.fault("loadstone gets SIGKILL, also in a build")
@pytest.mark.parametrize("also_the_guard", [False, True], ids=["loadstone", "loadstone and guard"])
def test_kill_9_leaves_no_group(workspace: Workspace, tmp_path: Path, also_the_guard: bool) -> None:
    in_force(Limits(cpu=0.2), workspace)
    program = subprocess.Popen([sys.executable, "-c", PROGRAM, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    with program:
        assert program.stdout is not None
        guard, pid, groups = json.loads(program.stdout.readline())
        assert all(Path(group).exists() for group in groups)
        if also_the_guard:
            os.kill(guard, signal.SIGSTOP)  # it must not act on loadstone's end
        program.kill()
        program.wait()
        if also_the_guard:
            os.kill(guard, signal.SIGKILL)
    wait_until(lambda: is_gone(guard) and is_gone(pid))
    if also_the_guard:
        sweep(tmp_path)
    assert [group for group in groups if Path(group).exists()] == []


def test_no_limits_need_no_groups(workspace: Workspace) -> None:
    assert limit(Limits(), workspace) == Limited()


@pytest.mark.parametrize(
    ("mounts", "reason"),
    [
        ("", "no control group is mounted for cpu"),
        ("30 24 0:26 / {} rw - cgroup2 cgroup2 rw\n", "the kernel gives no control over cpu in"),
    ],
    ids=["none", "version 2 without the controller"],
)
def test_where_there_are_none_the_reason_is_reported(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mounts: str, reason: str
) -> None:
    (tmp_path / "cgroup.controllers").write_text("pids\n")
    table = tmp_path / "mountinfo"
    table.write_text(mounts.format(tmp_path))
    monkeypatch.setattr(resource_limits, "MOUNTS", table)
    limits = Limits(cpu=0.5)
    limited = limit(limits, workspace)
    assert limited.groups == ()
    assert limited.unavailable is not None
    assert str(limited.unavailable).startswith(reason)
    refused = limits_in_force(limits, limited)["cpu"]
    assert (refused.status, refused.value) == ("unavailable", None)
    assert refused.why.startswith(reason)


def test_a_group_that_cannot_be_made_is_reported(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(f"30 24 0:26 / {tmp_path}/gone rw - cgroup cgroup rw,cpu\n")
    monkeypatch.setattr(resource_limits, "MOUNTS", table)
    limited = limit(Limits(cpu=0.5), workspace)
    assert limited.unavailable is not None
    assert "cannot be made" in str(limited.unavailable)


def test_limits_are_read_back_from_the_kernel(workspace: Workspace) -> None:
    limits = Limits(cpu=0.5, memory=512 * 1024**2)
    limited = in_force(limits, workspace)
    assert limits_in_force(limits, limited) == {
        "cpu": LimitInForce(status="in_force", value=0.5),
        "memory": LimitInForce(status="in_force", value=512 * 1024**2),
    }
    assert limits_in_force(Limits(), limit(Limits(), workspace)) == {}


def test_limits_are_written_as_people_write_them() -> None:
    assert Limits.model_validate({"cpu": 0.5, "memory": "512 MB"}) == Limits(cpu=0.5, memory=512_000_000)
    with pytest.raises(ValidationError, match="1024 bytes"):
        Limits.model_validate({"memory": "512 mib"})
