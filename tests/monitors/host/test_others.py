"""Who else uses a CPU: real processes, pinned and not."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from tests.busy_loops import LOOP, SHELL_LOOP, TESTS_RUN

from loadstone.machine import process_table
from loadstone.monitors.host.others import NAMES_MAX, InterferenceMonitor
from loadstone.monitors.metric import PROGRAM
from loadstone.monitors.metrics.host import HELPERS, PROGRAMS
from loadstone.monitors.monitor import Sample
from loadstone.monitors.watch import MonitorTargets

pytestmark = [pytest.mark.alone, pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]
HALF = f"""
import os, time
while {TESTS_RUN}:
    until = time.thread_time() + .01
    while time.thread_time() < until:
        pass
    time.sleep(.01)
"""
THREADS = f"""
import hashlib, os, threading
def work():
    while {TESTS_RUN}:
        hashlib.sha256(bytes(10**6))
threading.Thread(target=work).start()
work()
"""
SHORT = SHELL_LOOP.replace(":;", "/bin/true;")
WORK = """
import subprocess, sys, time
text, path, *more = sys.argv[1:]
if more:
    subprocess.call([sys.executable, "-c", text, text, path])
while not more and time.process_time() < .4:
    pass
with open(path, "a") as file:
    file.write(f"{time.process_time()}\\n")
"""
LATE = """
import subprocess, sys, time
while True:
    child = subprocess.Popen([sys.executable, "-c", sys.argv[1], *sys.argv[1:], "with another"])
    time.sleep(.6)
    child.wait()
"""
"""Children that have children, and end at once after them; all of them note their time."""
PARENT = f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {LOOP!r}], start_new_session=True).wait()"
CPU = max(os.sched_getaffinity(0)) if sys.platform == "linux" else 0

Start = Callable[..., int]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts programs that are pinned to `CPU`; they end with the test, and what they started."""
    with ExitStack() as stack:

        def end(root: int) -> None:
            for pid in process_table.tree([root]):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

        def begin(*command: str) -> int:
            words = ["taskset", "-c", str(CPU), *(command if command[1:] else (sys.executable, "-c", *command))]
            process = subprocess.Popen(words, start_new_session=True)
            stack.callback(process.wait)
            stack.callback(end, process.pid)
            return process.pid

        yield begin


@dataclass(frozen=True)
class Took:
    """What processes took between two samples, in cores: it lies between these, however busy the machine is."""

    least: float
    most: float

    def agrees(self, cores: float) -> bool:
        return 0.95 * self.least - 0.01 <= cores <= 1.05 * self.most + 0.01


def taken(monitor: InterferenceMonitor, pids: Sequence[int], length_s: float = 1.0) -> tuple[dict[str, float], Took]:
    """The shares of a stretch of time, and what these processes and those below them took in it."""

    def spent_s() -> float:
        return sum(process_table.tree_cpu_ns(pids).values()) / 1e9

    first_s = spent_s()
    list(monitor.sample(0.0))
    second_s, began_s = spent_s(), monitor._before_s
    time.sleep(length_s)
    third_s = spent_s()
    samples = list(monitor.sample(1.0))
    elapsed_s = monitor._before_s - began_s
    reported = {sample.part if sample.metric == "others" else sample.metric: sample.value for sample in samples}
    return reported, Took((third_s - second_s) / elapsed_s, (spent_s() - first_s) / elapsed_s)


@pytest.mark.parametrize("text", [LOOP, HALF, THREADS, PARENT])
def test_what_a_program_takes_of_its_cpu_is_reported(start: Start, text: str) -> None:
    pid = start(text)
    time.sleep(0.3)
    reported, took = taken(InterferenceMonitor((CPU,), (), {"parked": (pid,)}), [pid])
    assert took.most > 0.05
    assert took.agrees(reported["parked"]), "by its name, with all that it started"
    assert reported[f"cpu{CPU}"] >= 99 * reported["parked"] > 0, "and of the CPU"


def test_processes_that_come_and_go_count(start: Start) -> None:
    pid = start("bash", "-c", SHORT)
    time.sleep(0.3)
    reported, alone = taken(InterferenceMonitor((CPU,), (), {"shell": (pid,)}), [pid])
    assert reported["shell"] > 1.1 * alone.most, "the shell itself is not all"


def is_gone(pid: int) -> bool:
    """Whether only its entry is left, if that."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_nothing_counts_twice_when_processes_end(start: Start, tmp_path: Path) -> None:
    """Their parents have the time of ended children again, and theirs."""
    notes = tmp_path / "notes"
    pid = start(sys.executable, "-c", LATE, WORK, str(notes))
    monitor = InterferenceMonitor((CPU,), (), {"late": (pid,)})
    counted_s, last_s = 0.0, time.monotonic()
    while not notes.exists() or notes.read_text().count("\n") < 12:
        time.sleep(0.15)
        reported = {sample.metric: sample.value for sample in monitor.sample(0.0) if sample.part == "others"}
        now_s = time.monotonic()
        counted_s += (reported["late"] + reported[HELPERS]) * (now_s - last_s)
        last_s = now_s
    living = [one for one in process_table.tree([pid]) if not is_gone(one)]
    living_s = sum(process_table.cpu_ns(one) or 0 for one in living) / 1e9
    noted_s = sum(map(float, notes.read_text().split()))
    assert counted_s == pytest.approx(noted_s + living_s, rel=0.25)


def test_the_conditions_own_processes_and_this_one_do_not_count(start: Start) -> None:
    mine, other = start(PARENT), start(HALF)
    stop = threading.Event()
    burner = threading.Thread(target=lambda: [sum(range(1000)) for _ in iter(stop.is_set, True)])
    burner.start()
    try:
        time.sleep(0.3)
        reported, took = taken(InterferenceMonitor((CPU,), (mine,), {"parked": (other,)}), [other])
    finally:
        stop.set()
        burner.join()
    assert took.agrees(reported["parked"])
    assert reported[HELPERS] == pytest.approx(0, abs=0.02), "neither this process nor the condition's"


def test_programs_of_others_have_no_name() -> None:
    """A process that is not below this one: its parent ended, and the first process took it."""
    script = f"(taskset -c {CPU} {sys.executable} -c '{LOOP}' > /dev/null & echo $!)"
    pid = int(subprocess.check_output(["bash", "-c", script]))
    try:
        time.sleep(0.3)
        reported, took = taken(InterferenceMonitor((CPU,), (), {}), [pid])
        assert reported[PROGRAMS] >= 0.9 * took.least > 0.01
    finally:
        os.kill(pid, signal.SIGKILL)


def test_other_programs_are_named_without_their_arguments() -> None:
    """What took most has its share by its name, from the first sample on, and no letter that a terminal obeys."""
    named = f"import ctypes; ctypes.CDLL(None).prctl(15, b'burn\\x1b[31m(1)x', 0, 0, 0)\n{LOOP}"
    with subprocess.Popen(
        ["bash", "-c", f'taskset -c {CPU} {sys.executable} -c "$1" > /dev/null & echo $!', "-", named],
        stdout=subprocess.PIPE,
        text=True,
    ) as shell:
        assert shell.stdout is not None
        pid = int(shell.stdout.readline())
    try:
        time.sleep(0.5)
        monitor = InterferenceMonitor((CPU,), (), {})
        first = list(monitor.sample(0.0))
        time.sleep(1.0)
        samples = [one for one in (*first, *monitor.sample(1.0)) if one.metric.startswith(PROGRAM)]
        found = {one.metric: one.value for one in samples if one.unix_s == 1.0}
        assert found[f"{PROGRAM}burn??31m?1?x"] > 0.01
        assert len(found) <= NAMES_MAX
        assert {one.unix_s for one in samples if one.metric == f"{PROGRAM}burn??31m?1?x"} == {0.0, 1.0}
    finally:
        os.kill(pid, signal.SIGKILL)


def test_a_program_on_another_cpu_is_not_reported(start: Start) -> None:
    pid = start(LOOP)
    time.sleep(0.3)
    reported, took = taken(InterferenceMonitor((CPU + 1,), (), {"parked": (pid,)}), [pid])
    assert took.most > 0.05
    assert reported["parked"] == 0


def test_nothing_is_reported_where_a_part_of_the_condition_cannot_be_observed() -> None:
    assert InterferenceMonitor.watching(MonitorTargets(cpus=(0,), complete=False)) == []
    assert InterferenceMonitor.watching(MonitorTargets(cpus=())) == []
    (monitor,) = InterferenceMonitor.watching(MonitorTargets(cpus=(0,), parked={"app": ()}))
    reported = {sample.metric for sample in monitor.sample(0.0) if not sample.metric.startswith(PROGRAM)}
    assert reported == {"others", "app", *InterferenceMonitor.METRICS}


def test_a_moment_after_another_is_left_to_the_next() -> None:
    monitor = InterferenceMonitor((0,), (), {})
    first: list[Sample] = list(monitor.sample(0.0))
    assert first
    assert list(monitor.sample(0.0)) == []
