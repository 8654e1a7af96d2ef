"""A figure over many runs: a line for all that are of the same thing, and never one over unlike machines or versions.

What is alike is decided as for `loadstone compare` (`run_differences.difference_clauses`). Intervals are each run's
own: they hold what differed within it, and not what the machine may have done between two of them.
"""

import math
from collections.abc import Callable, Iterator, Sequence

from loadstone.addons.history.run_differences import (
    LoadDescription,
    RunEnvironment,
    difference_clauses,
    driven_by,
    surroundings_of,
)
from loadstone.experiment.spec.levels import identity
from loadstone.judge.analysis.analysis import Analysis, Comparison, RatioOverRuns, RatiosOverRuns, Row, printed_ns
from loadstone.judge.verdict import COST, AnalysisModel
from loadstone.run_folder.reading import RecordedRun
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.language import author_text
from loadstone.text.message import Message

RATIO = "ratio"
"""The metric of a declared comparison: how many times as much B is as A."""
GOODPUT, AT_RATE = "goodput_per_s", "response_ns"
_QUANTILES = ("p50", "p99", "p999")
_NAMED = 4
"""Number of differences between two lines that are named."""


class TrendFigure(AnalysisModel):
    """A figure of one run with its 95 % interval; None where it has none."""

    value: float
    low: float | None = None
    high: float | None = None


class PlaceFigures(AnalysisModel):
    """The figures of one condition, or of one declared pair."""

    key: str
    """Key that is equal in every run that has the place."""
    label: str
    driven: list[LoadDescription]
    """The load of the condition; of a pair of both."""
    figures: dict[str, TrendFigure]
    """Metric -> figure: `goodput_per_s`, `response_ns.p99` at the fixed rate, `cpu_ns.PART`; of a pair `ratio`; of an
    add-on's answer a kind of message."""


class RunFigures(AnalysisModel):
    """All figures of one run that a line may be drawn through, and what must be alike for that."""

    run: str
    began_unix_s: float
    surroundings: RunEnvironment
    places: list[PlaceFigures]
    head: str = ""
    """What was compared with a base, where an add-on answers that."""


class TrendPoint(AnalysisModel):
    """A run on a line."""

    run: str
    began_unix_s: float
    figure: TrendFigure
    head: str = ""
    """What was compared with a base, where an add-on answers that."""


class RunSeries(AnalysisModel):
    """Runs of the same thing, the oldest first."""

    name: str
    """`A` is the line of the newest run."""
    points: list[TrendPoint]
    unlike: list[Message]
    """In what it differs from line A: the first few."""
    more: int = 0
    """Differences that are not named."""


class OverRuns(AnalysisModel):
    """A figure of one condition over runs."""

    label: str
    metric: str
    lines: list[RunSeries]
    without: list[str]
    """Runs that do not have this figure."""


def is_answered(metric: str) -> bool:
    """Whether it is a ratio that an add-on answered: of a head to its base."""
    return metric not in (RATIO, GOODPUT) and not metric.startswith((f"{AT_RATE}.", COST))


def run_figures(run: RecordedRun, analysis: Analysis, began_unix_s: float) -> RunFigures:
    """The figures of a run, of its tables' rows and declared comparisons. Rows that are invalid have none."""
    answered = (answer.over_runs(run) for answer in analysis.parts.values())
    if (alone := next((one for one in answered if one is not None), None)) is not None:
        return _of_ratios(run, alone, began_unix_s)
    trials = {trial.trial: trial for trial in run.trials}
    rows = (_of_row(run, row, trials) for table in analysis.tables for row in table.rows)
    pairs = (_of_pair(run, pair, trials) for family in analysis.families for pair in family.comparisons)
    found: dict[str, PlaceFigures] = {}
    for place in (*rows, *pairs):
        if place is not None:
            found.setdefault(place.key, place)
    return RunFigures(
        run=run.path.name,
        began_unix_s=began_unix_s,
        surroundings=surroundings_of(run),
        places=list(found.values()),
    )


def _of_ratios(run: RecordedRun, found: RatiosOverRuns, began_unix_s: float) -> RunFigures:
    """Return figures of which the machine has no part: one line goes on whatever machines its runs ran on."""
    surroundings = surroundings_of(run)
    servers = surroundings.environment["servers"]
    of_base = {"servers": {name: one for name, one in servers.items() if name in found.servers}}
    return RunFigures(
        run=run.path.name,
        began_unix_s=began_unix_s,
        surroundings=surroundings.model_copy(update={"environment": of_base}),
        places=[_of_ratio(run, one) for one in found.figures],
        head=found.head,
    )


def _of_ratio(run: RecordedRun, one: RatioOverRuns) -> PlaceFigures:
    low, high = one.interval or (None, None)
    return PlaceFigures(
        key=one.key,
        label=one.label,
        driven=[] if one.trial is None else [_load_wherever(run, one.trial)],
        figures={one.named.kind: TrendFigure(value=one.ratio, low=low, high=high)},
    )


def _load_wherever(run: RecordedRun, trial: TrialRecord) -> LoadDescription:
    """The load without what the machine has a say in: threads, how they wait, and a rate that is a share of what both
    can do."""
    driven = driven_by(run, trial)
    group = next((one for one in run.plan.groups if one.name == trial.group), None)
    apart = {"spin_us", *(() if group is None or group.fixed_rate is None else ("rate_per_s",))}
    load = {name: value for name, value in driven.load.items() if name != "threads"}
    if "model" in load:
        load["model"] = {name: value for name, value in load["model"].items() if name not in apart}
    return driven.model_copy(update={"load": load})


def _of_row(run: RecordedRun, row: Row, trials: dict[str, TrialRecord]) -> PlaceFigures | None:
    first = next((trials[name] for name in row.trials if name in trials), None)
    figures = dict(_figures_of_row(row)) if row.verdict in ("valid", "suspect") else {}
    if first is None or not figures:
        return None
    key = f"condition {identity(row.condition)}"
    return PlaceFigures(key=key, label=row.label or "all", driven=[driven_by(run, first)], figures=figures)


def _figures_of_row(row: Row) -> Iterator[tuple[str, TrendFigure]]:
    if row.goodput_per_s is not None:
        low, high = row.interval(GOODPUT) or (None, None)
        yield GOODPUT, TrendFigure(value=row.goodput_per_s, low=low, high=high)
    at_rate = row.at_fixed_rate
    if at_rate is not None and at_rate.response_ns is not None:
        for name in _QUANTILES:
            value = printed_ns(at_rate, name)
            if value is not None and name not in at_rate.unsettled:
                low, high = at_rate.response_interval_ns.get(name, (None, None))
                yield f"{AT_RATE}.{name}", TrendFigure(value=value, low=low, high=high)
    for part, cost in row.costs.items():
        yield f"{COST}{part}", TrendFigure(value=cost.ns, low=cost.low_ns, high=cost.high_ns)


def _of_pair(run: RecordedRun, pair: Comparison, trials: dict[str, TrialRecord]) -> PlaceFigures | None:
    verdict = pair.primary
    point = next((one for one in verdict.points if one.used and {one.trial_a, one.trial_b} <= trials.keys()), None)
    if verdict.kind == "invalid" or verdict.estimate is None or point is None:
        return None
    low, high = (None if end is None else math.exp(end) for end in (verdict.low, verdict.high))
    sides = author_text("{name}: {side} against {side2}", name=pair.name, side=verdict.b.name, side2=verdict.a.name)
    return PlaceFigures(
        key=f"pair {pair.name} {identity(verdict.a.condition)} {identity(verdict.b.condition)} {verdict.metric}",
        label=", ".join(filter(None, (sides, pair.place))),
        driven=[driven_by(run, trials[name]) for name in (point.trial_a, point.trial_b)],
        figures={RATIO: TrendFigure(value=math.exp(verdict.estimate), low=low, high=high)},
    )


def places_of(runs: Sequence[RunFigures]) -> dict[str, str]:
    """The conditions and pairs of these runs, key -> label: those that most of the runs have first."""
    numbers: dict[str, int] = {}
    labels: dict[str, str] = {}
    for run in sorted(runs, key=lambda run: -run.began_unix_s):
        for place in run.places:
            numbers[place.key] = numbers.get(place.key, 0) + 1
            labels.setdefault(place.key, place.label)
    return {key: labels[key] for key in sorted(labels, key=lambda key: -numbers[key])}


def metrics_of(runs: Sequence[RunFigures], key: str) -> list[str]:
    """The metrics that any of these runs has of a condition or pair."""
    return list(
        dict.fromkeys(name for run in runs for place in run.places if place.key == key for name in place.figures)
    )


def over_runs(runs: Sequence[RunFigures], key: str, metric: str) -> OverRuns:
    """One figure of a condition (or pair) over runs, in lines of runs that `loadstone compare` would compare.

    A line goes on where the next run is like the newest one on it; runs in between that are unlike do not break it.
    """
    measured, without = measured_in(runs, key, metric)
    drawn = joined(measured, lambda one, other: not _unlike(one, other))
    drawn.sort(key=lambda line: -line[-1][0].began_unix_s)
    lines = [_line(number, line, drawn[0], metric) for number, line in enumerate(drawn)]
    return OverRuns(label=places_of(runs).get(key, ""), metric=metric, lines=lines, without=without)


MeasuredTrials = tuple[RunFigures, PlaceFigures]
"""A run with its figures of one condition or pair."""


def in_order(runs: Sequence[RunFigures]) -> list[RunFigures]:
    """The oldest first: the first is run 1."""
    return sorted(runs, key=lambda run: (run.began_unix_s, run.run))


def measured_in(runs: Sequence[RunFigures], key: str, metric: str) -> tuple[list[MeasuredTrials], list[str]]:
    """The runs that have this figure, the oldest first, and the names of those that do not."""
    found: list[MeasuredTrials] = []
    without: list[str] = []
    for run in in_order(runs):
        place = next((one for one in run.places if one.key == key and metric in one.figures), None)
        if place is None:
            without.append(run.run)
        else:
            found.append((run, place))
    return found, without


def joined(
    runs: Sequence[MeasuredTrials], alike: Callable[[MeasuredTrials, MeasuredTrials], bool]
) -> list[list[MeasuredTrials]]:
    """Runs in rows: each goes on with the first row whose newest run is like it."""
    rows: list[list[MeasuredTrials]] = []
    for one in runs:
        row = next((row for row in rows if alike(row[-1], one)), None)
        if row is None:
            rows.append([one])
        else:
            row.append(one)
    return rows


def drivens(one: MeasuredTrials, other: MeasuredTrials) -> list[tuple[LoadDescription, LoadDescription]]:
    """The loads of both, side by side."""
    return list(zip(one[1].driven, other[1].driven, strict=False))


def _unlike(one: MeasuredTrials, other: MeasuredTrials, names: tuple[str, str] = ("A", "B")) -> list[Message]:
    return difference_clauses(one[0].surroundings, other[0].surroundings, drivens(one, other), names)


def _line(number: int, line: Sequence[MeasuredTrials], newest: Sequence[MeasuredTrials], metric: str) -> RunSeries:
    name = _letters(number)
    differences = _unlike(newest[-1], line[-1], ("A", name)) if number else []
    return RunSeries(
        name=name,
        points=[
            TrendPoint(run=run.run, began_unix_s=run.began_unix_s, figure=place.figures[metric], head=run.head)
            for run, place in line
        ],
        unlike=differences[:_NAMED],
        more=max(0, len(differences) - _NAMED),
    )


def _letters(number: int) -> str:
    """A, B, ... Z, AA, AB."""
    name = ""
    number += 1
    while number:
        number, left = divmod(number - 1, 26)
        name = chr(65 + left) + name
    return name
