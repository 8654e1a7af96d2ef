"""`loadstone compare`: two conditions of a run, or two runs and their curves, from their folders alone."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from rich.console import Console

from loadstone.addons.history.between_runs import ComparedBy, JudgedRun, Match, compare_runs, match_runs
from loadstone.addons.history.compare_options import CompareOptions
from loadstone.addons.history.compare_report import ComparedRun, CompareReport, OutputKind, show, to_json
from loadstone.addons.history.pairs_of_run import compare_pairs, pairs_between
from loadstone.addons.history.run_differences import costs_not_compared, differences, slices_unlike
from loadstone.drivers.histogram import SAMPLES_BEYOND
from loadstone.experiment.plan.group import PairDesign
from loadstone.experiment.plan.labels import label_of
from loadstone.experiment.plan.run_plan import WARM_BLOCK
from loadstone.experiment.spec.experiment import METRICS, Experiment
from loadstone.experiment.spec.levels import Level, same_level
from loadstone.experiment.spec.overrides import parse_only
from loadstone.judge.analysis.analysis import Comparison
from loadstone.judge.analysis.comparisons import compare_groups
from loadstone.judge.analysis.objectives import (
    FailIfObjective,
    metric_of,
    missed_ratios,
    parse_objective,
    require_relative,
)
from loadstone.judge.checks.checks import forbidding, judge_trial
from loadstone.judge.compare.exploration import METRICS as EXPLORED_METRICS
from loadstone.judge.verdict import AnalysisModel
from loadstone.run_folder.files import run_names
from loadstone.run_folder.reading import RecordedRun, read_run
from loadstone.run_folder.trial import TrialRecord
from loadstone.safety.errors import DriveFailed, UserError
from loadstone.text import sentences
from loadstone.text.message import Message, message, said, verbatim
from loadstone.text.units import SHARE, parse
from loadstone.text.wording import listed, nearest

_POINTS = 80
"""Most points of a curve: more are not seen."""


class CurvePoint(AnalysisModel):
    """A share of the operations and the latency that it exceeded."""

    beyond: float
    """1 down to where fewer than 100 operations lie beyond."""
    ns: float


class OverlaidSide(AnalysisModel):
    """A condition in one of the runs: its usable trials."""

    run: str
    """What the run is called, as in the verdicts."""
    rates_per_s: list[float]
    """Goodput of each trial, in the order in which they ran."""
    curve: tuple[CurvePoint, ...] = ()
    """Response times of all trials together; what failed counts as infinitely late, and ends the curve."""


class Overlaid(AnalysisModel):
    """A condition in both runs."""

    place: str
    a: OverlaidSide
    b: OverlaidSide


def overlaid(a: JudgedRun, matches: Sequence[Match], names: tuple[str, str]) -> list[Overlaid]:
    """The rates of each condition that both runs have, in the order of the matches."""
    return [
        Overlaid(
            place=label_of(a.run.experiment, match.condition),
            a=OverlaidSide(run=names[0], rates_per_s=[trial.goodput_per_s for trial in _usable(match.a)]),
            b=OverlaidSide(run=names[1], rates_per_s=[trial.goodput_per_s for trial in _usable(match.b)]),
        )
        for match in matches
    ]


def with_curves(one: Overlaid, match: Match, a: JudgedRun, b: JudgedRun) -> Overlaid:
    """Return the comparison with its latency curves, which are read from the logs of its trials."""
    sides = {}
    for name, side, judged, trials in (("a", one.a, a, match.a), ("b", one.b, b, match.b)):
        sides[name] = side.model_copy(update={"curve": _curve(judged, _usable(trials))})
    return one.model_copy(update=sides)


def _usable(trials: Sequence[TrialRecord]) -> list[TrialRecord]:
    return [trial for trial in trials if not forbidding(trial)]


def _curve(judged: JudgedRun, trials: Sequence[TrialRecord]) -> tuple[CurvePoint, ...]:
    """Empty where the logs are missing or damaged."""
    operations = sum(trial.counts.offered for trial in trials)
    if operations <= SAMPLES_BEYOND:
        return ()
    try:
        merged = judged.run.logs.merged([trial.trial for trial in trials], "response")
    except DriveFailed:
        return ()
    shares: list[float] = np.geomspace(1.0, SAMPLES_BEYOND / operations, _POINTS).tolist()
    ranks = [math.ceil(operations * (1 - beyond)) for beyond in shares]
    values = merged.values_of([rank for rank in ranks if rank <= merged.total])
    return tuple(CurvePoint(beyond=beyond, ns=value) for beyond, value in zip(shares, values, strict=False))


MISSED_STATUS = 1
INVALID_STATUS = 3
_NAMED = 3
"""Number of differences that are named where runs are refused."""


@dataclass(frozen=True)
class CompareOutcome:
    """The exit status that the comparison deserves, and the whole of it as JSON."""

    status: int
    json_text: str


def compare(options: CompareOptions, console: Console) -> CompareOutcome:
    """Compare, print the outcome on the console, and hold it against the objectives. Raises UserError."""
    objectives = [parse_objective(text) for text in options.fail_if]
    require_relative(objectives)
    report = compared(options)
    report = report.model_copy(
        update={
            "objectives": [objective.text for objective in objectives],
            "missed": missed_ratios(objectives, report.comparisons),
        }
    )
    show(report, console)
    return CompareOutcome(_status(report, objectives), to_json(report))


def compared(options: CompareOptions) -> CompareReport:
    """What is compared, and what the data allow to say; objectives are left aside. Raises UserError."""
    _require_sensible(options)
    by = _by(options)
    return _two_runs(options, by).report if len(options.runs) == 2 else _one_run(options, by)


@dataclass(frozen=True)
class LaidOver:
    """Two runs compared, and laid over each other."""

    report: CompareReport
    places: list[Overlaid]
    """The conditions that both have, with their rates; in the order of the report's comparisons."""
    curves_of: Callable[[int], Overlaid]
    """Returns one of them with its latency curves."""


def laid_over(options: CompareOptions) -> LaidOver:
    """Two runs, as `compared` judges them, with what is needed to draw them. Raises UserError."""
    _require_sensible(options)
    found = _two_runs(options, _by(options))
    a, b = found.runs
    places = overlaid(a, found.matches, run_names(*options.runs))
    return LaidOver(found.report, places, lambda number: with_curves(places[number], found.matches[number], a, b))


def _by(options: CompareOptions) -> ComparedBy:
    return ComparedBy(_metric(options.metric), _margin(options.margin), EXPLORED_METRICS)


def _status(report: CompareReport, objectives: Sequence[FailIfObjective]) -> int:
    if objectives and report.missed:
        return MISSED_STATUS
    return INVALID_STATUS if any(pair.primary.kind == "invalid" for pair in report.comparisons) else 0


def _require_sensible(options: CompareOptions) -> None:
    """Raises UserError for options that do not go together."""
    if len(options.runs) not in (1, 2):
        raise UserError("compare: {runs_count} runs given; give one run's folder, or two", runs_count=len(options.runs))
    if (options.a is None) != (options.b is None):
        given, missing = ("--a", "--b") if options.b is None else ("--b", "--a")
        raise UserError(
            "{given}: needs {missing} too, for example --a storage=json --b storage=hash", given=given, missing=missing
        )
    if len(options.runs) == 2 and options.a is not None:
        raise UserError("--a, --b: choose two conditions of one run; give one run's folder")
    if len(options.runs) == 1 and options.across:
        raise UserError("--across: is for two runs; give a second run's folder, or leave the option out")
    if len(options.runs) == 2 and options.runs[0].resolve() == options.runs[1].resolve():
        raise UserError(
            "{runs}: the same run twice; give another one, or compare its conditions with --a, --b",
            runs=options.runs[1],
        )


def _metric(text: str | None) -> str | None:
    if text is None:
        return None
    metric = text if text in METRICS else metric_of(text)
    if metric not in METRICS:
        raise UserError(
            "--metric {text}: there is no such metric to compare; {hint}write for example goodput, p99 or "
            "service_ns.p50",
            text=text,
            hint=nearest(text, METRICS),
        )
    return metric


def _margin(text: str | None) -> float | None:
    """The margin as a share. Raises UserError."""
    if text is None:
        return None
    try:
        margin = float(text) if "%" not in text else float(parse(text, SHARE))
    except ValueError:
        margin = 0.0
    if not 0 < margin < 1:
        raise UserError("--margin {text}: must be a share between 0 and 1, for example '5 %' or 0.05", text=text)
    return margin


def _judged(path: Path) -> JudgedRun:
    run = read_run(path)
    return JudgedRun(run, tuple(judge_trial(trial) for trial in run.trials))


def _one_run(options: CompareOptions, by: ComparedBy) -> CompareReport:
    judged = _judged(options.runs[0])
    run = judged.run
    apart: list[Message] = []
    kind: OutputKind = "ad hoc"
    if options.a is not None and options.b is not None:
        comparisons, apart = compare_pairs(run, judged.trials, _pairs(run, options.a, options.b), by.metric, by.margin)
    elif by.metric is not None or by.margin is not None:
        comparisons, apart = compare_pairs(run, judged.trials, _declared_pairs(run), by.metric, by.margin)
    else:
        _declared_pairs(run)
        kind = "declared"
        comparisons = [pair for family in compare_groups(run, judged.trials) for pair in family.comparisons]
    _require_some(comparisons, apart)
    return _report(kind, [("", judged)], [], [*map(verbatim, run.all_notes), *_one_note(apart)], comparisons)


def _one_note(apart: Sequence[Message]) -> list[Message]:
    """The pairs that no block holds together, in one line."""
    return list(apart) if len(apart) < 2 else [message("pairs_apart", pairs=len(apart), first=apart[0])]


def _require_some(comparisons: Sequence[Comparison], apart: Sequence[Message]) -> None:
    if not comparisons:
        if not apart:
            raise UserError("nothing was measured that could be compared")
        first = sentences.render_message(apart[0]).rstrip(".")
        if len(apart) == 1:
            raise UserError.of(first)
        raise UserError("{first} (and {n} more pairs)", first=first, n=len(apart) - 1)


def _declared_pairs(run: RecordedRun) -> list[PairDesign]:
    """The pairs that the run was planned to compare. Raises UserError if there is none."""
    pairs: list[PairDesign] = [pair for group in run.plan.groups for pair in group.pairs]
    if not pairs:
        factors = listed(name for name, factor in run.experiment.factors.items() if len(factor.levels) > 1)
        raise UserError(
            "{run_path}: the run declares no comparison; choose with --a FACTOR=LEVEL --b FACTOR=LEVEL; "
            "factors are: {factors}",
            run_path=run.path,
            factors=factors,
        )
    return pairs


def _pairs(run: RecordedRun, a: str, b: str) -> list[PairDesign]:
    """Every two conditions that differ as `--a` and `--b` say. Raises UserError."""
    named_a, named_b = _levels(run.experiment, "--a", a), _levels(run.experiment, "--b", b)
    levels_a, levels_b = named_b | named_a, named_a | named_b  # what one side alone names holds for both
    apart = [name for name, level in levels_a.items() if not same_level(level, levels_b[name])]
    if not apart:
        factor = next(name for name in levels_a)
        raise UserError(
            "--a {a} --b {b}: are the same levels; name a factor on both sides, with two levels, for example "
            "--a {factor}=... --b {factor}=..., or choose two that differ",
            a=a,
            b=b,
            factor=factor,
        )
    pairs = pairs_between(run, levels_a, levels_b)
    if not pairs:
        raise UserError(
            "--a {a} --b {b}: the run has no two conditions that differ only in {apart}", a=a, b=b, apart=listed(apart)
        )
    return pairs


def _levels(experiment: Experiment, option: str, text: str) -> dict[str, Level]:
    """`FACTOR=LEVEL[,FACTOR=LEVEL]` as levels of the experiment. Raises UserError naming what exists."""
    levels: dict[str, Level] = {}
    for part in text.split(","):
        name = part.partition("=")[0].strip()
        if "=" not in part:
            factors = listed(experiment.factors)
            raise UserError(
                "{option} {text}: write FACTOR=LEVEL[,FACTOR=LEVEL]; factors are: {factors}",
                option=option,
                text=text,
                factors=factors,
            )
        if name in levels:
            raise UserError(
                "{option} {text}: '{name}' is given twice; name each factor once", option=option, text=text, name=name
            )
        ((factor, (level,)),) = parse_only(experiment, [part], option).items()
        levels[factor] = level
    return levels


class RunsDiffer(UserError):
    """Machine, versions, placement or load differ: they are compared where `--across` says so."""


@dataclass(frozen=True)
class _TwoRuns:
    report: CompareReport
    runs: tuple[JudgedRun, JudgedRun]
    matches: list[Match]


def _two_runs(options: CompareOptions, by: ComparedBy) -> _TwoRuns:
    a, b = (_judged(path) for path in options.runs)
    matches = match_runs(a, b)
    names = run_names(*options.runs)
    matched = [(match.a[0], match.b[0]) for match in matches]
    unlike = differences(a.run, b.run, matched, names)
    if unlike and not options.across:
        more = said(", and {n} more", n=len(unlike) - _NAMED) if len(unlike) > _NAMED else ""
        raise RunsDiffer(
            "{first} and {second} measured different things: {differences}{more}; compare them all the same with "
            "--across",
            first=options.runs[0],
            second=options.runs[1],
            differences="; ".join(map(sentences.render_message, unlike[:_NAMED])),
            more=more,
        )
    if not matches:
        raise UserError(
            "{first} and {second}: no condition was measured in both, in the same group",
            first=options.runs[0],
            second=options.runs[1],
        )
    named = list(zip(names, (a, b), strict=True))
    why = costs_not_compared(a.run, b.run, matched, names)
    comparisons = compare_runs(a, b, matches, replace(by, across=bool(unlike), costs=why is None), names)
    notes = [
        message("note_of_run", run=name, note=note) for name, judged in named for note in _notes(judged, len(matches))
    ]
    notes = [*slices_unlike(a.run, b.run, matched, names), *notes]
    report = _report("two runs", named, unlike, [*notes, *([] if why is None else [why])], comparisons)
    return _TwoRuns(report, (a, b), matches)


def _notes(judged: JudgedRun, matches: int) -> list[Message]:
    """What was damaged in the folder, and conditions that the other run does not have."""
    planned = len({str(sorted(line.condition.items())) for line in judged.run.plan.trials})
    left = planned - matches
    missing = [message("conditions_in_one_run", conditions=left)] if left else []
    return [*map(verbatim, judged.run.all_notes), *missing]


def _report(
    kind: OutputKind,
    runs: Sequence[tuple[str, JudgedRun]],
    different: list[Message],
    notes: list[Message],
    comparisons: list[Comparison],
) -> CompareReport:
    return CompareReport(
        kind=kind,
        runs=[
            ComparedRun(
                name=name,
                run=judged.run.path.resolve().name,
                experiment=judged.run.experiment.name,
                trials=sum(1 for trial in judged.trials if trial.block != WARM_BLOCK),
                quick=judged.run.plan.quick,
            )
            for name, judged in runs
        ],
        differences=different,
        notes=notes,
        comparisons=comparisons,
        objectives=[],
        missed=[],
    )
