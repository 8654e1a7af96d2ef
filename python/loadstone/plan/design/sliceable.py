"""Whether the conditions of a comparison can be measured in rounds, all of them up; and if not, why not."""

from collections.abc import Iterable, Mapping, Sequence

from loadstone.message import Message, message
from loadstone.plan.crashes import Parts
from loadstone.plan.drive_plan import Open, Plan
from loadstone.plan.run_plan import Condition
from loadstone.spec.levels import identity

SLICED_METRICS = frozenset({"goodput_per_s", "throughput_per_s"})
"""A peak is that of a whole second; latencies are compared at one rate, and not at full speed."""


def why_whole_trials(metric: str, conditions: Iterable[Condition], made: Mapping[str, Parts]) -> Message | None:
    """Why these conditions are compared by whole trials, one after the other; None where they take turns in rounds.

    Args:
        metric: what decides.
        conditions: what is compared.
        made: plans and parts of each condition, by its identity.
    """
    parts = [made[identity(condition)] for condition in conditions]
    if metric not in SLICED_METRICS:
        return message("whole_trials.metric", metric=metric)
    if any(one.deployment.subjects for one in parts):
        return message("whole_trials.subject")
    if any(one.deployment.stored for one in parts):
        return message("whole_trials.counted")
    if len({repr(one.deployment.servers) for one in parts}) > 1:
        return message("whole_trials.servers")
    return _of_plans([one.plan for one in parts])


def _of_plans(plans: Sequence[Plan]) -> Message | None:
    """What in their plans has a beginning or an end of its own."""
    if any(plan.phases.ramp_up_s > 0 or getattr(plan.model, "ramp_up", None) is not None for plan in plans):
        return message("whole_trials.ramp_up")
    if len({plan.phases.warm_up_s for plan in plans}) > 1:
        return message("whole_trials.warm_up")
    if any(plan.keys.distribution == "exactly_once" for plan in plans):
        return message("whole_trials.exactly_once")
    if any(isinstance(plan.model, Open) and plan.model.schedule for plan in plans):
        return message("whole_trials.schedule")
    return None
