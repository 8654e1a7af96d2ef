"""Whose processes a condition needs, who stands still while another is warmed up, and what is watched apart."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.machine.process_identity import started
from loadstone.measure.processes import (
    in_turn_with,
    processes_to_pause,
    read_by_driver,
    same_parts,
    watch_of,
    watched_apart,
)
from loadstone.measure.warm_up import warm_up_each
from loadstone.programs.ready import RunningParts, RunningSubject

from ..fake_redis import FakeServer
from ..fakes import FakeSubject, deployed
from .fake_rig import FakeRig
from .test_measure_block import Open

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are identified on Linux only")


class Elsewhere(FakeServer):
    """One whose process is not this machine's."""

    pids: Mapping[str, int] = {}


class Application(FakeSubject):
    """One with a process, which notes when it is held and released."""

    def __init__(self, name: str, pid: int, log: list[str] | None = None) -> None:
        super().__init__(name, warm_up_s=0.1)
        self.pids = {name: pid}
        self.held = False
        self.log = [] if log is None else log

    def hold(self) -> None:
        self.held = True
        self.log.append(f"hold {self.name}")

    def release(self) -> None:
        self.held = False
        self.log.append(f"release {self.name}")


@pytest.fixture
def sleeping() -> Iterator[list[int]]:
    """Two processes in sessions of their own, as those under a guard are."""
    some = [subprocess.Popen(["sleep", "60"], start_new_session=True) for _ in range(2)]
    yield [one.pid for one in some]
    for one in some:
        one.kill()
        one.wait()


def of(application: FakeSubject) -> RunningSubject:
    return RunningSubject(application, (Endpoint(),), dict(application.pids), application.warm_up_s)


def test_a_process_is_named_by_its_start_and_belongs_to_those_who_need_it(sleeping: list[int]) -> None:
    first, second = (of(Application("app", pid)) for pid in sleeping)
    found = processes_to_pause(
        [RunningParts({}, {"app": first}), RunningParts({}, {"app": second}), RunningParts({}, {"app": first})]
    )
    named = [[(one.pid, one.started_ticks) for one in processes] for processes in found]
    assert named == [[(pid, started(pid))] for pid in (*sleeping, sleeping[0])]


def test_nothing_is_paused_where_all_need_the_same(sleeping: list[int]) -> None:
    one = of(Application("app", sleeping[0]))
    assert processes_to_pause([RunningParts({}, {"app": one}), RunningParts({}, {"app": one})]) == ()
    assert processes_to_pause([RunningParts({}, {}), RunningParts({}, {})]) == ()


def test_an_application_of_the_users_is_never_paused(sleeping: list[int]) -> None:
    some = [Application("app", pid) for pid in sleeping]
    some[0].ours = False
    found = processes_to_pause([RunningParts({}, {"app": of(one)}) for one in some])
    assert [len(processes) for processes in found] == [0, 1]


def test_a_process_that_is_gone_is_not_named() -> None:
    with subprocess.Popen(["true"], start_new_session=True) as gone:
        gone.wait()
    one, other = of(Application("app", gone.pid)), of(Application("app", os.getpid()))
    assert processes_to_pause([RunningParts({}, {"app": one}), RunningParts({}, {"app": other})])[0] == ()


def test_parts_that_differ_are_watched_apart_and_know_who_takes_turns_with_them() -> None:
    servers = [deployed(FakeServer("redis")), deployed(FakeServer("redis"))]
    shared = deployed(FakeServer("database"))
    app = of(Application("app", 77))
    every = [
        RunningParts({"redis": servers[0], "database": shared}, {"app": app}),
        RunningParts({"redis": servers[1], "database": shared}, {}),
        RunningParts({"redis": servers[0], "database": shared}, {"app": app}),
    ]
    assert same_parts(every[0], every[2])
    assert not same_parts(every[0], every[1])
    watched = watched_apart(every)
    assert [ready for ready, _ in watched] == every[:2]
    own = [set(server.server.pids.values()) for server in servers]
    assert [in_turn for _, in_turn in watched] == [own[1] - own[0], (own[0] | {77}) - own[1]]
    assert in_turn_with(every[1], every) == watched[1][1]


def test_each_application_is_warmed_up_once_while_the_others_stand_still(fake_rig: Open) -> None:
    rig: FakeRig = fake_rig(subject=Application("app", os.getpid()))
    log: list[str] = []
    applications = [Application(name, os.getpid(), log) for name in ("one", "other")]
    up = rig.parts.need(rig.planned("set"))
    at = up.servers["redis"].endpoints
    ready = [replace(up, subjects={one.name: replace(of(one), endpoints=at)}) for one in applications]
    driven = len(rig.driver.shares)
    with (
        rig.measurement.prepare(replace(rig.planned("set"), target=None), ready[0]) as first,
        rig.measurement.prepare(replace(rig.planned("get"), target=None), ready[1]) as second,
    ):
        warm_up_each(rig.measurement, [first, second])
        once = len(rig.driver.shares)
        assert once > driven
        assert log == ["hold other", "release other", "hold one", "release one"]
        warm_up_each(rig.measurement, [first, second])
        assert (len(rig.driver.shares), len(log)) == (once, 4)
    assert not any(one.held for one in applications)


def test_what_is_on_other_machines_is_named_as_it_would_be_here() -> None:
    two = [Endpoint(host="10.0.0.1"), Endpoint(host="10.0.0.2", replica_of=0), Endpoint(host="10.0.0.9", standby=True)]
    nodes = tuple(Endpoint(host=f"10.0.1.{number}", port=7000 + number) for number in (1, 2))
    ready = RunningParts(
        {
            "redis": replace(deployed(Elsewhere("redis")), endpoints=tuple(two)),
            "nodes": replace(deployed(Elsewhere("nodes")), endpoints=nodes),
        },
        {
            "app": RunningSubject(FakeSubject("app"), (Endpoint(host="app.example", port=8080),), {}, 0.0),
            "here": RunningSubject(FakeSubject("here"), (Endpoint(host="localhost", port=8080),), {}, 0.0),
            "ours": RunningSubject(Application("ours", os.getpid()), (Endpoint(host="10.0.2.1"),), {}, 0.0),
        },
    )
    found = {part: (one.host, one.port, one.stores) for part, one in watch_of(ready, ()).elsewhere.items()}
    assert found == {
        "redis": ("10.0.0.1", 6379, True),
        "redis-replica-1": ("10.0.0.2", 6379, True),
        "nodes-1": ("10.0.1.1", 7001, True),
        "nodes-2": ("10.0.1.2", 7002, True),
        "app": ("app.example", 8080, False),
    }


def test_all_that_runs_beneath_an_applications_process_is_its_own() -> None:
    shell = subprocess.Popen(
        ["sh", "-c", "sleep 60 & echo begun; wait"], stdout=subprocess.PIPE, start_new_session=True
    )
    try:
        assert shell.stdout is not None
        assert shell.stdout.readline() == b"begun\n"
        application = Application("app", shell.pid)
        ready = RunningParts({}, {"app": RunningSubject(application, (), {"app": shell.pid}, 0.0)})
        found = read_by_driver(ready)["app"]
        assert found[0] == shell.pid
        assert len(found) == 2, "the shell, and what it waits for"
    finally:
        os.killpg(shell.pid, 9)
        shell.wait()
