"""Monitors beside servers: a process in a network of its own, seen by a monitor whose clock is another one's."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

import pytest
from tests.contract.test_metrics import OnOtherMachines
from tests.namespaces import ADDRESS, PORT, listener

from loadstone.addons.fleet import clocks, monitors
from loadstone.addons.fleet.cluster_seam import AgentLost, Heard, Member
from loadstone.addons.fleet.monitors import BesideServers, FleetMonitors
from loadstone.machine import clock
from loadstone.monitors import catalogue
from loadstone.monitors.monitor import Monitor, Sample
from loadstone.monitors.watch import MonitorTargets, RemotePartTarget
from loadstone.servers import registry

T = TypeVar("T")
AHEAD_NS = 3_600_000_000_000
BESIDE = Member("db-1", "tls://10.231.7.2:8787", "monitor", "db-1.example")
APP = {"app": RemotePartTarget(ADDRESS, PORT)}
PATIENCE_S = 60.0


class OneMonitor:
    """A cluster whose members are this process, with a clock that is an hour ahead; once gone it does not answer."""

    def __init__(self, *members: Member) -> None:
        self.members = members
        self.gone = False
        self.called: list[str] = []

    def call(self, member: Member, function: Callable[..., T], *args: object, timeout_s: float) -> T:
        assert timeout_s > 0
        self.called.append(function.__name__)
        if self.gone:
            raise AgentLost(member.name, "it left the fleet")
        answer: object = function(*args)
        if function is clocks.read_clock:
            answer = time.monotonic_ns() + AHEAD_NS
        if function is monitors.sample_watch and answer is not None:
            answer = [[at_ns + AHEAD_NS, *rest] for at_ns, *rest in answer]  # type: ignore[attr-defined]
        return answer  # type: ignore[return-value]

    def send(self, member: Member, function: Callable[..., object], *args: object) -> None: ...

    def listen(self, topic: str, heard: Heard) -> None: ...

    def lost(self) -> Mapping[str, str]:
        return {}

    def close(self) -> None: ...


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitors, "_WATCHES", {})


def figures(samples: list[Sample], part: str) -> dict[str, float]:
    return {sample.metric: sample.value for sample in samples if sample.part == part}


def test_a_process_elsewhere_has_its_cpu_on_this_machines_time_line(namespace: str) -> None:
    fleet = FleetMonitors(OneMonitor(BESIDE), lambda _: [])
    with listener(namespace, then="while True: pass"):
        (beside,) = fleet.watching(MonitorTargets(elsewhere=APP))
        list(beside.sample(0.0))
        time.sleep(0.4)
        began_s = clock.unix_s()
        samples = list(beside.sample(0.0))
        ended_s = clock.unix_s()
    app = figures(samples, "app")
    assert app["alive"] == 1
    assert app["cpu_s"] > 0
    assert 0 < app["cpu_share"] < 1.5
    assert app["machine_cpus"] >= 1
    assert app["machine_number"] == 1
    assert {sample.part for sample in samples} == {"app", "db-1.host"}
    assert all(began_s - 0.1 <= sample.unix_s <= ended_s + 0.1 for sample in samples)
    assert {sample.metric for sample in samples} <= catalogue.METRICS.keys()


def test_the_machine_is_seen_where_no_part_is_on_it() -> None:
    fleet = FleetMonitors(OneMonitor(BESIDE), lambda _: [])
    (beside,) = fleet.watching(MonitorTargets(elsewhere=APP))
    list(beside.sample(0.0))
    time.sleep(0.2)
    samples = list(beside.sample(0.0))
    assert {sample.part for sample in samples} == {"db-1.host"}
    machine = figures(samples, "db-1.host")
    assert machine["us"] + machine["sy"] + machine["id"] + machine["wa"] + machine["st"] == pytest.approx(100, abs=0.1)


def test_of_two_monitors_that_see_a_part_one_has_it(namespace: str) -> None:
    other = Member("db-2", "tls://10.231.7.3:8787", "monitor", "db-2.example")
    fleet = FleetMonitors(OneMonitor(BESIDE, other), lambda _: [])
    with listener(namespace):
        (beside,) = fleet.watching(MonitorTargets(elsewhere=APP))
        samples = list(beside.sample(0.0))
    assert [sample.value for sample in samples if (sample.part, sample.metric) == ("app", "alive")] == [1]
    assert figures(samples, "db-2.host")["machine_number"] == 2


class WithSlowOne(OneMonitor):
    """`db-2` answers once it may."""

    def __init__(self, *members: Member) -> None:
        super().__init__(*members)
        self.may_answer, self.answered = threading.Event(), threading.Event()

    def call(self, member: Member, function: Callable[..., T], *args: object, timeout_s: float) -> T:
        if member.name != "db-2" or function is not monitors.sample_watch:
            return super().call(member, function, *args, timeout_s=timeout_s)
        assert self.may_answer.wait(PATIENCE_S)
        answer = super().call(member, function, *args, timeout_s=timeout_s)
        self.answered.set()
        return answer


def told_of(beside: Monitor, *parts: str) -> list[Sample]:
    """What is told until all of these parts are in it."""
    samples, until_s = list(beside.sample(0.0)), time.monotonic() + PATIENCE_S
    while not {sample.part for sample in samples}.issuperset(parts):
        assert time.monotonic() < until_s
        samples += beside.sample(0.0)
    return samples


def test_a_slow_monitor_does_not_delay_the_others() -> None:
    cluster = WithSlowOne(BESIDE, Member("db-2", "tls://10.231.7.3:8787", "monitor", "db-2.example"))
    (beside,) = FleetMonitors(cluster, lambda _: []).watching(MonitorTargets(elsewhere=APP))
    assert {sample.part for sample in told_of(beside, "db-1.host")} == {"db-1.host"}
    asked_s = clock.unix_s()
    cluster.may_answer.set()
    assert cluster.answered.wait(PATIENCE_S)
    answered_s = clock.unix_s()
    time.sleep(0.5)
    told = told_of(beside, "db-1.host", "db-2.host")
    late_s = next(sample.unix_s for sample in told if sample.part == "db-2.host")
    assert asked_s - 0.2 < late_s < answered_s + 0.2  # when it was seen, not when it was told


def test_one_that_did_not_answer_as_a_condition_began_has_its_parts_later(
    namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loadstone.addons.fleet.monitors.AGAIN_S", 0.1)
    cluster = OneMonitor(BESIDE)
    fleet = FleetMonitors(cluster, lambda _: [])
    with listener(namespace):
        cluster.gone = True
        (beside,) = fleet.watching(MonitorTargets(elsewhere=APP))
        cluster.gone = False
        time.sleep(0.15)
        samples: list[Sample] = []
        for _ in range(20):
            samples += beside.sample(0.0)
            time.sleep(0.02)
    assert figures(samples, "app")["alive"] == 1


def test_a_fleet_without_monitors_adds_nothing() -> None:
    agent = Member("agent-1", "tls://10.231.7.2:8787", "agent", "load-1")
    cluster = OneMonitor(agent)
    here = registry.monitors(MonitorTargets())
    assert FleetMonitors(cluster, lambda _: here).watching(MonitorTargets(elsewhere=APP)) == here
    assert cluster.called == []


def test_one_that_is_lost_is_noted_once_and_asked_again_later(namespace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    notes: list[str] = []
    cluster = OneMonitor(BESIDE)
    fleet = FleetMonitors(cluster, lambda _: [], notes.append)
    with listener(namespace):
        (beside,) = fleet.watching(MonitorTargets(elsewhere=APP))
        assert list(beside.sample(0.0))
        cluster.gone = True
        asked = len(cluster.called)
        for _ in range(3):
            assert list(beside.sample(0.0)) == []
        assert len(cluster.called) == asked + 1  # it is left alone for a while
        assert notes == ["monitor db-1: it left the fleet; its figures may be missing"]
        cluster.gone = False
        monkeypatch.setattr(fleet._beside[0], "_not_before_s", 0.0)
        assert figures(list(beside.sample(0.0)), "app")["alive"] == 1


def test_one_that_was_started_again_is_told_anew_what_to_watch(namespace: str) -> None:
    cluster = OneMonitor(BESIDE)
    with listener(namespace):
        (beside,) = FleetMonitors(cluster, lambda _: []).watching(MonitorTargets(elsewhere=APP))
        monitors._WATCHES.clear()
        assert list(beside.sample(0.0)) == []
        assert figures(list(beside.sample(0.0)), "app")["alive"] == 1


def test_a_part_that_died_is_said_to_be_dead(namespace: str) -> None:
    (beside,) = FleetMonitors(OneMonitor(BESIDE), lambda _: []).watching(MonitorTargets(elsewhere={}))
    with listener(namespace):
        (beside,) = FleetMonitors(OneMonitor(BESIDE), lambda _: []).watching(MonitorTargets(elsewhere=APP))
    assert figures(list(beside.sample(0.0)), "app")["alive"] == 0


def test_a_monitor_keeps_the_newest_watches_alone() -> None:
    for number in range(monitors.WATCHES_MAX + 3):
        monitors.begin_watch(f"watch-{number}", [])
    assert monitors.sample_watch("watch-2") is None
    assert monitors.sample_watch("watch-3") is not None
    assert len(monitors._WATCHES) == monitors.WATCHES_MAX


class Lying(OneMonitor):
    """A monitor that answers something else to one of the questions."""

    def __init__(self, function: Callable[..., object], answer: object) -> None:
        super().__init__(BESIDE)
        self._function, self._answer = function, answer

    def call(self, member: Member, function: Callable[..., T], *args: object, timeout_s: float) -> T:
        truth = super().call(member, function, *args, timeout_s=timeout_s)
        return self._answer if function is self._function else truth  # type: ignore[return-value]


@pytest.mark.fault("a monitor of a fleet says what is no figure", "it is left out, and named", area="fleet")
@pytest.mark.parametrize(
    ("function", "answer"),
    [
        (monitors.begin_watch, [1]),
        (monitors.begin_watch, {"pids": 5}),
        (monitors.begin_watch, {}),
        (monitors.sample_watch, "text"),
        (monitors.sample_watch, [(1, "host")]),
        (monitors.sample_watch, [("x", "host", "cpu_share", 1.0)]),
        (monitors.sample_watch, [(10**40, "host", "cpu_share", 1.0)]),
        (monitors.sample_watch, [(1, "host", "cpu_share", "much")]),
        (monitors.sample_watch, [(1, "host", "\x1b[2J", 1.0)]),
        (monitors.sample_watch, [(1, "host", ["cpu_share"], 1.0)]),
        (clocks.read_clock, "noon"),
        (clocks.read_clock, 10**40),
    ],
)
def test_a_monitor_that_says_what_is_no_figure_is_left_out(function: Callable[..., object], answer: object) -> None:
    notes: list[str] = []
    fleet = FleetMonitors(Lying(function, answer), lambda _: [], notes.append)
    (beside,) = fleet.watching(MonitorTargets(elsewhere=APP))
    assert list(beside.sample(0.0)) == []
    assert notes == [
        "monitor db-1: it wrote what is no message; install one version on all; its figures may be missing"
    ]


def test_what_they_report_is_declared_and_told_by_no_monitor_here() -> None:
    assert BesideServers.METRICS.items() <= catalogue.METRICS.items()
    assert BesideServers.METRICS.keys() >= OnOtherMachines.METRICS.keys()
