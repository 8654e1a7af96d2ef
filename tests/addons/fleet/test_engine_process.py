"""The engine of an agent as a process: orders in, lines out, and no load without a lease."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.real_servers import TLS_PASSWORD, settled

from loadstone.addons.fleet.certificates import read_tls_files
from loadstone.drivers.outcome import read_interval, read_record
from loadstone.experiment.plan.drive_plan import Closed, Phases, Plan, Pool
from loadstone.experiment.plan.endpoints import Endpoint, Tls
from loadstone.experiment.plan.operations import Operation, ServerCommand

from .conftest import Store

ENDLESS = Phases(warm_up_s=0.0, measure_s=600.0, drain_s=2.0)


class Process:
    """One engine process, spoken to as an agent does."""

    def __init__(self) -> None:
        command = [sys.executable, "-P", "-m", "loadstone.addons.fleet.engine_process", str(os.getpid())]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def order(self, order: str, drive: str = "d", **more: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"order": order, "drive": drive, **more}) + "\n")
        self.process.stdin.flush()

    def drive(self, plan: Plan, drive: str = "d", lease_s: float = 60.0) -> None:
        self.order("drive", drive, plans=[plan.model_dump(mode="json")], rounds=None, lease_s=lease_s)

    def line(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "its output ended"
        message = json.loads(line)
        assert isinstance(message, dict)
        return message

    def until(self, kind: str) -> list[dict[str, Any]]:
        """The lines up to the first of a kind."""
        lines = [self.line()]
        while lines[-1]["type"] != kind:
            lines.append(self.line())
        return lines

    def begin(self, drive: str = "d") -> int:
        """Let it begin; when, by CLOCK_MONOTONIC."""
        at_ns = time.monotonic_ns() + 200_000_000
        self.order("begin", drive, at_monotonic_ns=at_ns)
        return at_ns


@pytest.fixture
def engine() -> Iterator[Process]:
    process = Process()
    yield process
    process.process.kill()
    process.process.communicate()


def test_a_drive_from_its_opening_to_its_record(engine: Process, store: Store) -> None:
    for drive in ("first", "second"):
        before = store.sets()
        engine.drive(store.plan(), drive)
        opened = engine.line()
        assert (opened["type"], opened["drive"], opened["pid"]) == ("opened", drive, engine.process.pid)
        time.sleep(0.2)
        assert store.sets() == before, "open, and not begun"
        at_ns = engine.begin(drive)
        lines = engine.until("records")
        assert {line["drive"] for line in lines} == {drive}
        record = read_record(json.dumps(lines[-1]["records"][0]))
        assert record.started_monotonic_ns == at_ns
        assert record.stopped is None
        assert record.total.sent == store.sets() - before
        intervals = [read_interval(json.dumps(line["interval"])) for line in lines if line["type"] == "interval"]
        assert sum(one.operations["set"].sent for one in intervals) == record.total.sent
        beats = [line["sent"] for line in lines if line["type"] == "heartbeat"]
        assert len(beats) >= 3
        assert beats == sorted(beats)
        assert 0 < beats[-1] <= record.total.sent


def test_the_load_ends_with_its_lease(engine: Process, store: Store) -> None:
    engine.drive(store.plan(phases=ENDLESS), lease_s=60.0)
    engine.until("opened")
    engine.begin()
    engine.until("interval")
    engine.order("lease", lease_s=1.0)
    record = engine.until("records")[-1]["records"][0]
    assert "lease ran out" in record["stopped"]
    sets = store.sets()
    engine.order("lease", lease_s=60.0)
    time.sleep(0.3)
    assert store.sets() == sets, "nothing revives it"


def test_a_lease_that_is_renewed_goes_on(engine: Process, store: Store) -> None:
    engine.drive(store.plan(phases=Phases(warm_up_s=0.0, measure_s=3.0)), lease_s=1.5)
    engine.until("opened")
    engine.begin()
    while (line := engine.line())["type"] != "records":
        engine.order("lease", lease_s=1.5)
    assert line["records"][0]["stopped"] is None


def test_an_order_to_stop_ends_the_drive(engine: Process, store: Store) -> None:
    engine.drive(store.plan(phases=ENDLESS))
    engine.until("opened")
    engine.begin()
    engine.until("heartbeat")
    engine.order("stop", "another")
    engine.order("stop")
    assert engine.until("records")[-1]["records"][0]["stopped"] == "stopped on request"


def test_the_measure_phase_ends_where_ordered(engine: Process, store: Store) -> None:
    phases = Phases(warm_up_s=0.0, measure_s=0.5, measure_operations=10**12, measure_max_s=600.0)
    share = {"number": 0, "of": 2}
    plan = Plan.model_validate({**store.plan(phases=phases).model_dump(), "share": share})
    engine.drive(plan)
    engine.until("opened")
    at_ns = engine.begin()
    engine.until("heartbeat")
    engine.order("end_measure", at_monotonic_ns=at_ns + 1_500_000_000)
    record = read_record(json.dumps(engine.until("records")[-1]["records"][0]))
    assert record.stopped is None
    assert 1.4 <= record.measure_s < 30


def test_what_cannot_be_driven_is_said_and_the_process_goes_on(engine: Process, store: Store) -> None:
    nowhere = store.endpoint.model_copy(update={"port": 1})
    engine.drive(store.plan(endpoints=(nowhere,)))
    failed = engine.line()
    assert failed["type"] == "failed"
    assert "127.0.0.1:1" in failed["why"]
    engine.order("drive", plans=[{"nonsense": 1}], rounds=None, lease_s=5.0)
    assert engine.line()["type"] == "failed"
    engine.drive(store.plan())
    assert engine.line()["type"] == "opened"
    engine.order("begin", at_monotonic_ns=time.monotonic_ns() - 1)
    late = engine.line()
    assert (late["type"], late["late"]) == ("failed", True)
    engine.drive(store.plan(), "another")
    assert engine.line()["type"] == "opened"


def test_it_ends_at_once_with_its_input(engine: Process, store: Store) -> None:
    engine.drive(store.plan(phases=ENDLESS))
    engine.until("opened")
    engine.begin()
    engine.until("heartbeat")
    assert engine.process.stdin is not None
    engine.process.stdin.close()
    engine.process.stdin = None
    engine.process.wait(30)
    sets = settled(store.sets)
    time.sleep(0.2)
    assert store.sets() == sets


def test_it_ends_with_the_process_that_started_it(store: Store) -> None:
    """Though it stands still, and its input is held open by another one."""
    script = (
        "import os, subprocess, sys, time\n"
        "command = [sys.executable, '-P', '-m', 'loadstone.addons.fleet.engine_process', str(os.getpid())]\n"
        "e = subprocess.Popen(command, stdin=0, stdout=1)\n"
        "print(e.pid, file=sys.stderr, flush=True)\n"
        "time.sleep(600)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert parent.stdin
    assert parent.stdout
    assert parent.stderr
    try:
        child = psutil.Process(int(parent.stderr.readline()))
        order = {
            "order": "drive",
            "drive": "d",
            "plans": [store.plan().model_dump(mode="json")],
            "rounds": None,
            "lease_s": 60,
        }
        parent.stdin.write(json.dumps(order) + "\n")
        parent.stdin.flush()
        assert json.loads(parent.stdout.readline())["type"] == "opened"
        child.suspend()
        parent.kill()
        psutil.wait_procs([child], timeout=30)
        assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE
    finally:
        parent.kill()
        parent.communicate()


def test_files_of_tls_come_with_the_plan_and_are_in_memory_alone(
    engine: Process, tls_redis: Callable[[str], int], odd_certificates: Path
) -> None:
    """They are of another machine: none has these names here."""
    port, texts = tls_redis("good"), read_tls_files([_by_tls(odd_certificates, 1)])
    assert list(texts) == [str(odd_certificates / "ca.pem")]
    plan = _by_tls(Path("/nowhere"), port).model_dump(mode="json")
    engine.order("drive", plans=[plan], rounds=None, lease_s=60)
    assert "/nowhere/ca.pem" in engine.line()["why"]
    files = {"/nowhere/ca.pem": texts[str(odd_certificates / "ca.pem")]}
    engine.order("drive", plans=[plan], rounds=None, lease_s=60, files=files)
    assert engine.line()["type"] == "opened"
    engine.begin()
    (record,) = engine.until("records")[-1]["records"]
    assert read_record(json.dumps(record)).total.ok > 0
    engine.order("drive", plans=[plan], rounds=None, lease_s=60, files={"/nowhere/ca.pem": "no certificate"})
    assert "/nowhere/ca.pem" in engine.line()["why"], "named as the user has named it"


def _by_tls(folder: Path, port: int) -> Plan:
    operation = Operation(name="ping", commands=(ServerCommand(args=("PING",)),))
    return Plan(
        endpoints=(Endpoint(host="localhost", port=port, password=TLS_PASSWORD, tls=Tls(ca_file=f"{folder}/ca.pem")),),
        model=Closed(users=2),
        pool=Pool(connections=2),
        phases=Phases(warm_up_s=0.0, measure_s=0.5, drain_s=1.0),
        operations=(operation,),
    )
