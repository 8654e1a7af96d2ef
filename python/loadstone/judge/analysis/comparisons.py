"""The families of verdicts of a run: of every pair that it declares, as its looks had them, by all it measured."""

from collections.abc import Callable, Container, Mapping, Sequence
from functools import cache, partial
from itertools import groupby

from loadstone.experiment.plan.group import GroupDesign
from loadstone.experiment.plan.look_schedule import LATER_ROUND_LOOKS
from loadstone.experiment.plan.run_plan import WARM_BLOCK
from loadstone.experiment.spec.levels import identity
from loadstone.judge.analysis.analysis import Comparison, EndReason, Family
from loadstone.judge.analysis.completion import newest_look
from loadstone.judge.bottleneck import bottleneck_of
from loadstone.judge.checks.checks import forbidding
from loadstone.judge.compare import pair_checks
from loadstone.judge.compare.blocks import group_blocks, judged_blocks
from loadstone.judge.compare.carried import apply_carry_over_check
from loadstone.judge.compare.cases import GroupCase, JudgedPair, judge_group
from loadstone.judge.compare.exploration import Explored, explore
from loadstone.judge.compare.latencies import HistogramCache
from loadstone.judge.compare.pairs import Pair, block_points, by_cost, published
from loadstone.judge.compare.sides import differing, place_of
from loadstone.judge.cost import compare_costs
from loadstone.judge.metrics import is_rate
from loadstone.judge.statistics.decision import doubted
from loadstone.judge.verdict import COST, DECIDED, BlockPoint, Verdict
from loadstone.run_folder.look import Look, carried_on
from loadstone.run_folder.reading import RecordedRun
from loadstone.run_folder.trial import CheckResult, TrialRecord
from loadstone.text.message import Message, message

CostsOf = Callable[[], list[Verdict]]
"""A pair's verdicts by cost, which take far longer than the one by rate: judged when they are asked for, and once."""


def judged_once(judged: JudgedPair) -> CostsOf:
    """The costs of a pair as it was judged by its rates."""
    pair, _, verdict = judged
    return cache(partial(_costs, pair, verdict))


def confirmed(judged: JudgedPair, costs: CostsOf) -> JudgedPair:
    """As judged; after few rounds a rate is undecided unless what a request costs prefers the same side: what reaches
    from one slice into the next shows in more rounds only, and costs both sides the same."""
    pair, evidence, verdict = judged
    if not is_early_decision(verdict) or not is_rate(verdict.metric):
        return judged
    dearest = costliest_part(costs)
    if dearest is not None and dearest.kind == "faster" and dearest.winner == verdict.winner:
        return judged
    return pair, evidence, doubted(verdict, pair.settings)


def is_early_decision(verdict: Verdict) -> bool:
    """Decided after so few rounds as only what is far from alike is."""
    return verdict.unit == "round" and verdict.kind in DECIDED and verdict.blocks < LATER_ROUND_LOOKS[0]


def costliest_part(costs: CostsOf) -> Verdict | None:
    """The verdict by the cost of the part that a request costs most; None where none is known."""
    return next(iter(costs()), None)


def _costs(pair: Pair, verdict: Verdict) -> list[Verdict]:
    """The verdicts by cost; none where something reaches from one slice into the next: it costs CPU, too."""
    return [] if verdict.carried is not None else compare_costs(pair)


_KINDS = ("faster", "mixed", "equivalent", "undecided", "not_decidable", "invalid")
_EACH_MAX = 4
"""Up to so many pairs of the same two sides are named one by one; more are put together by their verdicts."""
AD_HOC = "ad hoc"
"""The name of a comparison that the experiment does not declare."""
INTERRUPTED: EndReason = "interrupted"
_BOUND = {
    "latency": message("both_latency_bound"),
    "generator": message("both_generator_bound"),
    "pool": message("both_pool_bound"),
    "paced": message("both_paced"),
}


def compare_groups(run: RecordedRun, judged_trials: Sequence[TrialRecord]) -> list[Family]:
    """The declared comparisons of a run, in the order of its plan: a family of judged pairs each."""
    latencies = latencies_of(run)
    families = []
    for group in run.plan.groups:
        if group.pairs:
            newest = newest_look(run, group.name)
            ended: EndReason = newest.reason if newest is not None and newest.stop else INTERRUPTED
            case = case_of(run, group, newest, judged_trials, latencies)
            family = compare_family(case, ended=ended, repeated=len(repeated_blocks(run, group.name)))
            families.append(_with_looks(_with_stages(family, run, group), run, group))
    return families


def latencies_of(run: RecordedRun) -> HistogramCache:
    """The histograms of a run's folder."""
    return HistogramCache(run.logs.whole, run.logs.by_rounds)


def _with_stages(family: Family, run: RecordedRun, group: GroupDesign) -> Family:
    """The family with how its slices were made longer, and by how much the last ones before reached over."""
    before = _look_before(run, group.name)
    if before is None or before.carried is None:
        return family
    slice_s = None if group.rounds is None else group.rounds.slice_s
    told = message("slices_lengthened", slice_s=slice_s, why=before.carried)
    comparisons = [comparison.model_copy(update={"lengthened": told}) for comparison in family.comparisons]
    return family.model_copy(update={"comparisons": comparisons})


def _with_looks(family: Family, run: RecordedRun, group: GroupDesign) -> Family:
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


def _look_before(run: RecordedRun, group: str) -> Look | None:
    """The look that led to the slices that a group has now; None where they are as planned."""
    return next((look for look in reversed(run.lengthened) if look.group == group), None)


def repeated_blocks(run: RecordedRun, group: str, among: Container[str] | None = None) -> set[int]:
    """The blocks of a group that were measured again (`--resume` does, where one was interrupted for too long).

    With `among` those of trials of these conditions alone.
    """
    return {
        trial.block
        for trial in run.superseded
        if trial.group == group and trial.block != WARM_BLOCK and (among is None or identity(trial.condition) in among)
    }


def case_of(
    run: RecordedRun, group: GroupDesign, newest: Look | None, trials: Sequence[TrialRecord], latencies: HistogramCache
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


def compare_family(case: GroupCase, *, ended: EndReason, repeated: int) -> Family:
    """A group as the report shows it: its pairs with verdicts, checks and warnings, and the answer over all.

    Args:
        case: the group and its blocks.
        ended: why no more blocks were measured.
        repeated: how many blocks were measured again.
    """
    declared = case.declared
    bounds, findings = _bounds(case), apply_carry_over_check(case, judge_group(case))
    judged = [
        one.model_copy(update={"ended": ended, "blocks_repeated": repeated, "level_note": _level_note(case, one)})
        for one in (_comparison(case, one, bounds, findings.check) for one in findings.judged)
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


def _level_note(case: GroupCase, comparison: Comparison) -> Message | None:
    level = comparison.primary.level
    return None if level is None else case.rule.level_note(case.design, level)


def _comparison(
    case: GroupCase, judged: JudgedPair, bounds: Mapping[str, str], turns: CheckResult | None
) -> Comparison:
    costs = judged_once(judged)
    pair, evidence, verdict = confirmed(judged, costs)
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


def _replicates(case: GroupCase) -> int:
    """Return how many blocks are complete, or how many rounds."""
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
        ratios = sorted((one.estimate or 0.0 for one in found), key=abs)
        sizes = {"least": ratios[0], "most": ratios[-1]}
        if first.metric.startswith(COST):
            return message("costs_differ", b=first.b.name, part=first.metric.removeprefix(COST), **sizes)
        names = {"a": first.a.name, "b": first.b.name}
        return message("verdicts_faster", **names, b_wins=first.winner == "b", **sizes)
    if first.kind == "invalid":
        return message("verdicts_invalid", checks=sorted({one.refusal.name for one in found if one.refusal}))
    return message("verdicts_undecided") if first.kind == "undecided" else message("verdicts_not_decidable")


def _at(verdict: Message, pairs: Sequence[Comparison]) -> Message:
    return message("verdict_at", verdict=verdict, places=[pair.place for pair in pairs if pair.place])
