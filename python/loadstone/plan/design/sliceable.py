"""Whether the conditions of a comparison can be measured in rounds, all of them up; and if not, why not."""

from collections.abc import Iterable, Mapping, Sequence

from loadstone.message import Message, message
from loadstone.plan.design import up_together
from loadstone.plan.design.parts import Parts
from loadstone.plan.drive_plan import Open, Plan
from loadstone.spec.drivers import NATIVE, DriverWord
from loadstone.spec.levels import Condition, identity

AS_WRITTEN = message("whole_trials.as_written")
"""The experiment itself says that whole trials are compared."""
AS_PUBLISHED = message("whole_trials.as_published")
"""The original's counts of operations are those of whole trials."""
_QUANTILES = ("p50", "p90", "p95", "p99", "p999")
SLICED_METRICS = frozenset(
    (
        "goodput_per_s",
        "throughput_per_s",
        "units_per_s",
        "response_ns.mean",
        *(f"{kind}.{quantile}" for kind in ("response_ns", "service_ns") for quantile in _QUANTILES),
    )
)
"""A peak is that of a whole second, a maximum that of a whole run."""


def why_whole_trials(
    metric: str, conditions: Iterable[Condition], made: Mapping[str, Parts], memory_bytes: int | None = None
) -> Message | None:
    """Why these conditions are compared by whole trials, one after the other; None where they take turns in rounds.

    Args:
        metric: what decides.
        conditions: what is compared.
        made: plans and parts of each condition, by its identity.
        memory_bytes: all of the machine's memory; None: it is not known, and taken to be enough.
    """
    parts = [made[identity(condition)] for condition in conditions]
    if metric not in SLICED_METRICS:
        return message("whole_trials.metric", metric=metric)
    if (of_parts := next(filter(None, map(_of_parts, parts)), None)) is not None:
        return of_parts
    if (name := up_together.writes_on(parts)) is not None:
        return message("whole_trials.writes_on", server=name)
    if len({one.plan.phases.warm_up_s for one in parts}) > 1:
        return message("whole_trials.warm_up")
    return next(filter(None, (why_whole_plan(one.plan) for one in parts)), None) or _of_memory(parts, memory_bytes)


def _of_memory(parts: Sequence[Parts], memory_bytes: int | None) -> Message | None:
    """Whether they cannot all be up. Conditions on the same servers and applications are up in any case."""
    if memory_bytes is None or up_together.processes_of(parts) == "shared":
        return None
    needed = up_together.memory_bytes(parts)
    if needed <= up_together.MEMORY_SHARE * memory_bytes:
        return None
    return message("whole_trials.memory", needed_gb=needed / 1e9, memory_gb=memory_bytes / 1e9)


def why_whole_row(parts: Parts) -> Message | None:
    """Why a row of a table is measured by whole trials; None where it takes turns with others like it."""
    if parts.deployment.subjects:
        return message("whole_trials.subject")
    return _of_parts(parts) or why_whole_plan(parts.plan)


def _of_parts(parts: Parts) -> Message | None:
    """What is read off parts that others have, too."""
    if parts.deployment.driver != NATIVE:
        return message("whole_trials.driver", driver=DriverWord.of(parts.deployment.driver).place)
    if parts.deployment.stored:
        return message("whole_trials.counted")
    return None


def why_whole_plan(plan: Plan) -> Message | None:
    """Why a plan cannot be driven in slices: what in it has a beginning or an end of its own. None where it can."""
    if plan.phases.ramp_up_s > 0 or getattr(plan.model, "ramp_up", None) is not None:
        return message("whole_trials.ramp_up")
    if plan.keys.distribution == "exactly_once":
        return message("whole_trials.exactly_once")
    if plan.recording is not None:
        return message("whole_trials.recording")
    if plan.receivers is not None:
        return message("whole_trials.receivers")
    if isinstance(plan.model, Open) and plan.model.schedule:
        return message("whole_trials.schedule")
    return None
