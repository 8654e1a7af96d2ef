"""Comparisons: looks during a run, and the families of verdicts after it, by the same rules."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from hdrh.histogram import HdrHistogram

from loadstone.analyse.bottleneck import bottleneck_of
from loadstone.analyse.completion import newest_look
from loadstone.analyse.family_answer import family_answer
from loadstone.analyse.model import Comparison, Ended, Family
from loadstone.judge.compare import pair_checks
from loadstone.judge.compare.blocks import GroupDesign, group_blocks, judged_blocks
from loadstone.judge.compare.cases import GroupCase, JudgedPair, judge_group
from loadstone.judge.compare.exploration import Explored, explore
from loadstone.judge.compare.latencies import HistogramReader, Latencies
from loadstone.judge.compare.pairs import Pair
from loadstone.judge.compare.published import block_points, published
from loadstone.judge.compare.round_figures import slices_in_time
from loadstone.judge.compare.sides import differing, place_of
from loadstone.judge.metrics import is_rate
from loadstone.judge.statistics.effect import forecast
from loadstone.judge.statistics.rounds.carry_over import carry_over
from loadstone.judge.validity.checks import forbidding
from loadstone.judge.verdict import BlockPoint, Verdict
from loadstone.message import Message, message
from loadstone.plan.run_plan import WARM_BLOCK, Group
from loadstone.record.look import Look
from loadstone.record.reading import LatencyKind, Run, read_histogram
from loadstone.record.trial import CheckResult, TrialRecord
from loadstone.spec.experiment import Experiment
from loadstone.spec.levels import identity

AD_HOC = "ad hoc"
"""The name of a comparison that the experiment does not declare."""
INTERRUPTED: Ended = "interrupted"
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
    forecast: Message | None = None
    """What the next look would show, by how far these blocks lie apart; None where all is decided."""


def look_at(
    group: Group,
    experiment: Experiment,
    trials: Sequence[TrialRecord],
    budget_minutes: float | None,
    *,
    quick: bool = False,
    histograms: HistogramReader | None = None,
) -> LookOutcome:
    """Judge a group by all blocks that are complete so far, on its primary metric alone.

    Args:
        group: the group as planned.
        experiment: what the conditions are called.
        trials: finished and judged trials, of each the newest attempt last; those of other groups are passed over.
        budget_minutes: of the whole run; None: no limit.
        quick: whether the run is a quick one, which its verdicts say.
        histograms: `partial(read_histogram, folder)`; needed where a quantile beyond the median decides.

    Raises:
        ValueError: such a quantile decides and no `histograms` are given.
    """
    blocks = group_blocks(group.name, group.conditions, trials)
    case = GroupCase(
        design=group,
        experiment=experiment,
        blocks=blocks,
        judged=blocks.complete,
        latencies=Latencies(histograms or _no_histograms),
        quick=quick,
        budget_minutes=budget_minutes,
    )
    judged = judge_group(case)
    verdicts = [verdict for _, _, verdict in judged]
    return LookOutcome(verdicts, not any(map(_needs_blocks, judged)), _forecast(judged, group, len(blocks.complete)))


def _forecast(judged: Sequence[JudgedPair], group: Group, blocks: int) -> Message | None:
    """By the undecided pair whose blocks lie farthest apart."""
    undecided = [(evidence, pair) for pair, evidence, verdict in judged if verdict.kind == "undecided"]
    known = [(evidence.spread or 0.0, evidence, pair) for evidence, pair in undecided if blocks >= group.blocks_min]
    next_look = next((look for look in group.looks if look > blocks), None)
    if not known or next_look is None:
        return None
    spread, evidence, pair = max(known, key=lambda one: one[0])
    if not spread:
        return None
    settings = pair.settings
    return forecast(group.replicates(next_look), spread, settings.interval_alpha, evidence.outliers, settings.unit)


def _needs_blocks(judged: JudgedPair) -> bool:
    """Whether more blocks may decide: what is undecided, and a quantile that has too few samples so far."""
    pair, evidence, verdict = judged
    too_few = pair.refusal is None and evidence.refusal is not None and evidence.refusal.name == "samples"
    return too_few or verdict.kind == "undecided"


def _no_histograms(trial: str, kind: LatencyKind) -> HdrHistogram:
    raise ValueError(f"{trial}: a quantile of the {kind} time decides, so its histograms are needed")


def compare_groups(run: Run, judged_trials: Sequence[TrialRecord]) -> list[Family]:
    """The declared comparisons of a run, in the order of its plan: a family of judged pairs each."""
    latencies = Latencies(partial(read_histogram, run.path))
    families = []
    for group in run.plan.groups:
        if group.pairs:
            newest = newest_look(run, group.name)
            ended: Ended = newest.reason if newest is not None and newest.stop else INTERRUPTED
            case = _case(run, group, newest, judged_trials, latencies)
            families.append(compare_family(case, ended=ended, repeated=len(repeated_blocks(run, group.name))))
    return families


def repeated_blocks(run: Run, group: str, among: Container[str] | None = None) -> set[int]:
    """The blocks of a group that were measured again (older versions did, where something outside disturbed them).

    With `among` those of trials of these conditions alone.
    """
    return {
        trial.block
        for trial in run.superseded
        if trial.group == group and trial.block != WARM_BLOCK and (among is None or identity(trial.condition) in among)
    }


def _case(
    run: Run, group: GroupDesign, newest: Look | None, trials: Sequence[TrialRecord], latencies: Latencies
) -> GroupCase:
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
    )


def compare_family(case: GroupCase, *, ended: Ended, repeated: int) -> Family:
    """A group as the report shows it: its pairs with verdicts, checks and warnings, and the answer over all.

    Args:
        case: the group and its blocks.
        ended: why no more blocks were measured.
        repeated: how many blocks were measured again.
    """
    declared = case.declared
    bounds, turns = _bounds(case), _turns(case)
    comparisons = [
        _comparison(case, judged, bounds, turns).model_copy(update={"ended": ended, "blocks_repeated": repeated})
        for judged in judge_group(case)
    ]
    return Family(
        name=declared.name if declared else AD_HOC,
        question=declared.question if declared else "",
        answer=family_answer(comparisons),
        note=" ".join(declared.note.split()) if declared else "",
        metric=case.design.metric,
        comparisons=comparisons,
    )


def _comparison(
    case: GroupCase, judged: JudgedPair, bounds: Mapping[str, str], turns: CheckResult | None
) -> Comparison:
    pair, evidence, verdict = judged
    points = block_points(pair.blocks, case.design.metric, ratios=verdict.kind != "invalid")
    order = _order(points, pair) if turns is None else turns
    parts = {bounds.get(identity(condition)) for condition in (pair.design.a, pair.design.b)}
    # At full speed a latency says users over throughput, and no more: in rounds none is compared.
    apart = pair.refusal is not None or case.design.rounds is not None
    explored = Explored() if apart else explore(case.design.metric, pair, case.latencies)
    return Comparison(
        name=case.declared.name if case.declared else AD_HOC,
        question=case.declared.question if case.declared else "",
        place=place_of(case.experiment, case.declared, pair.design),
        between=", ".join(differing(pair.design)),
        primary=published(verdict, pair.design, points),
        exploratory=explored.verdicts,
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


def _replicates(case: GroupCase) -> int:
    """How many blocks are complete, or how many rounds."""
    rounds, complete = case.design.rounds, case.blocks.complete
    return len(complete) if rounds is None else sum(rounds.of(block) for block in complete)


def _turns(case: GroupCase) -> CheckResult | None:
    """Of a group in rounds: whether something carries over from one slice to the next, whichever pair they are of."""
    if case.design.rounds is None:
        return None
    slices = slices_in_time(case.blocks, case.judged, case.design.metric)
    return pair_checks.carry_over(carry_over(slices.conditions, slices.log_rates))


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
    """What follows for rates if both have the same bottleneck, and it was not the server."""
    warning = _BOUND.get(next(iter(parts)) or "") if len(parts) == 1 else None
    return [warning] if warning and is_rate(metric) else []
