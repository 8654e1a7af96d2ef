"""Settings and limits of servers and subjects as they were told, with a word on those that were asked for in vain."""

from collections.abc import Mapping

from loadstone.plan.run_plan import PlannedTrial
from loadstone.record.facts import UNKNOWN, SubjectFacts

_NOT_TOLD = f"{UNKNOWN}: nobody tells"


def limits_of(planned: PlannedTrial, told: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """The limits of each server that has some, or was to have."""
    found = {name: _with_asked(told.get(name, {}), asked.get("limits")) for name, asked in planned.servers.items()}
    return {name: limits for name, limits in found.items() if limits}


def with_asked_limits(planned: PlannedTrial, subjects: Mapping[str, SubjectFacts]) -> dict[str, SubjectFacts]:
    """The subjects, each with a word on every limit that it was to have."""
    wanted = {name: subject.limits for name, subject in planned.subjects.items()}
    return {
        name: facts.model_copy(update={"limits": _with_asked(facts.limits, wanted.get(name))})
        for name, facts in subjects.items()
    }


def settings_of(planned: PlannedTrial, told: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """The settings as read back; none of a server that was asked and did not answer."""
    silent = [name for name, asked in planned.servers.items() if asked.get("settings")]
    return {**{name: {} for name in silent}, **{name: dict(values) for name, values in told.items()}}


def _with_asked(told: Mapping[str, str], asked: object) -> dict[str, str]:
    """What was told of limits, and a word on each that was asked for (`cpu: 0.5`) and of which nothing was told."""
    wanted = asked if isinstance(asked, Mapping) else {}
    silent = [name for name, value in wanted.items() if value not in (None, "") and not _is_told(str(name), told)]
    return {**told, **{f"{name} limit": _NOT_TOLD for name in silent}}


def _is_told(name: str, told: Mapping[str, str]) -> bool:
    return any(key.startswith(f"{name} limit") for key in told)
