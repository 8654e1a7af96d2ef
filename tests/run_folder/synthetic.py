"""Trials and runs made by code: everything agrees with everything else, as in a clean trial on a quiet machine."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from hdrh.histogram import HdrHistogram

from loadstone.drivers.histogram import Histogram
from loadstone.drivers.outcome import (
    CommandRecord,
    Connections,
    Counts,
    DriveRecord,
    Interval,
    IntervalOperation,
    Latency,
    OperationRecord,
    PhaseTimes,
    ReadBack,
    ThreadRecord,
)
from loadstone.experiment.plan.drive_plan import Plan
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.operations import Operation, ServerCommand
from loadstone.experiment.plan.run_plan import PlannedTrial, RunPlan
from loadstone.experiment.spec.experiment import Experiment
from loadstone.machine.placement import Placement
from loadstone.monitors.metrics.redis import METRICS as REDIS_METRICS
from loadstone.monitors.monitor import Sample
from loadstone.run_folder import observation
from loadstone.run_folder.facts import Ceiling
from loadstone.run_folder.folder import RunFolder
from loadstone.run_folder.make_trial import make_trial_record
from loadstone.run_folder.observation import Observation, PartReadings, measure_phase
from loadstone.run_folder.plan_summary import summarise_plan
from loadstone.run_folder.trial import TrialRecord
from loadstone.servers.redis.monitor import CommandStat, RedisSnapshot

STARTED_NS = 1_790_000_000_000_000_000
COMMANDS = {"set": "JSON.SET", "get": "JSON.GET", "update": "JSON.SET"}


def recorded(values_ns: Iterable[int]) -> HdrHistogram:
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    for value, number in Counter(map(int, values_ns)).items():
        histogram.record_value(value, number)
    return histogram


def encoded(histogram: HdrHistogram) -> str:
    return histogram.encode().decode()


def as_ours(histogram: HdrHistogram) -> Histogram:
    return Histogram.read(encoded(histogram))


def value_at_percentile(histogram: HdrHistogram, percentile: float) -> int:
    """What its own `get_value_at_percentile` says, which goes through 16,000 buckets one by one."""
    cumulated = np.frombuffer(histogram.counts, dtype=np.uint64).cumsum()
    index = int(np.searchsorted(cumulated, histogram.get_target_count_at_percentile(percentile)))
    return int(histogram.get_highest_equivalent_value(histogram.get_value_from_index(index)))


def summary(values_ns: Sequence[int]) -> Latency:
    if not len(values_ns):
        return Latency(count=0, min=0, mean=0.0, p50=0, p90=0, p95=0, p99=0, p999=0, max=0)
    histogram = recorded(values_ns)
    reported = {
        name: value_at_percentile(histogram, p)
        for name, p in {"p50": 50, "p90": 90, "p95": 95, "p99": 99, "p999": 99.9}.items()
    }
    return Latency(
        count=len(values_ns),
        min=histogram.get_min_value(),
        mean=float(np.mean(values_ns)),
        max=histogram.get_max_value(),
        **reported,
    )


def counts(ok: int, errors: dict[str, int] | None = None, timeouts: int = 0, dropped: int = 0) -> Counts:
    sent = ok + sum((errors or {}).values()) + timeouts
    return Counts(
        offered=sent + dropped,
        sent=sent,
        ok=ok,
        errors=errors or {},
        timeouts=timeouts,
        dropped=dropped,
        in_flight=0,
        unsent=0,
    )


def make_plan(operation: str = "set", users: int = 32, **changes: Any) -> Plan:
    command = ServerCommand(args=(COMMANDS[operation], "{key}", "$", "{document}"), expect="ok")
    read_back = ServerCommand(args=("JSON.GET", "{key}"), expect="document")
    writes = "nothing" if operation == "get" else "document"
    data: dict[str, Any] = {
        "endpoints": [Endpoint(port=6379, password="hunter2-very-secret")],
        "model": {"kind": "closed", "users": users},
        "pool": {"connections": 64},
        "keys": {"loaded": True},
        "phases": {"warm_up_s": 1.0, "measure_s": 6.0, "drain_s": 2.0},
        "operations": [
            Operation(name=operation, commands=(command,), writes=writes, read_back=read_back if writes else None)
        ],
    }
    return Plan.model_validate(data | changes)


@dataclass
class Drive:
    """One drive with its intervals and what was observed beside it."""

    plan: Plan
    record: DriveRecord
    intervals: list[Interval]
    snapshots: dict[str, tuple[RedisSnapshot | None, RedisSnapshot | None]] = field(default_factory=dict)
    samples: list[Sample] = field(default_factory=list)


def make_drive(
    plan: Plan,
    seed: int = 1,
    per_interval: int = 200,
    measure_intervals: int = 6,
    started_ns: int = STARTED_NS,
    errors: dict[str, int] | None = None,
) -> Drive:
    """A clean drive in which the users were busy all the time, so that Little's law holds."""
    assert plan.model.kind == "closed"
    rng = np.random.default_rng(seed)
    name = plan.operations[0].name
    rate = per_interval / plan.interval_s
    mean_ns = plan.model.users / rate * 1e9
    lengths = [("warm_up", plan.interval_s, per_interval)]
    lengths += [("measure", plan.interval_s, per_interval)] * measure_intervals
    lengths += [("drain", 0.01, 3)]
    intervals: list[Interval] = []
    measured: list[int] = []
    measured_service: list[int] = []
    start_s = 0.0
    for index, (phase, length_s, number) in enumerate(lengths):
        service = np.maximum(1000, rng.gamma(4.0, mean_ns / 4.0, number)).astype(int)
        response = service + 200
        if phase != "warm_up":
            measured += response.tolist()
            measured_service += service.tolist()
        failed = errors if errors and index == 2 else {}
        intervals.append(
            Interval(
                index=index,
                phase=phase,
                start_s=start_s,
                duration_s=length_s,
                start_unix_ns=started_ns + int(start_s * 1e9),
                operations={
                    name: IntervalOperation(
                        offered=number,
                        sent=number,
                        ok=number,
                        errors=failed,
                        timeouts=0,
                        dropped=0,
                        response_ns=summary(response),
                        response_histogram=encoded(recorded(response)),
                        service_histogram=encoded(recorded(service)),
                    )
                },
                bytes_sent=number * 100,
                bytes_received=number * 5,
                connections=plan.pool.connections,
                users=plan.model.users,
                backlog=0,
                cpu_s=[0.4 * length_s],
            )
        )
        start_s += length_s
    record = _record(plan, started_ns, intervals, measured, measured_service, errors or {})
    return Drive(plan, record, intervals, {"redis": snapshots(record)}, samples(record))


def _record(
    plan: Plan,
    started_ns: int,
    intervals: list[Interval],
    measured: list[int],
    measured_service: list[int],
    errors: dict[str, int],
) -> DriveRecord:
    name = plan.operations[0].name
    in_window = sum(i.operations[name].ok for i in intervals if i.phase == "measure")
    sent = sum(i.operations[name].sent for i in intervals) + sum(errors.values())
    ends = {phase: [i for i in intervals if i.phase == phase] for phase in ("warm_up", "measure", "drain")}
    phases = {
        phase: PhaseTimes(start_s=parts[0].start_s, end_s=parts[-1].start_s + parts[-1].duration_s)
        for phase, parts in ends.items()
    }
    measure_s = phases["measure"].end_s - phases["measure"].start_s
    read_back = plan.operations[0].read_back
    commands = {COMMANDS[name]: CommandRecord(sent=sent, replied=sent)}
    if read_back is not None:
        replied = commands.get("JSON.GET", CommandRecord(sent=0, replied=0)).replied + 64
        commands["JSON.GET"] = CommandRecord(sent=replied, replied=replied)
    return DriveRecord(
        format=1,
        engine="loadstone 0.1.0",
        started_unix_ns=started_ns,
        phases=phases,
        measure_s=measure_s,
        operations={
            name: OperationRecord(
                counts=counts(len(measured), errors),
                window_completed=in_window + sum(errors.values()),
                window_ok=in_window,
                response_ns=summary(measured),
                service_ns=summary(measured_service),
                response_sum_ns=sum(measured),
                response_histogram=encoded(recorded(measured)),
                service_histogram=encoded(recorded(measured_service)),
            )
        },
        total=counts(sent - sum(errors.values()), errors),
        pool_wait_ns=summary([200] * len(measured)),
        schedule_lag_ns=summary([100] * len(measured)),
        commands=commands,
        bytes_sent=sent * 100,
        bytes_received=sent * 5,
        threads=[ThreadRecord(cpu=1, cpu_s=0.002 * measure_s, wall_s=measure_s, waited_s=0.0)],
        connections=Connections(
            planned=plan.pool.connections,
            opened=plan.pool.connections,
            open_at_end=plan.pool.connections,
            lost=0,
            failed=0,
            closed_idle=0,
        ),
        read_back=ReadBack(checked=64, wrong=0, skipped=0),
        overflowed=0,
        clock_quantum_ns=30,
        stopped=None,
    )


def snapshots(record: DriveRecord) -> tuple[RedisSnapshot, RedisSnapshot]:
    """A server that counted exactly what was sent, and INFO of its own; of all else that it reports, nothing."""
    before_calls = {name.lower(): 1000 for name in record.commands}
    figures = dict.fromkeys((metric.name for metric in REDIS_METRICS), 0.0)
    figures |= {"total_net_input_bytes": 5000.0, "keys": 1000.0}
    before = _snapshot(0.0, before_calls, figures)
    after_calls = {name.lower(): 1000 + command.replied for name, command in record.commands.items()}
    read = figures["total_net_input_bytes"] + record.bytes_sent + 300
    hits = float(record.commands["JSON.GET"].replied) if "JSON.GET" in record.commands else 0.0
    grown = {"total_net_input_bytes": read, "keyspace_hits": hits}
    return before, _snapshot(10.0, after_calls | {"info": 9}, figures | grown)


def _snapshot(later_s: float, calls: dict[str, int], figures: dict[str, float]) -> RedisSnapshot:
    return RedisSnapshot(
        unix_s=STARTED_NS / 1e9 + later_s,
        run_id="a" * 40,
        uptime_s=int(10 + later_s),
        figures=figures,
        commands={name: CommandStat(number, number * 10, 0, 0) for name, number in calls.items()},
        errors={},
        settings={"loglevel": "notice", "slowlog-log-slower-than": "10000", "disable-thp": "yes"},
        monitor_clients=0,
        slow_log_entries=0,
    )


def samples(record: DriveRecord) -> list[Sample]:
    """A sample a second from before the drive until after it: the server at 60 % of a core, nothing stolen."""
    start_s = record.started_unix_ns / 1e9
    found: list[Sample] = []
    for second in range(-1, int(record.phases["drain"].end_s) + 3):
        now = start_s + second
        for metric, value in {"st": 0.0, "id": 65.0, "si": 0.0, "so": 0.0, "listen_drops": 0.0, "us": 30.0}.items():
            found.append(Sample(now, "host", metric, value))
        found.append(Sample(now, "kernel", "huge_pages_always", 0.0))
        found.append(Sample(now, "kernel", "overcommit_memory", 1.0))
        for metric, value in {
            "cpu_s": 100 + 0.6 * second,
            "cpu_share": 0.6,
            "main_thread_wait_s": 3 + 0.004 * second,
            "used_cpu_sys_main_thread": 50 + 0.25 * second,
            "used_cpu_user_main_thread": 50 + 0.3 * second,
            "connected_clients": 66.0,
            "used_memory": 2e6,
        }.items():
            found.append(Sample(now, "redis", metric, value))
        found.append(Sample(now, "generator", "cpu_s", 10 + 0.05 * second))
        found.append(Sample(now, "generator", "cpu_share", 0.05))
        found.append(Sample(now, "generator", "throttled_s", 0.0))
    return found


def make_trial(
    drive: Drive | None = None, planned: PlannedTrial | None = None, ceiling: bool = True, **changes: Any
) -> TrialRecord:
    """A clean trial, not judged yet. `changes`: fields of `PartReadings` and `Observation`, and `samples`."""
    drive = drive or make_drive(make_plan())
    planned = planned or planned_trial("b01-001", {"operation": "set", "payload": "1 kB"}, drive.plan)
    found = Ceiling(throughput_per_s=1e6, users=64, hottest_thread_share=1.0, floor_p50_ns=20_000) if ceiling else None
    given: dict[str, Any] = {
        "ceiling": found,
        "placement": Placement((0,), (1,), shared=False, note="servers on CPU 0, generator on CPU 1"),
    }
    observed = {name: changes.pop(name) for name in ("ceiling", "placement", "failure") if name in changes}
    driven = driven_as(drive, planned.name, changes.pop("samples", drive.samples))
    readings = PartReadings(**({"software": {"redis": "redis"}, "counters": drive.snapshots} | changes))
    return make_trial_record(planned, Observation(driven, measure_phase(drive.record), readings, **(given | observed)))


def driven_as(drive: Drive, name: str, samples: Sequence[Sample] = ()) -> observation.ObservedDrive:
    """A drive as a measurement hands it on."""
    return observation.ObservedDrive(name, drive.plan, drive.record, drive.intervals, samples, lab_share=0.0)


def planned_trial(name: str, condition: dict[str, Any], plan: Plan, block: int = 1, order: int = 1) -> PlannedTrial:
    servers: dict[str, dict[str, object]] = {"redis": {"kind": "embedded", "password": "hunter2-very-secret"}}
    return PlannedTrial(name, condition, block, order, servers, plan, None)


def make_experiment(**changes: Any) -> Experiment:
    data: dict[str, Any] = {
        "name": "small",
        "question": "How many documents a second?",
        "factors": {
            "operation": {"levels": ["set", "get"], "title": "Operation"},
            "payload": {"levels": ["100 B", "1 kB"], "default": "1 kB"},
            "workers": {"levels": [1, 32], "default": 32, "unit": "workers"},
            "idle": {"levels": ["few", "many"], "values": {"few": {"n": 1}, "many": {"n": 64}}},
        },
        "tables": [
            {
                "name": "by-size",
                "title": "By size",
                "vary": {"operation": ["set", "get"], "payload": ["100 B", "1 kB"], "workers": [32]},
            },
            {"name": "idle", "title": "Idle", "vary": {"idle": ["few", "many"]}, "quick": False},
        ],
        "servers": {"redis": {"kind": "url", "url": "redis://me:hunter2-very-secret@db.example:6379/0"}},
        "workload": {
            "model": {"kind": "closed", "users": "${workers}"},
            "pool": {"connections": 64},
            "operations": [{"name": "set", "commands": [{"args": ["JSON.SET", "{key}", "$", "{document}"]}]}],
        },
        "published": [
            {
                "source": "The original",
                "rows": [
                    {
                        "where": {"operation": "set", "workers": 32},
                        "along": "payload",
                        "levels": ["100 B", "1 kB"],
                        "values": [8051, 7099],
                    }
                ],
            }
        ],
        "conclusions": [
            {"claim": "Over 200 sets", "kind": "at_least", "where": {"operation": "set"}, "value": 200},
            {
                "claim": "A get costs what a set costs",
                "kind": "ratio",
                "where": {"operation": "get"},
                "against": {"operation": "set"},
            },
            {"claim": "A cluster gives more", "kind": "beyond", "answer": "One server cannot tell."},
            {"claim": "Small pools wait", "kind": "pool_wait", "where": {"idle": "few"}, "against": {"idle": "many"}},
        ],
    }
    return Experiment.with_add_ons().model_validate(data | changes)


ENVIRONMENT: dict[str, Any] = {
    "machine": {"machine_id": "0" * 64, "cpu_model": "Test CPU", "cpu_count": 2, "cpu_limit": None},
    "kernel": {"release": "6.1.0", "transparent_huge_pages": "madvise", "overcommit_memory": 1},
    "versions": {"loadstone": "0.1.0", "engine": {"version": "0.1.0", "profile": "release"}},
    "placement": {"server_cpus": [0], "generator_cpus": [1], "shared": False, "note": "apart"},
    "servers": {"redis": {"software": "redis", "version": "8.2.3", "settings": {"requirepass": "hunter2-very-secret"}}},
}


def conditions() -> list[dict[str, Any]]:
    usual = {"operation": "set", "payload": "1 kB", "workers": 32, "idle": "few"}
    by_size = [usual | {"operation": o, "payload": p} for o in ("set", "get") for p in ("100 B", "1 kB")]
    return [*by_size, usual | {"idle": "many"}]


def make_run_plan(blocks: int = 1, **changes: Any) -> RunPlan:
    trials = [
        planned_trial(f"b{block:02d}-{order:03d}", condition, make_plan(condition["operation"]), block, order)
        for block in range(1, blocks + 1)
        for order, condition in enumerate(conditions(), start=1)
    ]
    given: dict[str, Any] = {"experiment": "small", "seed": 7, "quick": False, "as_published": False}
    given |= {"budget_s": 600.0, "groups": ()}
    given |= {"conditions": tuple(conditions()), "trials": tuple(trials)}
    return RunPlan(**(given | changes))


def write_run(
    root: Path, run_plan: RunPlan | None = None, until: int | None = None, finish: Any = lambda trial: trial
) -> Path:
    """A run's folder with the first `until` trials of the plan finished. `finish` judges each."""
    run_plan = run_plan or make_run_plan()
    experiment = make_experiment().model_dump(mode="json")
    with RunFolder.create(root, "small", experiment, ENVIRONMENT, summarise_plan(run_plan)) as folder:
        for number, planned in enumerate(run_plan.trials[:until]):
            write_trial(folder, planned, number, finish)
        return folder.path


def write_trial(folder: RunFolder, planned: PlannedTrial, number: int = 0, finish: Any = lambda t: t) -> TrialRecord:
    """One trial, written as a run writes it."""
    started_ns = STARTED_NS + number * 20_000_000_000
    drive = make_drive(planned.plan, seed=number + 1, per_interval=200 + 10 * number, started_ns=started_ns)
    writer = folder.begin_trial(planned.name)
    for interval in drive.intervals:
        writer.add_interval(interval)
    writer.add_samples(drive.samples)
    return writer.finish(finish(make_trial(drive, planned)))
