"""Whether the quantiles of a row's latencies repeat: their intervals, and what one slice or second alone made.

The units are what was measured apart: slices of a row that took turns, seconds (shorter: parts) of one that was
measured in one stretch, and whole trials where there are as many as an interval needs.
"""

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations
from typing import Any, cast

from loadstone.drivers.histogram import PER_MILLE, Histogram, merge
from loadstone.drivers.outcome import Quantiles
from loadstone.experiment.spec.levels import Level, is_level, same_level
from loadstone.judge.analysis.analysis import AtRate, IntervalUnit, Row, SettledLatencies, Stalls, printed_ns
from loadstone.judge.compare.latencies import failed_in, failed_of, operations_of
from loadstone.judge.compare.round_figures import slices_of
from loadstone.judge.statistics.unit_quantiles import UNITS_MIN, MeasuredUnits, UnitQuantile
from loadstone.judge.statistics.unit_quantiles import StalledUnits as StalledUnits
from loadstone.run_folder.latency_logs import LatencyKind, LatencyLogs
from loadstone.run_folder.reading import RecordedRun
from loadstone.run_folder.trial import TrialRecord
from loadstone.safety.errors import DriveFailed
from loadstone.text.message import Message, message

_RESPONSE: LatencyKind = "response"
_UNSETTLED_TIMES = 10.0
"""J: an interval whose ends lie so far apart says nothing of the figure's size."""
NEIGHBOUR_TIMES = 20.0
"""Neighbours whose quantiles differ by so much: the longer one counts only if it is known to repeat."""
_LEAST_P = 1e-9
"""Where so many operations are late that nothing bounds a quantile from below: that of the fastest one."""
_WHOLE = 0.5
"""An interval shorter than this part of the longest one goes to the one before it: the drain, and what is left over."""
_ROUNDED_S = 1e-3
"""The log has the begin of an interval to the millisecond."""
_SECOND_S = (0.75, 1.5)


@dataclass(frozen=True)
class _MeasuredLatencies:
    kind: IntervalUnit
    latencies: list[Histogram]
    failed: list[int]


def quantile_intervals(
    run: RecordedRun,
    trials: Sequence[TrialRecord],
    response: Quantiles | None,
    service: Quantiles | None = None,
    least: Quantiles | None = None,
) -> SettledLatencies:
    """The intervals of the quantiles of `response`, and the stalls that they do not contain.

    Empty where the latencies cannot be read: another reason says so. `service` and `least`: what else is known of all
    operations, for the lower ends.
    """
    names = [name for name in PER_MILLE if response is not None and getattr(response, name) is not None]
    if not names:
        return SettledLatencies()
    try:
        found = _measured(run, run.logs, trials, _RESPONSE)
        units = MeasuredUnits(found.latencies, found.failed)
    except (DriveFailed, ValueError):
        return SettledLatencies()
    bounds = None if least is None else _least_units(run, trials, found)
    intervals: dict[str, tuple[float, float | None]] = {}
    stalls: dict[str, Stalls] = {}
    unsettled: dict[str, Message] = {}
    for name in names:
        p = PER_MILLE[name] / 1000
        one, stalled = units.settled(p)
        figure_ns, least_ns = getattr(response, name), None if least is None else getattr(least, name)
        if one.low is not None:
            bound = None if bounds is None else _bound(bounds, stalled, p - run.delayed(trials))
            low_ns = None if bound is None else bound.low
            if low_ns is None and least_ns is not None:
                low_ns = one.low * least_ns / max(figure_ns, 1)
            if stalled.are_rare:
                least_ns = None if bound is None else bound.figure
            stalls[name] = _stalls(name, one, stalled, figure_ns, least_ns, found.kind)
            figure_ns = stalls[name].without_ns or figure_ns
            intervals[name] = _ends(one, figure_ns, low_ns, _fastest(response, service))
        if why := _unsettled(name, one, intervals.get(name), found.kind):
            unsettled[name] = why
    missing = None
    if not intervals:
        missing = message("quantile_interval_needs", needed=UNITS_MIN, units=units.number, unit=found.kind)
    return SettledLatencies(
        response_interval_ns=intervals,
        interval_units=units.number,
        interval_unit=found.kind,
        no_interval=missing,
        stalls=stalls,
        unsettled=unsettled,
    )


def _fastest(*known: Quantiles | None) -> float:
    """The fastest reply that was seen, in ns: no quantile of round trips is less. 0 where none is known."""
    return float(min((one.min for one in known if one is not None and one.min is not None), default=0))


def _ends(one: UnitQuantile, figure_ns: float, low_ns: float | None, fastest_ns: float) -> tuple[float, float | None]:
    """The interval that is printed: the only place that makes one.

    It contains the figure. `low_ns` is the lower end without what may be the driver's own; None where that is not
    known. No end is faster than every reply seen.
    """
    low, high = cast(float, one.low), cast(float, one.high)
    lowest = max(min(low, figure_ns, low if low_ns is None else low_ns), min(fastest_ns, figure_ns))
    return lowest, max(high, figure_ns) if math.isfinite(high) else None


def _least_units(run: RecordedRun, trials: Sequence[TrialRecord], response: _MeasuredLatencies) -> MeasuredUnits | None:
    """The units of `response` without what the driver may have added to each reply; None where some were not logged."""
    try:
        found = _measured(run, run.logs_as_they_are, trials, "least")
        same = [one.total for one in found.latencies] == [one.total for one in response.latencies]
        return MeasuredUnits(found.latencies, found.failed) if same else None
    except (DriveFailed, ValueError):
        return None


def _bound(bounds: MeasuredUnits, stalled: StalledUnits, p: float) -> UnitQuantile | None:
    """The quantile without what the driver may have added, of the units that the printed one is of."""
    kept = bounds.without(stalled.held) if stalled.are_rare else bounds
    found = kept.quantile(max(p, _LEAST_P), least_units=1)
    return found if math.isfinite(found.figure) else None


def _stalls(
    name: str,
    one: UnitQuantile,
    stalled: StalledUnits,
    figure_ns: float,
    least_ns: float | None,
    kind: IntervalUnit,
) -> Stalls:
    """What was found of stalls; `figure_ns` is the quantile of all units, `one` that of those without a stall where
    stalls are rare."""
    found = Stalls(
        units=stalled.units,
        of=stalled.of,
        share_low=stalled.low,
        share_high=stalled.high,
        longest_ns=stalled.longest_ns,
    )
    if not stalled.are_rare or not math.isfinite(one.figure):
        return found
    why = message(
        "quantile_stalls",
        quantile=name,
        unit=kind,
        stalled=stalled.units,
        units=stalled.of,
        low=stalled.low,
        high=stalled.high,
        longest_ns=stalled.longest_ns,
        all_ns=figure_ns,
    )
    without_ns = min(one.figure, figure_ns)
    return found.model_copy(update={"without_ns": without_ns, "least_without_ns": least_ns, "said": why})


def row_fields(found: SettledLatencies, doubted: Sequence[str]) -> dict[str, Any]:
    """What a row has of it; `doubted`: the figures that checks doubt."""
    return {**dict(found), **_doubted(doubted, found.unsettled)}


def _doubted(by_checks: Iterable[str], unsettled: Iterable[str]) -> dict[str, Any]:
    every = list(dict.fromkeys([*by_checks, *unsettled]))
    return {"doubted": every, "latencies_doubted": bool(every)}


def _unsettled(
    name: str, one: UnitQuantile, ends: tuple[float, float | None] | None, kind: IntervalUnit
) -> Message | None:
    """Why a quantile does not describe the condition; None where nothing speaks against it. `ends`: those printed."""
    if one.is_of_one_unit:
        return message(
            "quantile_one_unit",
            quantile=name,
            unit=kind,
            units=one.units,
            share=one.share_of_one,
            without_ns=one.without_one,
        )
    if ends is None or one.low is None or one.high is None:
        return None
    if one.high >= _UNSETTLED_TIMES * one.low:
        return message(
            "quantile_apart",
            quantile=name,
            unit=kind,
            units=one.units,
            most=one.units_of_most,
            low_ns=ends[0],
            high_ns=ends[1],
        )
    return None


def _measured(
    run: RecordedRun, logs: LatencyLogs, trials: Sequence[TrialRecord], kind: LatencyKind
) -> _MeasuredLatencies:
    """The units of these trials, with this kind of latency.

    Raises DriveFailed, and ValueError for histograms that differ in their buckets.
    """
    if len(trials) >= UNITS_MIN:
        whole = [logs.whole(trial.trial, kind) for trial in trials]
        return _MeasuredLatencies("trial", whole, failed_of(trials, whole, kind))
    parts = [_slices(logs, trial, kind) if slices_of(trial) else _intervals(run, logs, trial, kind) for trial in trials]
    latencies = [latency for part in parts for latency in part.latencies]
    return _MeasuredLatencies(parts[0].kind, latencies, [one for part in parts for one in part.failed])


def _slices(logs: LatencyLogs, trial: TrialRecord, kind: LatencyKind) -> _MeasuredLatencies:
    """Return the units of a trial that took turns: one for each slice where each has a histogram of its own, else the
    fewer that there are.

    What ended between slices stands in a histogram over all of them: it goes to its last one.
    """
    slices = slices_of(trial)
    found = logs.by_rounds(trial.trial, kind)
    spans: list[tuple[int, int]] = []
    for span in sorted(found, key=lambda span: span[1] - span[0]):
        if not any(span[0] <= other[1] and other[0] <= span[1] for other in spans):
            spans.append(span)
    spans.sort()
    joined = {span: [found[span]] for span in spans}
    for span in found.keys() - joined.keys():
        joined[max((one for one in spans if one[1] <= span[1]), default=spans[-1])].append(found[span])
    latencies = [merge(joined[span]) for span in spans]
    failed = [failed_in(slices, span, one, kind) for span, one in zip(spans, latencies, strict=True)]
    each = all(first == last for first, last in spans)
    return _MeasuredLatencies("slice" if each else "part", latencies, failed)


def _intervals(run: RecordedRun, logs: LatencyLogs, trial: TrialRecord, kind: LatencyKind) -> _MeasuredLatencies:
    """Return the units of a trial in one stretch, one for each interval. Failures stand in the interval in which they
    were counted."""
    found = logs.by_intervals(trial.trial, kind)
    if not found:
        return _MeasuredLatencies("part", [], [])
    longest_s = max(length_s for _, length_s in found)
    starts: list[float] = []
    groups: list[list[Histogram]] = []
    for (start_s, length_s), histogram in found.items():
        if groups and length_s < _WHOLE * longest_s:
            groups[-1].append(histogram)
        else:
            starts.append(start_s)
            groups.append([histogram])
    latencies = [merge(group) for group in groups]
    failed = [0] * len(groups)
    for line in run.intervals.get(trial.trial, ()):
        if line.phase in ("measure", "drain"):
            place = bisect_right(starts, line.start_s + _ROUNDED_S) - 1
            failed[max(0, place)] += sum(line.errors.values()) + line.timeouts + line.dropped
    rest = max(0, operations_of(trial, kind) - sum(latency.total for latency in latencies)) - sum(failed)
    failed[-1] = max(0, failed[-1] + rest)
    second = _SECOND_S[0] <= longest_s <= _SECOND_S[1]
    return _MeasuredLatencies("second" if second else "part", latencies, failed)


def neighbours_checked(rows: Sequence[Row], vary: dict[str, list[Level]]) -> list[Row]:
    """The rows, with every quantile marked that is twenty times a neighbour's and has no interval.

    Neighbours differ in one factor, by adjacent levels. One with an interval needs no neighbour: where that reaches
    down to a tenth of the figure it is marked already, and else it repeats.
    """
    doubts: dict[int, dict[str, Message]] = {}
    at_a_rate = [(place, row) for place, row in enumerate(rows) if row.at_fixed_rate is not None]
    for (place, row), (_, other) in permutations(at_a_rate, 2):
        if _are_neighbours(row, other, vary):
            for name, why in _far_beyond(row, other).items():
                doubts.setdefault(place, {}).setdefault(name, why)
    return [_marked(row, doubts[place]) if place in doubts else row for place, row in enumerate(rows)]


def _are_neighbours(a: Row, b: Row, vary: dict[str, list[Level]]) -> bool:
    differing = [name for name in vary if not same_level(a.condition[name], b.condition[name])]
    if len(differing) != 1:
        return False
    name = differing[0]
    return any(is_level(a.condition[name], two) and is_level(b.condition[name], two) for two in pairwise(vary[name]))


def _far_beyond(row: Row, other: Row) -> dict[str, Message]:
    """The quantiles of a row without an interval that are so many times its neighbour's."""
    found: dict[str, Message] = {}
    here, there = row.at_fixed_rate, other.at_fixed_rate
    if here is None or there is None:
        return found
    for name in PER_MILLE:
        figure, less = printed_ns(here, name), printed_ns(there, name)
        known = name in here.response_interval_ns or name in here.unsettled
        if figure and less and not known and figure >= NEIGHBOUR_TIMES * less:
            found[name] = message("quantile_neighbour", quantile=name, times=figure / less, neighbour=other.label)
    return found


def _marked(row: Row, doubts: dict[str, Message]) -> Row:
    source = cast(Row | AtRate, row.at_fixed_rate)
    changed = {"unsettled": {**source.unsettled, **doubts}, **_doubted(source.doubted, doubts)}
    if isinstance(source, AtRate):
        return row.model_copy(update={"at_rate": source.model_copy(update=changed)})
    return row.model_copy(update=changed)
