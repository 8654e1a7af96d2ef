"""A part of many processes, held against what its processes say of themselves."""

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator

import psutil
import pytest
from tests.monitored_redis import values

from loadstone.machine import process_table
from loadstone.monitors.host.processes import ProcessMonitor, ProcessTreeMonitor
from loadstone.monitors.monitor import SHORTEST_S
from loadstone.monitors.watch import MonitorTargets

pytestmark = [pytest.mark.alone, pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]
BURN_S = 0.3
PROGRAM = f"""
import os, sys, time
def burn():
    end = time.process_time() + {BURN_S}
    while time.process_time() < end:
        pass
for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        burn()
        if line.strip() == "stay":
            print("burnt", flush=True)
            time.sleep(600)
        os._exit(0)
    if line.strip() == "end":
        os.waitpid(pid, 0)
        print("burnt", flush=True)
"""


@pytest.fixture
def parent() -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    children: list[psutil.Process] = []
    try:
        yield process
        with contextlib.suppress(psutil.Error):
            children = psutil.Process(process.pid).children(recursive=True)
    finally:
        for child in children:
            child.kill()
        process.kill()
        process.communicate()


def burn(parent: subprocess.Popen[str], how: str) -> None:
    assert parent.stdin is not None
    assert parent.stdout is not None
    parent.stdin.write(f"{how}\n")
    parent.stdin.flush()
    assert parent.stdout.readline() == "burnt\n"


def test_the_time_of_children_that_live_and_of_those_that_ended_counts_once(parent: subprocess.Popen[str]) -> None:
    monitor = ProcessTreeMonitor("store", parent.pid)
    before_s = values(monitor, "store")["cpu_s"]
    burn(parent, "stay")
    with_one_s = values(monitor, "store")["cpu_s"]
    assert with_one_s - before_s == pytest.approx(BURN_S, abs=0.1)
    burn(parent, "end")
    both_s = values(monitor, "store")["cpu_s"]
    assert both_s - with_one_s == pytest.approx(BURN_S, abs=0.1)
    assert values(ProcessMonitor("store", parent.pid), "store")["cpu_s"] < both_s - BURN_S


def test_of_a_single_process_children_are_told_apart(parent: subprocess.Popen[str]) -> None:
    """Those that live and those that ended, each once; and they are not in its own time."""
    monitor = ProcessMonitor("store", parent.pid)
    before = values(monitor, "store")
    burn(parent, "stay")
    with_one = values(monitor, "store")
    assert with_one["children_s"] - before["children_s"] == pytest.approx(BURN_S, abs=0.1)
    burn(parent, "end")
    both = values(monitor, "store")
    assert both["children_s"] - with_one["children_s"] == pytest.approx(BURN_S, abs=0.1)
    assert both["cpu_s"] - before["cpu_s"] < BURN_S / 2


def test_the_time_in_the_kernel_is_told_apart(parent: subprocess.Popen[str]) -> None:
    for monitor in (ProcessTreeMonitor("store", parent.pid), ProcessMonitor("store", parent.pid)):
        times = psutil.Process(parent.pid).cpu_times()
        found = values(monitor, "store")
        assert found["system_s"] == pytest.approx(times.system, abs=0.03)
        assert found["system_s"] <= found["cpu_s"] + 0.03


def test_all_processes_are_counted(parent: subprocess.Popen[str]) -> None:
    burn(parent, "stay")
    observed = values(ProcessTreeMonitor("store", parent.pid), "store")
    (child,) = psutil.Process(parent.pid).children()
    assert observed["threads"] == 2
    assert observed["fds"] == psutil.Process(parent.pid).num_fds() + child.num_fds()
    alone = psutil.Process(parent.pid).memory_info().rss
    assert alone < observed["rss_bytes"] < alone + child.memory_info().rss, "what they share counts once"


def test_its_end_is_observed(parent: subprocess.Popen[str]) -> None:
    monitor = ProcessTreeMonitor("store", parent.pid)
    parent.kill()
    parent.wait()
    assert values(monitor, "store") == {"alive": 0.0}


def test_a_part_is_observed_by_one_of_both() -> None:
    watch = MonitorTargets(pids={"redis": 1, "store": 1}, trees=frozenset({"store"}))
    assert [len(kind.watching(watch)) for kind in (ProcessMonitor, ProcessTreeMonitor)] == [1, 1]


def test_a_rate_is_that_of_all(parent: subprocess.Popen[str]) -> None:
    monitor = ProcessTreeMonitor("store", parent.pid)
    began_s = time.monotonic()
    burn(parent, "end")
    time.sleep(SHORTEST_S)
    share = values(monitor, "store")["cpu_share"]
    assert share == pytest.approx(BURN_S / (time.monotonic() - began_s), abs=0.35)


def test_a_process_that_has_just_begun_is_alive(parent: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel counts nothing of it until its first tick or switch."""
    with monkeypatch.context() as at_first:
        at_first.setattr(process_table, "cpu_ns", lambda _: 0)
        monitor = ProcessTreeMonitor("store", parent.pid)
        assert values(monitor, "store")["alive"] == 1.0
    burn(parent, "end")
    time.sleep(SHORTEST_S)
    assert values(monitor, "store")["cpu_share"] > 0
