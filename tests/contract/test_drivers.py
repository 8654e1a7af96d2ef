"""Every driver keeps the seam's promises (`drivers/driver.py`): the real one on a real server, and the tests' fake."""

import contextlib
import itertools
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from loadstone.drivers.driver import Driver, drive_alone
from loadstone.drivers.native import NativeDriver
from loadstone.drivers.outcome import DriveRecord, Interval
from loadstone.experiment.plan.drive_plan import Closed, Keys, Phases, Plan, Pool
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.operations import Operation, ServerCommand
from loadstone.experiment.spec.driver_names import names
from loadstone.programs.clients.drivers import client_driver
from loadstone.safety.errors import DriveFailed
from loadstone.servers import registry
from loadstone.servers.server import DeployContext, Server

from ..fake_redis import FakeServer
from ..fakes import FakeDriver
from ..programs.clients.conftest import hardly_warmed

PROGRAM = "redis-py"
"""Of the programs of client libraries the one of every day: it needs no build."""
DRIVERS = [
    *("native", "fake", PROGRAM),
    *(pytest.param(name, marks=pytest.mark.prove) for name in names() if name != PROGRAM),
]
"""Loadstone drives all programs by the same lines; the contract of drivers tries each of them every day."""


@dataclass
class Lab:
    """A driver, and a server that it can load."""

    driver: Driver
    server: Server
    endpoint: Endpoint

    def plan(self, measure_s: float = 1.0, **keys: object) -> Plan:
        return Plan(
            endpoints=(self.endpoint,),
            model=Closed(users=2),
            pool=Pool(connections=2),
            phases=Phases(warm_up_s=0.1, measure_s=measure_s, drain_s=1.0),
            operations=(
                Operation(name="set", commands=(ServerCommand(args=("SET", "{key}", "{value}"), expect="ok"),)),
            ),
            keys=Keys(prefix="loadstone:driven:", **{"count": 50, **keys}),  # type: ignore[arg-type]
            interval_s=0.2,
        )


Up = tuple[Server, Endpoint]


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """The one that all drivers load."""
    with started(tmp_path_factory.mktemp("redis")) as up:
        yield up


@contextlib.contextmanager
def started(folder: Path) -> Iterator[Up]:
    server = registry.make_server("redis", {"kind": "embedded"})
    yield server, server.start(DeployContext(work_root=folder))
    server.stop()


@pytest.fixture(params=DRIVERS)
def lab(request: pytest.FixtureRequest, redis: Up, tmp_path: Path) -> Iterator[Lab]:
    with lab_of(request.param, redis, tmp_path) as lab:
        yield lab


@pytest.fixture(params=DRIVERS)
def lab_of_its_own(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Lab]:
    """One whose server may be ended."""
    with started(tmp_path) as up, lab_of(request.param, up, tmp_path) as lab:
        yield lab


@contextlib.contextmanager
def lab_of(name: str, redis: Up, folder: Path) -> Iterator[Lab]:
    context = DeployContext(work_root=folder)
    if name == "fake":
        store = FakeServer("redis")
        yield Lab(FakeDriver([store]), store, store.start(context))
        store.stop()
    else:
        yield Lab(driver_of(name, context), *redis)


def driver_of(name: str, context: DeployContext) -> Driver:
    """The engine, or the program of a client library."""
    return NativeDriver() if name == "native" else client_driver(hardly_warmed(name, 0.1), context).driver


@dataclass
class Driven:
    """What became of a plan, which was driven to its end."""

    record: DriveRecord
    intervals: list[Interval]
    executed: int
    """The SETs that the server counted."""


@pytest.fixture(scope="module", params=DRIVERS)
def driven(request: pytest.FixtureRequest, redis: Up, tmp_path_factory: pytest.TempPathFactory) -> Driven:
    taken: list[Interval] = []
    with lab_of(request.param, redis, tmp_path_factory.mktemp("driven")) as lab, lab.server.control() as control:
        before = control.commandstats().get("set", 0)  # type: ignore[union-attr]
        record = drive_alone(lab.driver, lab.plan(), taken.append)
        return Driven(record, taken, control.commandstats()["set"] - before)  # type: ignore[union-attr]


def test_every_interval_is_passed_on_in_its_order_and_they_add_up(driven: Driven) -> None:
    taken, record = driven.intervals, driven.record
    assert [one.index for one in taken] == list(range(len(taken)))
    phases = [phase for phase, _ in itertools.groupby(one.phase for one in taken)]
    assert phases[:2] == ["warm_up", "measure"]
    assert set(phases) <= set(record.phases) | {"drain"}
    starts = [one.start_s for one in taken]
    assert starts == sorted(starts)
    assert sum(one.operations["set"].ok for one in taken if "set" in one.operations) == record.total.ok > 0


def test_what_was_offered_is_followed_to_its_end(driven: Driven) -> None:
    record = driven.record
    for counts in (record.total, record.operations["set"].counts):
        assert counts.offered == counts.sent + counts.dropped + counts.unsent
        assert counts.sent == counts.ok + sum(counts.errors.values()) + counts.timeouts + counts.in_flight
    assert record.commands["SET"].replied == record.total.ok
    assert record.stopped is None
    measure = record.phases["measure"]
    assert measure.end_s - measure.start_s == pytest.approx(record.measure_s, abs=0.05)


def test_what_the_server_counted_is_what_was_sent(driven: Driven) -> None:
    assert driven.executed == driven.record.commands["SET"].replied


def test_a_key_space_that_is_taken_once_is_taken_to_its_last_key(lab: Lab) -> None:
    record = drive_alone(lab.driver, lab.plan(60.0, distribution="exactly_once"))
    assert record.total.ok == 50
    with lab.server.control() as control:
        assert control.keys() == 50  # type: ignore[union-attr]
        control.remove_numbered("loadstone:driven:", 50)  # type: ignore[union-attr]
        assert control.keys() == 0  # type: ignore[union-attr]


def test_where_no_one_listens_it_fails_in_one_line(lab_of_its_own: Lab) -> None:
    lab = lab_of_its_own
    lab.server.stop()
    with pytest.raises(DriveFailed, match=r"^driver( [a-z-]+)?: ") as failed:
        drive_alone(lab.driver, lab.plan())
    assert "\n" not in str(failed.value)


def test_it_ends_when_it_is_stopped_and_so_does_every_later_drive(lab: Lab) -> None:
    first = threading.Event()

    def stop(_: Interval) -> None:
        first.set()
        lab.driver.stop()
        lab.driver.stop()

    assert drive_alone(lab.driver, lab.plan(100.0), stop).stopped is not None
    assert first.is_set()
    assert drive_alone(lab.driver, lab.plan(100.0)).stopped is not None


def test_what_the_callback_raises_ends_the_drive(lab: Lab) -> None:
    def full(_: Interval) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        drive_alone(lab.driver, lab.plan(100.0), full)
