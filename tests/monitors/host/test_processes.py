"""A process's figures, held against what the system says of it otherwise."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from tests.monitored_redis import values

from loadstone.monitors.host import processes
from loadstone.monitors.host.processes import ProcessMonitor, cpu_seconds
from loadstone.monitors.monitor import SHORTEST_S

pytestmark = pytest.mark.alone
PROGRAM = """
import os, socket, sys, threading, time
kept = [socket.socket() for _ in range(5)]
for _ in range(3):
    threading.Thread(target=sys.stdin.read, daemon=True).start()
print(flush=True)
for line in iter(sys.stdin.buffer.raw.readline, b""):
    for _ in range(5):
        time.sleep(0.001)
    end = time.process_time() + 0.3
    while time.process_time() < end:
        pass
    print(flush=True)
os._exit(0)  # what an interpreter does at its end takes CPU that no sample saw
"""
HALF_BUSY = """
import time
while True:
    end = time.process_time() + 0.01
    while time.process_time() < end:
        pass
    time.sleep(0.01)
"""


class Child:
    """A process that sleeps five times and burns 0.3 s of CPU for each line it is given."""

    def __init__(self) -> None:
        program = PROGRAM.replace("sys.stdin.read", "lambda: time.sleep(600)")
        self.process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid = self.process.pid
        self._await()

    def burn(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        self._await()

    def _await(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == b"\n"


@pytest.fixture
def child() -> Iterator[Child]:
    child = Child()
    with child.process:
        yield child
        child.process.kill()


def test_cpu_is_what_the_system_bills(child: Child) -> None:
    monitor = ProcessMonitor("subject", child.pid)
    child.burn()
    observed = values(monitor, "subject")["cpu_s"]
    assert child.process.stdin is not None
    child.process.stdin.close()
    _, status, usage = os.wait4(child.pid, 0)
    child.process.returncode = os.waitstatus_to_exitcode(status)
    assert observed >= 0.3
    assert observed == pytest.approx(usage.ru_utime + usage.ru_stime, abs=0.08)


def test_shares_are_of_the_time_since_the_sample_before(child: Child, monkeypatch: pytest.MonkeyPatch) -> None:
    monitor = ProcessMonitor("subject", child.pid)
    child.burn()
    busy = values(monitor, "subject")["cpu_share"]
    with monkeypatch.context() as patch:
        patch.setattr("loadstone.monitors.monitor.SHORTEST_S", 600.0)
        assert "cpu_share" not in values(monitor, "subject"), "too short a time for a share"
    time.sleep(SHORTEST_S)
    idle = values(monitor, "subject")["cpu_share"]
    assert 0 < busy < 1.2
    assert idle < 0.05


@pytest.mark.skipif(shutil.which("pidstat") is None, reason="no pidstat here")
def test_pidstat_beside_it_says_the_same_of_the_same_second() -> None:
    with subprocess.Popen([sys.executable, "-c", HALF_BUSY]) as burning:
        command = ["pidstat", "-h", "-u", "-w", "-r", "-p", str(burning.pid), "2", "1"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={"LC_ALL": "C"}) as pidstat:
            monitor = ProcessMonitor("subject", burning.pid)
            said, _ = pidstat.communicate()
        ours = values(monitor, "subject")
        burning.kill()
    rows = [line.lstrip("# ").split() for line in said.splitlines() if line.strip()]
    theirs = dict(zip(rows[-2], rows[-1], strict=True))
    assert ours["cpu_share"] == pytest.approx(float(theirs["%CPU"]) / 100, abs=0.2)
    assert ours["rss_bytes"] == pytest.approx(float(theirs["RSS"]) * 1024, rel=0.05)
    assert ours["voluntary_per_s"] == pytest.approx(float(theirs["cswch/s"]), rel=0.5, abs=10)


def test_sockets_are_counted_only_as_often_as_the_counting_is_cheap(
    child: Child, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "SOCKETS_SHARE", 1e-9)
    monitor = ProcessMonitor("subject", child.pid)
    assert values(monitor, "subject")["sockets"] == 5
    later = values(monitor, "subject")
    assert "sockets" not in later
    assert later["fds"] >= 8


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_threads_switches_files_and_sockets_are_counted(child: Child) -> None:
    monitor = ProcessMonitor("subject", child.pid)
    child.burn()
    observed = values(monitor, "subject")
    assert observed["alive"] == 1
    assert observed["threads"] == 4
    assert observed["sockets"] == 5
    assert observed["fds"] >= 8
    assert observed["voluntary_per_s"] > 0
    assert observed["involuntary_per_s"] >= 0
    assert observed["main_thread_share"] == pytest.approx(observed["cpu_share"], rel=0.2, abs=0.05)
    assert 0 <= observed["main_thread_wait_share"] < 1.2
    assert set(observed) == set(monitor.METRICS) - {"workers", "main_thread_disk_share"}, (
        "it is a single process, and no store"
    )


def test_memory_is_what_ps_says(child: Child) -> None:
    observed = values(ProcessMonitor("subject", child.pid), "subject")["rss_bytes"]
    ps = subprocess.run(["ps", "-o", "rss=", "-p", str(child.pid)], capture_output=True, text=True, check=True)
    assert observed == pytest.approx(int(ps.stdout) * 1024, rel=0.05)


def test_a_process_that_died_is_only_not_alive(child: Child) -> None:
    monitor = ProcessMonitor("subject", child.pid)
    os.kill(child.pid, signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert values(monitor, "subject") == {"alive": 0}  # not reaped yet
    child.process.wait()
    assert values(monitor, "subject") == {"alive": 0}
    assert values(ProcessMonitor("subject", child.pid), "subject") == {"alive": 0}
    assert cpu_seconds(child.pid) is None


def test_cpu_seconds_may_be_requested_by_id(child: Child) -> None:
    child.burn()
    found = cpu_seconds(child.pid)
    assert found is not None
    assert found >= 0.3
