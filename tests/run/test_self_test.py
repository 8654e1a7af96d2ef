"""What `loadstone self-test` says of a machine, and of one on which something does not hold."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.machine.placement import place
from loadstone.monitors.metric import Metric
from loadstone.monitors.monitor import Sample
from loadstone.run import self_test
from loadstone.run.self_test import FreezingServer, SelfTestLimits, SelfTestPart, SelfTestRig, quantile
from loadstone.safety.errors import UserError

NAMES = ["engine", "clock", "CPUs", "io_uring", "top rate", "known delay", "known freezes", "watching", "own server"]
NAMES += ["kill -9"]


def test_this_machine_is_tried(tmp_path: Path) -> None:
    """How far its figures may be believed is another matter: other tests run beside."""
    locks, temporary = tmp_path / "locks", tmp_path / "temporary"
    locks.mkdir(mode=0o700)
    temporary.mkdir()
    environment = {**os.environ, "LOADSTONE_LOCK_FOLDER": str(locks), "TMPDIR": str(temporary)}
    command = [sys.executable, "-m", "loadstone", "self-test"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line for line in done.stdout.splitlines() if not line.startswith(" ")]
    assert [line[6:20].strip() for line in lines] == [*NAMES, "machine", "trust"]
    assert lines[-1].startswith("ok    trust          rates up to ")
    assert list(temporary.iterdir()) == []


def test_a_server_that_freezes_otherwise_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a generator that forgets the requests which it could not send would be."""

    class Otherwise(FreezingServer):
        options = FreezingServer(0.001, 1.0, 0.1).options

    monkeypatch.setattr(self_test, "FREEZING", Otherwise(0.001, 1.0, 0.2))
    monkeypatch.setattr(self_test, "FREEZING_S", 1.0)
    found = self_test._freezes("known freezes", SelfTestRig(place()))
    assert (found.verdict, found.means) == ("FAIL", "high percentiles of this machine do not hold")


def test_a_delay_that_is_measured_too_short_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = SelfTestRig(place())
    real = bench.server

    @contextlib.contextmanager
    def quicker(options: dict[str, object]) -> Iterator[Endpoint]:
        with real({**options, "delay_us": 500}) as endpoint:
            yield endpoint

    monkeypatch.setattr(bench, "server", quicker)
    monkeypatch.setattr(self_test, "DELAY_S", 0.3)
    monkeypatch.setattr(self_test, "DELAY_NS", 100_000_000)
    assert self_test._delay("known delay", bench, SelfTestLimits()).verdict == "FAIL"


def test_what_a_kill_leaves_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    left = 'import subprocess, time; p = subprocess.Popen(["sleep", "60"]); print(p.pid, p.pid, "/nowhere", flush=True)'
    monkeypatch.setattr(self_test, "CHILD", f"{left}; time.sleep(60)")
    monkeypatch.setattr(self_test, "KILL_S", 0.2)
    pids: list[int] = []
    monkeypatch.setattr(self_test, "_runs", lambda pid: pids.append(pid) or True)
    try:
        assert self_test._kill("kill -9") == SelfTestPart(
            "kill -9", "FAIL", "its server or its folder is still there", "end a run by Ctrl-C only"
        )
    finally:
        os.kill(pids[0], signal.SIGKILL)


def test_a_part_that_cannot_be_tried_fails_and_the_others_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_name: str) -> SelfTestPart:
        raise UserError("null server: no room")

    monkeypatch.setattr(
        self_test, "_parts", lambda *_: [("a", broken), ("b", lambda name: SelfTestPart(name, "ok", "fine"))]
    )
    found: list[SelfTestPart] = []
    assert self_test.self_test(found.append, lambda _line: None) == 3
    assert found[:2] == [SelfTestPart("a", "FAIL", "null server: no room"), SelfTestPart("b", "ok", "fine")]
    assert (found[2].name, found[2].verdict) == ("trust", "FAIL")


def test_the_truth_of_a_freezing_server() -> None:
    """A fifth of the requests come while it is frozen, and wait for its end."""
    times = FreezingServer(delay_s=0.001, every_s=1.0, freeze_s=0.2).response_times_s(1000, 3.0, 1000)
    assert len(times) == 3000
    assert quantile(times, 0.5) == pytest.approx(0.001)
    assert quantile(times, 0.9) == pytest.approx(0.1, abs=0.002)
    assert times[-1] == pytest.approx(0.201)


def test_it_finds_out_that_measuring_changes_what_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for work of ours: a monitor with a thread that runs on the server's CPU now and then."""
    placed = place()
    if placed.shared:
        pytest.skip("there is no other CPU to keep to")
    over = threading.Event()

    class Restless:
        METRICS: Mapping[str, Metric] = {}

        def __init__(self) -> None:
            self._thread = threading.Thread(target=self._burn)
            self._thread.start()

        def _burn(self) -> None:
            os.sched_setaffinity(0, placed.server_cpus)
            while not over.is_set():
                end_s = time.thread_time() + 0.0015
                while time.thread_time() < end_s:
                    pass
                time.sleep(0.03)

        def sample(self, unix_s: float) -> list[Sample]:  # noqa: ARG002 (the seam's)
            return []

    monkeypatch.setattr(self_test.registry, "monitors", lambda _: [Restless()])
    try:
        found = self_test._watching("watching", SelfTestRig(placed))
    finally:
        over.set()
    assert found.verdict == "note"
    assert "each is printed with its bound" in found.means
