"""The groups of a run: one for each comparison and one for the tables, and what is measured at a fixed rate beside
them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from loadstone.experiment.plan.design.conditions import NumberedCondition, conditions_of, contrasts_of
from loadstone.experiment.plan.design.interleaving import (
    AS_PUBLISHED,
    AS_WRITTEN,
    mean_overhead_s,
    processes_of,
    reason_not_interleaved,
    split_rows,
    table_groups,
)
from loadstone.experiment.plan.design.planned_trial import ConditionParts, planned_trial
from loadstone.experiment.plan.fixed_rate import (
    AT_RATE_GROUP,
    MOST_S,
    RATE_NOT_KNOWN_PER_S,
    FixedRate,
    is_saturating,
    with_rate,
)
from loadstone.experiment.plan.group import Group, PairDesign
from loadstone.experiment.plan.look_schedule import schedule_of
from loadstone.experiment.plan.operation_units import are_compared_by_units
from loadstone.experiment.plan.rounds import (
    APPLICATION_SETTLE_S,
    APPLICATION_SLICE_S,
    SETTLE_S,
    SHORTEST_APPLICATION_SLICE_S,
    SHORTEST_SLICE_S,
    SHORTEST_TRIAL_S,
    SLICE_S,
    Rounds,
    fixed_rounds,
    rounds_of_starts,
    sequential_rounds,
    trial_length_s,
)
from loadstone.experiment.plan.run_plan import WARM_BLOCK, AtRatePlan, PlannedTrial
from loadstone.experiment.spec.experiment import RATES, ComparisonSpec, Effects, Experiment, default_margin
from loadstone.experiment.spec.levels import Condition, identity
from loadstone.text.message import message
from loadstone.text.units import duration_s, margin_share, rate_or_share

SHORT_S = 1.0
"""A row may be measured for so long, however short its own trials are: a fast one has a P99 then."""


def plan_at_rate(
    fixed: FixedRate | None,
    rows: Sequence[Condition],
    made: Mapping[str, ConditionParts],
    seed: int,
    *,
    rounds: bool,
    own_s: float,
) -> AtRatePlan | None:
    """A trial for each row whose load is a closed model without think time; None where there is none.

    Args:
        fixed: the rate; None: at none.
        rows: the conditions of all tables, in their order, those that are compared, too.
        made: plans and parts of each condition, by its identity.
        seed: the run's.
        rounds: whether conditions are measured in rounds where they can be.
        own_s: seconds for which a row is measured under its own load.
    """
    meant = [condition for condition in rows if is_saturating(made[identity(condition)].plan)]
    if fixed is None or not meant:
        return None
    most_s = min(MOST_S, max(SHORT_S, own_s))
    return AtRatePlan(fixed, tuple(_trials(fixed, meant, made, seed, rounds=rounds)), most_s)


def _trials(
    fixed: FixedRate, rows: Sequence[Condition], made: Mapping[str, ConditionParts], seed: int, *, rounds: bool
) -> Iterator[PlannedTrial]:
    """Block by block: what can be up together is one."""
    decks, whole = split_rows(rows, made, None if rounds else AS_WRITTEN)
    blocks = [*decks, *([tuple(condition for _, condition in whole)] if whole else [])]
    for block, conditions in enumerate(blocks, start=1):
        for order, condition in enumerate(conditions, start=1):
            parts = made[identity(condition)]
            trial = planned_trial(
                parts,
                with_rate(parts.plan, fixed.rate_per_s or RATE_NOT_KNOWN_PER_S),
                name=f"{AT_RATE_GROUP}-b{block:02d}-{order:03d}",
                group=AT_RATE_GROUP,
                block=block,
                order=order,
                seed=seed,
                in_rounds=block <= len(decks),
            )
            yield replace(trial, rate_share=fixed.share)


def common_rate(
    metric: str, pairs: Iterable[PairDesign], made: Mapping[str, ConditionParts], share_or_rate: FixedRate
) -> FixedRate | None:
    """The rate of a comparison: of the share the slowest condition's capacity counts, which the warm-up block measures.

    At full speed latency is users / throughput. None where a rate is compared, where the load has a rate or pauses of
    its own, and where the two of a pair differ in their users, of which nothing is left at a rate.

    Args:
        metric: what decides.
        pairs: what is compared.
        made: plans and parts of each condition, by its identity.
        share_or_rate: what is used where the question arises.
    """
    if metric in RATES:
        return None
    plans = [(made[identity(pair.a)].plan, made[identity(pair.b)].plan) for pair in pairs]
    alike = all(is_saturating(a) and is_saturating(b) and a.model == b.model for a, b in plans)
    return share_or_rate if alike else None


USUAL_RATE = FixedRate()


@dataclass(frozen=True)
class DesignOfMode:
    """The experiment's design in the current mode."""

    budget_s: float
    table_blocks: int
    trial_s: float | None
    """Measure phase of a trial that is compared; None: by the rule."""
    blocks: int | None
    """Blocks of every group, as the command line has it; None: the looks and `table_blocks` decide."""
    rounds: bool = True
    """Whether conditions are measured in rounds where they can be."""
    slice_s: float | None = None
    """None: by the rules of `experiment.plan.rounds`."""
    as_published: bool = False
    fixed_rate: FixedRate | None = None
    """At which rows of tables are measured in addition; None: at none. Latencies are compared at it, or else at the
    usual one."""
    memory_bytes: int | None = None
    """All of the machine's memory; None: it is not known."""
    restarts: bool = False
    """Whether applications are started again for each block."""
    length_share: float = 1.0
    """Share by which slices and trials that are compared are made shorter, so that first looks fit into the budget."""


def design_of_mode(
    experiment: Experiment,
    *,
    quick: bool,
    as_published: bool,
    blocks: int | None,
    budget_s: float | None,
    memory_bytes: int | None = None,
) -> DesignOfMode:
    """The design with what `--quick`, `--as-published`, `--blocks` and `--budget` replace in it."""
    usual, short = experiment.design, experiment.quick.design
    budget = short.budget if quick and short.budget is not None else usual.budget
    trial = short.trial if quick and short.trial is not None else usual.trial
    at_rate = short.at_rate if quick and short.at_rate is not None else usual.at_rate
    slice_length = short.slice if quick and short.slice is not None else usual.slice
    rate_per_s, share = rate_or_share(at_rate)
    fixed = not as_published and (rate_per_s, share) != (None, None)
    table_blocks = short.table_blocks if quick and short.table_blocks is not None else usual.table_blocks
    return DesignOfMode(
        budget_s=duration_s(budget) if budget_s is None else budget_s,
        table_blocks=1 if as_published else table_blocks,
        trial_s=None if trial is None else duration_s(trial),
        blocks=blocks,
        rounds=usual.rounds == "auto",
        slice_s=None if slice_length is None else duration_s(slice_length),
        as_published=as_published,
        fixed_rate=FixedRate(rate_per_s, share) if fixed else None,
        memory_bytes=memory_bytes,
        restarts=schedule_of(experiment).restarts,
    )


def make_groups(
    experiment: Experiment,
    design: DesignOfMode,
    chosen: Sequence[NumberedCondition],
    pairs: Mapping[str, tuple[PairDesign, ...]],
    made: Mapping[str, ConditionParts],
) -> tuple[Group, ...]:
    """The groups of the tables, if there are any, and a group for each comparison, or effects, that has `pairs`.

    `made` has the workload's plan and the parts of each condition, by its identity.
    """
    declared = _declared(experiment)
    compared = [_compared(experiment, declared[name], design, found, made) for name, found in pairs.items()]
    own_load = [group for group in compared if group.fixed_rate is None]
    taken = {identity(condition) for group in own_load for condition in group.conditions}
    rest = tuple(one.condition for one in chosen if one.identity not in taken)
    return (*_tables(experiment.primary_metric, design, rest, made), *compared)


def longer_groups(
    experiment: Experiment, design: DesignOfMode, groups: Sequence[Group], made: Mapping[str, ConditionParts]
) -> tuple[Group, ...]:
    """The later stages of those of these comparisons that are in rounds; see `run_plan.Stage`."""
    declared = _declared(experiment)
    longer = []
    for group in (group for group in groups if group.pairs):
        whole, newest = _in_whole_trials(experiment, declared[group.name], design, group.pairs, made), group
        while newest.rounds is not None:
            newest = _next_stage(whole, newest)
            longer.append(newest)
    return tuple(longer)


def blocks_of(group: Group) -> range:
    """The numbers of all blocks that a group may need."""
    return range(WARM_BLOCK if group.warm_block else WARM_BLOCK + 1, group.looks[-1] + 1)


def _declared(experiment: Experiment) -> dict[str, ComparisonSpec | Effects]:
    comparisons: dict[str, ComparisonSpec | Effects] = {
        comparison.name: comparison for comparison in experiment.comparisons
    }
    return comparisons | {effect.name: effect for effect in experiment.effects}


def _compared(
    experiment: Experiment,
    comparison: ComparisonSpec | Effects,
    design: DesignOfMode,
    pairs: tuple[PairDesign, ...],
    made: Mapping[str, ConditionParts],
) -> Group:
    """The group of a comparison: in rounds where it can be."""
    whole = _in_whole_trials(experiment, comparison, design, pairs, made)
    off = None if design.rounds else AS_WRITTEN
    why_whole = off or reason_not_interleaved(whole.metric, whole.conditions, made, design.memory_bytes)
    if why_whole is not None:
        return replace(whole, whole_trials=why_whole)
    return _in_rounds(whole, _rounds_of(design, whole, [made[identity(one)] for one in whole.conditions]))


def _in_whole_trials(
    experiment: Experiment,
    comparison: ComparisonSpec | Effects,
    design: DesignOfMode,
    pairs: tuple[PairDesign, ...],
    made: Mapping[str, ConditionParts],
) -> Group:
    """All its trials are equally long, whatever warm-up each of them has."""
    metric = _metric(experiment, comparison, pairs, made)
    conditions = tuple({identity(condition): condition for condition in conditions_of(pairs)}.values())
    overhead_s = mean_overhead_s(conditions, made)
    return Group(
        name=comparison.name,
        conditions=conditions,
        pairs=pairs,
        metric=metric,
        margin=default_margin(metric) if comparison.margin is None else margin_share(comparison.margin),
        looks=schedule_of(experiment).looks(len(pairs)) if design.blocks is None else (design.blocks,),
        sequential=design.blocks is None,
        warm_block=True,
        trial_s=_shortened(
            round(trial_length_s(overhead_s), 1) if design.trial_s is None else design.trial_s,
            design.length_share,
            SHORTEST_TRIAL_S,
        ),
        overhead_s=overhead_s,
        fixed_rate=common_rate(metric, pairs, made, design.fixed_rate or USUAL_RATE),
        contrasts=contrasts_of(comparison, pairs) if isinstance(comparison, Effects) else (),
    )


def _metric(
    experiment: Experiment,
    comparison: ComparisonSpec | Effects,
    pairs: tuple[PairDesign, ...],
    made: Mapping[str, ConditionParts],
) -> str:
    """What decides: as it is written, or else by keys where a command of one side has more of them."""
    written = comparison.metric is not None or "primary_metric" in experiment.model_fields_set
    metric = comparison.metric or experiment.primary_metric
    if written or isinstance(comparison, Effects) or metric != "goodput_per_s":
        return metric
    by_units = are_compared_by_units(made[identity(one)].plan for one in conditions_of(pairs))
    return "units_per_s" if by_units else metric


def _rounds_of(design: DesignOfMode, whole: Group, parts: Sequence[ConditionParts]) -> Rounds:
    """The rounds of conditions with these parts: slices of a length for them, blocks for as many starts as are had."""
    application = any(part.deployment.subjects for part in parts)
    usual_s, settle_s = (APPLICATION_SLICE_S, APPLICATION_SETTLE_S) if application else (SLICE_S, SETTLE_S)
    shortest_s = SHORTEST_APPLICATION_SLICE_S if application else SHORTEST_SLICE_S
    slice_s = _shortened(usual_s if design.slice_s is None else design.slice_s, design.length_share, shortest_s)
    settle_s, processes = min(settle_s, slice_s / 4), processes_of(parts)
    if design.restarts and processes != "shared":
        of_latency = whole.metric not in RATES
        return rounds_of_starts(whole.looks[-1], slice_s, settle_s=settle_s, of_latency=of_latency)
    if design.blocks is None:
        early = not application and whole.metric in RATES
        pairs = len(whole.pairs)
        return sequential_rounds(slice_s, settle_s=settle_s, processes=processes, pairs=pairs, early=early)
    return fixed_rounds(design.blocks, slice_s, settle_s=settle_s, processes=processes)


def _shortened(seconds: float, share: float, shortest_s: float) -> float:
    """Return the share of a length, but no less than the shortest that measures anything."""
    return seconds if share >= 1 else round(max(min(seconds, shortest_s), seconds * share), 3)


def _in_rounds(whole: Group, rounds: Rounds, stage: int = 0) -> Group:
    """Return the comparison in rounds, with what its next stage would take.

    A block ends where a look is due, or with the processes that it was measured on.
    """
    blocks = len(rounds.blocks)
    at = whole.looks if rounds.unit == "block" else tuple(range(1, blocks + 1))
    group = replace(
        whole,
        looks=at if whole.sequential else (blocks,),
        trial_s=rounds.mean_measured_s,
        overhead_s=rounds.mean_overhead_s,
        rounds=rounds,
        stage=stage,
    )
    following = _next_stage(whole, group)
    first_look = range(following.looks[0] + 1)
    return replace(group, longer_s=round(following.seconds(first_look), 3))


def _next_stage(whole: Group, group: Group) -> Group:
    """With longer slices; where those of a group in rounds are the longest, by whole trials."""
    longer = None if group.rounds is None else group.rounds.longer()
    if longer is None:
        return replace(whole, stage=group.stage + 1, whole_trials=message("whole_trials.carry_over"))
    return _in_rounds(whole, longer, group.stage + 1)


def _tables(
    metric: str, design: DesignOfMode, conditions: tuple[Condition, ...], made: Mapping[str, ConditionParts]
) -> list[Group]:
    whole = None if design.rounds else AS_WRITTEN
    return table_groups(
        conditions,
        made,
        metric=metric,
        blocks=design.table_blocks if design.blocks is None else design.blocks,
        slice_s=design.slice_s,
        whole_trials=AS_PUBLISHED if design.as_published else whole,
    )
