"""Which blocks of a group are complete, and at which number of them it is judged."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from loadstone.experiment.plan.group import GroupDesign
from loadstone.experiment.plan.look_schedule import BLOCKS_MIN
from loadstone.experiment.plan.rounds import unit_of
from loadstone.experiment.plan.run_plan import WARM_BLOCK, in_tables
from loadstone.experiment.spec.levels import Level, identity
from loadstone.run_folder.look import Look
from loadstone.run_folder.trial import TrialRecord


@dataclass(frozen=True)
class GroupBlocks:
    """The measured blocks of a group; the one that warms the machine up is never among them."""

    conditions: int
    """How many conditions a block holds."""
    complete: tuple[int, ...]
    """Blocks of which every trial is finished, ascending."""
    trials: Mapping[int, Mapping[str, TrialRecord]]
    """Block -> identity of the condition -> its trial."""


def group_blocks(group: str, conditions: Iterable[Mapping[str, Level]], trials: Iterable[TrialRecord]) -> GroupBlocks:
    """The blocks of a group out of the run's trials; of a trial that stands there twice the later one counts."""
    required = {identity(condition) for condition in conditions}
    by_block: dict[int, dict[str, TrialRecord]] = {}
    for trial in trials:
        if trial.group == group and trial.block != WARM_BLOCK:
            by_block.setdefault(trial.block, {})[identity(trial.condition)] = trial
    complete = sorted(
        block
        for block, members in by_block.items()
        if required <= members.keys() and (in_tables(group) or _one_pass(members.values()))
    )
    return GroupBlocks(len(required), tuple(complete), by_block)


def _one_pass(members: Iterable[TrialRecord]) -> bool:
    """Whether the trials ran in the block's order: one that was measured again and cut short mixes two passes."""
    starts = [trial.started_unix_ns for trial in sorted(members, key=lambda trial: trial.order)]
    return starts == sorted(starts)


def judged_blocks(design: GroupDesign, complete: Sequence[int], newest: Look | None) -> tuple[int, ...]:
    """The blocks that the verdict rests on: those of the last look that counts.

    A group whose newest look stopped it is judged there. One that was cut short is judged at the largest look
    that its blocks reach: judging it wherever it happened to stop would be one more look than the level allows for.
    Below the first look, and of a fixed number of blocks that was not reached, too few count for a verdict.
    """
    if newest is not None and newest.stop:
        return tuple(complete[: newest.blocks])
    looks = design.looks if design.sequential else design.looks[-1:]
    reached = [look for look in looks if look <= len(complete)]
    if reached and not design.sequential:
        return tuple(complete)
    return tuple(complete[: max(reached, default=0 if unit_of(design.rounds) == "round" else BLOCKS_MIN - 1)])
