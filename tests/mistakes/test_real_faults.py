"""Faults done to a real Redis while the real engine drives it: each is found by the check that is there for it."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import redis
from tests.busy_loops import LOOP

from loadstone.drivers.driver import drive_alone
from loadstone.drivers.native import NativeDriver
from loadstone.drivers.outcome import Interval
from loadstone.experiment.plan.drive_plan import Plan
from loadstone.experiment.plan.run_plan import PlannedTrial
from loadstone.judge.bottleneck import bottleneck_of
from loadstone.judge.checks.checks import judge_trial
from loadstone.machine.placement import place
from loadstone.measure.sampler import Sampler
from loadstone.monitors.monitor import Sample
from loadstone.monitors.watch import MonitorTargets
from loadstone.run_folder.facts import StoredFacts
from loadstone.run_folder.make_trial import make_trial_record
from loadstone.run_folder.observation import Observation, ObservedDrive, PartReadings, measure_phase
from loadstone.run_folder.trial import CheckResult, TrialRecord
from loadstone.servers import registry
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.redis.local import EmbeddedSettings, LocalRedis
from loadstone.servers.redis.monitor import snapshot
from loadstone.servers.server import DeployContext
from loadstone.text.sentences import render_message

PREFIX = "loadstone:fault:"
KEYS = 200
SET = {
    "name": "set",
    "commands": [{"args": ["JSON.SET", "{key}", "$", "{document}"], "expect": "ok"}],
    "writes": "document",
    "read_back": {"args": ["JSON.GET", "{key}"], "expect": "document"},
}
GET = {"name": "get", "commands": [{"args": ["JSON.GET", "{key}"], "expect": "any"}]}
UNCHANGED = ("maxmemory", "maxmemory-policy", "loglevel", "slowlog-log-slower-than")

Fault = Callable[[redis.Redis], Any]


def plan_of(operation: dict[str, Any], **changes: Any) -> Plan:
    data: dict[str, Any] = {
        "endpoints": [{}],
        "model": {"kind": "closed", "users": 4, "think_time_ms": 1.0},
        "pool": {"connections": 4},
        "phases": {"warm_up_s": 0.2, "measure_s": 0.7, "drain_s": 1.0},
        "operations": [operation],
        "keys": {"prefix": PREFIX, "count": KEYS, "loaded": True},
        "interval_s": 0.1,
        "cpus": place().generator_cpus,
    }
    return Plan.model_validate(data | changes)


@dataclass
class Bench:
    """A Redis of our own, and one trial after another on it."""

    server: LocalRedis
    client: redis.Redis

    def trial(
        self, operation: dict[str, Any] = SET, fault: Fault | None = None, load: bool = True, **changes: Any
    ) -> TrialRecord:
        """A judged trial; `fault` is done to the server as soon as the measure phase has begun.

        Without `load` nothing is stored beforehand, and what the operation stores is counted.
        """
        endpoint = self.server._endpoint
        plan = plan_of(operation, **changes).model_copy(update={"endpoints": (endpoint,)})
        intervals: list[Interval] = []
        samples: list[Sample] = []
        faults: list[threading.Thread] = []

        def take(interval: Interval) -> None:
            intervals.append(interval)
            if fault is not None and not faults and interval.phase == "measure":
                faults.append(threading.Thread(target=fault, args=(self.client,)))
                faults[0].start()

        with RedisControl(endpoint) as control, RedisControl(endpoint) as monitored:
            if load:
                self._load(plan)
            keys = control.keys()
            before = snapshot(control)
            cpus = (*place().server_cpus, *place().generator_cpus)
            watch = MonitorTargets(pids=self.server.pids, controls={"redis": {"redis": monitored}}, cpus=cpus)
            with Sampler(registry.monitors(watch), samples.extend, interval_s=0.3) as sampler:
                sampler.now()
                drive = drive_alone(NativeDriver(), plan, take, sampler.rest)
            for thread in faults:
                thread.join()
            after, more = snapshot(control), control.keys()
            control.remove_numbered(PREFIX, plan.keys.count)
        planned = PlannedTrial("b01-001", {}, 1, 1, {}, plan, None)
        counted = StoredFacts(
            operation="set", server="redis", before=keys, after=more, answered=drive.total.ok, keys_before=keys,
            keys_after=more, unknown=sum(drive.total.errors.values()) + drive.total.timeouts + drive.total.in_flight,
        )  # fmt: skip
        readings = PartReadings(
            software={"redis": "redis"}, counters={"redis": (before, after)}, stored=[] if load else [counted]
        )
        driven = ObservedDrive(planned.name, plan, drive, intervals, samples)
        observation = Observation(driven, measure_phase(drive), readings, placement=place())
        return judge_trial(make_trial_record(planned, observation))

    @staticmethod
    def _load(plan: Plan) -> None:
        """Store every key of the trial, as its version 1."""
        changes = {
            "model": {"kind": "closed", "users": 4},
            "keys": {"prefix": PREFIX, "count": KEYS, "distribution": "exactly_once"},
            "phases": {"warm_up_s": 0.0, "measure_s": 5.0, "drain_s": 1.0},
        }
        load = plan_of(SET, **changes).model_copy(update={"endpoints": plan.endpoints, "seed": plan.seed})
        assert drive_alone(NativeDriver(), load).total.ok == KEYS


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRedis]:
    server = EmbeddedSettings(modules=("json",)).server("redis")
    server.start(DeployContext(cpus=place().server_cpus, work_root=tmp_path_factory.mktemp("server")))
    yield server
    server.stop()


@pytest.fixture
def bench(server: LocalRedis) -> Iterator[Bench]:
    endpoint = server._endpoint
    with redis.Redis(host=endpoint.host, port=endpoint.port, password=endpoint.password) as client:
        client.flushall()  # what a test left that failed
        settings = {name: client.config_get(name)[name] for name in UNCHANGED}
        yield Bench(server, client)
        client.client_unpause()
        for name, value in settings.items():
            client.config_set(name, value)


def check_of(trial: TrialRecord, name: str) -> CheckResult:
    return next(check for check in trial.checks if check.name == name)


def key(number: int) -> str:
    return f"{PREFIX}{number:012d}"


@pytest.mark.alone
@pytest.mark.parametrize("operation", [SET, GET], ids=["set", "get"])
def test_without_a_fault_nothing_is_found(bench: Bench, operation: dict[str, Any]) -> None:
    trial = bench.trial(operation)
    exact = {"finished", "errors", "conservation", "server_counter", "payload", "key_count", "evicted_keys"}
    quiet = {"background", "monitor_clients", "slow_log", "log_level", "connections", "clock"}
    for name in exact | quiet | ({"hit_rate"} if operation is GET else {"replies"}):
        assert check_of(trial, name).verdict == "valid", check_of(trial, name)
    assert trial.counts.ok > 0
    found = bottleneck_of([trial])
    assert found is not None
    said = render_message(found.message)
    assert found.part != "unknown" or "other programs" in said, said


@pytest.mark.fault("another client changes keys of the run", "the trial is invalid", area="data")
def test_another_client_that_writes_to_our_keys(bench: Bench) -> None:
    def overwrite(client: redis.Redis) -> None:
        for number in range(KEYS):
            client.execute_command("JSON.SET", key(number), "$", '{"of": "another"}')

    assert check_of(bench.trial(fault=overwrite), "server_counter").verdict == "invalid"


def test_another_client_that_stores_keys_beside_ours(bench: Bench) -> None:
    trial = bench.trial(fault=lambda client: client.set(f"{PREFIX}other", "x"))
    bench.client.delete(f"{PREFIX}other")
    found = check_of(trial, "key_count")
    assert (found.verdict, found.measured) == ("invalid", 1)
    assert check_of(trial, "server_counter").verdict == "valid"


NEW = {"keys": {"prefix": PREFIX, "count": 6_000, "distribution": "exactly_once"}, "load": False}
"""Every operation stores another document."""


def test_what_was_answered_as_stored_is_there(bench: Bench) -> None:
    found = check_of(bench.trial(**NEW), "stored_rows")
    assert (found.verdict, found.measured) == ("valid", 0)


@pytest.mark.fault("another client changes keys of the run")
def test_rows_that_somebody_else_stored_or_removed(bench: Bench) -> None:
    def stores(client: redis.Redis) -> None:
        for number in range(5):
            client.set(f"{PREFIX}other:{number}", "x")

    def removes(client: redis.Redis) -> None:
        client.delete(*(f"{PREFIX}other:{number}" for number in range(5)))

    for fault in (stores, removes):
        found = check_of(bench.trial(fault=fault, **NEW), "stored_rows")
        assert (found.verdict, found.measured) == ("invalid", 5)


@pytest.mark.alone
@pytest.mark.fault("a server's connections grow without end", "the trial is suspect", area="load")
def test_connections_that_are_opened_and_never_given_back(bench: Bench) -> None:
    phases = {"warm_up_s": 0.2, "measure_s": 4.0, "drain_s": 1.0}
    leaked: list[socket.socket] = []
    endpoint = bench.server._endpoint

    def leaks(_: redis.Redis) -> None:
        began_s = time.monotonic()
        for number in range(80):  # by the clock: after a stall it makes up for what it missed
            time.sleep(max(0.0, began_s + 0.05 * number - time.monotonic()))
            leaked.append(socket.create_connection((endpoint.host, endpoint.port)))

    try:
        found = check_of(bench.trial(fault=leaks, phases=phases), "connection_leak")
        assert found.verdict == "suspect"
        assert render_message(found.reason).startswith("The connections at redis rose all the time")
    finally:
        for connection in leaked:
            connection.close()


@pytest.mark.fault("another client changes keys of the run")
def test_keys_that_vanish(bench: Bench) -> None:
    trial = bench.trial(GET, fault=lambda client: client.unlink(*map(key, range(KEYS // 2))))
    assert check_of(trial, "key_count").measured == KEYS // 2
    assert check_of(trial, "hit_rate").verdict == "invalid"
    assert check_of(trial, "errors").verdict == "valid"


@pytest.mark.fault("a server evicts keys in a trial", "the trial is invalid", area="data")
def test_a_server_that_evicts(bench: Bench) -> None:
    def shrink(client: redis.Redis) -> None:
        client.config_set("maxmemory-policy", "allkeys-random")
        client.config_set("maxmemory", client.info("memory")["used_memory"] - 20_000)

    found = check_of(bench.trial(fault=shrink), "evicted_keys")
    assert found.verdict == "invalid"
    assert found.measured


@pytest.mark.alone  # how long the fork stopped the server
def test_a_snapshot_of_the_server_within_the_trial(bench: Bench) -> None:
    found = check_of(bench.trial(fault=lambda client: client.bgsave()), "background")
    assert found.verdict == "suspect"
    assert "the fork stopped it for" in render_message(found.reason)


def test_somebody_who_watches_every_command(bench: Bench) -> None:
    with bench.client.monitor():
        watched = bench.trial()
    assert check_of(watched, "monitor_clients").verdict == "suspect"

    def begin(client: redis.Redis) -> None:
        with client.monitor():
            pass

    assert check_of(bench.trial(fault=begin), "monitor_clients").measured == 1


@pytest.mark.fault("a server does not answer", "its operations are timeouts, all accounted for", area="load")
def test_a_paused_server(bench: Bench) -> None:
    trial = bench.trial(
        fault=lambda client: client.client_pause(400),
        timeouts={"request_ms": 100.0},
        model={"kind": "closed", "users": 4},
    )
    assert trial.counts.timeouts > 0
    assert check_of(trial, "conservation").verdict == "valid"
    assert check_of(trial, "connections").verdict == "suspect"


@pytest.mark.fault(
    "arrivals meet a paused server", "unsent arrivals are dropped and counted; the trial is invalid", area="load"
)
def test_arrivals_that_find_a_paused_server(bench: Bench) -> None:
    open_model = {"kind": "open", "rate_per_s": 500.0, "backlog_max": 10}
    trial = bench.trial(fault=lambda client: client.client_pause(400), model=open_model)
    assert check_of(trial, "dropped_arrivals").verdict == "invalid"
    assert check_of(trial, "conservation").verdict == "valid"


@pytest.mark.fault("a server cuts connections", "counted; the trial is suspect", area="load")
def test_connections_that_are_cut(bench: Bench) -> None:
    def cut(client: redis.Redis) -> None:
        own = client.client_id()
        busy = [one for one in client.client_list() if one["cmd"] == "json.set" and int(one["id"]) != own]
        client.client_kill_filter(_id=busy[0]["id"])

    found = check_of(bench.trial(fault=cut), "connections")
    assert found.verdict == "suspect"
    assert found.measured


@pytest.mark.parametrize(
    ("name", "value", "check"), [("loglevel", "debug", "log_level"), ("slowlog-log-slower-than", "0", "slow_log")]
)
def test_a_server_that_writes_everything_down(bench: Bench, name: str, value: str, check: str) -> None:
    bench.client.config_set(name, value)
    assert check_of(bench.trial(), check).verdict == "suspect"


@pytest.mark.alone
@pytest.mark.fault("another program takes the generator's or server's core")
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs processes that can be pinned")
def test_a_hot_loop_on_the_servers_core(bench: Bench) -> None:
    cpus = set(place().server_cpus)
    hogs = [
        subprocess.Popen(
            [
                sys.executable,
                "-c",
                f"import os\nos.sched_setaffinity(0, {{{cpu}}})\nprint(flush=True)\n{LOOP}",
            ],
            stdout=subprocess.PIPE,
        )
        for cpu in cpus
    ]
    try:
        for hog in hogs:
            assert hog.stdout is not None
            hog.stdout.readline()
        trial = bench.trial(model={"kind": "closed", "users": 4})
    finally:
        for hog in hogs:
            hog.kill()
            hog.communicate()
    found = check_of(trial, "taken")
    assert found.verdict in ("suspect", "invalid"), found
    assert "loadstone 0." in render_message(found.reason), (
        "the loop was started by this process, so it is named as loadstone's"
    )


def test_a_server_that_dies(tmp_path: Path) -> None:
    server = EmbeddedSettings(modules=("json",)).server("redis")
    endpoint = server.start(DeployContext(work_root=tmp_path))
    try:
        with redis.Redis(host=endpoint.host, port=endpoint.port, password=endpoint.password) as client:
            plan = plan_of(SET, timeouts={"gone_s": 0.3}).model_copy(update={"endpoints": (endpoint,)})
            intervals: list[Interval] = []

            def take(interval: Interval) -> None:
                if interval.phase == "measure" and not any(one.phase == "measure" for one in intervals):
                    client.shutdown(nosave=True)
                intervals.append(interval)

            drive = drive_alone(NativeDriver(), plan, take)
    finally:
        server.stop()
    planned = PlannedTrial("b01-001", {}, 1, 1, {}, plan, None)
    driven = ObservedDrive(planned.name, plan, drive, intervals)
    readings = PartReadings(software={"redis": "redis"}, counters={"redis": (None, None)})
    trial = judge_trial(make_trial_record(planned, Observation(driven, measure_phase(drive), readings)))
    assert trial.verdict == "invalid"
    assert check_of(trial, "finished").verdict == "invalid"
    assert check_of(trial, "conservation").verdict == "valid"
