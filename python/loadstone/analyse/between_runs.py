"""Two runs compared, condition by condition: no block holds both, so the drift between them counts.

The method and what it costs stand in `statistics/two_sample.py`.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from loadstone.analyse.model import Comparison
from loadstone.judge.compare import pair_checks
from loadstone.judge.compare.exploration import Explored, repeated
from loadstone.judge.compare.judgements import Finding, judgement, refused, settings_of_metric
from loadstone.judge.compare.pairs import PairBlock, refusal_of
from loadstone.judge.judgement import Bound
from loadstone.judge.metrics import figure, is_rate
from loadstone.judge.statistics.comparison import NO_BLOCKS, ComparisonEvidence
from loadstone.judge.statistics.drift_guard import guard_holds, stall_counts
from loadstone.judge.statistics.sequential import judge_pairs, verdict
from loadstone.judge.statistics.settings import Settings
from loadstone.judge.statistics.signed_rank import Floats
from loadstone.judge.statistics.two_sample import two_sample
from loadstone.judge.statistics.verdict import Verdict, blocks_min, worded
from loadstone.judge.validity.checks import BOUNDS, forbidding
from loadstone.judge.validity.gain import bound_over
from loadstone.judge.validity.reasons import failed_checks
from loadstone.message import as_written, message
from loadstone.plan.labels import label_of
from loadstone.plan.looks import BLOCKS_MIN, FIXED_ALPHA
from loadstone.plan.run_plan import TABLE_GROUP, WARM_BLOCK, Condition
from loadstone.record.plan_summary import PairLine
from loadstone.record.reading import Run
from loadstone.record.trial import CheckResult, CheckVerdict, TrialRecord
from loadstone.spec.experiment import usual_margin
from loadstone.spec.levels import identity, same_level

NAME = "two runs"
ENDED = "two separate runs"
Names = tuple[str, str]
_NAMES: Names = ("A", "B")


@dataclass(frozen=True)
class JudgedRun:
    """A run with its trials judged anew, from their facts."""

    run: Run
    trials: tuple[TrialRecord, ...]


@dataclass(frozen=True)
class Match:
    """The finished trials of one condition in both runs, in the order in which they ran."""

    condition: Condition
    group: str
    a: tuple[TrialRecord, ...]
    b: tuple[TrialRecord, ...]


@dataclass(frozen=True)
class Wanted:
    """What to compare by. None: what the runs themselves declare."""

    metric: str | None = None
    margin: float | None = None
    exploratory: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Sides:
    """One metric of one condition: the trials that may be used, and why there is no verdict if there is none."""

    settings: Settings
    blocks: tuple[PairBlock, ...]
    evidence: ComparisonEvidence
    refusal: CheckResult | None
    typical: tuple[float | None, float | None]
    checks: tuple[CheckResult, ...]


def match_runs(a: JudgedRun, b: JudgedRun) -> list[Match]:
    """The conditions that both runs have finished trials of, in the order of the experiment's levels.

    Where a condition stands in several groups, the one with most trials in the poorer of the two runs counts.
    """
    in_a, in_b = _by_condition(a), _by_condition(b)
    matches = []
    conditions = {identity(line.condition): line.condition for line in a.run.plan.trials}
    for name in sorted(in_a.keys() & in_b.keys() & conditions.keys(), key=lambda name: _place(a.run, conditions[name])):
        groups_a, groups_b = in_a[name], in_b[name]
        both = [group for group in groups_a if group in groups_b]
        if both:
            group = max(both, key=lambda group: min(len(groups_a[group]), len(groups_b[group])))
            matches.append(Match(conditions[name], group, tuple(groups_a[group]), tuple(groups_b[group])))
    return matches


def _place(run: Run, condition: Condition) -> tuple[int, ...]:
    """Where each of the condition's levels stands among those of its factor."""
    factors = run.experiment.factors.items()
    return tuple(
        next((at for at, level in enumerate(factor.levels) if same_level(level, condition[name])), len(factor.levels))
        for name, factor in factors
        if name in condition
    )


def _by_condition(judged: JudgedRun) -> dict[str, dict[str, list[TrialRecord]]]:
    """Identity of a condition -> group -> its trials but for those of the warm block."""
    found: dict[str, dict[str, list[TrialRecord]]] = {}
    for trial in sorted(judged.trials, key=lambda trial: trial.started_unix_ns):
        if trial.block != WARM_BLOCK:
            found.setdefault(identity(trial.condition), {}).setdefault(trial.group, []).append(trial)
    return found


def compare_runs(
    a: JudgedRun, b: JudgedRun, matches: Sequence[Match], wanted: Wanted, across: str = "", names: Names = _NAMES
) -> list[Comparison]:
    """A comparison for each condition that both runs have; those with trials enough for a verdict share the 5 %.

    `across`: words that stand before every verdict, where the runs differ in more than their time.
    `names`: what the two runs are called.
    """
    quick = a.run.plan.quick or b.run.plan.quick
    metrics = [wanted.metric or _declared_metric(a.run, match.group) for match in matches]
    judged = [number for number, match in enumerate(matches) if min(len(match.a), len(match.b)) >= BLOCKS_MIN]
    primary = {
        number: _sides(match, metric, _settings(metric, wanted.margin, max(1, len(judged)), quick, names))
        for number, (match, metric) in enumerate(zip(matches, metrics, strict=True))
    }
    verdicts = judge_pairs({number: (primary[number].evidence, primary[number].settings) for number in judged})
    for number in primary.keys() - set(judged):
        verdicts[number] = verdict(primary[number].evidence, primary[number].settings)
    return [
        _comparison(a.run, match, metrics[number], primary[number], verdicts[number], wanted, across)
        for number, match in enumerate(matches)
    ]


def _declared_metric(run: Run, group: str) -> str:
    declared = next((line.metric for line in run.plan.groups if line.name == group), None)
    return declared if declared is not None and group != TABLE_GROUP else run.experiment.primary_metric


def _settings(metric: str, margin: float | None, pairs: int, quick: bool, names: Names) -> Settings:
    usual = usual_margin(metric)
    base = Settings(alpha=FIXED_ALPHA, pairs=pairs, names=names, quick=quick)
    return settings_of_metric(base, metric, usual if margin is None else margin)


def _comparison(
    run: Run, match: Match, metric: str, primary: _Sides, found: Verdict, wanted: Wanted, across: str
) -> Comparison:
    pair = PairLine(a=match.condition, b=match.condition)
    judged = _final(found, primary, across)
    explored = () if _spoiled(match) else wanted.exploratory
    found_beside = _explore(match, metric, primary, explored, across)
    return Comparison(
        name=NAME,
        question="",
        place=label_of(run.experiment, match.condition),
        between="run",
        primary=judgement(Finding(metric, "primary", primary.settings, judged, primary.typical), pair),
        exploratory=found_beside.judgements,
        repeats=found_beside.repeats,
        notes=found_beside.notes(),
        pairs=primary.settings.pairs,
        sequential=False,
        blocks_done=min(len(match.a), len(match.b)),
        blocks_repeated=0,
        ended=ENDED,
        checks=list(primary.checks),
        warnings=list(map(as_written, _warnings(match, primary.settings.names))),
    )


def _explore(match: Match, metric: str, primary: _Sides, metrics: Sequence[str], across: str) -> Explored:
    """The other metrics, each at the level of the primary one."""
    pair = PairLine(a=match.condition, b=match.condition)
    found = Explored()
    for other in metrics:
        if other == metric:
            continue
        settings = settings_of_metric(primary.settings, other, usual_margin(other))
        sides = _sides(match, other, settings)
        if sides.refusal is not None:
            found.refuse(sides.refusal, other)
        elif (repeats := repeated(other, [metric, *found.listed], sides.blocks)) is not None:
            found.repeats[other] = repeats
        else:
            judged = _final(verdict(sides.evidence, sides.settings), sides, across)
            finding = Finding(other, "exploratory", sides.settings, judged, sides.typical)
            found.judgements.append(judgement(finding, pair))
    return found


def _final(found: Verdict, sides: _Sides, across: str) -> Verdict:
    """The verdict to publish: more minutes of the same would not help, since the drift between the runs stays."""
    refusal = sides.refusal or (pair_checks.one_gain(sides.settings.widening) if found.hidden else None)
    if refusal is not None:
        found = refused(refusal, len(sides.blocks), sides.settings)
    elif found.more_minutes is not None:
        found = worded(replace(found, more_minutes=None), sides.settings)
    return replace(found, words=f"{across}{found.words}")


def _sides(match: Match, metric: str, settings: Settings) -> _Sides:
    """What the usable trials of both runs say about a metric."""
    a, b = (tuple(trial for trial in side if not forbidding(trial)) for side in (match.a, match.b))
    bounds = (_bound(a, metric), _bound(b, metric))
    settings = replace(settings, gains=(bounds[0].total, bounds[1].total))
    blocks = tuple(PairBlock(number, *both) for number, both in enumerate(zip(a, b, strict=False), start=1))
    typical = (_typical(a, metric), _typical(b, metric))
    few = _replication(a, b, settings.names)
    checks = [few, *_pair_checks(blocks, metric, typical, settings.margin), *_untold(a, b, metric)]
    if is_rate(metric):
        checks.append(pair_checks.gain((bounds[0].generator or 0.0, bounds[1].generator or 0.0)))
    refusal = _spoiled(match) or next((check for check in checks if check.verdict == "invalid"), None)
    evidence = NO_BLOCKS if refusal is not None else _evidence(a, b, metric, settings)
    return _Sides(settings, blocks, evidence, refusal, typical, tuple(checks))


def _bound(trials: Sequence[TrialRecord], metric: str) -> Bound:
    """How much higher the rate of a run may be at most. What others took counts here, too: between two runs no random
    order spreads it over both."""
    bound = bound_over(trials) if is_rate(metric) else None
    return Bound(generator=0.0, taken=0.0) if bound is None else bound


def _evidence(
    a: Sequence[TrialRecord], b: Sequence[TrialRecord], metric: str, settings: Settings
) -> ComparisonEvidence:
    """Estimate and interval of the trials' log figures, and the stalls of each run about its own typical trial."""
    logs_a, logs_b = _logs(a, metric), _logs(b, metric)
    blocks = min(len(a), len(b))
    found = two_sample(logs_a, _times_s(a), logs_b, _times_s(b), settings.interval_alpha)
    if found is None:
        return replace(NO_BLOCKS, blocks=blocks)
    enough = blocks >= blocks_min(settings) and found.low is not None
    stalls = [_stalls(logs, larger_is_faster=settings.larger_is_faster) for logs in (logs_a, logs_b)]
    total = math.log(float(np.mean(np.exp(logs_b))) / float(np.mean(np.exp(logs_a))))
    guard = guard_holds(np.asarray(total), np.asarray(stalls[0]), np.asarray(stalls[1]), blocks, settings.log_margin)
    return ComparisonEvidence(
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
    """The rules for two conditions of one run that do not ask for common blocks."""
    if not blocks:
        return []
    checks = [pair_checks.error_difference(blocks).model_copy(update={"name": "errors"})]
    if not is_rate(metric):
        known = [value for value in typical if value]
        checks += [pair_checks.offered_rate(blocks), pair_checks.clock(blocks, known, margin)]
    return checks


def _replication(a: Sequence[TrialRecord], b: Sequence[TrialRecord], names: Names) -> CheckResult:
    few = min(len(a), len(b))
    reason = message("pair.replication.few_trials", a=len(a), b=len(b), names=list(names), needed=BLOCKS_MIN)
    return CheckResult(
        name="replication",
        verdict="suspect" if few < BLOCKS_MIN else "valid",
        measured=few,
        limit=BLOCKS_MIN,
        unit="trials",
        reason=reason if few < BLOCKS_MIN else None,
    )


def _untold(a: Sequence[TrialRecord], b: Sequence[TrialRecord], metric: str) -> list[CheckResult]:
    """Leaving out trials that tell no figure would be a choice by their result: then there is no verdict."""
    untold = [trial for trial in (*a, *b) if not figure(trial, metric)]
    if not untold:
        return []
    reason = message("pair.samples.no_figure", without=len(untold), of=len(a) + len(b))
    return [CheckResult(name="samples", verdict="invalid", measured=None, limit=None, unit="", reason=reason)]


def _spoiled(match: Match) -> CheckResult | None:
    """What forbids a verdict on any metric."""
    return refusal_of(match.a) or refusal_of(match.b)


def _warnings(match: Match, names: Names) -> list[str]:
    """What was left out or used with doubt, a sentence a run and check."""
    found = []
    kinds: dict[CheckVerdict, str] = {"invalid": "and left out", "suspect": "and used"}
    for name, side in zip(names, (match.a, match.b), strict=True):
        for kind, words in kinds.items():
            checks = Counter(check.name for trial in side for check in failed_checks(trial, (kind,), without=BOUNDS))
            found += [
                f"{times} of {len(side)} trials in {name} {kind} {words}: {check}." for check, times in checks.items()
            ]
    return found
