"""Whether the conditions of a comparison can be measured in rounds, all of them up; and if not, why not."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from loadstone import registry
from loadstone.message import Message, message
from loadstone.plan.design.parts import Parts
from loadstone.plan.drive_plan import Open, Plan
from loadstone.plan.footprint import stored_by
from loadstone.plan.rounds import Processes
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
SUBJECT_BYTES = 5 * 2**28
"""What an application without a memory limit is taken to need: the JVM of `spring` has a heap of at most 1 GB."""
SERVER_BYTES = 2**26
"""The same of a server in memory, beside what it stores."""
DATABASE_BYTES = 2**29
MEMORY_SHARE = 0.75
"""The share of the machine's memory that they may take together: the rest is the system's and the generator's."""


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
    if (name := _writes_on(parts)) is not None:
        return message("whole_trials.writes_on", server=name)
    if len({one.plan.phases.warm_up_s for one in parts}) > 1:
        return message("whole_trials.warm_up")
    return next(filter(None, (why_whole_plan(one.plan) for one in parts)), None) or _of_memory(parts, memory_bytes)


def _of_memory(parts: Sequence[Parts], memory_bytes: int | None) -> Message | None:
    """Whether they cannot all be up. Conditions on the same servers and applications are up in any case."""
    if memory_bytes is None or processes_of(parts) == "shared":
        return None
    needed = _memory_needed_bytes(parts)
    if needed <= MEMORY_SHARE * memory_bytes:
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


def processes_of(parts: Sequence[Parts]) -> Processes:
    """What stands behind these conditions; servers are started again where that is cheap, and nothing is lost by it."""
    subjects = any(one.deployment.subjects for one in parts)
    if not subjects and not _servers_differ(parts):
        return "shared"
    if subjects:
        return "once" if _servers_differ(parts) or _subjects_differ(parts) else "shared"
    cheap = all(_starts_at_once(server) for one in parts for server in one.deployment.servers.values())
    return "restarted" if cheap and not any(one.deployment.data for one in parts) else "once"


def _servers_differ(parts: Iterable[Parts]) -> bool:
    """Whether not all of them have the same servers."""
    return len({repr(one.deployment.servers) for one in parts}) > 1


def _subjects_differ(parts: Iterable[Parts]) -> bool:
    """Whether not all of them have the same applications."""
    return len({repr(one.deployment.subjects) for one in parts}) > 1


def _writes_on(parts: Sequence[Parts]) -> str | None:
    """A server of ours that not all have, and that goes on writing to the disk: its name; None if there is none."""
    every = [{_key(name, server) for name, server in one.deployment.servers.items()} for one in parts]
    common = set.intersection(*every)
    for one in parts:
        for name, server in one.deployment.servers.items():
            own = _key(name, server) not in common and not registry.is_users(server)
            if own and registry.software_of(server).writes_on(_settings(server)):
                return name
    return None


def _memory_needed_bytes(parts: Iterable[Parts]) -> int:
    """What these conditions take on this machine while all of them are up, their applications and servers of ours."""
    servers: dict[str, int] = {}
    subjects: dict[str, int] = {}
    stored = 0
    for one in parts:
        deployment = one.deployment
        for name, server in deployment.servers.items():
            if not registry.is_users(server):
                in_memory = registry.software_of(server).in_memory
                servers[_key(name, server)] = SERVER_BYTES if in_memory else DATABASE_BYTES
        ours = [server for server in deployment.servers.values() if not registry.is_users(server)]
        if ours and not deployment.subjects:
            stored += stored_by([one.plan] if one.load is None else [one.load, one.plan])
        for name, subject in deployment.subjects.items():
            limit = subject.limits.get("memory")
            each = limit if isinstance(limit, int) else SUBJECT_BYTES
            of_ours = 0 if subject.urls else subject.replicas
            subjects[repr((name, subject, deployment.servers))] = of_ours * each
    return sum(servers.values()) + sum(subjects.values()) + stored


def _starts_at_once(server: Mapping[str, Any]) -> bool:
    return str(server.get("kind", "")) in registry.software_of(server).starts_at_once


def _settings(server: Mapping[str, Any]) -> Mapping[str, Any]:
    settings = server.get("settings")
    return settings if isinstance(settings, Mapping) else {}


def _key(name: str, server: Mapping[str, Any]) -> str:
    return repr((name, sorted(server.items(), key=str)))
