"""What is seen of real threads: those that wait for a lock, for work, and for the disk."""

import gc
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from loadstone.measure.sampler import Sampler
from loadstone.monitors.host.processes import ProcessMonitor, ProcessTreeMonitor
from loadstone.monitors.host.waits import ThreadWaitSampler

pytestmark = [
    pytest.mark.skipif(not Path("/proc/self/syscall").exists(), reason="the system does not say what threads wait for"),
    pytest.mark.alone,
]
PATIENCE_S = 60.0
HELD_MAX = 64
"""Of the engine: files of threads that stay open."""
LOCKED = """
import sys, threading, time
lock, going = threading.Lock(), threading.Event()
def work():
    going.wait()
    while True:
        with lock:
            time.sleep(0.002)
for _ in range(6):
    threading.Thread(target=work, daemon=True).start()
print(flush=True)
sys.stdin.readline()
GO
sys.stdin.readline()
"""
"""Six threads, that wait for work; from a line on they want one lock."""
SYNCED = """
import os, sys
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
print(flush=True)
sys.stdin.readline()
while True:
    os.write(file, bytes(200_000))
    os.fsync(file)
    os.lseek(file, 0, 0)
"""


@contextmanager
def running(program: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    child = subprocess.Popen([sys.executable, "-c", program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    try:
        yield child
    finally:
        child.kill()
        child.communicate()


def go_on(child: subprocess.Popen[bytes]) -> None:
    assert child.stdin is not None
    child.stdin.write(b"\n")
    child.stdin.flush()


def seen(observed: ThreadWaitSampler, seconds: float = 2.0) -> dict[str, float]:
    """What was seen from now on; a look that took a millisecond of CPU is followed by a rest of a third of a second."""
    observed.figures()
    end_s = time.monotonic() + PATIENCE_S
    time.sleep(seconds)
    while not (figures := observed.figures()) and time.monotonic() < end_s:
        time.sleep(0.05)
    return figures


def test_threads_that_want_one_lock_are_counted() -> None:
    with running(LOCKED.replace("GO", "going.set()")) as child:
        observed = ThreadWaitSampler(lambda: (child.pid,))
        assert seen(observed, 0.5)["lock_waiters"] == 0, "they wait for work"
        go_on(child)
        time.sleep(0.3)
        found = seen(observed)
    assert 3 <= found["lock_waiters"] <= 6
    assert found["lock_wait_share"] > 0.8
    assert found["disk_wait_share"] < 0.2


def test_threads_that_wait_for_work_wait_for_no_lock() -> None:
    with running(LOCKED.replace("GO", "")) as child:
        observed = ThreadWaitSampler(lambda: (child.pid,))
        go_on(child)
        found = seen(observed, 1.0)
    assert (found["lock_waiters"], found["lock_wait_share"]) == (0, 0)


def test_a_thread_in_an_fsync_waits_for_the_disk(tmp_path: Path) -> None:
    with running(SYNCED, str(tmp_path / "file")) as child:
        observed = ThreadWaitSampler(lambda: (child.pid,))
        assert seen(observed, 0.5)["disk_wait_share"] == 0
        go_on(child)
        end_s = time.monotonic() + PATIENCE_S
        while (found := seen(observed, 0.5))["disk_wait_share"] == 0 and time.monotonic() < end_s:
            pass  # on a busy machine it waits longer for a CPU, and few looks may miss it
    assert found["disk_wait_share"] > 0
    assert found["lock_wait_share"] == 0


def test_of_a_process_that_is_gone_nothing_is_seen() -> None:
    with running(LOCKED.replace("GO", "")) as child:
        observed = ThreadWaitSampler(lambda: (child.pid,))
        assert seen(observed, 0.3)
    time.sleep(0.3)
    observed.figures()
    time.sleep(0.2)
    assert observed.figures() == {}
    assert ThreadWaitSampler(lambda: (child.pid,)).figures() == {}, "it is gone"


CROWDED = LOCKED.replace("range(6)", "range(400)").replace("time.sleep(0.002)", "time.sleep(0.01)")


def open_files() -> int:
    return psutil.Process().num_fds()


def test_of_many_threads_few_files_are_kept_and_all_are_seen() -> None:
    """The load needs the files that this process may open."""
    with running(CROWDED.replace("GO", "going.set()")) as child:
        before = open_files()
        parts = [ThreadWaitSampler(lambda: (child.pid,)) for _ in range(3)]
        assert open_files() - before <= HELD_MAX + len(parts), "each look may have one more open at this moment"
        go_on(child)
        time.sleep(0.5)
        assert seen(parts[0], 1.0)["lock_waiters"] > HELD_MAX
        parts.clear()
        gc.collect()
        assert_no_file_is_left(before)


def test_files_and_thread_go_with_whoever_asked() -> None:
    with running(LOCKED.replace("GO", "")) as child:
        before = open_files()
        observed = ThreadWaitSampler(lambda: (child.pid,))
        assert open_files() > before
        del observed
        assert_no_file_is_left(before)


def test_they_end_with_the_sampling_of_a_block_without_a_collection() -> None:
    """Blocks may last a second; a collection of all that is old may be minutes away."""
    with running(LOCKED.replace("GO", "")) as child:
        before, threads = open_files(), psutil.Process().num_threads()
        gc.disable()
        try:
            sampler = Sampler(
                [ProcessMonitor("a", child.pid, stores=True), ProcessTreeMonitor("b", child.pid)], lambda _: None
            )
            assert psutil.Process().num_threads() == threads + 2
            sampler.stop()
            assert_no_file_is_left(before)
            assert psutil.Process().num_threads() == threads
        finally:
            gc.enable()


def assert_no_file_is_left(before: int) -> None:
    assert open_files() <= before
