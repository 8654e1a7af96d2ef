"""The study's tables: a row a condition, over its trials that are not invalid, as the comparisons use them."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from loadstone.drivers.histogram import PER_MILLE
from loadstone.drivers.outcome import Quantiles
from loadstone.experiment.plan.labels import condition_label
from loadstone.experiment.plan.run_plan import WARM_BLOCK
from loadstone.experiment.spec.experiment import Experiment, Published, TableSpec, conditions_varied
from loadstone.experiment.spec.levels import Condition, identity, is_level
from loadstone.judge.analysis.analysis import MachineSpeed, ResultTable, Row, SettledLatencies
from loadstone.judge.analysis.fixed_rates import at_fixed_rates, own_load
from loadstone.judge.analysis.notes import machine_speed, slower_than_usual
from loadstone.judge.analysis.row_latencies import (
    doubted_figures,
    has_a_rate,
    is_disturbed,
    is_of_latency,
    merged_latencies,
    no_quantiles,
    saturates,
    some_waited,
    time_of_all_users,
    unmeasurable,
)
from loadstone.judge.analysis.server_side import at_once, deliveries, server_side, users_of
from loadstone.judge.analysis.settled import neighbours_checked, quantile_intervals, row_fields
from loadstone.judge.bottleneck import bottleneck_of
from loadstone.judge.checks.checks import BOUNDS, counted_reasons, failed_checks, forbidding
from loadstone.judge.checks.generator_bounds import GAIN, bound_over
from loadstone.judge.checks.stall_checks import server_stalls
from loadstone.judge.compare.pairs import refusal_of
from loadstone.judge.compare.round_figures import row_slices
from loadstone.judge.compare.warming_up import rise_over, rise_within
from loadstone.judge.cost import costs_of, whole_cost
from loadstone.judge.stations import stations_of
from loadstone.judge.statistics.rounds.row_rate import row_rate
from loadstone.judge.statistics.signed_rank import typical_interval
from loadstone.judge.verdict import GeneratorBound
from loadstone.run_folder.reading import RecordedRun, mean_of
from loadstone.run_folder.trial import CheckResult, TrialRecord
from loadstone.safety.bounds.replies import example_of
from loadstone.text.message import Message, message

Ends = tuple[float, float] | None
"""Both ends of an interval; None: too few for one."""
APART_MAX = 0.25
"""Trials of a row without an interval whose rates differ by more than this share make it suspect. J: on a shared
machine of two CPUs, behind a JVM that was still warming up, two trials of one condition differed by 52 % typically."""


def make_tables(run: RecordedRun, trials: Sequence[TrialRecord]) -> list[ResultTable]:
    """Every table of which at least one row was planned. `trials` are judged.

    A row is over all trials of its condition, whatever group they were measured in; those that warm the
    machine up stand in no table, and those at a fixed rate stand beside the row's own figures.
    """
    planned = {identity(line.condition) for line in run.plan.trials}
    by_condition: dict[str, list[TrialRecord]] = {}
    for trial in own_load(run, trials):
        if trial.block != WARM_BLOCK:
            by_condition.setdefault(identity(trial.condition), []).append(trial)
    tables, usual = [], machine_speed(trials)
    at_rates = at_fixed_rates(run, trials)
    for table in tables_of_mode(run):
        conditions = [c for c in conditions_varied(run.experiment, table.vary) if identity(c) in planned]
        if conditions:
            made = ((c, _row(run, table, c, by_condition.get(identity(c), []), usual)) for c in conditions)
            rows = [row.model_copy(update={"at_rate": at_rates.get(identity(c))}) for c, row in made]
            vary = {name: list(levels) for name, levels in table.vary.items()}
            rows = neighbours_checked(rows, vary)
            head = {"name": table.name, "title": table.title, "note": table.note, "columns": list(table.columns)}
            tables.append(ResultTable(**head, vary=vary, rows=rows))
    return tables


def tables_of_mode(run: RecordedRun) -> list[TableSpec]:
    """The tables of this kind of run."""
    tables = [table for table in run.experiment.tables if table.quick or not run.plan.quick]
    published = run.experiment.as_published
    if run.plan.as_published and published is not None and published.tables:
        tables = [table for table in tables if table.name in published.tables]
    return tables


def _row(
    run: RecordedRun, table: TableSpec, condition: Condition, trials: list[TrialRecord], usual: Sequence[MachineSpeed]
) -> Row:
    used = [trial for trial in trials if not forbidding(trial)]
    head: dict[str, Any] = {
        "condition": condition,
        "label": condition_label(run.experiment, condition, table.vary),
        "trials": [trial.trial for trial in trials],
        "published": published_figure(run.experiment, condition),
        "published_columns": published_columns(run.experiment, condition),
        "error_examples": _error_examples(trials),
    }
    bound = bound_over(used)
    head["saturated"] = saturates(trials)
    head["reasons"] = _reasons(trials, bound)
    if not used or refusal_of(trials) is not None:
        return _empty_row({**head, "bound": bound, "errors": _errors(trials)}, "invalid" if trials else "missing")
    latencies, costs, stations = merged_latencies(run, used), costs_of(used), stations_of(used)
    waited = some_waited(used)
    response = time_of_all_users(used) if waited else latencies.response
    goodput = _rate([trial.goodput_per_s for trial in used], used)
    throughput = _rate([trial.throughput_per_s for trial in used], used)
    interval = _around(goodput, rate_interval(used, "goodput_per_s"))
    doubts = [*(_apart(used) if interval is None else []), *_warming(used)]
    slower = slower_than_usual(used, usual)
    elapsed_s = sum(trial.duration_s for trial in used)
    repeats = SettledLatencies()
    if has_a_rate(used):
        repeats = quantile_intervals(run, used, response, latencies.service, None if waited else latencies.least)
    late = [(trial, one) for trial in used for one in _suspect([trial]) if is_of_latency(one)]
    doubted = doubted_figures(late, latencies.least)
    return Row(
        **{**head, "reasons": [*head["reasons"], *latencies.unread, *doubts, *([slower] if slower else [])]},
        verdict=_verdict(used, bound, doubts),
        operations=round(sum(trial.throughput_per_s * trial.duration_s for trial in used)),
        elapsed_s=elapsed_s,
        throughput_per_s=throughput,
        goodput_per_s=goodput,
        peak_per_s=max(trial.peak_per_s for trial in used),
        units_per_s=_units_per_s(used),
        unit=_unit(used),
        response_ns=response,
        service_ns=latencies.service,
        least_ns=None if waited else latencies.least,
        pool_wait_ns=None if waited else _pool_wait(used),
        errors=_errors(used),
        cpu_share=_cpu_share(used, elapsed_s),
        costs=costs,
        whole_cost=whole_cost(used, costs),
        unmeasurable=no_quantiles() if waited else unmeasurable(response, used),
        blocks=len(used),
        slices=_slices(used),
        goodput_interval=interval,
        throughput_interval=_around(throughput, rate_interval(used, "throughput_per_s")),
        bottleneck=bottleneck_of(used, stations),
        stations=stations,
        users=users_of(used[0]) if run.plan.scale != 1 else None,
        bound=bound,
        at_once=at_once(used),
        deliveries=deliveries(used),
        **row_fields(repeats, doubted),
        **server_side(used),
    )


def _units_per_s(used: Sequence[TrialRecord]) -> float | None:
    known = [trial.units_per_s for trial in used if trial.units_per_s is not None]
    return _rate(known, used) if len(known) == len(used) else None


def _unit(used: Sequence[TrialRecord]) -> str:
    found = [trial.units.unit for trial in used if trial.units is not None and trial.units.per_operation != 1]
    return found[0] if found else ""


def _slices(used: Sequence[TrialRecord]) -> int:
    found = row_slices(used, "goodput_per_s")
    return 0 if found is None else len(found[0])


def _verdict(
    used: Sequence[TrialRecord], bound: GeneratorBound | None, doubts: Sequence[Message]
) -> Literal["valid", "suspect"]:
    """What bounds single trials counts by the bound of the row alone; what doubts latencies takes these away."""
    failed = not all(map(is_of_latency, _suspect(used)))
    wide = bound is not None and 100 * bound.total > GAIN.valid
    return "suspect" if doubts or failed or wide else "valid"


def _suspect(trials: Sequence[TrialRecord]) -> list[CheckResult]:
    """What is near its limit in any of the trials, but for what bounds their rates."""
    found = [check for trial in trials for check in failed_checks(trial, ("suspect",))]
    return [check for check in found if check.name not in BOUNDS or is_disturbed(check)]


def _warming(trials: Sequence[TrialRecord]) -> list[Message]:
    """What is to be said of a rate that was still rising, over all trials."""
    found = []
    if (rise := rise_within(trials)) is not None:
        found.append(message("row.rises_within", share=math.expm1(rise)))
    if (rise := rise_over(trials)) is not None:
        found.append(message("row.rose_over", share=math.expm1(rise)))
    return found


def _apart(trials: Sequence[TrialRecord]) -> list[Message]:
    """What is to be said of trials too few for an interval that do not agree: their mean says little."""
    rates = [trial.goodput_per_s for trial in trials]
    if min(rates) <= 0 or (spread := max(rates) / min(rates) - 1) <= APART_MAX:
        return []
    return [message("row.apart", trials=len(rates), share=spread)]


def _empty_row(head: Mapping[str, Any], verdict: str) -> Row:
    """A row without a figure but for its failures: nothing valid was measured."""
    return Row(
        **head, verdict=verdict, operations=None, elapsed_s=None, throughput_per_s=None, goodput_per_s=None,
        peak_per_s=None, response_ns=None, service_ns=None, pool_wait_ns=None, cpu_share={}, unmeasurable={},
    )  # fmt: skip


def _around(rate: float, interval: Ends) -> Ends:
    """The interval of the typical trial, as wide as it takes to hold the rate over all trials, too.

    A few slow trials draw the one down and leave the other where it was: printed side by side the rate would lie
    outside of its own brackets.
    """
    return None if interval is None else (min(interval[0], rate), max(interval[1], rate))


def rate_interval(trials: Sequence[TrialRecord], metric: Literal["goodput_per_s", "throughput_per_s"]) -> Ends:
    """The 95 % interval of a rate: by slices, where all trials were measured in rounds, else by trials."""
    slices = row_slices(trials, metric)
    if slices is None:
        return typical_interval([getattr(trial, metric) for trial in trials])
    try:
        found = row_rate(*slices)
    except ValueError:
        return None
    return None if found.low is None or found.high is None else (found.low, found.high)


def _reasons(trials: Sequence[TrialRecord], bound: GeneratorBound | None) -> list[Message]:
    """Why trials are not valid: a message a check; with how many trials it is about where there are several.

    What bounds single trials is no reason where the bound of the row is small.
    """
    without = BOUNDS if bound is not None and 100 * bound.total <= GAIN.valid else ()
    if len(trials) == 1:
        found = [one.reason for one in failed_checks(trials[0], without=without) if one.reason is not None]
    else:
        found = counted_reasons(trials, without=without)
    return found if bound is None else [bound.put_into(reason) for reason in found]


def _pool_wait(trials: Sequence[TrialRecord]) -> Quantiles:
    """Return what can be put together without a histogram of the pool waits of several trials: shortest, mean,
    longest."""
    parts = [trial.pool_wait_ns for trial in trials]
    if len(parts) == 1:
        return parts[0]
    return Quantiles(
        min=min((p.min for p in parts if p.min is not None), default=None),
        mean=mean_of([p.mean for p in parts], [trial.counts.ok for trial in trials]),
        max=max((p.max for p in parts if p.max is not None), default=None),
        **dict.fromkeys(PER_MILLE),
    )


def _rate(rates: Sequence[float], trials: Sequence[TrialRecord]) -> float:
    """Operations of all trials over the time of all trials."""
    elapsed_s = sum(trial.duration_s for trial in trials)
    done = sum(rate * trial.duration_s for rate, trial in zip(rates, trials, strict=True))
    return done / elapsed_s if elapsed_s else 0.0


def _errors(trials: Sequence[TrialRecord]) -> dict[str, int]:
    """Failures by kind; timeouts and replies that never came are among them.

    Of a server that stood still those beside what was measured, too: it stood still in the midst of the run.
    """
    errors: dict[str, int] = {}
    for trial in trials:
        timeouts = trial.counts.timeouts + _timeouts_beside(trial)
        kinds = {**trial.counts.errors, "timeout": timeouts, "never_answered": trial.counts.in_flight}
        for kind, number in kinds.items():
            if number:
                errors[kind] = errors.get(kind, 0) + number
    return errors


def _timeouts_beside(trial: TrialRecord) -> int:
    """Operations of warm-up, settling and drain that timed out, of a trial in which the server stood still; else 0."""
    facts = trial.facts
    if facts.drive is None or not server_stalls(facts, trial.response_ns.p50):
        return 0
    return max(0, facts.drive.total.timeouts - trial.counts.timeouts)


def _error_examples(trials: Sequence[TrialRecord]) -> dict[str, str]:
    """Kind -> the first reply, of those kinds that were counted: a drive in turns may have another in another block.

    They are made printable again: a folder may be anybody's.
    """
    found: dict[str, str] = {}
    for trial in trials:
        for one in () if trial.facts.drive is None else trial.facts.drive.examples:
            if trial.counts.errors.get(one.kind):
                found.setdefault(one.kind, example_of(one.reply))
    return found


def _cpu_share(trials: Sequence[TrialRecord], elapsed_s: float) -> dict[str, float]:
    """CPU of each part that was observed in every trial, as a share of one core."""
    parts = set.intersection(*(set(trial.cpu_s) for trial in trials))
    if not elapsed_s:
        return {}
    return {part: round(sum(trial.cpu_s[part] for trial in trials) / elapsed_s, 6) for part in sorted(parts)}


def published_figure(experiment: Experiment, condition: Condition) -> float | None:
    """The original's figure for a condition, of those that stand beside no column of their own."""
    rows = [row for source in experiment.published if not source.column for row in source.rows]
    return _published(experiment, condition, rows)


def published_columns(experiment: Experiment, condition: Condition) -> dict[str, float]:
    """Column -> the original's figure for a condition."""
    found: dict[str, float] = {}
    for source in experiment.published:
        figure = _published(experiment, condition, source.rows) if source.column else None
        if figure is not None:
            found.setdefault(source.column, figure)
    return found


def _published(experiment: Experiment, condition: Condition, rows: Sequence[Published]) -> float | None:
    """The first figure for a condition; factors that it does not name must be at their usual level."""
    for published in rows:
        if published.along not in condition or not is_level(condition[published.along], published.levels):
            continue
        named = {**published.where, published.along: condition[published.along]}
        if all(
            is_level(condition[name], (named.get(name, factor.usual),))
            for name, factor in experiment.factors.items()
            if name in condition
        ):
            places = [i for i, level in enumerate(published.levels) if is_level(condition[published.along], (level,))]
            return published.values[places[0]]
    return None
