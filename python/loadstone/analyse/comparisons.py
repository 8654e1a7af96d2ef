"""Comparisons: looks during a run, and the families of verdicts after it, by the same rules."""

import math
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import groupby
from typing import NoReturn

from loadstone.analyse.completion import newest_look
from loadstone.analyse.model import Comparison, Ended, Family
from loadstone.judge.bottleneck import bottleneck_of
from loadstone.judge.compare import pair_checks
from loadstone.judge.compare.blocks import group_blocks, judged_blocks
from loadstone.judge.compare.carried import with_carry_over
from loadstone.judge.compare.cases import GroupCase, JudgedPair, judge_group
from loadstone.judge.compare.contrasts import judge_contrasts
from loadstone.judge.compare.exploration import Explored, explore
from loadstone.judge.compare.latencies import HistogramReader, Latencies, RoundHistogramReader
from loadstone.judge.compare.pairs import Pair, block_points, by_cost, published
from loadstone.judge.compare.sides import differing, place_of
from loadstone.judge.cost import compare_costs
from loadstone.judge.gate import cost_of, is_over, needs_more, shows_loss, starts_differ_in
from loadstone.judge.metrics import is_rate
from loadstone.judge.statistics.decision import doubted
from loadstone.judge.statistics.effect import forecast
from loadstone.judge.statistics.pair_evidence import Evidence
from loadstone.judge.statistics.settings import Settings
from loadstone.judge.validity.checks import forbidding
from loadstone.judge.verdict import COST, DECIDED, OPEN, BlockPoint, Verdict
from loadstone.language import said
from loadstone.message import Message, message
from loadstone.plan.group import Group, GroupDesign
from loadstone.plan.looks import LATER_ROUND_LOOKS
from loadstone.plan.run_plan import WARM_BLOCK
from loadstone.record.look import Look, carried_on
from loadstone.record.reading import LatencyKind, Run, read_histogram, read_round_histograms
from loadstone.record.trial import CheckResult, TrialRecord
from loadstone.spec.experiment import Experiment
from loadstone.spec.gate_spec import GATE_RATE
from loadstone.spec.levels import identity
from loadstone.spec.units import margin_share

_KINDS = ("faster", "mixed", "equivalent", "undecided", "not_decidable", "invalid")
_EACH_MAX = 4
"""Up to so many pairs of the same two sides are named one by one; more are put together by their verdicts."""
AD_HOC = "ad hoc"
"""The name of a comparison that the experiment does not declare."""
INTERRUPTED: Ended = "interrupted"
ENDS_BY_COST = 72
"""After so many rounds one of both is enough, a rate or what a request costs: neighbours hide the one and do not move
the other. Before, a comparison ends where both are decided."""
EXACT_ROUNDS_MAX = 108
"""So many rounds at most for an interval as narrow as `Design.cost_within` asks for: what moves a ratio from run to run
is no smaller then."""
_BOUND = {
    "latency": message("both_latency_bound"),
    "generator": message("both_generator_bound"),
    "pool": message("both_pool_bound"),
    "paced": message("both_paced"),
}


@dataclass(frozen=True)
class LookOutcome:
    """What a look during the run found: the verdict of each pair, and whether all are decided."""

    verdicts: list[Verdict]
    decided: bool
    """Pairs that more blocks cannot decide count as decided: those that are INVALID, or NOT DECIDABLE HERE."""
    answered: bool = False
    """Whether it is decided, or each pair has a verdict that more blocks may still change or narrow."""
    costs: list[Verdict | None] = field(default_factory=list)
    """Of each pair the verdict by what a request costs, where that alone answers its question; else None."""
    exact: bool = True
    """Of decided pairs: whether what a request costs is known as exactly as the experiment asks for."""
    forecast: Message | None = None
    """What the next look would show, by how far these blocks lie apart; None where all is decided."""
    carried: Message | None = None
    """What reached from one slice into the next: then this look gives no verdict, and longer slices are needed."""
    over: bool = False
    """Of a gate: whether it is red or invalid, whatever else there is to measure."""
    losing: bool = False
    """Of a gate: whether more blocks would probably show a loss."""


def look_at(
    group: Group,
    experiment: Experiment,
    trials: Sequence[TrialRecord],
    budget_minutes: float | None,
    *,
    quick: bool = False,
    histograms: HistogramReader | None = None,
    round_histograms: RoundHistogramReader | None = None,
) -> LookOutcome:
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
    blocks = group_blocks(group.name, group.conditions, trials)
    case = GroupCase(
        design=group,
        experiment=experiment,
        blocks=blocks,
        judged=blocks.complete,
        latencies=Latencies(histograms or _no_histograms, round_histograms or _no_histograms),
        quick=quick,
        budget_minutes=budget_minutes,
        carried_before=group.carried_before,
    )
    pairs = judge_group(case)
    found, contrasts, _, carried = with_carry_over(case, pairs, judge_contrasts(case, pairs))
    costs = [_once(one) for one in found]
    judged = [_confirmed(one, known) for one, known in zip(found, costs, strict=True)]
    verdicts = [*(verdict for _, _, verdict in judged), *(contrast.verdict for contrast in contrasts)]
    if any(verdict.carried is not None for verdict in verdicts):
        return LookOutcome(verdicts, decided=False, carried=carried)
    if contrasts:
        settled = [(contrast.settings, contrast.evidence, contrast.verdict) for contrast in contrasts]
        decided = not _undecided(settled) and not any(_is_early(contrast.verdict) for contrast in contrasts)
        return LookOutcome(verdicts, decided, decided, forecast=_forecast(settled, group, len(blocks.complete)))
    by_cost = [
        None if pair.design.is_twin or verdict.kind not in OPEN else verdict.left_to(_dearest(known))
        for (pair, _, verdict), known in zip(judged, costs, strict=True)
    ]
    asked = [one for one in zip(judged, costs, by_cost, strict=True) if not one[0][0].design.is_twin]
    return replace(_of_pairs(case, group, asked), verdicts=verdicts, costs=by_cost)


def _of_pairs(
    case: GroupCase, group: Group, asked: Sequence[tuple[JudgedPair, "_CostsOf", Verdict | None]]
) -> LookOutcome:
    """What a look found of a group without effects, by its pairs with their costs and the ones that alone answer."""
    gate, within = case.experiment.gate, case.experiment.design.cost_within
    verdicts = [verdict for (_, _, verdict), _, _ in asked]
    by_costs = all(_is_rate_in_rounds(verdict) for verdict in verdicts) if gate is None else _decides(case)
    cost = _dearest if gate is None else _cost_of
    dearest = [cost(known) if by_costs else None for _, known, _ in asked]
    decided = not any(_needs_blocks(judged, cost) for (judged, _, _), cost in zip(asked, dearest, strict=True))
    leading = [by_cost or verdict for (_, _, verdict), _, by_cost in asked]
    answered = gate is None and all(verdict.kind in DECIDED for verdict in leading)
    over = False
    differ = 0.0 if gate is None else starts_differ_in(gate, case.design)
    if gate is not None:
        found_of = list(zip(verdicts, dearest, strict=True))
        over = any(is_over(*one, differ) for one in found_of)
        decided = over or not any(needs_more(*one, ends=decided, starts_differ=differ) for one in found_of)
    exact = within is None or all(
        _is_exact(cost, verdict.blocks, margin_share(within)) for verdict, cost in zip(verdicts, dearest, strict=True)
    )
    settled = [(pair.settings, evidence, verdict) for (pair, evidence, verdict), _, _ in asked]
    losing = gate is not None and any(shows_loss(evidence, settings, differ) for settings, evidence, _ in settled)
    return LookOutcome(
        verdicts,
        decided,
        decided or answered,
        exact=exact,
        forecast=_forecast(settled, group, len(case.blocks.complete)),
        over=over,
        losing=losing,
    )


_Judged = tuple[Settings, Evidence, Verdict]
"""What decides when a group ends: its effects where it has some, or else its pairs."""


def _undecided(settled: Sequence[_Judged]) -> bool:
    return any(verdict.kind == "undecided" for _, _, verdict in settled)


def _forecast(settled: Sequence[_Judged], group: Group, blocks: int) -> Message | None:
    """By what is undecided and whose blocks lie farthest apart."""
    undecided = [(evidence, settings) for settings, evidence, verdict in settled if verdict.kind == "undecided"]
    known = [(evidence.spread or 0.0, evidence, one) for evidence, one in undecided if blocks >= group.blocks_min]
    next_look = next((look for look in group.looks if look > blocks), None)
    if not known or next_look is None:
        return None
    spread, evidence, settings = max(known, key=lambda one: one[0])
    if not spread:
        return None
    return forecast(group.replicates(next_look), spread, settings.interval_alpha, evidence.outliers, settings.unit)


def _is_rate_in_rounds(verdict: Verdict) -> bool:
    """Whether what a request costs has a say in when it ends."""
    return verdict.unit == "round" and is_rate(verdict.metric)


def _needs_blocks(judged: JudgedPair, dearest: Verdict | None) -> bool:
    """Whether more blocks may decide: what is undecided, and a quantile that has too few samples so far.

    Of rates in rounds: until what a request costs is decided, too, if it does not move, for `ENDS_BY_COST` rounds at
    most; and after few rounds only what lies beyond the margin ends.
    """
    pair, evidence, verdict = judged
    too_few = pair.refusal is None and evidence.refusal is not None and evidence.refusal.name == "samples"
    if too_few or not _is_rate_in_rounds(verdict):
        return too_few or verdict.kind == "undecided"
    if verdict.blocks >= ENDS_BY_COST:
        return verdict.kind == "undecided" and not (dearest is not None and dearest.kind in DECIDED)
    waits = dearest is not None and dearest.kind == "undecided" and dearest.unsteady is None
    return waits or verdict.kind == "undecided" or (_is_early(verdict) and not verdict.materially)


def _is_exact(dearest: Verdict | None, rounds: int, within: float) -> bool:
    """Whether the cost of the dearest part is known to so many points, as printed, or more rounds do not help."""
    if rounds >= EXACT_ROUNDS_MAX or dearest is None or dearest.low is None or dearest.high is None:
        return True
    return (math.exp(dearest.high) - math.exp(dearest.low)) / 2 <= within


_CostsOf = Callable[[], list[Verdict]]
"""A pair's verdicts by cost, which take far longer than the one by rate: judged when they are asked for, and once."""


def _once(judged: JudgedPair) -> _CostsOf:
    pair, _, verdict = judged
    return cache(partial(_costs, pair, verdict))


def _confirmed(judged: JudgedPair, costs: _CostsOf) -> JudgedPair:
    """As judged; after few rounds a rate is undecided unless what a request costs prefers the same side: what reaches
    from one slice into the next shows in more rounds only, and costs both sides the same."""
    pair, evidence, verdict = judged
    if not _is_early(verdict) or not is_rate(verdict.metric):
        return judged
    dearest = _dearest(costs)
    if dearest is not None and dearest.kind == "faster" and dearest.winner == verdict.winner:
        return judged
    return pair, evidence, doubted(verdict, pair.settings)


def _is_early(verdict: Verdict) -> bool:
    """Decided after so few rounds as only what is far from alike is."""
    return verdict.unit == "round" and verdict.kind in DECIDED and verdict.blocks < LATER_ROUND_LOOKS[0]


def _dearest(costs: _CostsOf) -> Verdict | None:
    """The verdict by the cost of the part that a request costs most; None where none is known."""
    return next(iter(costs()), None)


def _cost_of(costs: _CostsOf) -> Verdict | None:
    return cost_of(costs())


def _decides(case: GroupCase) -> bool:
    """Of a gate: whether what a request costs has a say in when this group ends: at full speed, or where none is."""
    return is_rate(case.design.metric) or not any(one.name == GATE_RATE for one in case.experiment.comparisons)


def _no_histograms(trial: str, kind: LatencyKind) -> NoReturn:
    raise ValueError(
        said("{trial}: a quantile of the {kind} time decides, so its histograms are needed", trial=trial, kind=kind)
    )


def compare_groups(run: Run, judged_trials: Sequence[TrialRecord]) -> list[Family]:
    """The declared comparisons of a run, in the order of its plan: a family of judged pairs each."""
    latencies = latencies_of(run)
    families = []
    for group in run.plan.groups:
        if group.pairs:
            newest = newest_look(run, group.name)
            ended: Ended = newest.reason if newest is not None and newest.stop else INTERRUPTED
            case = case_of(run, group, newest, judged_trials, latencies)
            family = compare_family(case, ended=ended, repeated=len(repeated_blocks(run, group.name)))
            families.append(_with_looks(_with_stages(family, run, group), run, group))
    return families


def latencies_of(run: Run) -> Latencies:
    """The histograms of a run's folder."""
    return Latencies(partial(read_histogram, run.path), partial(read_round_histograms, run.path))


def _with_stages(family: Family, run: Run, group: GroupDesign) -> Family:
    """The family with how its slices were made longer, and by how much the last ones before reached over."""
    before = _look_before(run, group.name)
    if before is None or before.carried is None:
        return family
    slice_s = None if group.rounds is None else group.rounds.slice_s
    told = message("slices_lengthened", slice_s=slice_s, why=before.carried)
    comparisons = [comparison.model_copy(update={"lengthened": told}) for comparison in family.comparisons]
    return family.model_copy(update={"comparisons": comparisons})


def _with_looks(family: Family, run: Run, group: GroupDesign) -> Family:
    """The family with what looks during the run had decided of its pairs, where that is open at the end."""
    looks = [look for look in (*run.shorter_looks, *run.looks) if look.group == group.name]
    comparisons = []
    for place, one in enumerate(family.comparisons):
        decided = [look for look in looks if place < len(look.verdicts) and look.verdicts[place].kind in DECIDED]
        verdict = one.primary
        if decided:
            last, rounds = decided[-1], group.rounds
            number = rounds.upto(last.blocks) if rounds is not None and verdict.unit == "round" else last.blocks
            verdict = verdict.after_look(last.verdicts[place], number if last in run.looks else None)
        comparisons.append(one.model_copy(update={"primary": verdict}))
    answer = family_answer(comparisons) if comparisons != family.comparisons else family.answer
    return family.model_copy(update={"comparisons": comparisons, "answer": answer})


def _look_before(run: Run, group: str) -> Look | None:
    """The look that led to the slices that a group has now; None where they are as planned."""
    return next((look for look in reversed(run.lengthened) if look.group == group), None)


def repeated_blocks(run: Run, group: str, among: Container[str] | None = None) -> set[int]:
    """The blocks of a group that were measured again (older versions did, where something outside disturbed them).

    With `among` those of trials of these conditions alone.
    """
    return {
        trial.block
        for trial in run.superseded
        if trial.group == group and trial.block != WARM_BLOCK and (among is None or identity(trial.condition) in among)
    }


def case_of(
    run: Run, group: GroupDesign, newest: Look | None, trials: Sequence[TrialRecord], latencies: Latencies
) -> GroupCase:
    """A group of the run's plan with its blocks, as it is judged after the run."""
    conditions = [line.condition for line in run.plan.trials if line.group == group.name]
    blocks = group_blocks(group.name, conditions, trials)
    return GroupCase(
        design=group,
        experiment=run.experiment,
        blocks=blocks,
        judged=judged_blocks(group, blocks.complete, newest),
        latencies=latencies,
        quick=run.plan.quick,
        budget_minutes=run.plan.budget_s / 60 or None,
        carried_before=carried_on(_look_before(run, group.name)),
    )


def compare_family(case: GroupCase, *, ended: Ended, repeated: int) -> Family:
    """A group as the report shows it: its pairs with verdicts, checks and warnings, and the answer over all.

    Args:
        case: the group and its blocks.
        ended: why no more blocks were measured.
        repeated: how many blocks were measured again.
    """
    declared, gate = case.declared, case.experiment.gate
    bounds, findings = _bounds(case), with_carry_over(case, judge_group(case))
    judged = [
        _comparison(case, one, bounds, findings.check).model_copy(
            update={
                "ended": ended,
                "blocks_repeated": repeated,
                "gate_level": gate and gate.level,
                "starts_differ": 0.0 if gate is None else starts_differ_in(gate, case.design),
            }
        )
        for one in findings.judged
    ]
    twins = [pair.design.is_twin for pair, _, _ in findings.judged]
    comparisons = [one for one, twin in zip(judged, twins, strict=True) if not twin]
    return Family(
        name=declared.name if declared else AD_HOC,
        question=declared.question if declared else "",
        answer=family_answer(comparisons),
        note=" ".join(declared.note.split()) if declared else "",
        metric=case.design.metric,
        comparisons=comparisons,
        twin=next((one for one, twin in zip(judged, twins, strict=True) if twin), None),
    )


def _comparison(
    case: GroupCase, judged: JudgedPair, bounds: Mapping[str, str], turns: CheckResult | None
) -> Comparison:
    costs = _once(judged)
    pair, evidence, verdict = _confirmed(judged, costs)
    points = block_points(pair.blocks, case.design.metric, ratios=verdict.kind != "invalid" and verdict.carried is None)
    order = _order(points, pair) if turns is None else turns
    parts = {bounds.get(identity(condition)) for condition in (pair.design.a, pair.design.b)}
    # At full speed a latency says users over throughput, and no more: where rates are compared in rounds, none is.
    apart = pair.refusal is not None or (case.design.rounds is not None and is_rate(case.design.metric))
    explored = Explored() if apart else explore(case.design.metric, pair, case.latencies)
    comparison = Comparison(
        name=case.declared.name if case.declared else AD_HOC,
        question=case.declared.question if case.declared else "",
        place=place_of(case.experiment, case.declared, pair.design),
        between=", ".join(differing(pair.design)),
        primary=published(verdict, pair.design, points),
        costs=[by_cost(cost, pair.design) for cost in costs()],
        exploratory=explored.verdicts,
        requests=evidence.requests,
        repeats=explored.repeats,
        notes=explored.notes(),
        pairs=len(case.design.pairs),
        sequential=case.design.sequential,
        blocks_done=_replicates(case),
        blocks_repeated=0,
        ended=INTERRUPTED,
        checks=[*pair.checks, *evidence.checks, order],
        warnings=[
            *pair.warnings,
            *([order.reason] if order.verdict == "suspect" and order.reason is not None else []),
            *_bound_warning(case.design.metric, parts),
        ],
    )
    return comparison.model_copy(update={"warnings": [*comparison.warnings, *_contrary_warning(comparison)]})


def _contrary_warning(comparison: Comparison) -> list[Message]:
    """Which side is faster here and which one is cheaper, where these are not the same."""
    contrary, faster = comparison.contrary, comparison.primary
    if contrary is None:
        return []
    names = {"faster": faster.winner_name, "cheaper": contrary.winner_name}
    return [message("rate_against_cost", **names, part=contrary.metric.removeprefix(COST))]


def _costs(pair: Pair, verdict: Verdict) -> list[Verdict]:
    """The verdicts by cost; none where something reaches from one slice into the next: it costs CPU, too."""
    return [] if verdict.carried is not None else compare_costs(pair)


def _replicates(case: GroupCase) -> int:
    """How many blocks are complete, or how many rounds."""
    rounds, complete = case.design.rounds, case.blocks.complete
    return sum(map(rounds.of, complete)) if rounds is not None and rounds.unit == "round" else len(complete)


def _order(points: Sequence[BlockPoint], pair: Pair) -> CheckResult:
    ratios = {point.block: point.log_ratio for point in points if point.used and point.log_ratio is not None}
    blocks = [block for block in pair.used if block.block in ratios]
    return pair_checks.order([block.a_first for block in blocks], [ratios[block.block] for block in blocks])


def _bounds(case: GroupCase) -> dict[str, str]:
    """Identity of a condition -> its bottleneck in the blocks that count."""
    trials: dict[str, list[TrialRecord]] = {}
    for block in case.judged:
        for condition, trial in case.blocks.trials[block].items():
            if not forbidding(trial):
                trials.setdefault(condition, []).append(trial)
    found = {condition: bottleneck_of(members) for condition, members in trials.items()}
    return {condition: bottleneck.part for condition, bottleneck in found.items() if bottleneck is not None}


def _bound_warning(metric: str, parts: set[str | None]) -> list[Message]:
    """What follows for rates if both have the same bottleneck, and it was not the server; or a CPU that parts share."""
    if "cpu" in parts and is_rate(metric):
        return [message("bound_by_shared_cpu")]
    warning = _BOUND.get(next(iter(parts)) or "") if len(parts) == 1 else None
    return [warning] if warning and is_rate(metric) else []


def family_answer(comparisons: Sequence[Comparison]) -> Message:
    """A sentence for each two sides that are compared: `string against json: string FASTER by 12 % [9, 15] at 1 kB.`"""
    by_sides: dict[tuple[str, str], list[Comparison]] = {}
    for comparison in comparisons:
        by_sides.setdefault((comparison.primary.a.name, comparison.primary.b.name), []).append(comparison)
    quick = bool(comparisons) and all(one.primary.quick for one in comparisons)
    sides = [
        message("sides_answer", a=a, b=b, verdicts=_verdicts(pairs), quick=quick) for (a, b), pairs in by_sides.items()
    ]
    return message("family_answer", sides=sides)


def _verdicts(pairs: Sequence[Comparison]) -> list[Message]:
    if len(pairs) <= _EACH_MAX:
        return [_at(pair.leading.brief, [pair]) for pair in pairs]
    grouped = [list(members) for _, members in groupby(sorted(pairs, key=_rank), key=_rank)]
    return [_at(_together([pair.leading for pair in members]), members) for members in grouped]


def _rank(pair: Comparison) -> tuple[int, str]:
    """What is decided comes first, and the same winner by the same metric together."""
    return _KINDS.index(pair.leading.kind), f"{pair.leading.metric} {pair.leading.winner}"


def _together(found: Sequence[Verdict]) -> Message:
    """Several verdicts of one kind and one winner."""
    first = found[0]
    if len(found) == 1 or first.kind in ("equivalent", "mixed"):
        return first.brief
    if first.kind == "faster":
        leads = sorted(abs(one.estimate or 0.0) for one in found)
        if first.metric.startswith(COST):
            part = first.metric.removeprefix(COST)
            return message("costs_less", winner=first.winner_name, part=part, least=leads[0], most=leads[-1])
        return message("verdicts_faster", winner=first.winner_name, least=leads[0], most=leads[-1])
    if first.kind == "invalid":
        return message("verdicts_invalid", checks=sorted({one.refusal.name for one in found if one.refusal}))
    return message("verdicts_undecided") if first.kind == "undecided" else message("verdicts_not_decidable")


def _at(verdict: Message, pairs: Sequence[Comparison]) -> Message:
    return message("verdict_at", verdict=verdict, places=[pair.place for pair in pairs if pair.place])
