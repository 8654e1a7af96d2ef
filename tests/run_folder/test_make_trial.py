"""From a drive to the record of a trial."""

import json
from dataclasses import replace
from types import ModuleType

import pytest
from pydantic import ValidationError

from loadstone.machine.limits_in_force import LimitInForce
from loadstone.monitors.monitor import Sample
from loadstone.run_folder.facts import AvgMax, Ceiling, ServerCounters, StoredFacts, SubjectFacts, TrialFacts
from loadstone.run_folder.make_trial import failed_trial_record, make_trial_record
from loadstone.run_folder.observation import Observation, ObservedDrive, measure_phase
from loadstone.run_folder.trial import TrialRecord
from loadstone.servers.redis.monitor import CommandStat

HALF_A_CPU = LimitInForce(status="in_force", value=0.5)
REFUSED = LimitInForce(status="unavailable", why="no")


@pytest.fixture(scope="module")
def drive(synthetic: ModuleType):
    return synthetic.make_drive(synthetic.make_plan())


@pytest.fixture(scope="module")
def trial(synthetic: ModuleType, drive) -> TrialRecord:
    return synthetic.make_trial(drive)


def test_counts_and_rates_are_the_drives(trial: TrialRecord, drive) -> None:
    operation = drive.record.operations["set"]
    assert trial.counts.model_dump() == operation.counts.model_dump()
    assert trial.duration_s == drive.record.measure_s == 6.0
    assert trial.throughput_per_s == trial.goodput_per_s == operation.window_ok / 6.0 == 200.0
    assert trial.started_unix_ns == drive.record.started_unix_ns
    assert trial.phases["measure"] == (1.0, 7.0)


def test_it_names_the_drive_and_the_slices_that_it_came_from(trial: TrialRecord) -> None:
    assert trial.drive == "b01-001"
    assert trial.slices == ((1.0, 7.0),)
    assert json.loads(trial.model_dump_json())["slices"] == [[1.0, 7.0]]


def test_a_drive_that_ended_before_it_measured_has_no_slice_and_no_cpu(synthetic: ModuleType, drive) -> None:
    phases = {name: times for name, times in drive.record.phases.items() if name == "warm_up"}
    record = drive.record.model_copy(update={"phases": phases, "measure_s": 0.0})
    found = synthetic.make_trial(replace(drive, record=record))
    assert (found.drive, found.slices, found.goodput_per_s) == ("b01-001", (), 0.0)
    assert TrialFacts.model_validate(found.facts).parts == {}


def test_a_trial_is_not_valid_until_it_is_judged(trial: TrialRecord) -> None:
    assert trial.verdict == "suspect"
    assert trial.checks == []


def test_sent_is_all_that_ended_or_is_in_flight(synthetic: ModuleType) -> None:
    drive = synthetic.make_drive(synthetic.make_plan(), errors={"server_oom": 5, "wrong_reply": 2})
    counts = synthetic.make_trial(drive).counts
    assert counts.errors == {"server_oom": 5, "wrong_reply": 2}
    assert counts.sent == counts.ok + 7 + counts.timeouts + counts.in_flight


def test_errors_count_in_throughput_and_not_in_goodput(synthetic: ModuleType) -> None:
    drive = synthetic.make_drive(synthetic.make_plan(), errors={"server_oom": 60})
    found = synthetic.make_trial(drive)
    assert found.throughput_per_s == pytest.approx(210.0)
    assert found.goodput_per_s == pytest.approx(200.0)


def test_failures_push_the_high_quantiles_out_of_reach(synthetic: ModuleType) -> None:
    clean = synthetic.make_trial(synthetic.make_drive(synthetic.make_plan()))
    failing = synthetic.make_drive(synthetic.make_plan(), errors={"server_oom": 400})
    found = synthetic.make_trial(failing)
    assert clean.response_ns.p90 is not None
    assert found.response_ns.p90 is None
    assert found.response_ns.p50 > clean.response_ns.p50
    assert found.response_ns.max == clean.response_ns.max


def test_the_peak_is_the_best_whole_second(synthetic: ModuleType) -> None:
    drive = synthetic.make_drive(synthetic.make_plan(interval_s=0.25), per_interval=50, measure_intervals=8)
    busy = drive.intervals[3]
    more = busy.operations["set"].model_copy(update={"ok": 90})
    drive.intervals[3] = busy.model_copy(update={"operations": {"set": more}})
    assert synthetic.make_trial(drive).peak_per_s == pytest.approx(240.0)


def test_a_trial_below_a_second_has_its_mean_as_peak(synthetic: ModuleType) -> None:
    drive = synthetic.make_drive(synthetic.make_plan(interval_s=0.25), per_interval=50, measure_intervals=2)
    found = synthetic.make_trial(drive)
    assert found.peak_per_s == found.throughput_per_s


def test_cpu_is_that_of_the_measure_phase(trial: TrialRecord) -> None:
    assert trial.cpu_s == {"generator": 0.012, "loadstone": pytest.approx(0.288), "redis": pytest.approx(3.6)}
    facts = TrialFacts.model_validate(trial.facts)
    assert facts.parts["redis"].mean_share == pytest.approx(0.6)
    assert facts.parts["redis"].main_thread_share == pytest.approx(0.55)
    assert facts.parts["redis"].max_share == pytest.approx(0.6)
    assert facts.parts["redis"].wait_share == pytest.approx(0.004)
    assert facts.parts["generator"].wait_share == 0.0
    assert facts.host.steal_share == 0.0
    assert facts.host.idle_share == pytest.approx(0.65)
    assert facts.host.swapped_bytes == 0.0
    assert facts.host.listen_drops == 0.0


def test_without_monitors_nothing_is_made_up(synthetic: ModuleType, drive) -> None:
    found = synthetic.make_trial(drive, samples=[], counters={"redis": (None, None)}, ceiling=None, placement=None)
    assert found.cpu_s == {"generator": 0.012}
    facts = TrialFacts.model_validate(found.facts)
    assert facts.host.steal_share is None
    assert facts.servers["redis"].before is None


def test_a_server_observed_by_its_info_alone_has_cpu_too(synthetic: ModuleType, drive) -> None:
    """A server by URL: no process to look at, but INFO tells."""
    observed = [s for s in drive.samples if s.part == "redis" and s.metric.startswith("used_cpu")]
    renamed = [s._replace(metric=s.metric.removesuffix("_main_thread")) for s in observed]
    found = synthetic.make_trial(drive, samples=renamed)
    assert found.cpu_s["redis"] == pytest.approx(0.55 * 6)


def test_time_in_the_kernel_and_of_children_is_told_apart(synthetic: ModuleType, drive) -> None:
    process = [
        Sample(s.unix_s, "redis", metric, factor * s.value)
        for s in drive.samples
        if (s.part, s.metric) == ("redis", "cpu_s")
        for metric, factor in (("cpu_s", 1.0), ("system_s", 0.6), ("children_s", 0.1))
    ]
    part = synthetic.make_trial(drive, samples=process).facts.parts["redis"]
    assert part.mean_share == pytest.approx(0.6)
    assert part.system_share == pytest.approx(0.36)
    assert part.children_s == pytest.approx(0.36)


def test_a_server_elsewhere_reports_them_itself(synthetic: ModuleType, drive) -> None:
    names = ("used_cpu_user", "used_cpu_sys", "used_cpu_sys_children", "used_cpu_user_children")
    own = [
        Sample(s.unix_s, "redis", name, share * s.value)
        for s in drive.samples
        if (s.part, s.metric) == ("redis", "cpu_s")
        for name, share in zip(names, (0.5, 0.5, 0.1, 0.2), strict=True)
    ]
    part = synthetic.make_trial(drive, samples=own).facts.parts["redis"]
    assert part.mean_share == pytest.approx(0.6)
    assert part.system_share == pytest.approx(0.3)
    assert part.children_s == pytest.approx(0.3 * 3.6)


def test_the_line_holds_no_histogram_address_or_secret(trial: TrialRecord) -> None:
    text = trial.model_dump_json()
    assert "HISTF" not in text
    assert "hunter2" not in text
    assert "6379" not in text
    assert len(text) < 12_000


def test_the_facts_come_back_from_the_line(trial: TrialRecord, drive) -> None:
    again = TrialRecord.model_validate(json.loads(trial.model_dump_json()))
    assert again == trial
    facts = again.facts
    assert facts.plan is not None
    assert facts.plan.model == drive.plan.model
    assert facts.plan.operations == drive.plan.operations
    assert facts.drive is not None
    assert facts.drive.total == drive.record.total
    assert facts.drive.threads == drive.record.threads
    assert len(facts.series) == 6
    assert {point.completed for point in facts.series} == {200}


def test_a_record_has_no_addresses_and_no_passwords(synthetic: ModuleType, drive) -> None:
    endpoint = drive.plan.endpoints[0].model_copy(update={"host": "cache.example", "password": "pw-of-cache"})
    given = replace(drive, plan=drive.plan.model_copy(update={"endpoints": (endpoint,)}))
    made = synthetic.make_trial(given)
    for said in (repr(made), made.model_dump_json()):
        assert "pw-of-cache" not in said
        assert "cache.example" not in said
    assert "endpoints" not in json.loads(made.model_dump_json())["facts"]["plan"]


DAMAGED = [{}, {"plan": {}}, {"drive": 3}, {"plan": {"seed": "x"}, "series": None}, {"seen": {"redis": {"cpu": []}}}]


@pytest.mark.parametrize("facts", DAMAGED)
def test_of_damaged_facts_the_attempt_is_left(trial: TrialRecord, facts: dict[str, object]) -> None:
    line = json.loads(trial.model_dump_json()) | {"facts": {"attempt": 3, **facts}}
    assert TrialRecord.model_validate(line).facts == TrialFacts(attempt=3)


@pytest.mark.parametrize("facts", [None, 3, [], {"attempt": "x"}, {"attempt": "2", "plan": {}}])
def test_a_line_without_facts_or_attempt_is_damaged(trial: TrialRecord, facts: object) -> None:
    line = json.loads(trial.model_dump_json()) | {"facts": facts}
    with pytest.raises(ValidationError):
        TrialRecord.model_validate(line)


def test_refused_calls_are_calls(drive) -> None:
    before, _ = drive.snapshots["redis"]
    refused = {**before.commands, "json.set": CommandStat(10, 100, 3, 0)}
    snapshot = type(before)(before.unix_s, before.run_id, before.uptime_s, before.figures, refused, {})
    assert ServerCounters.of(snapshot).calls["json.set"] == 13


def test_the_ceiling_is_taken_from_two_drives(synthetic: ModuleType, drive) -> None:
    single = synthetic.make_drive(synthetic.make_plan(users=1), seed=2)
    found = Ceiling.of(drive.plan, drive.record, single.record)
    assert found.throughput_per_s == 200.0
    assert found.users == 32
    assert found.hottest_thread_share == pytest.approx(0.002)
    assert found.floor_p50_ns == single.record.operations["set"].response_ns.p50
    assert Ceiling.of(drive.plan, drive.record).floor_p50_ns is None


def test_a_trial_that_was_never_driven_has_no_figures(synthetic: ModuleType) -> None:
    plan = synthetic.make_plan()
    planned = synthetic.planned_trial("b01-004", {"operation": "set"}, plan)
    found = failed_trial_record(planned, plan, "server redis: connection refused", 1_790_000_000_000_000_000)
    assert found.verdict == "invalid"
    assert found.counts.offered == 0
    assert set(found.response_ns.model_dump().values()) == {None}
    assert found.facts.failure == "server redis: connection refused"
    assert (found.drive, found.slices) == ("", ())
    assert "hunter2" not in found.model_dump_json()


def test_several_operations_are_taken_together(synthetic: ModuleType) -> None:
    """A mix: counts add up and the latencies are those of all operations, merged."""
    plan = synthetic.make_plan()
    one, other = (synthetic.make_drive(synthetic.make_plan(name), seed=n) for n, name in enumerate(["set", "get"], 5))
    record = one.record.model_copy(update={"operations": {**one.record.operations, **other.record.operations}})
    driven = ObservedDrive("b01-001", plan, record, one.intervals)
    planned = synthetic.planned_trial("b01-001", {}, plan)
    found = make_trial_record(planned, Observation(driven, measure_phase(record)))
    parts = [one.record.operations["set"], other.record.operations["get"]]
    assert found.counts.ok == sum(part.counts.ok for part in parts)
    assert found.response_ns.min == min(part.response_ns.min for part in parts)
    assert found.response_ns.max == max(part.response_ns.max for part in parts)
    low, high = sorted(part.response_ns.p50 for part in parts)
    assert low <= found.response_ns.p50 <= high
    weighted = sum(part.response_ns.mean * part.counts.ok for part in parts) / found.counts.ok
    assert found.response_ns.mean == pytest.approx(weighted)


def of_process(synthetic: ModuleType, part: str, cores: float, main: float, **others: float) -> list[Sample]:
    """A process observed each second: what its threads took together, and its first one alone."""
    start_s = synthetic.STARTED_NS / 1e9
    found = []
    for second in range(-1, 10):
        stated = {"cpu_s": 7 + cores * second, "cpu_share": cores, "main_thread_share": main}
        stated |= {"main_thread_wait_s": 0.01 * second, "rss_bytes": 3e8, **others}
        found += [Sample(start_s + second, part, metric, value) for metric, value in stated.items()]
    return found


@pytest.fixture(scope="module")
def of_an_application(synthetic: ModuleType, drive) -> TrialFacts:
    """Two replicas of a JVM and one Node process before a MariaDB, and a Redis beside it."""
    plan = drive.plan
    planned = synthetic.planned_trial("b01-001", {"operation": "set"}, plan)
    planned.servers["mariadb"] = {"kind": "mariadb", "limits": {"cpu": 1.0}}
    samples = [
        *drive.samples,
        *of_process(synthetic, "mariadb", 0.8, 0.001, threads_connected=12.0, fsyncs_per_s=100.0),
        *of_process(synthetic, "app-1", 0.7, 0.0, hikari_pending=3.0, tomcat_busy=10.0),
        *of_process(synthetic, "app-2", 0.5, 0.0, hikari_pending=0.0),
        *of_process(synthetic, "nest", 0.9, 0.85),
    ]
    trial = synthetic.make_trial(
        drive,
        replace(planned, target="app"),
        samples=samples,
        software={"redis": "redis", "mariadb": "mariadb"},
        counters={**drive.snapshots, "mariadb": (None, None)},
        stored=[StoredFacts(operation="set", server="mariadb", before=1, after=3, answered=2)],
        subjects={"app": SubjectFacts(replicas=2, ours=True), "nest": SubjectFacts(replicas=1, ours=True)},
        settings={"mariadb": {"query_cache_size": "0"}},
        mismatched={"mariadb": {"innodb_buffer_pool_size": "64M"}},
        limits={"mariadb": {"cpu": LimitInForce(status="in_force", value=1.0)}},
    )
    return TrialFacts.model_validate(json.loads(trial.model_dump_json())["facts"])


def test_what_is_known_of_an_application_comes_back(of_an_application: TrialFacts) -> None:
    found = of_an_application
    assert found.stored[0].answered == 2
    assert found.subjects["app"].replicas == 2
    assert found.target == "app"
    assert found.settings == {"mariadb": {"query_cache_size": "0"}}
    assert found.unlike == {"mariadb": {"innodb_buffer_pool_size": "64M"}}
    assert list(found.servers) == ["redis"], "a MariaDB has no counters of a Redis"


def test_a_main_thread_is_given_what_works_in_one(of_an_application: TrialFacts) -> None:
    parts = of_an_application.parts
    stated = {name: part.main_thread_share for name, part in parts.items()}
    assert stated["redis"] == pytest.approx(0.55)
    assert stated["nest"] == pytest.approx(0.85)
    assert [stated[name] for name in ("mariadb", "app-1", "app-2", "generator")] == [None] * 4
    assert parts["nest"].wait_share is not None
    assert parts["mariadb"].wait_share is None
    assert parts["app-1"].wait_share is None
    assert parts["app-1"].mean_share == pytest.approx(0.7)
    assert (parts["mariadb"].cpu_limit, parts["redis"].cpu_limit) == (1.0, None)


@pytest.mark.parametrize(
    ("reported", "kept", "cpus"),
    [
        ({"mariadb": {"cpu": HALF_A_CPU}}, HALF_A_CPU, 0.5),
        ({"mariadb": {"cpu": REFUSED}}, REFUSED, None),
        ({}, LimitInForce(status="unknown"), None),
        (None, LimitInForce(status="unknown"), None),
    ],
)
def test_only_a_limit_in_force_is_one(synthetic: ModuleType, drive, reported, kept, cpus) -> None:
    planned = synthetic.planned_trial("b01-001", {"operation": "set"}, drive.plan)
    planned.servers["mariadb"] = {"kind": "mariadb", "limits": {"cpu": 1.0}, "settings": {"log_bin": "OFF"}}
    samples = [*drive.samples, *of_process(synthetic, "mariadb", 0.8, 0.001, threads_connected=12.0)]
    software = {"redis": "redis", "mariadb": "mariadb"}
    given = {} if reported is None else {"limits": reported}
    trial = synthetic.make_trial(drive, planned, samples=samples, software=software, **given)
    found = TrialFacts.model_validate(trial.facts)
    assert found.limits == {"mariadb": {"cpu": kept}}
    assert found.parts["mariadb"].cpu_limit == cpus
    assert found.settings == {"mariadb": {}}, "it was asked and did not answer"


def test_what_monitors_saw_is_kept_as_average_and_maximum(of_an_application: TrialFacts) -> None:
    observed = of_an_application.seen
    assert observed["host"]["id"] == AvgMax(avg=65.0, max=65.0)
    assert observed["app-1"]["hikari_pending"] == AvgMax(avg=3.0, max=3.0)
    assert observed["mariadb"]["fsyncs_per_s"].avg == 100.0
    assert observed["redis"]["connected_clients"].max == 66.0
    assert observed["generator"]["cpu_share"].avg == 0.05
    assert "cpu_s" not in observed["app-1"]
    assert "kernel" not in observed


def test_connections_are_followed_through_the_measure_phase(synthetic: ModuleType, drive) -> None:
    start_s = synthetic.STARTED_NS / 1e9
    rising = [Sample(start_s + second, "mariadb", "threads_connected", 10.0 + second) for second in range(-1, 10)]
    software = {"mariadb": "mariadb"}
    trial = synthetic.make_trial(drive, samples=rising, software=software)
    found = TrialFacts.model_validate(trial.facts).server_connections
    first, second, third = found["mariadb"]
    assert second - first == third - second == pytest.approx(2.0)
    seen_once = TrialFacts.model_validate(synthetic.make_trial(drive, samples=rising[:3], software=software).facts)
    assert seen_once.server_connections == {}


def test_a_trial_of_an_earlier_version_is_read(trial: TrialRecord) -> None:
    line = json.loads(trial.model_dump_json())
    for key in ("stored", "subjects", "target", "settings", "unlike", "limits", "seen", "server_connections"):
        del line["facts"][key]
    for side in ("before", "after"):
        del line["facts"]["servers"]["redis"][side]["latency_events"]
    facts = TrialFacts.model_validate(TrialRecord.model_validate(line).facts)
    assert (facts.stored, facts.seen, facts.target) == ((), {}, None)
