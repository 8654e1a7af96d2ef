"""The judging of a factorial: main effects, interactions and combinations, from the rounds or blocks of its pairs.

An effect rests on pairs (`experiment.plan.group.Contrast`): at each combination of the other factors' levels, a place,
on one or two. A place whose pair has no verdict because of a check is left out, and what remains is judged: the others
are averages over fewer places, which their sentences name.

For a picture of the effects every combination is held against the mean of all. In rounds the machine's slow noise is
the same for all combinations, so a combination's ratio to the mean of them all has a narrow interval, where its rate
has a wide one.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from loadstone.experiment.plan.group import Contrast
from loadstone.experiment.spec.levels import Condition, identity
from loadstone.judge.checks.checks import forbidding
from loadstone.judge.compare import pair_checks
from loadstone.judge.compare.cases import GroupCase, JudgedPair
from loadstone.judge.compare.pairs import refusal_of
from loadstone.judge.compare.round_figures import contrast_slices, slices_of
from loadstone.judge.compare.sides import effect_sides
from loadstone.judge.metrics import figure, is_rate
from loadstone.judge.statistics.decision import refused, verdicts_of_pairs
from loadstone.judge.statistics.pair_evidence import NO_BLOCKS, Evidence, block_evidence
from loadstone.judge.statistics.rounds.round_evidence import round_evidence, start_evidence
from loadstone.judge.statistics.rounds.round_interval import round_interval
from loadstone.judge.statistics.settings import Settings
from loadstone.judge.statistics.signed_rank import signed_rank
from loadstone.judge.verdict import Verdict
from loadstone.run_folder.trial import CheckResult, TrialRecord

_Block = Mapping[str, TrialRecord]
"""Trials of one block by the identity of their condition."""


@dataclass(frozen=True)
class ExcludedPlace:
    """A place that does not count."""

    pair: int
    """The number of its pair that has no verdict."""
    check: CheckResult
    """Why it has none."""


@dataclass(frozen=True)
class JudgedContrast:
    """An effect, what there is on the primary metric, and what may be said of it."""

    design: Contrast
    settings: Settings
    weights: Mapping[str, float]
    """Identity of a condition -> how much ln of its figure counts; empty where no place is left."""
    evidence: Evidence
    verdict: Verdict
    left_out: tuple[ExcludedPlace, ...] = ()


def judge_contrasts(case: GroupCase, judged: Sequence[JudgedPair]) -> list[JudgedContrast]:
    """The effects of a group together by Holm's procedure, in the order of its design.

    `judged` are its pairs, before it was looked whether something carries over from one slice into the next.
    """
    measured = [_measured(case, design, judged) for design in case.design.contrasts]
    verdicts = verdicts_of_pairs({number: (one.evidence, one.settings) for number, one in enumerate(measured)})
    return [replace(one, verdict=_verdict(one, verdicts[number])) for number, one in enumerate(measured)]


def _measured(case: GroupCase, design: Contrast, judged: Sequence[JudgedPair]) -> JudgedContrast:
    left_out = [ExcludedPlace(*why) for place in design.places if (why := _refusal(place, judged)) is not None]
    places = [place for place in design.places if _refusal(place, judged) is None]
    settings = _settings(case, design, places, judged)
    weights = _weights(design, places, judged)
    numbers = {block.block for block in judged[design.places[0][0]][0].blocks}
    for place in places:
        for pair in place:
            numbers &= {block.block for block in judged[pair][0].used}
    blocks = [case.blocks.trials[number] for number in sorted(numbers)]
    evidence = _evidence(case.design.metric, blocks, weights, settings) if places else NO_BLOCKS
    evidence = replace(evidence, checks=(pair_checks.gain(settings.widening), *evidence.checks))
    base = next(iter(verdicts_of_pairs({0: (NO_BLOCKS, replace(settings, pairs=1))}).values()))
    return JudgedContrast(design, settings, weights, evidence, base, tuple(left_out))


def _refusal(place: Sequence[int], judged: Sequence[JudgedPair]) -> tuple[int, CheckResult] | None:
    """The first of a place's pairs that a check forbids to judge, with that check."""
    for number in place:
        pair, evidence, _ = judged[number]
        check = pair.refusal or evidence.refusal
        if check is not None:
            return number, check
    return None


def _weights(design: Contrast, places: Sequence[Sequence[int]], judged: Sequence[JudgedPair]) -> dict[str, float]:
    """Return how much the ln of each condition's figure counts: the mean over the places of the pairs' log ratios."""
    weights: dict[str, float] = {}
    for place in places:
        for sign, number in zip(design.signs, place, strict=True):
            pair = judged[number][0].design
            for condition, side in ((pair.a, -sign), (pair.b, sign)):
                weights[identity(condition)] = weights.get(identity(condition), 0.0) + side / len(places)
    return weights


def _settings(
    case: GroupCase, design: Contrast, places: Sequence[Sequence[int]], judged: Sequence[JudgedPair]
) -> Settings:
    """Those of its pairs, with the level of the effects and the gains of all conditions."""
    first = judged[design.places[0][0]][0].settings
    downs, ups = [], []
    for place in places:
        for sign, number in zip(design.signs, place, strict=True):
            a, b = (math.log1p(gain) for gain in judged[number][0].settings.gains)
            downs.append(a if sign > 0 else b)
            ups.append(b if sign > 0 else a)
    each = max(1, len(places))
    gains = (math.expm1(sum(downs) / each), math.expm1(sum(ups) / each))
    *_, names = effect_sides(case.experiment, design)
    return replace(first, pairs=len(case.design.contrasts), names=names, gains=gains)


def _evidence(metric: str, blocks: Sequence[_Block], weights: Mapping[str, float], settings: Settings) -> Evidence:
    """Return the evidence by rounds where the conditions were measured in rounds, else by one figure a block."""
    if not blocks:
        return NO_BLOCKS
    sliced = all(slices_of(block[key]) for block in blocks for key in weights)
    try:
        if settings.unit == "round":
            return round_evidence(contrast_slices(blocks, weights, metric), settings)
        if sliced and is_rate(metric):
            return start_evidence([contrast_slices([block], weights, metric) for block in blocks], settings)
        return _by_blocks(metric, blocks, weights, settings)
    except ValueError:
        return replace(NO_BLOCKS, checks=(pair_checks.figures(len(blocks), len(blocks)),))


def _by_blocks(metric: str, blocks: Sequence[_Block], weights: Mapping[str, float], settings: Settings) -> Evidence:
    """From one figure of each condition a block: the weighted geometric means of either side."""
    a, b = [], []
    medians: dict[str, list[float]] = {key: [] for key in weights}
    for block in blocks:
        logs = {}
        for key in weights:
            value = figure(block[key], metric)
            if not value:
                raise ValueError("a block without a figure")
            medians[key].append(value)
            logs[key] = math.log(value)
        a.append(math.exp(-sum(weight * logs[key] for key, weight in weights.items() if weight < 0)))
        b.append(math.exp(sum(weight * logs[key] for key, weight in weights.items() if weight > 0)))
    typical = [
        math.exp(sum(abs(weight) * math.log(median(medians[key])) for key, weight in side) / _sum(side))
        for side in ([one for one in weights.items() if sign * one[1] > 0] for sign in (-1, 1))
    ]
    return replace(block_evidence(a, b, settings), typical=(typical[0], typical[1]))


def _sum(side: Sequence[tuple[str, float]]) -> float:
    return sum(abs(weight) for _, weight in side)


def _verdict(contrast: JudgedContrast, verdict: Verdict) -> Verdict:
    """INVALID where no place is left, or a check of the effect itself fails; else what the statistics say."""
    refusal = contrast.left_out[0].check if not contrast.weights else contrast.evidence.refusal
    return verdict if refusal is None else refused(refusal, 0, contrast.settings)


LEVEL = 0.05


@dataclass(frozen=True)
class FactorialCell:
    """One combination, with its typical figure and the 95 % interval of that beside the mean of all combinations."""

    condition: Condition
    figure: float | None
    low: float | None
    high: float | None
    refusal: CheckResult | None
    """Why it has no figure."""


def cells_of(case: GroupCase) -> list[FactorialCell]:
    """The combinations in the order of the pairs; what a check forbids has no figure."""
    conditions = {identity(one): one for pair in case.design.pairs for one in (pair.a, pair.b)}
    trials = {key: [case.blocks.trials[block][key] for block in case.judged] for key in conditions}
    refusals = {key: refusal_of(members) for key, members in trials.items()}
    usable = [key for key, members in trials.items() if members and refusals[key] is None]
    blocks = [
        case.blocks.trials[block]
        for block in case.judged
        if not any(forbidding(case.blocks.trials[block][key]) for key in usable)
    ]
    return [
        _cell(case.design.metric, condition, blocks, usable)
        if (key := identity(condition)) in usable and blocks
        else FactorialCell(condition, None, None, None, refusals[key])
        for condition in conditions.values()
    ]


def _cell(
    metric: str, condition: Condition, blocks: Sequence[Mapping[str, TrialRecord]], usable: Sequence[str]
) -> FactorialCell:
    key = identity(condition)
    weights = {one: (one == key) - 1 / len(usable) for one in usable}
    try:
        if all(slices_of(block[one]) for block in blocks for one in usable):
            slices = contrast_slices(blocks, weights, metric)
            ratios = slices.log_ratios
            centre = float(np.log(np.median(slices.done / slices.seconds, axis=1)).mean())
            interval = round_interval(ratios, LEVEL)
            low, high, estimate = interval.low, interval.high, interval.estimate
        else:
            logs = np.array([[math.log(figure(block[one], metric) or 0) for one in usable] for block in blocks])
            ratios = logs @ np.array(list(weights.values()))
            centre = float(np.median(logs, axis=0).mean())
            ranks = signed_rank(ratios, LEVEL)
            estimate = float(ranks.estimate)
            low, high = (None if end is None else float(end) for end in (ranks.low, ranks.high))
    except ValueError:
        return FactorialCell(condition, None, None, None, None)
    ends = [None if end is None else math.exp(centre + end) for end in (low, high)]
    return FactorialCell(condition, math.exp(centre + estimate), ends[0], ends[1], None)
