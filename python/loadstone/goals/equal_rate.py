"""The rate at which the blocks of a comparison are driven, where its warm-up block says what the conditions can do."""

from collections.abc import Sequence
from dataclasses import replace

from loadstone.plan.at_rate import with_rate
from loadstone.plan.group import Group
from loadstone.plan.run_plan import WARM_BLOCK, PlannedTrial
from loadstone.record.trial import TrialRecord
from loadstone.spec.levels import identity


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
    did = {identity(one.condition): one.goodput_per_s for one in finished if one.block == WARM_BLOCK}
    slowest_per_s = min(did.get(identity(condition), 0.0) for condition in group.conditions)
    rate_per_s = group.fixed_rate.of(slowest_per_s or None)
    return None if rate_per_s is None else float(f"{rate_per_s:.3g}")
