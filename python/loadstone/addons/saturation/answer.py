"""Where each condition saturates, and where it meets its objective: from its trials to an answer."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from math import exp, log
from statistics import median

from loadstone.addons.saturation.closed_estimate import TAIL_FROM, Estimate, Saturation, Sweep, no_point
from loadstone.addons.saturation.closed_trials import (
    ClosedAnswer,
    LevelLatency,
    Met,
    closed_answer,
    failed_share,
    met_up_to,
    search_trials,
    sweep_blocks,
    sweep_rounds_of,
)
from loadstone.addons.saturation.levels import steps_of, users_at
from loadstone.addons.saturation.open_trials import BisectionStep, rate_answer
from loadstone.addons.saturation.ramp_reading import RampStretch as Step
from loadstone.addons.saturation.ramp_reading import by_eye, kneedle, moving_average
from loadstone.addons.saturation.recorded_steps import phase_of, rate_of, rounds_a_sweep_of, settings_in, users_of
from loadstone.addons.saturation.results import (
    Estimated,
    Limiting,
    ObjectiveAnswer,
    PartShare,
    RampAnswer,
    RampStep,
    SaturationAnswer,
    SaturationAnswers,
    SaturationPoint,
    Search,
    SearchPoint,
)
from loadstone.addons.saturation.spec import LatencyObjective, SaturationSettings
from loadstone.drivers.histogram import Histogram, merge
from loadstone.drivers.outcome import Quantiles
from loadstone.experiment.plan.drive_plan import RampUp
from loadstone.experiment.plan.labels import condition_label
from loadstone.experiment.spec.levels import identity
from loadstone.judge.analysis.evaluations import RunFindings
from loadstone.judge.bottleneck import Bottleneck, bottleneck_of
from loadstone.judge.checks.checks import BOUNDS, counted_reasons, failed_checks
from loadstone.judge.cost import costs_of
from loadstone.judge.typical_load import typical_load
from loadstone.run_folder.plan_summary import PlannedLine
from loadstone.run_folder.reading import IntervalLine, RecordedRun
from loadstone.run_folder.trial import TrialRecord, TrialVerdict
from loadstone.safety.errors import DriveFailed
from loadstone.text.message import Message, message


def estimated(one: Estimate | None) -> Estimated | None:
    """As the analysis holds it."""
    return None if one is None else Estimated(value=one.value, low=one.low, high=one.high)


def met_in_sweeps(
    run: RecordedRun, trials: Sequence[TrialRecord], sweeps: Sequence[Sweep], required: LatencyObjective
) -> ObjectiveAnswer:
    """Return the answer in the closed model, from the quantile of each level in each sweep."""
    latencies = _latencies(run, trials, required.quantile)
    rates = [{probe.users: probe.goodput_per_s for probe in sweep} for sweep in sweeps]
    levels = [
        {users: LevelLatency(per_s[users], found.get(users)) for users in per_s}
        for per_s, found in zip(rates, latencies, strict=False)
    ]
    met = met_up_to(levels, required.latency_s)
    return ObjectiveAnswer(
        text=required.text,
        kind=met.kind,
        message=_said(met, levels, required),
        rate_per_s=estimated(met.per_s),
        users=estimated(met.users),
    )


def _said(met: Met, levels: Sequence[Mapping[int, LevelLatency]], required: LatencyObjective) -> Message:
    most = max((users for level in levels for users in level), default=0)
    if met.users is not None and met.per_s is not None:
        users, per_s = met.users.figures, met.per_s.figures
        return message("objective_limit_by_users", objective=required.text, most_users=most, users=users, per_s=per_s)
    if met.kind == "met_always":
        return message("objective_met_always_by_users", objective=required.text, most_users=most)
    if met.kind == "never":
        return message("objective_never_by_users", objective=required.text)
    return message("objective_unknown_by_users", objective=required.text)


def met_by_rates(found: Saturation | None, required: LatencyObjective) -> ObjectiveAnswer:
    """Return the answer in the open model, which is the limit."""
    kinds = {"limit": "limit", "at_least": "met_always", "none": "unknown"}
    kind = "unknown" if found is None else kinds.get(found.kind, "unknown")
    why = None if found is None else found.message.figures.get("why")
    if kind == "unknown" and getattr(why, "kind", "") == "missed_at_every_rate":
        kind = "never"
    return ObjectiveAnswer.model_validate(
        {
            "text": required.text,
            "kind": kind,
            "message": message("saturation_not_measured") if found is None else found.message,
            "rate_per_s": None if found is None else estimated(found.per_s),
        }
    )


def _latencies(run: RecordedRun, trials: Sequence[TrialRecord], quantile: float) -> list[dict[int, float | None]]:
    """Return the quantile in seconds by users, for each sweep in their order."""
    found: list[dict[int, float | None]] = []
    for block in sweep_blocks(trials):
        rounds = sweep_rounds_of(block)
        in_rounds = any(rounds_a_sweep_of(one) for one in block.values())
        if in_rounds:
            of_levels = {users: _by_rounds(run, trial) for users, trial in block.items()}
            for of_sweep in rounds:
                found.append({users: _in(of_levels[users], of_sweep, block[users], quantile) for users in block})
        else:
            found.append({users: _whole(run, trial, quantile) for users, trial in block.items() if trial.phases})
    return found


def _by_rounds(run: RecordedRun, trial: TrialRecord) -> dict[tuple[int, int], Histogram]:
    try:
        return run.logs.by_rounds(trial.trial, "response")
    except DriveFailed:
        return {}


def _in(
    histograms: Mapping[tuple[int, int], Histogram], rounds: Sequence[int], trial: TrialRecord, quantile: float
) -> float | None:
    """The quantile in these rounds; what failed in the whole trial counts in proportion, as infinitely late."""
    inside = [one for (first, last), one in histograms.items() if rounds[0] <= first and last <= rounds[-1]]
    return _quantile_s(merge(inside), quantile, _lost(trial)) if inside else None


def _whole(run: RecordedRun, trial: TrialRecord, quantile: float) -> float | None:
    try:
        return _quantile_s(run.logs.whole(trial.trial, "response"), quantile, _lost(trial))
    except DriveFailed:
        return None


def _lost(trial: TrialRecord) -> float:
    counts = trial.counts
    return 1 - counts.ok / counts.offered if counts.offered else 1.0


def _quantile_s(histogram: Histogram, quantile: float, lost: float) -> float | None:
    if not histogram.total or quantile > 1 - lost:
        return None
    return histogram.value_at_percentile(100 * quantile / (1 - lost)) / 1e9


_NEAR_LIMIT = 0.95
"""Rates from so much of the limit on show what the limit is."""


def evaluate_saturations(found: RunFindings) -> SaturationAnswers:
    """The answer that stands under `saturations` in the analysis; none of a run that does not search for any."""
    return SaturationAnswers(saturations_of(found.run, found.trials))


def saturations_of(run: RecordedRun, judged: Sequence[TrialRecord]) -> list[SaturationAnswer]:
    """Where each planned condition saturates; `judged` are all trials of the run."""
    planned = run.plan.search
    if planned is None:
        return []
    settings = settings_in(planned)
    by_condition: dict[str, list[TrialRecord]] = {}
    for trial in judged:
        if trial.search is not None:
            by_condition.setdefault(identity(trial.condition), []).append(trial)
    varied = [factor for factor in planned.trials[0].condition if _varies(planned.trials, factor)]
    return [
        saturation_of(run, settings, line, varied, by_condition.get(identity(line.condition), []))
        for line in planned.trials
    ]


def _varies(lines: Sequence[PlannedLine], factor: str) -> bool:
    return len({str(line.condition.get(factor)) for line in lines}) > 1


def saturation_of(
    run: RecordedRun, settings: SaturationSettings, line: PlannedLine, varied: Sequence[str], trials: list[TrialRecord]
) -> SaturationAnswer:
    """Where the condition of a line saturates, by its judged trials; it is called by the factors that are `varied`."""
    made = _open if settings.model == "open" else _closed
    return made(run, settings, line, varied, trials)


def _closed(
    run: RecordedRun, settings: SaturationSettings, line: PlannedLine, varied: Sequence[str], trials: list[TrialRecord]
) -> SaturationAnswer:
    answer, found = closed_answer(trials, settings), closed_answer(trials, settings).saturation
    by_users: dict[int, list[TrialRecord]] = {}
    for trial in _trials_of_sweeps(trials) or search_trials(trials):
        users = users_of(trial)
        if users is not None:
            by_users.setdefault(users, []).append(trial)
    required, sweeps = settings.required, answer.sweeps
    rounds_a_sweep = max((rounds_a_sweep_of(one) for one in trials), default=0)
    return SaturationAnswer(
        condition=line.condition,
        label=condition_label(run.experiment, line.condition, varied),
        model="closed",
        kind=found.kind,
        message=found.message,
        users=estimated(found.users),
        per_s=estimated(found.per_s),
        from_users=found.from_users,
        at_least_per_s=found.at_least_per_s,
        sweeps=found.repeats or len(sweeps),
        rounds_a_sweep=rounds_a_sweep,
        seconds=_seconds(trials),
        think_s=answer.think_s,
        unloaded_s=answer.unloaded_s,
        unloaded_users=answer.unloaded_users,
        points=_level_points(run, trials, sweeps),
        search=_search(answer),
        limiting=limiting_levels(by_users, found.users.value if found.users is not None else None),
        objective=None if required is None else met_in_sweeps(run, trials, sweeps, required),
        ramp=_ramp_of_trials(run, settings, trials, estimated(found.users)),
    )


def _open(
    run: RecordedRun, settings: SaturationSettings, line: PlannedLine, varied: Sequence[str], trials: list[TrialRecord]
) -> SaturationAnswer:
    closed = closed_answer(trials, settings)
    answer = rate_answer(trials, settings, lambda name: run.logs.whole(name, "response"))
    why = message("saturation_not_measured") if closed.saturation.kind != "none" else closed.saturation.message
    found = no_point(why) if answer is None else answer.saturation
    steps: Sequence[BisectionStep] = () if answer is None else (*answer.located, *answer.steps)
    limit_per_s, required = None if found.per_s is None else found.per_s.value, settings.required
    located = () if answer is None else answer.located
    return SaturationAnswer(
        condition=line.condition,
        label=condition_label(run.experiment, line.condition, varied),
        model="open",
        kind=found.kind,
        message=found.message,
        users=None,
        per_s=estimated(found.per_s),
        at_least_per_s=found.at_least_per_s,
        sweeps=0 if answer is None else answer.blocks,
        seconds=_seconds(trials),
        think_s=0.0,
        unloaded_s=closed.unloaded_s,
        unloaded_users=closed.unloaded_users,
        points=_rate_points(run, steps),
        search=Search(points=[*_search(closed).points, *map(_located, located)], why=closed.why),
        limiting=limiting_rates([step.trial for step in steps], limit_per_s),
        objective=None if required is None else met_by_rates(None if answer is None else found, required),
    )


def _search(answer: ClosedAnswer) -> Search:
    points = [SearchPoint(users=probe.users, rate_per_s=None, per_s=probe.goodput_per_s) for probe in answer.probes]
    return Search(points=points, why=answer.why)


def _located(step: BisectionStep) -> SearchPoint:
    rate = rate_of(step.trial)
    return SearchPoint(users=None, rate_per_s=rate, per_s=step.trial.goodput_per_s, kept=step.why is None)


def _seconds(trials: Sequence[TrialRecord]) -> float:
    """From the first one's start to the last one's end."""
    if not trials:
        return 0.0
    ends = [
        trial.started_unix_ns / 1e9 + max((end for _, end in trial.phases.values()), default=0.0) for trial in trials
    ]
    return round(max(ends) - min(trial.started_unix_ns for trial in trials) / 1e9, 3)


def _level_points(run: RecordedRun, trials: Sequence[TrialRecord], sweeps: Sequence[Sweep]) -> list[SaturationPoint]:
    """A point a level, over its sweeps; where there were no sweeps, of the search."""
    by_users: dict[int, list[TrialRecord]] = {}
    for trial in _trials_of_sweeps(trials) or search_trials(trials):
        users = users_of(trial)
        if users is not None:
            by_users.setdefault(users, []).append(trial)
    rates: dict[int, list[float]] = {}
    for sweep in sweeps:
        for probe in sweep:
            rates.setdefault(probe.users, []).append(probe.goodput_per_s)
    return [
        _point(run, found, rates.get(users) or [one.goodput_per_s for one in found], users=users)
        for users, found in sorted(by_users.items())
    ]


def _rate_points(run: RecordedRun, steps: Sequence[BisectionStep]) -> list[SaturationPoint]:
    """A point a trial of the open model, in the order of their rates."""
    found = [
        _point(run, [step.trial], [step.trial.goodput_per_s], rate_per_s=rate_of(step.trial))
        for step in steps
        if step.trial.search is not None
    ]
    return sorted(found, key=lambda point: point.rate_per_s or 0.0)


def _trials_of_sweeps(trials: Sequence[TrialRecord]) -> list[TrialRecord]:
    """Those of them that are of a sweep and were driven."""
    return [trial for trial in trials if phase_of(trial) == "sweep" and trial.phases]


def _point(
    run: RecordedRun,
    trials: list[TrialRecord],
    rates: Sequence[float],
    *,
    users: int | None = None,
    rate_per_s: float | None = None,
) -> SaturationPoint:
    typical = exp(median(log(rate) for rate in rates)) if rates and min(rates) > 0 else 0.0
    return SaturationPoint(
        users=users,
        rate_per_s=rate_per_s,
        per_s=typical,
        low=min(rates, default=0.0),
        high=max(rates, default=0.0),
        response_ns=_response(run, trials),
        cpu=_cpu(trials),
        costs=costs_of(trials),
        errors=_failed(trials),
        sweeps=len(rates),
        verdict=_verdict(trials),
        reasons=_reasons(trials),
    )


def _response(run: RecordedRun, trials: list[TrialRecord]) -> Quantiles | None:
    if len(trials) == 1:
        return trials[0].response_ns
    try:
        return run.response_ns(trials)
    except DriveFailed:
        return None


def _failed(trials: Sequence[TrialRecord]) -> float:
    offered = sum(trial.counts.offered for trial in trials)
    return sum(failed_share(trial) * trial.counts.offered for trial in trials) / offered if offered else 1.0


def _cpu(trials: Sequence[TrialRecord]) -> dict[str, float]:
    elapsed_s = sum(trial.duration_s for trial in trials)
    parts = sorted({part for trial in trials for part in trial.cpu_s}) if elapsed_s else []
    return {part: round(sum(trial.cpu_s.get(part, 0.0) for trial in trials) / elapsed_s, 4) for part in parts}


def _verdict(trials: Sequence[TrialRecord]) -> TrialVerdict:
    """What bounds the figure doubts none of it: the bound of the gain rule stands in the interval."""
    for verdict in ("invalid", "suspect"):
        if any(failed_checks(trial, (verdict,), without=BOUNDS) for trial in trials):
            return verdict
    return "valid"


def _reasons(trials: list[TrialRecord]) -> list[Message]:
    if len(trials) > 1:
        return counted_reasons(trials, without=BOUNDS)
    return [one.reason for trial in trials for one in failed_checks(trial, without=BOUNDS) if one.reason is not None]


def limiting_levels(trials: Mapping[int, Sequence[TrialRecord]], point: float | None) -> Limiting | None:
    """Return what limits the closed model: at twice the saturation point and beyond; where there is none, at the most
    users.

    At the point itself nothing need be full: some users wait there, and some servers, by chance. `trials` are those
    that were driven, by users.
    """
    levels = sorted(trials)
    if not levels:
        return None
    beyond = [users for users in levels if point is not None and users >= TAIL_FROM * point] or levels[-1:]
    knee = min(levels, key=lambda users: abs(log(users / point))) if point else levels[-1]
    found = bottleneck_of([trial for users in beyond for trial in trials[users]])
    shares = [
        _shares(trials[levels[0]]),
        _shares(trials[knee]),
        _shares([t for users in beyond for t in trials[users]]),
    ]
    return _limiting(found, shares, users=beyond[0], rate_per_s=None)


def limiting_rates(trials: Sequence[TrialRecord], limit_per_s: float | None) -> Limiting | None:
    """Return what limits the open model: from nearly the limit on; where there is none, at the highest rates."""
    rated = sorted(
        ((rate_of(trial) or 0.0, trial) for trial in trials if trial.search is not None), key=lambda two: two[0]
    )
    if not rated:
        return None
    from_per_s = _NEAR_LIMIT * limit_per_s if limit_per_s else rated[-1][0]
    near = [one for rate, one in rated if rate >= from_per_s] or [rated[-1][1]]
    knee = near if limit_per_s is None else [one for rate, one in rated if from_per_s <= rate <= limit_per_s] or near
    shares = [_shares([rated[0][1]]), _shares(knee), _shares(near)]
    return _limiting(bottleneck_of(near), shares, users=None, rate_per_s=from_per_s)


def _shares(trials: Sequence[TrialRecord]) -> Mapping[str, float]:
    load = typical_load(trials)
    return {} if load is None else load.shares


def _limiting(
    found: Bottleneck | None, shares: Sequence[Mapping[str, float]], *, users: int | None, rate_per_s: float | None
) -> Limiting | None:
    if found is None:
        return None
    unloaded, knee, beyond = shares
    names = sorted({name for share in shares for name in share}, key=lambda name: -beyond.get(name, 0.0))
    rows = [
        PartShare(part=name, unloaded=unloaded.get(name), knee=knee.get(name), beyond=beyond.get(name))
        for name in names
    ]
    runner_up = _runner_up(found, names)
    return Limiting(
        bottleneck=found,
        users=users,
        rate_per_s=rate_per_s,
        runner_up=runner_up,
        runner_up_share=None if runner_up is None else beyond.get(runner_up),
        shares=rows,
    )


def _runner_up(found: Bottleneck, names: Sequence[str]) -> str | None:
    """The fullest part that the line on the bottleneck does not name already."""
    return next((name for name in names if name not in found.named), None)


def _ramp_of_trials(
    run: RecordedRun, settings: SaturationSettings, trials: Sequence[TrialRecord], found: Estimated | None
) -> RampAnswer | None:
    """The ramp among the trials of a condition; None where none was driven."""
    ramp = settings.classical
    driven = next((trial for trial in reversed(trials) if phase_of(trial) == "ramp"), None)
    if ramp is None or driven is None:
        return None
    return _ramp_answer(run.intervals.get(driven.trial, ()), steps_of(ramp), ramp.users, found)


def _ramp_answer(
    lines: Sequence[IntervalLine], steps: RampUp, users: int, found: Estimated | None
) -> RampAnswer | None:
    """The answer from the intervals of the ramp's trial; None where it was not measured.

    Args:
        lines: of all operations of the trial.
        steps: in which its users began.
        users: all of them.
        found: the saturation point by sweeps; None where there is none.
    """
    in_steps = groupby(_measured(lines), lambda line: _users(line, steps, users))
    driven = [_step(then, list(of)) for then, of in in_steps]
    if not driven:
        return None
    eye, knee = by_eye(driven), kneedle(driven)
    figures = None if found is None else [found.value, found.low, found.high]
    return RampAnswer(
        steps=with_averages(driven),
        eye_users=None if eye is None else eye.users,
        eye_per_s=None if eye is None else eye.per_s,
        knee_users=None if knee is None else knee.users,
        knee_per_s=None if knee is None else knee.per_s,
        message=message("ramp_differs", users=figures, eye_users=None if eye is None else eye.users),
    )


def with_averages(driven: Sequence[Step]) -> list[RampStep]:
    """The steps, each with the moving average at it."""
    averages = moving_average([step.per_s for step in driven])
    return [
        RampStep(users=one.users, from_s=one.from_s, to_s=one.to_s, per_s=one.per_s, average_per_s=average)
        for one, average in zip(driven, averages, strict=True)
    ]


def _measured(lines: Sequence[IntervalLine]) -> list[IntervalLine]:
    return sorted(
        (line for line in lines if line.phase == "measure" and line.duration_s > 0), key=lambda one: one.start_s
    )


def _users(line: IntervalLine, steps: RampUp, users: int) -> int:
    """Who was active in the middle of an interval: users begin as they were planned."""
    return users_at(steps, users, line.start_s + line.duration_s / 2)


def _step(users: int, lines: Sequence[IntervalLine]) -> Step:
    """One step; of several operations all together."""
    times = {line.index: line.duration_s for line in lines}
    last = lines[-1]
    ok = sum(line.ok for line in lines)
    return Step(users, lines[0].start_s, last.start_s + last.duration_s, ok / sum(times.values()))
