"""Parts that are killed and started again in the middle of a trial: it is invalid, and the reason says so."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.changed_facts import with_facts, written

from loadstone.drivers.outcome import Interval
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.measure.snapshots import part_starts, snapshots, starts_before
from loadstone.programs.ready import RunningParts, RunningSubject
from loadstone.programs.subjects.url import UrlSubject
from loadstone.run_folder.facts import PartStart
from loadstone.servers.deployed import RunningServer
from loadstone.servers.mariadb.control import MariaDbControl
from loadstone.servers.mariadb.local import find
from loadstone.text.sentences import render_message

from .conftest import Rig, UsersRedis, check_of, experiment_text

Start = Callable[..., UsersRedis]
Open = Callable[[str], Rig]


def once_in_measure(act: Callable[[], None]) -> Callable[[Interval], None]:
    """Does `act` at the first interval of the measure phase."""
    done: list[bool] = []

    def on_interval(interval: Interval) -> None:
        if interval.phase == "measure" and not done:
            done.append(True)
            act()

    return on_interval


def test_a_redis_of_the_users_that_was_restarted_makes_the_trial_invalid(users_redis: Start, rig: Open) -> None:
    theirs = users_redis()
    run = rig(experiment_text(f"{{kind: url, url: '{theirs.url}'}}"))
    assert check_of(run.trial(), "restarted").verdict == "valid"

    def again() -> None:
        theirs.kill()
        theirs.start()

    spoiled = run.trial(once_in_measure(again))
    found = check_of(spoiled, "restarted")
    assert (spoiled.verdict, found.verdict, found.measured) == ("invalid", "invalid", 1)
    assert render_message(found.reason).startswith("redis was restarted during the trial")
    assert check_of(run.trial(), "restarted").verdict == "valid", "the next trial begins with the new one"


@pytest.mark.fault("a server, node or replica restarts in a trial")
def test_a_redis_of_ours_that_was_restarted_makes_the_trial_invalid(rig: Open) -> None:
    run = rig(experiment_text("{kind: embedded}"))
    server = run.servers.need(run.planned()).servers["redis"].server

    def again() -> None:
        os.kill(server.pids["redis"], signal.SIGKILL)
        server.restart()

    spoiled = run.trial(once_in_measure(again))
    assert render_message(check_of(spoiled, "restarted").reason).startswith("redis was restarted")
    assert spoiled.verdict == "invalid"


@pytest.mark.fault("a server, node or replica restarts in a trial")
@pytest.mark.parametrize(
    ("server", "part"),
    [("{kind: cluster, nodes: 3}", "redis-2"), ("{kind: replicated, replicas: 1}", "redis-replica-1")],
)
def test_a_node_that_was_restarted_is_named(rig: Open, server: str, part: str) -> None:
    """A node's process ends and its server is whole again before the trial's end is looked at."""
    run = rig(experiment_text(server))
    ready = run.servers.need(run.planned())
    deployed = ready.servers["redis"]
    counted = snapshots(ready)
    before = starts_before(ready, counted)
    assert part in before
    os.kill(deployed.pids[part], signal.SIGKILL)
    deployed.server.restart()
    after = part_starts(ready, before, snapshots(ready))[part]
    assert after.after is not None
    assert after.before != after.after


def test_data_that_a_restart_lost_is_written_again(users_redis: Start, rig: Open) -> None:
    theirs = users_redis()
    rows = """\
data:
  rows:
    rows: 50
    columns: {id: "{number}"}
    into: [{server: redis, commands: ["SADD loadstone:rows {id}"]}]
"""
    run = rig(experiment_text(f"{{kind: url, url: '{theirs.url}'}}") + rows)

    def again() -> None:
        theirs.kill()
        theirs.start()

    run.trial(once_in_measure(again))
    with theirs.client() as client:
        assert client.scard("loadstone:rows") == 0, "it keeps nothing on its disk"
        run.trial()
        assert client.scard("loadstone:rows") == 50


def test_an_application_that_came_back_as_another_process_is_observed() -> None:
    """It answers, but the process that answered before is gone."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)

    class Answers(UrlSubject):
        def alive(self) -> bool:
            return True

    one = RunningSubject(Answers("app", ["http://127.0.0.1:9"]), (Endpoint(),), {"app": process.pid}, 0.0)
    ready = RunningParts({}, {"app": one})
    before = starts_before(ready, {})
    same = part_starts(ready, before, {})["app"]
    assert same.before == same.after
    process.communicate(b"\n")
    gone = part_starts(ready, before, {})["app"]
    assert gone.after is not None
    assert gone.before != gone.after


@pytest.mark.fault("a server, node or replica restarts in a trial")
@pytest.mark.skipif(find("mariadbd") is None, reason="no MariaDB: scripts/apt installs it where it can")
def test_a_mariadb_that_was_restarted_is_observed_by_its_process(rig: Open) -> None:
    run = rig(experiment_text("{kind: embedded}"))
    ready = run.servers.need(replace(run.planned(), servers={"db": {"kind": "mariadb"}}, data=(), target=None))
    server = ready.servers["db"].server
    before = starts_before(ready, {})
    same = part_starts(ready, before, {})["db"]
    assert same.before == same.after is not None
    os.kill(server.pids["db"], signal.SIGKILL)
    server.restart()
    again = part_starts(ready, before, {})["db"]
    assert again.after is not None
    assert again.after != again.before


class Uptime(MariaDbControl):
    """Tells this uptime; the clock of a real one cannot be set."""

    def __init__(self, seconds: int) -> None:
        super().__init__(Endpoint())
        self.seconds = seconds

    def query(self, statement: str, *values: object) -> list[tuple[Any, ...]]:  # noqa: ARG002 (the seam's)
        return [("Uptime", str(self.seconds))]


def remote(control: MariaDbControl) -> RunningParts:
    return RunningParts({"db": RunningServer(None, Endpoint(), (), control, control, {})}, {})  # type: ignore[arg-type]


def test_a_mariadb_whose_process_cannot_be_observed_tells_its_uptime() -> None:
    control = Uptime(1000)
    ready = remote(control)
    before = starts_before(ready, {})
    control.seconds = 3
    found = part_starts(ready, before, {})["db"]
    assert (found.uptime_before_s, found.uptime_after_s) == (1000, 3)


@pytest.mark.parametrize(
    "rows", [[], [("Uptime",)], [("Uptime", None)], [("Uptime", "long")], [("Uptime", "9" * 5000)]]
)
def test_a_mariadb_that_answers_nonsense_tells_no_uptime(rows: list[tuple[Any, ...]]) -> None:
    control = Uptime(1000)
    control.query = lambda *_: rows  # type: ignore[method-assign]
    assert starts_before(remote(control), {})["db"].uptime_s is None


@pytest.mark.parametrize(
    ("start", "verdict"),
    [
        (PartStart(uptime_before_s=1000, uptime_after_s=1010, between_s=10.4), "valid"),
        (PartStart(uptime_before_s=1000, uptime_after_s=1008.6, between_s=10.4), "valid"),  # it counts whole seconds
        (PartStart(uptime_before_s=1000, uptime_after_s=8, between_s=10.4), "invalid"),
        (PartStart(uptime_before_s=3, uptime_after_s=9, between_s=10.4), "invalid"),
        (PartStart(uptime_before_s=1000, uptime_after_s=None), "unknown"),
        (PartStart(before="process 7, tick 1", after="process 7, tick 1", uptime_after_s=1), "valid"),
        (PartStart(before="process 7, tick 1", after="ended"), "invalid"),
        (PartStart(before="process 7, tick 1", after=None), "unknown"),
        (PartStart(before="a", after="b", uptime_before_s=500, uptime_after_s=8, between_s=10.4), "invalid"),
        # A server that ran before the drive began was not started in it: a balancer chose another one.
        (PartStart(before="a", after="b", uptime_before_s=500, uptime_after_s=900, between_s=10.4), "unknown"),
        (PartStart(uptime_before_s=1000, uptime_after_s=300, between_s=10.4), "unknown"),
    ],
)
def test_what_is_a_restart(synthetic: Any, start: PartStart, verdict: str) -> None:
    from loadstone.judge.checks.checks import judge_trial

    trial = synthetic.make_trial(starts={"db": start})
    alone = with_facts(trial, servers={})
    assert check_of(judge_trial(alone), "restarted").verdict == verdict


@pytest.mark.fault(
    "the clock is set in a trial", "no figure changes, no restart is reported, and a note says so", area="servers"
)
def test_the_same_processes_are_no_restart_whatever_the_clock_does(synthetic: Any) -> None:
    """A process that can be observed decides; uptimes follow the server's clock, which may be set back."""
    from loadstone.judge.checks.checks import judge_trial

    start = PartStart(before="process 7, tick 1", after="process 7, tick 1", uptime_before_s=100, uptime_after_s=1)
    assert check_of(judge_trial(synthetic.make_trial(starts={"db": start})), "restarted").verdict == "valid"


@pytest.mark.fault(
    "a balancer answers `INFO` from several nodes",
    "no restart or eviction is reported; counters are unknown",
    area="servers",
)
def test_another_server_behind_one_address_is_named_and_its_counters_are_not_compared(synthetic: Any) -> None:
    from loadstone.judge.checks.checks import judge_trial

    trial = synthetic.make_trial()
    servers = written(trial)["servers"]
    ((name, sides),) = servers.items()
    sides["after"] |= {"run_id": "other", "counters": sides["after"]["counters"] | {"evicted_keys": 5000}}
    start = PartStart(before="a", after="other", uptime_before_s=500, uptime_after_s=900, between_s=10)
    judged = judge_trial(with_facts(trial, servers=servers, starts={name: start.model_dump()}))
    found = check_of(judged, "restarted")
    assert (found.verdict, render_message(found.reason).split(":")[0]) == ("unknown", name)
    assert "another server answered after the drive" in render_message(found.reason)
    assert check_of(judged, "evicted_keys").verdict == "unknown"
    assert "another one answered" in render_message(check_of(judged, "server_counter").reason)


def test_every_part_that_was_restarted_is_named(synthetic: Any) -> None:
    from loadstone.judge.checks.checks import judge_trial

    other = PartStart(before="a", after="b")
    found = check_of(
        judge_trial(synthetic.make_trial(starts={"db": other, "app-2": other.model_copy(update={"after": "c"})})),
        "restarted",
    )
    assert found.measured == 2
    assert render_message(found.reason).startswith("app-2, db were restarted")
