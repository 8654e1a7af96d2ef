"""What is read of running parts around a drive, on fakes; and what is recorded of one that does not answer."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from loadstone.drivers.driver import drive_alone
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.required import StoredCount
from loadstone.experiment.plan.run_plan import PlannedTrial
from loadstone.machine.limits_in_force import LimitInForce, LimitName
from loadstone.machine.processes.resource_limits import Throttling
from loadstone.measure.driven_plan import targets_of
from loadstone.measure.failures import count_oom_kills, failure
from loadstone.measure.processes import watch_of
from loadstone.measure.snapshots import (
    StoredCounts,
    held,
    limits_of,
    settings_of,
    snapshots,
    stored_facts,
    subject_facts,
    throttled_s,
)
from loadstone.monitors.watch import MetricsPage
from loadstone.programs.ready import RunningParts, RunningSubject
from loadstone.servers.server import ServerFacts

from ..fake_redis import FakeServer
from ..fakes import FakeSubject, deployed
from .fake_rig import FakeRig, planned_run

ONE_CPU: dict[LimitName, LimitInForce] = {"cpu": LimitInForce(status="in_force", value=1.0)}
COUNT = StoredCount("set", "redis", "SCARD loadstone:posts")


class Throttled(FakeSubject):
    """An application with two replicas whose CPU limit holds it back, and a page of its own."""

    def __init__(self, *, parked_s: float) -> None:
        super().__init__("app")
        self.parked_s = parked_s
        self.pids = {"app-1": 11, "app-2": 12}
        self.metrics = {"app-1": "http://127.0.0.1:1/metrics"}
        self.runtime = "jvm"
        self.limits = ONE_CPU

    def throttling(self) -> dict[str, Throttling]:
        return {part: Throttling(10, 4, self.parked_s) for part in self.pids}


@pytest.fixture
def planned() -> PlannedTrial:
    trial = planned_run()[1].trials[0]
    settings = {"appendonly": False, "maxmemory": "64mb", "no-such-setting": 1}
    return replace(trial, servers={"redis": {"kind": "embedded", "settings": settings}}, stored=(COUNT,))


@pytest.fixture
def server() -> FakeServer:
    return FakeServer("redis")


@pytest.fixture
def ready(server: FakeServer) -> RunningParts:
    app = Throttled(parked_s=1.5)
    subject = RunningSubject(app, (Endpoint(), Endpoint(port=2)), dict(app.pids), 0.0, restless_cores=0.2)
    return RunningParts({"redis": deployed(server)}, {"app": subject}, parked={"old": (7, 8)})


def test_servers_get_the_load_themselves_unless_an_application_does(ready: RunningParts) -> None:
    assert list(targets_of(ready, None)) == list(targets_of(ready, "redis")) == ["redis"]
    assert targets_of(ready, "app") == {}


def test_monitors_get_every_process_and_a_connection_of_their_own(ready: RunningParts, server: FakeServer) -> None:
    watch = watch_of(ready, [3])
    assert watch.pids == {**server.pids, "app-1": 11, "app-2": 12}
    assert watch.controls == {"redis": {"redis": ready.servers["redis"].monitor}}
    assert watch.controls["redis"]["redis"] is not ready.servers["redis"].control
    assert (watch.cpus, watch.parked, watch.complete) == ((3,), {"old": (7, 8)}, True)
    assert watch.pages_of("jvm") == {"app-1": MetricsPage("http://127.0.0.1:1/metrics")}
    assert watch.workers == {}
    server.end()
    assert not watch_of(ready, []).complete, "a part without a process may be anything"


def test_a_server_that_does_not_answer_has_no_counters(ready: RunningParts, server: FakeServer) -> None:
    found = snapshots(ready)["redis"]
    assert found is not None
    assert found.run_id == server.store.run_id
    server.end()
    assert snapshots(ready) == {"redis": None}


def test_what_is_stored_is_counted_with_all_keys(ready: RunningParts, server: FakeServer) -> None:
    server.store.keys |= {"loadstone:posts": {"1", "2"}, "other": "x"}
    assert held(ready, [COUNT]) == [StoredCounts(2, 2)]
    assert held(ready, [replace(COUNT, count="FLUSHALL")]) == [StoredCounts(None, None)]
    server.end()
    assert held(ready, [COUNT]) == [StoredCounts(None, None)]


def test_the_counts_stand_beside_what_the_driver_was_answered(
    fake_rig: Callable[..., FakeRig], planned: PlannedTrial
) -> None:
    rig = fake_rig()
    rig.trial()
    drive = drive_alone(rig.measurement.driver, rig.driver.shares[0])
    intervals = rig.live.intervals
    first = intervals[0].operations["set"].model_copy(update={"timeouts": 3, "errors": {"server_oom": 2}})
    intervals[0] = intervals[0].model_copy(update={"operations": {"set": first}})
    (found,) = stored_facts(planned, drive, intervals, [StoredCounts(1, 1)], [StoredCounts(201, 201)])
    assert (found.before, found.after, found.keys_before, found.keys_after) == (1, 201, 1, 201)
    assert (found.answered, found.unknown) == (200, 5)


def test_settings_are_read_back_and_those_that_differ_are_named(
    ready: RunningParts, server: FakeServer, planned: PlannedTrial
) -> None:
    reported, different = settings_of(ready, planned)
    assert reported == {"redis": {"appendonly": "no", "maxmemory": "0"}}
    assert set(different["redis"]) >= {"maxmemory"}
    assert "appendonly" not in different["redis"]
    server.store.config["maxmemory"] = str(64 * 1024**2)
    assert "maxmemory" not in settings_of(ready, planned)[1].get("redis", {})
    server.end()
    assert settings_of(ready, planned) == ({}, {})


def test_servers_without_settings_are_not_queried(
    ready: RunningParts, server: FakeServer, planned: PlannedTrial
) -> None:
    server.events.clear()
    assert settings_of(ready, replace(planned, servers={"redis": {"kind": "embedded"}})) == ({}, {})
    assert server.events == []


def test_limits_are_those_that_a_server_reports(ready: RunningParts) -> None:
    class Limited(FakeServer):
        @property
        def facts(self) -> ServerFacts:
            return ServerFacts("redis", "8", "standalone", "master", limits=ONE_CPU)

    assert limits_of(ready) == {"redis": {}}
    ready.servers["redis"] = deployed(Limited("redis"))
    assert limits_of(ready) == {"redis": ONE_CPU}


def test_an_application_is_recorded_with_how_long_its_limit_held_it_back(ready: RunningParts) -> None:
    before = throttled_s(ready)
    assert before == {"app": 3.0}
    ready.subjects["app"].subject.parked_s = 2.0  # type: ignore[attr-defined]
    found = subject_facts(ready, before)["app"]
    assert (found.replicas, found.ours, found.throttled_s, found.restless_cores) == (2, True, 1.0, 0.2)
    assert found.limits == ONE_CPU
    assert subject_facts(ready, {"app": None})["app"].throttled_s is None


@pytest.mark.parametrize(
    ("happens", "why"),
    [
        ("nothing", "stopped on request"),
        ("application", "subject app died during the trial (stopped on request); its last lines are: no heap"),
        ("server", "server redis died during the trial: it ended with status 1 (stopped on request)"),
        ("both", "server redis died during the trial: it ended with status 1 (stopped on request)"),
        ("memory", "server redis: the kernel's OOM killer ended a process of it, which needed more memory"),
    ],
)
def test_the_first_cause_is_the_failure(
    fake_rig: Callable[..., FakeRig], ready: RunningParts, server: FakeServer, happens: str, why: str
) -> None:
    rig = fake_rig()
    rig.driver.stop()
    drive = drive_alone(rig.driver, replace(rig.planned()).plan.model_copy(update={"protocol": "http1"}))
    before = count_oom_kills(ready)
    if happens in ("application", "both"):
        ready.subjects["app"].subject.words = "no heap"  # type: ignore[attr-defined]
    if happens in ("server", "both", "memory"):
        server.end("it ended with status 1", oom=happens == "memory")
    found = failure(drive, ready, before)
    assert found is not None
    assert found.startswith(why)
    assert found.endswith(why) or happens == "memory"


def test_a_drive_that_ended_in_order_on_parts_that_live_has_no_failure(
    fake_rig: Callable[..., FakeRig], ready: RunningParts
) -> None:
    rig = fake_rig()
    rig.trial()
    drive = drive_alone(rig.driver, rig.driver.shares[0])
    assert failure(drive, ready, count_oom_kills(ready)) is None
