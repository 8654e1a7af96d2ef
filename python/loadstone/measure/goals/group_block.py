"""A block of a group as it is measured: its conditions in turns or trial by trial, all at one rate where it has one."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from loadstone.experiment.plan.design.randomisation import round_orders
from loadstone.experiment.plan.fixed_rate import with_rate
from loadstone.experiment.plan.group import Group
from loadstone.experiment.plan.labels import label_of
from loadstone.experiment.plan.rounds import Rounds
from loadstone.experiment.plan.run_plan import WARM_BLOCK, Block, PlannedTrial, in_tables
from loadstone.experiment.plan.trial_plans import in_slices
from loadstone.experiment.spec.levels import identity
from loadstone.measure.goals.block_attempts import BlockAttempts
from loadstone.measure.goals.goal import GoalContext, LabelledBlock, MeasureBlocks
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.figures import slice_text
from loadstone.text.language import _


def measure_block(
    asked: GoalContext, passes: BlockAttempts, block: int, *, target: int, shortened: Rounds | None = None
) -> MeasureBlocks:
    """What is left of a block; in the group's rounds or in these.

    Args:
        asked: what the goal was made from.
        passes: what was measured of the group.
        block: which one.
        target: the number of blocks at which the group is looked at next.
        shortened: fewer rounds than planned.
    """
    group, rounds = passes.group, shortened or passes.group.rounds
    if rounds is not None:
        place = _place_of_rounds(group, rounds, block)
        blocks: tuple[LabelledBlock, ...] = (_in_rounds(asked, passes, rounds, block, place),)
    else:
        if block == WARM_BLOCK:
            place = _("{name}: warm-up block", name=group.name)
        else:
            place = _("{name}: block {block}, look at {target}", name=group.name, block=block, target=target)
        pending = at_equal_rate(group, passes.pending(block), passes.upto(WARM_BLOCK))
        blocks = tuple(
            LabelledBlock(Block.alone(trial), label_of(asked.experiment, trial.condition), place) for trial in pending
        )
    return MeasureBlocks(blocks, whole=place, warms=block == WARM_BLOCK)


def _in_rounds(asked: GoalContext, passes: BlockAttempts, rounds: Rounds, block: int, place: str) -> LabelledBlock:
    """A block of rounds, whole: what an interruption left of it does not count."""
    group = passes.group
    trials = at_equal_rate(group, passes.begin_whole(block), passes.upto(WARM_BLOCK))
    if rounds != group.rounds:
        trials = tuple(
            replace(trial, plan=in_slices(trial.plan, rounds, block, trial.plan.interval_s)) for trial in trials
        )
    places = {identity(planned.condition): number for number, planned in enumerate(trials)}
    orders = round_orders(group, asked.run_plan.seed, block, rounds.of(block))
    numbered = tuple(tuple(places[identity(condition)] for condition in order) for order in orders)
    return LabelledBlock(
        Block(trials, numbered, rounds),
        group.name,
        place,
        name=f"{trials[0].group} b{trials[0].block:02d}",
        labels=tuple(label_of(asked.experiment, trial.condition) for trial in trials),
        in_round=_round_of(group, rounds, block) if in_tables(group.name) else None,
    )


def _round_of(group: Group, rounds: Rounds, block: int) -> Callable[[int, int], str]:
    """Rounds count through all blocks, as in what is announced."""
    before, last = rounds.upto(block - 1) if block > WARM_BLOCK else 0, rounds.upto(group.looks[-1])
    return lambda number, _users: _(
        "{name}: round {number} of {rounds}", name=group.name, number=before + number, rounds=last
    )


def _place_of_rounds(group: Group, rounds: Rounds, block: int) -> str:
    if block == WARM_BLOCK:
        place = _("{name}: warm-up rounds", name=group.name)
    else:
        first, last = rounds.upto(block - 1) + 1, rounds.upto(block)
        place = _("{name}: rounds {first} to {last}", name=group.name, first=first, last=last)
    return _("{place}, slices of {length}", place=place, length=slice_text(rounds.slice_s)) if group.stage else place


def at_equal_rate(
    group: Group, planned: Sequence[PlannedTrial], finished: Sequence[TrialRecord]
) -> tuple[PlannedTrial, ...]:
    """The trials as they are to be driven: after the warm-up block in the open model, all at the group's rate.

    As planned where the group has none, and where it is not known: then a check refuses to compare.
    """
    rate_per_s = rate_of(group, finished)
    if rate_per_s is None:
        return tuple(planned)
    return tuple(
        one if one.block == WARM_BLOCK else replace(one, plan=with_rate(one.plan, rate_per_s)) for one in planned
    )


def rate_of(group: Group, finished: Sequence[TrialRecord]) -> float | None:
    """The one rate of all conditions of a group, by its finished trials; None if it has none or it is not known.

    A share is one of what the slowest did in the warm-up block, to three digits. No check of that block counts: any
    rate that leaves all of them room will do, and no verdict rests on how exact it is.
    """
    if group.fixed_rate is None:
        return None
    did = {identity(trial.condition): trial.goodput_per_s for trial in finished if trial.block == WARM_BLOCK}
    slowest_per_s = min(did.get(identity(condition), 0.0) for condition in group.conditions)
    rate_per_s = group.fixed_rate.of(slowest_per_s or None)
    return None if rate_per_s is None else float(f"{rate_per_s:.3g}")
