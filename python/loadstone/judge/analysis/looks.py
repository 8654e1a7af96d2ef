"""Looks at a group during a run: its verdicts so far, and whether more blocks would tell more."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn

from loadstone.experiment.plan.group import Group
from loadstone.experiment.spec.experiment import Experiment
from loadstone.judge.analysis.comparisons import (
    CostsOf,
    confirmed,
    costliest_part,
    is_early_decision,
    judged_once,
)
from loadstone.judge.compare.blocks import group_blocks
from loadstone.judge.compare.carried import apply_carry_over_check
from loadstone.judge.compare.cases import GroupCase, JudgedPair, judge_group
from loadstone.judge.compare.contrasts import judge_contrasts
from loadstone.judge.compare.decision_rule import JudgedQuestion, is_rate_in_rounds
from loadstone.judge.compare.latencies import HistogramCache, HistogramReader, RoundHistogramReader
from loadstone.judge.compare.one_process import with_one_process
from loadstone.judge.statistics.effect import forecast
from loadstone.judge.statistics.pair_evidence import Evidence
from loadstone.judge.statistics.settings import Settings
from loadstone.judge.verdict import DECIDED, OPEN, Verdict
from loadstone.run_folder.latency_logs import LatencyKind
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.message import Message
from loadstone.text.problem import Problem
from loadstone.text.units import margin_share

ENDS_BY_COST = 72
"""After so many rounds one of both is enough, a rate or what a request costs: neighbours hide the one and do not move
the other. Before, a comparison ends where both are decided."""
EXACT_ROUNDS_MAX = 108
"""Most rounds for an interval as narrow as `Design.cost_within` asks for: what moves a ratio from run to run is no
smaller then."""


@dataclass(frozen=True)
class LookResult:
    """What a look during the run found: the verdict of each pair, and whether all are decided."""

    verdicts: list[Verdict]
    decided: bool
    """Pairs that more blocks cannot decide count as decided: those that are INVALID, or NOT DECIDABLE HERE."""
    answered: bool = False
    """Whether it is decided, or each pair has a verdict that more blocks may still change or narrow."""
    costs: list[Verdict | None] = field(default_factory=list)
    """Verdict of each pair by what a request costs, where that alone answers its question; else None."""
    exact: bool = True
    """For decided pairs, whether what a request costs is known as exactly as the experiment asks for."""
    forecast: Message | None = None
    """What the next look would show, by how far these blocks lie apart; None where all is decided."""
    carried: Message | None = None
    """What reached from one slice into the next: then this look gives no verdict, and longer slices are needed."""
    is_final: bool = False
    """True if the outcome is final: no further block can change it. Only an add-on's rule says so."""
    suspects_loss: bool = False
    """True if the blocks so far make it likely that more blocks would show a loss. Only an add-on's rule asks."""


def look_at(
    group: Group,
    experiment: Experiment,
    trials: Sequence[TrialRecord],
    budget_minutes: float | None,
    *,
    quick: bool = False,
    histograms: HistogramReader | None = None,
    round_histograms: RoundHistogramReader | None = None,
) -> LookResult:
    """Judge a group by all blocks that are complete so far, on its primary metric alone.

    Args:
        group: the group as planned.
        experiment: what the conditions are called.
        trials: finished and judged trials, of each the newest attempt last; those of other groups are passed over.
        budget_minutes: of the whole run; None: no limit.
        quick: whether the run is a quick one, which its verdicts say.
        histograms: `partial(read_histogram, folder)`; needed where a quantile beyond the median decides.
        round_histograms: the same of `read_round_histograms`, for a quantile in rounds.

    Raises:
        ValueError: such a quantile decides and no histograms are given.
    """
    blocks = group_blocks(group.name, group.conditions, with_one_process(trials))
    case = GroupCase(
        design=group,
        experiment=experiment,
        blocks=blocks,
        judged=blocks.complete,
        latencies=HistogramCache(histograms or _no_histograms, round_histograms or _no_histograms),
        quick=quick,
        budget_minutes=budget_minutes,
        carried_before=group.carried_before,
    )
    pairs = judge_group(case)
    found, contrasts, _, carried = apply_carry_over_check(case, pairs, judge_contrasts(case, pairs))
    costs = [judged_once(one) for one in found]
    judged = [confirmed(one, known) for one, known in zip(found, costs, strict=True)]
    verdicts = [*(verdict for _, _, verdict in judged), *(contrast.verdict for contrast in contrasts)]
    if any(verdict.carried is not None for verdict in verdicts):
        return LookResult(verdicts, decided=False, carried=carried)
    if contrasts:
        settled = [(contrast.settings, contrast.evidence, contrast.verdict) for contrast in contrasts]
        decided = not _undecided(settled) and not any(is_early_decision(contrast.verdict) for contrast in contrasts)
        return LookResult(verdicts, decided, decided, forecast=_forecast(settled, group, len(blocks.complete)))
    by_cost = [
        None if pair.design.is_twin or verdict.kind not in OPEN else verdict.left_to(costliest_part(known))
        for (pair, _, verdict), known in zip(judged, costs, strict=True)
    ]
    asked = [one for one in zip(judged, costs, by_cost, strict=True) if not one[0][0].design.is_twin]
    return replace(_of_pairs(case, group, asked), verdicts=verdicts, costs=by_cost)


def _of_pairs(
    case: GroupCase, group: Group, asked: Sequence[tuple[JudgedPair, "CostsOf", Verdict | None]]
) -> LookResult:
    """What a look found of a group without effects, by its pairs with their costs and the ones that alone answer."""
    rule, within = case.rule, case.experiment.design.cost_within
    by_costs = rule.asks_costs(case.design, [verdict for (_, _, verdict), _, _ in asked])
    questions = [
        JudgedQuestion(
            verdict=verdict,
            cost=rule.cost(known()) if by_costs else None,
            leading=by_cost or verdict,
            settings=pair.settings,
            evidence=evidence,
            is_one_process=any(warning.kind == "one_process" for warning in pair.warnings),
        )
        for (pair, evidence, verdict), known, by_cost in asked
    ]
    both = zip(asked, questions, strict=True)
    decided = not any(_needs_blocks(judged, one.cost) for (judged, _, _), one in both)
    ending = rule.ending(case.design, questions, decided=decided)
    exact = within is None or all(_is_exact(one.cost, one.verdict.blocks, margin_share(within)) for one in questions)
    settled = [(one.settings, one.evidence, one.verdict) for one in questions]
    return LookResult(
        [one.verdict for one in questions],
        ending.decided,
        ending.decided or ending.answered,
        exact=exact and ending.is_known,
        forecast=_forecast(settled, group, len(case.blocks.complete)),
        is_final=ending.is_final,
        suspects_loss=ending.suspects_loss,
    )


_Judged = tuple[Settings, Evidence, Verdict]
"""What decides when a group ends: its effects where it has some, or else its pairs."""


def _undecided(settled: Sequence[_Judged]) -> bool:
    return any(verdict.kind == "undecided" for _, _, verdict in settled)


def _forecast(settled: Sequence[_Judged], group: Group, blocks: int) -> Message | None:
    """Return a forecast from the undecided pairs whose blocks lie farthest apart."""
    undecided = [(evidence, settings) for settings, evidence, verdict in settled if verdict.kind == "undecided"]
    known = [(evidence.spread or 0.0, evidence, one) for evidence, one in undecided if blocks >= group.blocks_min]
    next_look = next((look for look in group.looks if look > blocks), None)
    if not known or next_look is None:
        return None
    spread, evidence, settings = max(known, key=lambda one: one[0])
    if not spread:
        return None
    return forecast(group.replicates(next_look), spread, settings.interval_alpha, evidence.outliers, settings.unit)


def _needs_blocks(judged: JudgedPair, dearest: Verdict | None) -> bool:
    """Whether more blocks may decide: what is undecided, and a quantile that has too few samples so far.

    Of rates in rounds: until what a request costs is decided, too, if it does not move, for `ENDS_BY_COST` rounds at
    most; and after few rounds only what lies beyond the margin ends.
    """
    pair, evidence, verdict = judged
    too_few = pair.refusal is None and evidence.refusal is not None and evidence.refusal.name == "samples"
    if too_few or not is_rate_in_rounds(verdict):
        return too_few or verdict.kind == "undecided"
    if verdict.blocks >= ENDS_BY_COST:
        return verdict.kind == "undecided" and not (dearest is not None and dearest.kind in DECIDED)
    waits = dearest is not None and dearest.kind == "undecided" and dearest.unsteady is None
    return waits or verdict.kind == "undecided" or (is_early_decision(verdict) and not verdict.materially)


def _is_exact(dearest: Verdict | None, rounds: int, within: float) -> bool:
    """Whether the cost of the dearest part is known to so many points, as printed, or more rounds do not help."""
    if rounds >= EXACT_ROUNDS_MAX or dearest is None or dearest.low is None or dearest.high is None:
        return True
    return (math.exp(dearest.high) - math.exp(dearest.low)) / 2 <= within


def _no_histograms(trial: str, kind: LatencyKind) -> NoReturn:
    raise Problem(
        "{trial}: a quantile of the {kind} time decides, so its histograms are needed", trial=trial, kind=kind
    )
