"""Whatever kills whom: no process and no folder remains."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from tests.real_servers import is_gone, wait_until

from loadstone.machine.processes.guarded_process import GuardedProcess
from loadstone.machine.processes.workspace import Workspace, sweep
from loadstone.servers.redis.local import EmbeddedSettings
from loadstone.servers.server import DeployContext

PROGRAM = """
import json, signal, sys, time
from pathlib import Path
from loadstone.servers.redis.local import EmbeddedSettings
from loadstone.servers.server import DeployContext

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whoever runs the tests may ignore it (nohup), and this one, too (&)
signal.signal(signal.SIGINT, signal.default_int_handler)
server = EmbeddedSettings().server("redis")
server.start(DeployContext(work_root=Path(sys.argv[1])))
process = server._process
print(json.dumps([process.guard_pid, server.pids["redis"], str(process.workspace.path)]), flush=True)
try:
    time.sleep(600)
finally:
    server.stop()
"""


@dataclass
class Program:
    """A loadstone in a session of its own, as a terminal gives it, with a server started."""

    process: subprocess.Popen[str]
    guard: int
    server: int
    folder: Path

    def assert_nothing_left(self) -> None:
        wait_until(lambda: is_gone(self.guard) and is_gone(self.server))
        assert not self.folder.exists()


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    with process:
        assert process.stdout is not None
        guard, server, folder = json.loads(process.stdout.readline())
        yield Program(process, guard, server, Path(folder))
        process.kill()


def test_kill_9_of_loadstone_leaves_nothing(program: Program) -> None:
    assert program.folder.exists()
    program.process.kill()
    program.assert_nothing_left()


def test_ctrl_c_twice_leaves_nothing(program: Program) -> None:
    os.killpg(program.process.pid, signal.SIGINT)
    os.killpg(program.process.pid, signal.SIGINT)
    program.process.wait()
    program.assert_nothing_left()


@pytest.mark.fault("the terminal is closed, or SIGHUP, SIGINT or SIGTERM")
def test_a_terminal_that_closes_leaves_nothing(program: Program) -> None:
    os.killpg(program.process.pid, signal.SIGHUP)
    program.assert_nothing_left()


def test_sigterm_to_the_guard_leaves_nothing(program: Program) -> None:
    os.kill(program.guard, signal.SIGTERM)
    program.assert_nothing_left()


@pytest.mark.fault("a guard is killed", "its server ends and is started again", area="interrupted")
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_kill_9_of_the_guard_ends_the_server(program: Program) -> None:
    os.kill(program.guard, signal.SIGKILL)
    wait_until(lambda: is_gone(program.server))
    program.process.send_signal(signal.SIGINT)
    program.process.wait()
    program.assert_nothing_left()


@pytest.mark.fault("loadstone and its guard are killed", "the next run removes what they left", area="interrupted")
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_kill_9_of_loadstone_and_guard_leaves_a_folder_that_the_next_run_removes(
    program: Program, tmp_path: Path
) -> None:
    os.kill(program.guard, signal.SIGSTOP)  # it must not act on loadstone's end
    program.process.kill()
    program.process.wait()
    os.kill(program.guard, signal.SIGKILL)
    wait_until(lambda: is_gone(program.guard) and is_gone(program.server))
    assert program.folder.exists()
    sweep(tmp_path)
    assert not program.folder.exists()


def test_kill_9_of_the_server_is_observed_and_it_starts_again(context: DeployContext) -> None:
    server = EmbeddedSettings().server("redis")
    try:
        endpoint = server.start(context)
        killed = server.pids["redis"]
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: not server.alive())
        assert server.pids == {}
        assert server.restart() == endpoint
        assert server.pids["redis"] != killed
    finally:
        server.stop()


@pytest.mark.fault("a guard is killed")
def test_kill_9_of_the_guard_is_observed_and_the_server_starts_again(context: DeployContext) -> None:
    server = EmbeddedSettings().server("redis")
    try:
        server.start(context)
        os.kill(server._process.guard_pid, signal.SIGKILL)
        wait_until(lambda: not server.alive())
        server.restart()
        assert server.alive()
    finally:
        server.stop()


@contextlib.contextmanager
def guarded(root: Path, *command: str) -> Iterator[GuardedProcess]:
    workspace = Workspace("test", root)
    process = GuardedProcess(command, workspace, workspace.path / "log")
    try:
        yield process
    finally:
        process.close()


@pytest.mark.fault(
    "a part ignores SIGTERM, or starts processes in other sessions", "all are killed", area="interrupted"
)
def test_a_process_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    with guarded(tmp_path, "sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done") as process:
        pid = process.start()
        wait_until(lambda: process.log.read_text() == "ready\n")
        process.end()
        assert is_gone(pid)
        assert not process.alive()


def test_what_the_process_started_ends_with_it(tmp_path: Path) -> None:
    with guarded(tmp_path, "sh", "-c", "sleep 600 & echo $!; wait") as process:
        pid = process.start()
        wait_until(lambda: process.log.read_text().endswith("\n"))
        grandchild = int(process.log.read_text())
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: is_gone(grandchild))


@pytest.mark.fault("a part ignores SIGTERM, or starts processes in other sessions")
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux hands orphans to the guard")
def test_what_left_the_session_ends_with_the_process_and_is_reaped_before(tmp_path: Path) -> None:
    script = "setsid sh -c 'sleep 600 & echo long $!'; setsid sh -c 'sleep 0.2 & echo short $!'; exec sleep 600"
    with guarded(tmp_path, "sh", "-c", script) as process:
        process.start()
        wait_until(lambda: len(process.log.read_text().splitlines()) == 2)
        words = dict(line.split()[:2] for line in process.log.read_text().splitlines())
        wait_until(lambda: not psutil.pid_exists(int(words["short"])))
        assert not is_gone(int(words["long"]))
        process.end()
        assert is_gone(int(words["long"]))


def test_signals_are_not_ignored_in_the_process(tmp_path: Path) -> None:
    with guarded(tmp_path, "grep", "^SigIgn", "/proc/self/status") as process:
        process.start()
        wait_until(lambda: not process.alive())
        assert int(process.log.read_text().split()[1], 16) & (1 << (signal.SIGINT - 1) | 1 << (signal.SIGTERM - 1)) == 0


def test_the_log_is_reported_since_the_last_start(tmp_path: Path) -> None:
    with guarded(tmp_path, "echo", "first") as process:
        process.start()
        wait_until(lambda: not process.alive())
        assert process.log_lines() == ["first\n"]
        process.become(["echo", "second"])
        process.start()
        wait_until(lambda: not process.alive())
        assert process.log_lines() == ["second\n"]
        assert process.log.read_text() == "first\nsecond\n"


@pytest.mark.fault(
    "a secret of another program in the environment", "no server, application or build inherits it", area="secrets"
)
def test_of_loadstones_own_environment_it_gets_what_every_program_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing else is said, as of all servers."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "elsewhere")
    monkeypatch.setenv("LC_TIME", "C")
    with guarded(tmp_path, "env") as process:
        process.start()
        wait_until(lambda: not process.alive())
        found = {line.partition("=")[0] for line in process.log_lines()}
    assert {"PATH", "HOME", "LC_TIME"} <= found
    assert "AWS_SECRET_ACCESS_KEY" not in found


def test_a_command_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with guarded(tmp_path, "/nowhere/redis-server") as process, pytest.raises(OSError, match="nowhere"):
        process.start()


def test_a_folder_without_our_mark_is_not_removed(tmp_path: Path) -> None:
    workspace = Workspace("test", tmp_path)
    process = GuardedProcess(["sleep", "600"], workspace, workspace.path / "log")
    process.start()
    (workspace.path / "loadstone.lock").unlink()
    process._guard.stdin.close()
    process._guard.wait()
    assert workspace.path.exists()
    process.close()
    assert not workspace.path.exists()
