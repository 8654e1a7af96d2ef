"""Two runs compared, condition by condition. No block holds both, so their drift counts.

In what they differ stands in `run_differences.py`; the method, and what it costs, in `judge/statistics/two_sample.py`.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from loadstone.addons.history.cost_between_runs import compare_costs_of_runs
from loadstone.addons.history.run_differences import NAMES, Names
from loadstone.experiment.plan.group import PairDesign
from loadstone.experiment.plan.labels import label_of
from loadstone.experiment.plan.look_schedule import BLOCKS_MIN, FIXED_ALPHA
from loadstone.experiment.plan.run_plan import WARM_BLOCK, in_tables
from loadstone.experiment.spec.experiment import conditions_varied
from loadstone.experiment.spec.levels import Condition, identity
from loadstone.judge.analysis.analysis import Comparison, EndReason
from loadstone.judge.analysis.fixed_rates import without_searches
from loadstone.judge.checks.checks import BOUNDS, failed_checks, forbidding
from loadstone.judge.checks.generator_bounds import bound_over
from loadstone.judge.compare import pair_checks
from loadstone.judge.compare.exploration import Explored, repeated, settings_by
from loadstone.judge.compare.pairs import Pair, PairBlock, by_cost, exploratory, published, refusal_of
from loadstone.judge.metrics import figure, is_rate
from loadstone.judge.statistics.decision import refused, verdict_of, verdicts_of_pairs
from loadstone.judge.statistics.drift_guard import passes_drift_guard, stall_counts
from loadstone.judge.statistics.pair_evidence import NO_BLOCKS, Evidence
from loadstone.judge.statistics.settings import Settings
from loadstone.judge.statistics.signed_rank import Floats
from loadstone.judge.statistics.two_sample import two_sample
from loadstone.judge.verdict import GeneratorBound, Verdict
from loadstone.run_folder.reading import RecordedRun, figure_at
from loadstone.run_folder.trial import CheckResult, CheckVerdict, TrialRecord
from loadstone.text.message import Message, message

_NAME = "two runs"
_ENDED: EndReason = "two separate runs"


@dataclass(frozen=True)
class JudgedRun:
    """A run with its trials judged again, from their facts."""

    run: RecordedRun
    trials: tuple[TrialRecord, ...]


@dataclass(frozen=True)
class Match:
    """The finished trials of one condition in both runs, in the order in which they ran."""

    condition: Condition
    group: str
    a: tuple[TrialRecord, ...]
    b: tuple[TrialRecord, ...]


@dataclass(frozen=True)
class ComparedBy:
    """What to compare by. None: what the runs themselves declare."""

    metric: str | None = None
    margin: float | None = None
    exploratory: tuple[str, ...] = ()
    across: bool = False
    """The runs differ in more than their time, and every verdict says so."""
    costs: bool = True
    """What a request costs is compared, too: see `run_differences.costs_not_compared`."""


def match_runs(a: JudgedRun, b: JudgedRun) -> list[Match]:
    """The conditions that both runs have finished trials of, in the order of its tables and comparisons.

    Where a condition stands in several groups, the one with most trials in the poorer of the two runs counts.
    """
    in_a, in_b = _by_condition(a), _by_condition(b)
    matches = []
    conditions = {identity(line.condition): line.condition for line in a.run.plan.trials}
    places = _places(a.run)
    in_both = in_a.keys() & in_b.keys() & conditions.keys()
    for name in sorted(in_both, key=lambda name: (places.get(name, len(places)), name)):
        groups_a, groups_b = in_a[name], in_b[name]
        both = [group for group in groups_a if group in groups_b]
        if both:
            group = max(both, key=lambda group: min(len(groups_a[group]), len(groups_b[group])))
            matches.append(Match(conditions[name], group, tuple(groups_a[group]), tuple(groups_b[group])))
    return matches


def _places(run: RecordedRun) -> dict[str, int]:
    """Identity of a condition -> where it stands in what the user wrote: the tables' rows, then the pairs' sides."""
    rows = [row for table in run.experiment.tables for row in conditions_varied(run.experiment, table.vary)]
    sides = [side for group in run.plan.groups for pair in group.pairs for side in (pair.a, pair.b)]
    return {name: place for place, name in enumerate(dict.fromkeys(map(identity, (*rows, *sides))))}


def _by_condition(judged: JudgedRun) -> dict[str, dict[str, list[TrialRecord]]]:
    """Identity of a condition -> group -> its trials but for those of the warm block and those at a fixed rate."""
    found: dict[str, dict[str, list[TrialRecord]]] = {}
    trials = without_searches(judged.run, judged.trials)
    for trial in sorted(trials, key=lambda trial: trial.started_unix_ns):
        if trial.block != WARM_BLOCK:
            found.setdefault(identity(trial.condition), {}).setdefault(trial.group, []).append(trial)
    return found


def compare_runs(
    a: JudgedRun, b: JudgedRun, matches: Sequence[Match], by: ComparedBy, names: Names = NAMES
) -> list[Comparison]:
    """A comparison for each condition that both runs have; those with trials enough for a verdict share the 5 %.

    `names`: what the two runs are called.
    """
    quick = a.run.plan.quick or b.run.plan.quick
    metrics = [by.metric or _declared_metric(a.run, match.group) for match in matches]
    judged = [number for number, match in enumerate(matches) if min(len(match.a), len(match.b)) >= BLOCKS_MIN]
    primary = {
        number: _measured(match, _settings(metric, by.margin, max(1, len(judged)), quick, names))
        for number, (match, metric) in enumerate(zip(matches, metrics, strict=True))
    }
    verdicts = verdicts_of_pairs({number: _for_verdict(primary[number]) for number in judged})
    for number in primary.keys() - set(judged):
        verdicts[number] = verdict_of(*_for_verdict(primary[number]))
    return [
        _comparison(a.run, match, primary[number], verdicts[number], by, len(matches))
        for number, match in enumerate(matches)
    ]


def _for_verdict(measured: tuple[Pair, Evidence]) -> tuple[Evidence, Settings]:
    pair, evidence = measured
    return evidence, pair.settings


def _declared_metric(run: RecordedRun, group: str) -> str:
    declared = next((line.metric for line in run.plan.groups if line.name == group), None)
    return declared if declared is not None and not in_tables(group) else run.experiment.primary_metric


def _settings(metric: str, margin: float | None, pairs: int, quick: bool, names: Names) -> Settings:
    return settings_by(metric, Settings(alpha=FIXED_ALPHA, pairs=pairs, names=names, quick=quick), margin)


def _comparison(
    run: RecordedRun, match: Match, measured: tuple[Pair, Evidence], found: Verdict, by: ComparedBy, matches: int
) -> Comparison:
    pair, evidence = measured
    refused_too = pair.refusal is not None or evidence.refusal is not None
    explored = Explored() if pair.refusal else _explore(match, pair, by)
    return Comparison(
        name=_NAME,
        question="",
        place=label_of(run.experiment, match.condition),
        between="run",
        primary=published(_final(found, pair, evidence, by), pair.design),
        costs=[] if refused_too or not by.costs else _costs(run, match, pair, by, matches),
        exploratory=explored.verdicts,
        repeats=explored.repeats,
        notes=explored.notes(),
        pairs=pair.settings.pairs,
        sequential=False,
        blocks_done=min(len(match.a), len(match.b)),
        blocks_repeated=0,
        ended=_ENDED,
        checks=list(evidence.checks),
        warnings=_warnings(match, pair.settings.names),
    )


def _costs(run: RecordedRun, match: Match, pair: Pair, by: ComparedBy, matches: int) -> list[Verdict]:
    """All `matches` share the level: few trials are no reason to have no cost, since slices have its interval."""
    a, b = ([trial for trial in side if not forbidding(trial)] for side in (match.a, match.b))
    cpus = figure_at(run.environment, "machine", "cpu_count")
    settings = replace(pair.settings, pairs=matches)
    found = compare_costs_of_runs(a, b, cpus if isinstance(cpus, int) else 1, settings)
    return [by_cost(one, pair.design).model_copy(update={"across": by.across}) for one in found]


def _explore(match: Match, primary: Pair, by: ComparedBy) -> Explored:
    """The other metrics, each at the level of the primary one."""
    found = Explored()
    metric = primary.settings.metric
    for other in by.exploratory:
        if other == metric:
            continue
        pair, evidence = _measured(match, settings_by(other, primary.settings))
        if evidence.refusal is not None:
            found.refuse(evidence.refusal, other)
        elif (repeats := repeated(other, [metric, *found.listed], pair.blocks)) is not None:
            found.repeats[other] = repeats
        else:
            judged = _final(verdict_of(evidence, pair.settings), pair, evidence, by)
            found.verdicts.append(exploratory(judged, pair.design))
    return found


def _final(found: Verdict, pair: Pair, evidence: Evidence, by: ComparedBy) -> Verdict:
    """The verdict to publish: more minutes of the same would not help, since the drift between the runs stays."""
    refusal = pair.refusal or evidence.refusal
    if refusal is not None:
        found = refused(refusal, len(pair.blocks), pair.settings)
    return found.model_copy(update={"more_minutes": None, "across": by.across})


def _measured(match: Match, settings: Settings) -> tuple[Pair, Evidence]:
    """The usable trials of both runs as a pair, and what they say about the metric."""
    metric = settings.metric
    a, b = (tuple(trial for trial in side if not forbidding(trial)) for side in (match.a, match.b))
    bounds = (_bound(a, metric), _bound(b, metric))
    settings = replace(settings, gains=(bounds[0].total, bounds[1].total))
    blocks = tuple(PairBlock(number, *both) for number, both in enumerate(zip(a, b, strict=False), start=1))
    typical = (_typical(a, metric), _typical(b, metric))
    few = pair_checks.replication_of_trials(len(a), len(b), settings.names)
    checks = [few, *_pair_checks(blocks, metric, typical, settings.margin), *_without_figure(a, b, metric)]
    if is_rate(metric):
        checks.append(pair_checks.gain((bounds[0].generator or 0.0, bounds[1].generator or 0.0)))
    design = PairDesign(a=match.condition, b=match.condition)
    pair = Pair(design, blocks, settings, refusal=refusal_of(match.a) or refusal_of(match.b))
    allowed = pair.refusal is None and all(check.verdict != "invalid" for check in checks)
    evidence = _evidence(a, b, metric, settings) if allowed else NO_BLOCKS
    return pair, replace(evidence, typical=typical, checks=tuple(checks))


def _bound(trials: Sequence[TrialRecord], metric: str) -> GeneratorBound:
    """Return how much higher the rate of a run may be at most. What others took counts here, too: between two runs no
    random order spreads it over both."""
    bound = bound_over(trials) if is_rate(metric) else None
    return GeneratorBound(generator=0.0, taken=0.0) if bound is None else bound


def _evidence(a: Sequence[TrialRecord], b: Sequence[TrialRecord], metric: str, settings: Settings) -> Evidence:
    """Estimate and interval of the trials' log figures, and the stalls of each run about its own typical trial."""
    logs_a, logs_b = _logs(a, metric), _logs(b, metric)
    blocks = min(len(a), len(b))
    found = two_sample(logs_a, _times_s(a), logs_b, _times_s(b), settings.interval_alpha)
    if found is None:
        return replace(NO_BLOCKS, blocks=blocks)
    enough = blocks >= settings.blocks_min and found.low is not None
    stalls = [_stalls(logs, larger_is_faster=settings.larger_is_faster) for logs in (logs_a, logs_b)]
    total = math.log(float(np.mean(np.exp(logs_b))) / float(np.mean(np.exp(logs_a))))
    guard = passes_drift_guard(
        np.asarray(total), np.asarray(stalls[0]), np.asarray(stalls[1]), blocks, settings.log_margin
    )
    return Evidence(
        blocks=blocks,
        estimate=found.estimate,
        low=found.low if enough else None,
        high=found.high if enough else None,
        p_value=found.p_value if enough else 1.0,
        spread=None,
        outliers=False,
        stalls_a=stalls[0],
        stalls_b=stalls[1],
        total=total,
        guard=bool(guard),
    )


def _stalls(logs: Floats, *, larger_is_faster: bool) -> int:
    """Trials that were slower than the run's median trial by more than a stall's limit."""
    return int(stall_counts(logs, np.asarray(np.median(logs)), larger_is_faster=larger_is_faster)[1])


def _logs(trials: Sequence[TrialRecord], metric: str) -> Floats:
    return np.log(np.asarray([figure(trial, metric) for trial in trials], dtype=np.float64))


def _times_s(trials: Sequence[TrialRecord]) -> Floats:
    """Starts of the trials in seconds since the first one."""
    return np.asarray([(trial.started_unix_ns - trials[0].started_unix_ns) / 1e9 for trial in trials], dtype=np.float64)


def _typical(trials: Sequence[TrialRecord], metric: str) -> float | None:
    known = [value for trial in trials if (value := figure(trial, metric))]
    return median(known) if known else None


def _pair_checks(
    blocks: Sequence[PairBlock], metric: str, typical: tuple[float | None, float | None], margin: float
) -> list[CheckResult]:
    """The rules for two conditions of one run that need no common blocks."""
    if not blocks:
        return []
    checks = [pair_checks.named_as_failures(pair_checks.error_difference(blocks))]
    if not is_rate(metric):
        known = [value for value in typical if value]
        checks += [pair_checks.offered_rate(blocks), pair_checks.clock(blocks, known, margin)]
    return checks


def _without_figure(a: Sequence[TrialRecord], b: Sequence[TrialRecord], metric: str) -> list[CheckResult]:
    """Leaving out trials without a figure would be a choice by their result: then there is no verdict."""
    without = [trial for trial in (*a, *b) if not figure(trial, metric)]
    if not without:
        return []
    reason = message("pair.samples.no_figure", without=len(without), of=len(a) + len(b))
    return [CheckResult(name="samples", verdict="invalid", measured=None, limit=None, unit="", reason=reason)]


def _warnings(match: Match, names: Names) -> list[Message]:
    """What was left out or used with doubt, one a run and check."""
    found = []
    for name, side in zip(names, (match.a, match.b), strict=True):
        of = len(side)
        for check, trials in _counted(side, "invalid").items():
            found.append(message("trials_left_out", trials=trials, of=of, run=name, check=check))
        for check, trials in _counted(side, "suspect").items():
            found.append(message("trials_suspect", trials=trials, of=of, run=name, check=check))
    return found


def _counted(trials: Sequence[TrialRecord], verdict: CheckVerdict) -> Counter[str]:
    """The checks that gave this verdict, and in how many trials each."""
    return Counter(check.name for trial in trials for check in failed_checks(trial, (verdict,), without=BOUNDS))
