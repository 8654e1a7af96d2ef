"""What the conditions of a comparison take while they are all up, as far as a plan can say, and how they differ."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from loadstone import registry
from loadstone.plan.design.parts import Parts
from loadstone.plan.footprint import stored_by
from loadstone.plan.rounds import Processes

SUBJECT_BYTES = 5 * 2**28
"""What an application without a memory limit is taken to need: the JVM of `spring` has a heap of at most 1 GB."""
SERVER_BYTES = 2**26
"""The same of a server in memory, beside what it stores."""
DATABASE_BYTES = 2**29
MEMORY_SHARE = 0.75
"""The share of the machine's memory that they may take together: the rest is the system's and the generator's."""


def processes_of(parts: Sequence[Parts]) -> Processes:
    """What stands behind these conditions; servers are started again where that is cheap, and nothing is lost by it."""
    subjects = any(one.deployment.subjects for one in parts)
    if not subjects and not servers_differ(parts):
        return "shared"
    if subjects:
        return "once" if servers_differ(parts) or subjects_differ(parts) else "shared"
    cheap = all(_starts_at_once(server) for one in parts for server in one.deployment.servers.values())
    return "restarted" if cheap and not any(one.deployment.data for one in parts) else "once"


def servers_differ(parts: Iterable[Parts]) -> bool:
    """Whether not all of them have the same servers."""
    return len({repr(one.deployment.servers) for one in parts}) > 1


def subjects_differ(parts: Iterable[Parts]) -> bool:
    """Whether not all of them have the same applications."""
    return len({repr(one.deployment.subjects) for one in parts}) > 1


def writes_on(parts: Sequence[Parts]) -> str | None:
    """A server of ours that not all have, and that goes on writing to the disk: its name; None if there is none."""
    every = [{_key(name, server) for name, server in one.deployment.servers.items()} for one in parts]
    common = set.intersection(*every)
    for one in parts:
        for name, server in one.deployment.servers.items():
            own = _key(name, server) not in common and not registry.is_users(server)
            if own and registry.software_of(server).writes_on(_settings(server)):
                return name
    return None


def memory_bytes(parts: Iterable[Parts]) -> int:
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
