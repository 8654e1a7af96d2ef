"""The groups of a run: a group for each comparison, and one for what stands in tables only."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from loadstone.message import message
from loadstone.plan.crashes import Parts
from loadstone.plan.design.conditions import NumberedCondition
from loadstone.plan.design.pairs import conditions_of
from loadstone.plan.design.sliceable import why_whole_trials
from loadstone.plan.drive_plan import Plan
from loadstone.plan.looks import looks
from loadstone.plan.rounds import SETTLE_S, SLICE_S, Rounds, fixed_rounds, sequential_rounds
from loadstone.plan.run_plan import (
    TABLE_GROUP,
    WARM_BLOCK,
    Condition,
    Group,
    Pair,
    expected_measure_s,
    expected_overhead_s,
)
from loadstone.plan.trial_length import trial_length_s
from loadstone.spec.experiment import Comparison, Experiment, usual_margin
from loadstone.spec.levels import identity
from loadstone.spec.units import duration_s, margin_share

AS_WRITTEN = message("whole_trials.as_written")
"""The experiment itself says that whole trials are compared."""


@dataclass(frozen=True)
class DesignOfMode:
    """The experiment's design in the current mode."""

    budget_s: float
    table_blocks: int
    trial_s: float | None
    """Measure phase of a trial that is compared; None: by the rule."""
    blocks: int | None
    """Of every group, as the command line has it; None: the looks and `table_blocks` decide."""
    rounds: bool = True
    """Whether comparisons are measured in rounds where they can be."""
    slice_s: float = SLICE_S


def design_of_mode(
    experiment: Experiment, *, quick: bool, as_published: bool, blocks: int | None, budget_s: float | None
) -> DesignOfMode:
    """The design with what `--quick`, `--as-published`, `--blocks` and `--budget` replace in it."""
    usual, short = experiment.design, experiment.quick.design
    budget = short.budget if quick and short.budget is not None else usual.budget
    trial = short.trial if quick and short.trial is not None else usual.trial
    table_blocks = short.table_blocks if quick and short.table_blocks is not None else usual.table_blocks
    return DesignOfMode(
        budget_s=duration_s(budget) if budget_s is None else budget_s,
        table_blocks=1 if as_published else table_blocks,
        trial_s=None if trial is None else duration_s(trial),
        blocks=blocks,
        rounds=usual.rounds == "auto",
        slice_s=SLICE_S if usual.slice is None else duration_s(usual.slice),
    )


def make_groups(
    experiment: Experiment,
    design: DesignOfMode,
    chosen: Sequence[NumberedCondition],
    pairs: Mapping[str, tuple[Pair, ...]],
    made: Mapping[str, Parts],
) -> tuple[Group, ...]:
    """The table's group, if there is one, and a group for each comparison that has `pairs`.

    `made` has the workload's plan and the parts of each condition, by its identity.
    """
    plans = {key: parts.plan for key, parts in made.items()}
    declared = {comparison.name: comparison for comparison in experiment.comparisons}
    compared = [_compared(experiment, declared[name], design, found, made) for name, found in pairs.items()]
    taken = {identity(condition) for group in compared for condition in group.conditions}
    rest = tuple(one.condition for one in chosen if one.identity not in taken)
    return (*([_table(experiment, design, rest, plans)] if rest else []), *compared)


def blocks_of(group: Group) -> range:
    """The numbers of all blocks that a group may need."""
    return range(WARM_BLOCK if group.warm_block else WARM_BLOCK + 1, group.looks[-1] + 1)


def _compared(
    experiment: Experiment,
    comparison: Comparison,
    design: DesignOfMode,
    pairs: tuple[Pair, ...],
    made: Mapping[str, Parts],
) -> Group:
    """The group of a comparison. All its trials are equally long, whatever warm-up each of them has."""
    metric = comparison.metric or experiment.primary_metric
    conditions = tuple({identity(condition): condition for condition in conditions_of(pairs)}.values())
    margin = usual_margin(metric) if comparison.margin is None else margin_share(comparison.margin)
    off = None if design.rounds else AS_WRITTEN
    why_whole = off or why_whole_trials(metric, conditions, made)
    if why_whole is None:
        return _in_rounds(comparison.name, metric, margin, conditions, pairs, design)
    overhead_s = _overhead_s(conditions, {key: parts.plan for key, parts in made.items()})
    return Group(
        name=comparison.name,
        conditions=conditions,
        pairs=pairs,
        metric=metric,
        margin=margin,
        looks=looks(len(pairs)) if design.blocks is None else (design.blocks,),
        sequential=design.blocks is None,
        warm_block=True,
        trial_s=round(trial_length_s(overhead_s), 1) if design.trial_s is None else design.trial_s,
        overhead_s=overhead_s,
        whole_trials=why_whole,
    )


def _in_rounds(
    name: str,
    metric: str,
    margin: float,
    conditions: tuple[Condition, ...],
    pairs: tuple[Pair, ...],
    design: DesignOfMode,
) -> Group:
    """A comparison in rounds: a block ends where a look is due."""
    settle_s = min(SETTLE_S, design.slice_s / 4)
    rounds: Rounds = (
        sequential_rounds(design.slice_s, settle_s=settle_s)
        if design.blocks is None
        else fixed_rounds(design.blocks, design.slice_s, settle_s=settle_s)
    )
    blocks = len(rounds.blocks)
    return Group(
        name=name,
        conditions=conditions,
        pairs=pairs,
        metric=metric,
        margin=margin,
        looks=tuple(range(1, blocks + 1)) if design.blocks is None else (blocks,),
        sequential=design.blocks is None,
        warm_block=True,
        trial_s=round(rounds.measured_s * rounds.upto(blocks) / blocks, 3),
        overhead_s=round(rounds.block_s(1, 1) - rounds.measured_s * rounds.of(1), 3),
        rounds=rounds,
    )


def _table(
    experiment: Experiment, design: DesignOfMode, conditions: tuple[Condition, ...], plans: Mapping[str, Plan]
) -> Group:
    metric = experiment.primary_metric
    return Group(
        name=TABLE_GROUP,
        conditions=conditions,
        pairs=(),
        metric=metric,
        margin=usual_margin(metric),
        looks=(design.table_blocks if design.blocks is None else design.blocks,),
        sequential=False,
        warm_block=False,
        trial_s=round(fmean(expected_measure_s(plans[identity(condition)]) for condition in conditions), 3),
        overhead_s=_overhead_s(conditions, plans),
    )


def _overhead_s(conditions: Iterable[Condition], plans: Mapping[str, Plan]) -> float:
    return round(fmean(expected_overhead_s(plans[identity(condition)]) for condition in conditions), 3)
