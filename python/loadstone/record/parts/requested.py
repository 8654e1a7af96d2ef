"""Settings and limits of servers and subjects as reported, with an entry for each that was requested and is not."""

from collections.abc import Mapping
from typing import get_args

from loadstone.deploy.limit_in_force import LimitInForce, LimitName
from loadstone.plan.run_plan import PlannedTrial
from loadstone.record.facts import SubjectFacts

Limits = Mapping[LimitName, LimitInForce]


def limits_of_servers(
    planned: PlannedTrial, reported: Mapping[str, Limits]
) -> dict[str, dict[LimitName, LimitInForce]]:
    """The limits of each server that has some, or was to have."""
    found = {name: _complete(reported.get(name, {}), given.get("limits")) for name, given in planned.servers.items()}
    return {name: limits for name, limits in found.items() if limits}


def with_limits(planned: PlannedTrial, subjects: Mapping[str, SubjectFacts]) -> dict[str, SubjectFacts]:
    """The subjects, each with an entry for every limit that it was to have."""
    requested = {name: subject.limits for name, subject in planned.subjects.items()}
    return {
        name: facts.model_copy(update={"limits": _complete(facts.limits, requested.get(name))})
        for name, facts in subjects.items()
    }


def settings_of_servers(planned: PlannedTrial, reported: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """The settings as read back; none of a server that was to have some and did not answer."""
    silent = [name for name, given in planned.servers.items() if given.get("settings")]
    return {**{name: {} for name in silent}, **{name: dict(values) for name, values in reported.items()}}


def _complete(reported: Limits, requested: object) -> dict[LimitName, LimitInForce]:
    """What is reported, and `unknown` for each limit that was requested (`cpu: 0.5`) and of which nothing is."""
    given = requested if isinstance(requested, Mapping) else {}
    names: tuple[LimitName, ...] = get_args(LimitName)
    silent = [name for name in names if given.get(name) not in (None, "") and name not in reported]
    return {**reported, **{name: LimitInForce(status="unknown") for name in silent}}
