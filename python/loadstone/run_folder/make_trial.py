"""From an observation to the record of a trial, not judged yet.

`judge.checks.checks.judge_trial` adds checks and verdict, from the facts that are put together here.
"""

from collections.abc import Mapping, Sequence
from typing import get_args

from loadstone.drivers.histogram import decode, dispersion, merge, quantiles_ns, quantiles_of_summary
from loadstone.drivers.outcome import Counts, DriveRecord, Interval, Latency, Quantiles
from loadstone.experiment.plan.drive_plan import Plan
from loadstone.experiment.plan.operation_units import of_plan
from loadstone.experiment.plan.run_plan import PlannedTrial
from loadstone.machine.limits_in_force import LimitInForce, LimitName
from loadstone.monitors.monitor import OTHER_MACHINE
from loadstone.run_folder.delayed import delayed_share
from loadstone.run_folder.facts import (
    DRIVER,
    HOST,
    HostFacts,
    SeriesPoint,
    ServerCounters,
    ServerTrial,
    SnapshotPair,
    SubjectFacts,
    TrialFacts,
)
from loadstone.run_folder.observation import Observation
from loadstone.run_folder.part_figures import averages_of, connections_by_third, cpu_seconds, parts_of, stalls_of
from loadstone.run_folder.part_kinds import has_counters, kinds_of
from loadstone.run_folder.trial import TrialRecord, UnitCounts
from loadstone.run_folder.window import Window
from loadstone.safety.bounds.replies import example_of

_KERNEL = "kernel"
_WHOLE_SECOND = 0.95
_NOTHING = Quantiles(min=None, mean=None, p50=None, p90=None, p95=None, p99=None, p999=None, max=None)


def make_trial_record(planned: PlannedTrial, observation: Observation) -> TrialRecord:
    """The record of a planned trial that was observed; its verdict is `suspect` until it is judged."""
    drive, window = observation.drive.record, observation.window
    lines = [link.part for link in observation.readings.links.values()]
    machines = {sample.part for sample in observation.drive.samples if sample.part.endswith(OTHER_MACHINE)}
    readings = observation.readings
    kinds = kinds_of(readings.software, readings.subjects, lines, sorted(machines), readings.behind)
    cpu_s = cpu_seconds(window, drive, kinds)
    facts = _facts(planned, observation, window, cpu_s, kinds)
    counts = Counts.sum([operation.counts for operation in drive.operations.values()])
    completed = sum(operation.window_completed for operation in drive.operations.values())
    correct = sum(operation.window_ok for operation in drive.operations.values())
    throughput = completed / drive.measure_s if drive.measure_s > 0 else 0.0
    units = _units(observation.drive.plan, drive)
    return TrialRecord(
        trial=planned.name,
        condition=planned.condition,
        group=planned.group,
        stage=planned.stage,
        search=planned.search,
        block=planned.block,
        order=planned.order,
        drive=observation.drive.name,
        slices=observation.slices,
        verdict="suspect",
        counts=counts,
        duration_s=drive.measure_s,
        throughput_per_s=throughput,
        goodput_per_s=correct / drive.measure_s if drive.measure_s > 0 else 0.0,
        peak_per_s=max([throughput, *_whole_seconds(facts.series)]),
        units=units,
        units_per_s=units.per_operation * correct / drive.measure_s if drive.measure_s > 0 else 0.0,
        response_ns=_response(drive, counts),
        service_ns=_service(drive, counts),
        pool_wait_ns=quantiles_of_summary(drive.pool_wait_ns),
        schedule_lag_ns=quantiles_of_summary(drive.schedule_lag_ns),
        least_ns=_least(drive, counts, delayed_share(facts)),
        notice_lag_ns=None if drive.notice_lag_ns is None else quantiles_of_summary(drive.notice_lag_ns),
        cpu_s=cpu_s,
        checks=[],
        phases={name: (times.start_s, times.end_s) for name, times in drive.phases.items()},
        started_unix_ns=drive.started_unix_ns,
        facts=facts,
    )


def _units(plan: Plan, drive: DriveRecord) -> UnitCounts:
    """Return the units by the correct replies; by the plan's weights where there are none."""
    planned = of_plan(plan)
    each = dict(planned.each)
    correct = {name: operation.window_ok for name, operation in drive.operations.items() if name in each}
    done = sum(correct.values())
    average = sum(number * each[name] for name, number in correct.items()) / done if done else planned.per_operation
    return UnitCounts(unit=planned.unit, per_operation=average, each=each)


def _facts(
    planned: PlannedTrial,
    observation: Observation,
    window: Window,
    cpu_s: Mapping[str, float],
    kinds: dict[str, str],
) -> TrialFacts:
    """What the checks are made from; `kinds`: what each part is."""
    drive, readings = observation.drive.record, observation.readings
    in_force = _limits_of_servers(planned, readings.limits)
    return TrialFacts(
        failure=observation.failure,
        plan=observation.drive.plan,
        drive=_for_record(drive),
        response_dispersion=dispersion([decode(o.response_histogram) for o in drive.operations.values()]),
        kinds=kinds,
        servers={name: _server_trial(pair) for name, pair in readings.counters.items() if has_counters(name, kinds)},
        starts=dict(readings.starts),
        ceiling=observation.ceiling,
        series=_series(observation.drive.intervals),
        host=_host(window),
        parts=parts_of(window, drive, cpu_s, kinds, in_force),
        stored=tuple(readings.stored),
        subjects=_with_limits(planned, readings.subjects),
        target=planned.target,
        settings=_settings_of_servers(planned, readings.settings),
        unlike={name: dict(values) for name, values in readings.mismatched.items()},
        limits=in_force,
        seen=averages_of(window),
        speed=dict(readings.speed),
        links=dict(readings.links),
        server_connections=connections_by_third(window, observation.drive.samples, kinds),
        ports=readings.ports,
        placement=observation.placement,
        stalls=stalls_of(drive, observation.drive.samples, kinds, planned.target),
        replica_of=_replica_of(observation.drive.plan),
        company=observation.company,
        misses=observation.drive.plan.misses,
        lab_share=observation.drive.lab_share,
        rate_share=planned.rate_share,
        studied=planned.studied,
    )


def _replica_of(plan: Plan) -> tuple[int | None, ...]:
    primaries = tuple(endpoint.replica_of for endpoint in plan.endpoints)
    return primaries if any(primary is not None for primary in primaries) else ()


def failed_trial_record(planned: PlannedTrial, plan: Plan, failure: str, started_unix_ns: int) -> TrialRecord:
    """The record of a trial that could not be driven; `failure` says why in one line."""
    return TrialRecord(
        trial=planned.name,
        condition=planned.condition,
        group=planned.group,
        stage=planned.stage,
        search=planned.search,
        block=planned.block,
        order=planned.order,
        verdict="invalid",
        counts=Counts(offered=0, sent=0, ok=0, errors={}, timeouts=0, dropped=0, in_flight=0),
        duration_s=0.0,
        throughput_per_s=0.0,
        goodput_per_s=0.0,
        peak_per_s=0.0,
        response_ns=_NOTHING,
        service_ns=_NOTHING,
        pool_wait_ns=_NOTHING,
        schedule_lag_ns=_NOTHING,
        cpu_s={},
        checks=[],
        phases={},
        started_unix_ns=started_unix_ns,
        facts=TrialFacts(failure=failure, plan=plan, rate_share=planned.rate_share),
    )


def _response(drive: DriveRecord, counts: Counts) -> Quantiles:
    """Over everything that was due: what was dropped or never sent is infinitely late, too."""
    operations = drive.operations.values()
    return _latency([o.response_histogram for o in operations], [o.response_ns for o in operations], counts.offered)


def _service(drive: DriveRecord, counts: Counts) -> Quantiles:
    """Over everything that was sent."""
    operations = drive.operations.values()
    return _latency([o.service_histogram for o in operations], [o.service_ns for o in operations], counts.sent)


def _least(drive: DriveRecord, counts: Counts, delayed: float) -> Quantiles | None:
    """As the response time, less what loadstone itself may have added; None where an operation has none.

    `delayed`: the share of the operations that its other threads may have made late.
    """
    encoded = [o.least_histogram for o in drive.operations.values() if o.least_histogram is not None]
    summaries = [o.least_ns for o in drive.operations.values() if o.least_ns is not None]
    if not drive.operations or min(len(encoded), len(summaries)) < len(drive.operations):
        return None
    return _latency(encoded, summaries, counts.offered, delayed)


def _latency(encoded: list[str], summaries: list[Latency], operations: int, delayed: float = 0.0) -> Quantiles:
    present = [summary for summary in summaries if summary.count]
    recorded = sum(summary.count for summary in present)
    return quantiles_ns(
        merge(map(decode, encoded)),
        operations,
        least=min((summary.min for summary in present), default=None),
        mean=sum(summary.mean * summary.count for summary in present) / recorded if recorded else None,
        greatest=max((summary.max for summary in present), default=None),
        delayed=delayed,
    )


def _for_record(drive: DriveRecord) -> DriveRecord:
    """The record without what stands in the trial's `.hlog`, and with examples of replies as people may see them."""
    emptied = {"response_histogram": "", "service_histogram": "", "least_histogram": None}
    return drive.model_copy(
        update={
            "operations": {name: o.model_copy(update=emptied) for name, o in drive.operations.items()},
            "pool_wait_histogram": None,
            "schedule_lag_histogram": None,
            "notice_lag_histogram": None,
            "examples": tuple(one.model_copy(update={"reply": example_of(one.reply)}) for one in drive.examples),
        }
    )


def _server_trial(pair: SnapshotPair) -> ServerTrial:
    before, after = (ServerCounters.of(snapshot) if snapshot is not None else None for snapshot in pair)
    return ServerTrial(before=before, after=after)


def _series(intervals: Sequence[Interval]) -> tuple[SeriesPoint, ...]:
    return tuple(
        SeriesPoint(
            start_s=interval.start_s,
            duration_s=interval.duration_s,
            completed=sum(o.ok + sum(o.errors.values()) for o in interval.operations.values()),
            ok=sum(o.ok for o in interval.operations.values()),
            connections=interval.connections,
            backlog=interval.backlog,
        )
        for interval in intervals
        if interval.phase == "measure" and interval.duration_s > 0
    )


def _whole_seconds(series: Sequence[SeriesPoint]) -> list[float]:
    """Completions a second in each whole second: shorter intervals are taken together."""
    rates: list[float] = []
    completed, length_s = 0, 0.0
    for point in series:
        completed, length_s = completed + point.completed, length_s + point.duration_s
        if length_s >= _WHOLE_SECOND:
            rates.append(completed / length_s)
            completed, length_s = 0, 0.0
    return rates


def _host(window: Window) -> HostFacts:
    steal, idle = window.mean(HOST, "st"), window.mean(HOST, "id")
    huge, overcommit = window.highest(_KERNEL, "huge_pages_always"), window.highest(_KERNEL, "overcommit_memory")
    swapped = [window.mean(HOST, column) for column in ("si", "so")]
    dropped = window.mean(HOST, "listen_drops")
    return HostFacts(
        steal_share=None if steal is None else steal / 100,
        idle_share=None if idle is None else idle / 100,
        swapped_bytes=None
        if None in swapped
        else sum(kib for kib in swapped if kib is not None) * 1024 * window.length_s,
        listen_drops=None if dropped is None else dropped * window.length_s,
        throttled_s=window.increase(DRIVER, "throttled_s"),
        huge_pages_always=None if huge is None else huge > 0,
        overcommit_memory=None if overcommit is None else int(overcommit),
    )


LimitsInForce = Mapping[LimitName, LimitInForce]


def _limits_of_servers(
    planned: PlannedTrial, reported: Mapping[str, LimitsInForce]
) -> dict[str, dict[LimitName, LimitInForce]]:
    """The limits of each server that has some, or was to have."""
    limits = {name: _complete(reported.get(name, {}), given.get("limits")) for name, given in planned.servers.items()}
    return {name: of_server for name, of_server in limits.items() if of_server}


def _with_limits(planned: PlannedTrial, subjects: Mapping[str, SubjectFacts]) -> dict[str, SubjectFacts]:
    """The subjects, each with an entry for every limit that it was to have."""
    requested = {name: subject.limits for name, subject in planned.subjects.items()}
    return {
        name: facts.model_copy(update={"limits": _complete(facts.limits, requested.get(name))})
        for name, facts in subjects.items()
    }


def _settings_of_servers(planned: PlannedTrial, reported: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """The settings as read back; none of a server that was to have some and did not answer."""
    silent = [name for name, given in planned.servers.items() if given.get("settings")]
    return {**{name: {} for name in silent}, **{name: dict(values) for name, values in reported.items()}}


def _complete(reported: LimitsInForce, requested: object) -> dict[LimitName, LimitInForce]:
    """What is reported, and `unknown` for each limit that was requested (`cpu: 0.5`) and of which nothing is."""
    given = requested if isinstance(requested, Mapping) else {}
    names: tuple[LimitName, ...] = get_args(LimitName)
    silent = [name for name in names if given.get(name) not in (None, "") and name not in reported]
    return {**reported, **{name: LimitInForce(status="unknown") for name in silent}}
