"""Comparisons that were not declared: any two conditions of a run that blocks hold together, judged by the same rules.

What is picked after the figures are known can only be exploratory. All requested pairs share the
level: between groups by equal parts (Bonferroni), within a group by Holm's procedure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from loadstone.experiment.plan.group import GroupDesign, PairDesign
from loadstone.experiment.plan.labels import condition_label
from loadstone.experiment.plan.look_schedule import BLOCKS_MIN
from loadstone.experiment.plan.run_plan import WARM_BLOCK, in_tables
from loadstone.experiment.spec.experiment import default_margin
from loadstone.experiment.spec.levels import Condition, Level, identity, same_level
from loadstone.judge.analysis.analysis import Comparison, EndReason
from loadstone.judge.analysis.comparisons import (
    AD_HOC,
    INTERRUPTED,
    compare_family,
    latencies_of,
    repeated_blocks,
)
from loadstone.judge.analysis.completion import newest_look
from loadstone.judge.analysis.fixed_rates import without_searches
from loadstone.judge.compare.blocks import group_blocks, judged_blocks
from loadstone.judge.compare.cases import GroupCase
from loadstone.judge.compare.latencies import HistogramCache
from loadstone.judge.statistics.settings import Settings
from loadstone.run_folder.look import Look
from loadstone.run_folder.reading import RecordedRun
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.message import Message, message


@dataclass(frozen=True)
class AdHocCase(GroupCase):
    """A group whose level is shared with the pairs of other groups."""

    share: float = 1.0
    """Share of the level, for the pairs of this group."""

    def settings(self, pair: PairDesign) -> Settings:
        settings = super().settings(pair)
        return replace(settings, alpha=settings.alpha * self.share)


def pairs_between(run: RecordedRun, a: Mapping[str, Level], b: Mapping[str, Level]) -> list[PairDesign]:
    """Every two conditions of the run, one with the levels `a` and one with `b`, that differ in nothing else."""
    conditions = list({identity(line.condition): line.condition for line in run.plan.trials}.values())
    return [
        PairDesign(a=condition, b=other)
        for condition in conditions
        if _has(condition, a)
        for other in conditions
        if _has(other, b) and all(_alike(condition, other, name) for name in {*condition, *other} - {*a, *b})
    ]


def _has(condition: Condition, levels: Mapping[str, Level]) -> bool:
    return all(name in condition and same_level(condition[name], level) for name, level in levels.items())


def _alike(one: Condition, other: Condition, name: str) -> bool:
    return name in one and name in other and same_level(one[name], other[name])


def compare_pairs(
    run: RecordedRun,
    judged_trials: Sequence[TrialRecord],
    pairs: Sequence[PairDesign],
    metric: str | None,
    margin: float | None,
) -> tuple[list[Comparison], list[Message]]:
    """Judge these pairs, and say of those that no block holds together why they are not compared.

    Without a metric, that of the pair's group counts; without a margin, the usual one of the metric.
    """
    placed: dict[tuple[str, bool], list[PairDesign]] = {}
    apart, measured = [], without_searches(run, judged_trials)
    for pair in pairs:
        group, blocks = _group_of(measured, pair)
        if group is None:
            apart.append(_apart(run, measured, pair))
        else:
            placed.setdefault((group, blocks >= BLOCKS_MIN), []).append(pair)
    latencies = latencies_of(run)
    judged = sum(len(members) for (_, enough), members in placed.items() if enough)
    found = []
    for (group, enough), members in placed.items():
        count = judged if enough else len(members)  # what can have no verdict takes no share of the level
        for one in _compare(run, judged_trials, group, members, metric, margin, count, latencies):
            place = _place(run, one)
            found.append(one.model_copy(update={"pairs": count, "place": place}))
    return found, apart


def _place(run: RecordedRun, one: Comparison) -> str:
    """All that both conditions have in common, of what the run varied: so it is clear which pair it is."""
    a, b = one.primary.a.condition, one.primary.b.condition
    several = [name for name, factor in run.experiment.factors.items() if len(factor.levels) > 1 and name in a]
    return condition_label(run.experiment, a, [name for name in several if name in b and same_level(a[name], b[name])])


def _compare(
    run: RecordedRun,
    trials: Sequence[TrialRecord],
    group: str,
    pairs: Sequence[PairDesign],
    metric: str | None,
    margin: float | None,
    count: int,
    latencies: HistogramCache,
) -> list[Comparison]:
    design = _design(run, group, pairs, metric, margin)
    conditions = [condition for pair in pairs for condition in (pair.a, pair.b)]
    blocks = group_blocks(group, conditions, trials)
    among = {identity(condition) for condition in conditions} if in_tables(group) else None
    repeated = repeated_blocks(run, group, among)
    newest = newest_look(run, group)
    judged = judged_blocks(design, blocks.complete, newest)
    case = AdHocCase(
        design=design,
        experiment=run.experiment,
        blocks=blocks,
        judged=judged,
        latencies=latencies,
        quick=run.plan.quick,
        budget_minutes=run.plan.budget_s / 60 or None,
        share=len(pairs) / count,
    )
    return compare_family(case, ended=_ended(design, len(blocks.complete), newest), repeated=len(repeated)).comparisons


def _ended(design: GroupDesign, complete: int, newest: Look | None) -> EndReason:
    """Why the pairs have no more blocks; tables are measured a fixed number of times and not looked at."""
    if newest is not None and newest.stop:
        return newest.reason
    return "last look" if design.looks and complete >= design.looks[-1] else INTERRUPTED


def _design(
    run: RecordedRun, group: str, pairs: Sequence[PairDesign], metric: str | None, margin: float | None
) -> GroupDesign:
    """What the pairs are judged by. Folders of versions that compared nothing name no groups: then one look counts."""
    planned = next((line for line in run.plan.groups if line.name == group), None)
    by = metric or (planned.metric if planned is not None and not in_tables(group) else run.experiment.primary_metric)
    usual = default_margin(by)
    if planned is not None and planned.metric == by:
        usual = planned.margin
    return GroupDesign(
        name=AD_HOC,
        warm_block=False,
        pairs=tuple(pairs),
        metric=by,
        margin=usual if margin is None else margin,
        looks=planned.looks if planned is not None else (),
        sequential=planned.sequential if planned is not None else False,
        trial_s=planned.trial_s if planned is not None else 0.0,
        overhead_s=planned.overhead_s if planned is not None else 0.0,
        rounds=planned.rounds if planned is not None else None,
        fixed_rate=planned.fixed_rate if planned is not None else None,
        longer_s=planned.longer_s if planned is not None else None,
    )


def _group_of(trials: Sequence[TrialRecord], pair: PairDesign) -> tuple[str | None, int]:
    """The group with most blocks that hold both conditions, and how many; None if no block does."""
    a, b = (_blocks_of(trials, condition) for condition in (pair.a, pair.b))
    common = {group: len(blocks & b.get(group, set())) for group, blocks in a.items()}
    best = max(common, key=lambda group: common[group], default=None)
    return (best, common[best]) if best is not None and common[best] else (None, 0)


def _blocks_of(trials: Sequence[TrialRecord], condition: Mapping[str, Level]) -> dict[str, set[int]]:
    """Group -> the blocks in which the condition was measured."""
    name, found = identity(condition), dict[str, set[int]]()
    for trial in trials:
        if trial.block != WARM_BLOCK and identity(trial.condition) == name:
            found.setdefault(trial.group, set()).add(trial.block)
    return found


def _apart(run: RecordedRun, trials: Sequence[TrialRecord], pair: PairDesign) -> Message:
    """Why a pair cannot be compared."""
    a, b = (condition_label(run.experiment, condition, condition) for condition in (pair.a, pair.b))
    groups_a, groups_b = (sorted(_blocks_of(trials, condition)) for condition in (pair.a, pair.b))
    for name, groups in ((a, groups_a), (b, groups_b)):
        if not groups:
            return message("pair_not_measured", name=name)
    if set(groups_a) & set(groups_b):
        return message("pair_without_block", a=a, b=b)
    return message("pair_apart_in_time", a=a, b=b, groups_a=groups_a, groups_b=groups_b)
