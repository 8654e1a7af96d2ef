"""What differs between two runs that should be the same but for the one thing that the reader has in mind."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from loadstone.message import Message, message
from loadstone.record.reading import Run
from loadstone.record.trial import TrialRecord

_MACHINE = ("machine_id", "architecture", "cpu_model", "cpu_count", "cpus_allowed", "cpu_limit", "virtualisation")
_KERNEL = ("release",)
_VERSIONS = ("loadstone", "engine")
_PLACEMENT = ("server_cpus", "generator_cpus", "shared")
_SERVER = ("software", "version", "mode", "modules", "settings", "network")
_PLAN_APART = {"seed": True, "endpoints": True, "cpus": True, "start_at_unix_ns": True}
"""What differs from trial to trial, or is known from the placement."""


@dataclass(frozen=True)
class Difference:
    """One thing in which two runs differ."""

    what: str
    a: Any
    b: Any
    conditions: int = 1
    """In so many of the conditions that are compared."""


def differences(
    a: Run, b: Run, matched: Sequence[tuple[TrialRecord, TrialRecord]], names: tuple[str, str] = ("A", "B")
) -> list[Message]:
    """Where two runs differ in machine, versions, placement, servers and load, one clause each.

    `matched` holds a trial of each run for every condition that is compared: their loads are compared as the driver
    was given them. `names`: what the runs are called.
    """
    found = [_said(one, names) for one in _experiment(a, b)]
    if _at(a.environment, "machine", "machine_id") != _at(b.environment, "machine", "machine_id"):
        found.append(message("run_machines_differ", a_name=names[0], b_name=names[1]))
    return [*found, *(_said(one, names) for one in (*_environment(a.environment, b.environment), *_loads(matched)))]


def _said(one: Difference, names: tuple[str, str]) -> Message:
    return message(
        "run_difference",
        what=one.what,
        a_name=names[0],
        b_name=names[1],
        a=one.a,
        b=one.b,
        conditions=one.conditions,
    )


def _experiment(a: Run, b: Run) -> Iterator[Difference]:
    if a.experiment.name != b.experiment.name:
        yield Difference("experiment", a.experiment.name, b.experiment.name)
    for name, word in (("quick", "--quick"), ("as_published", "--as-published")):
        one, other = getattr(a.plan, name), getattr(b.plan, name)
        if one != other:
            yield Difference(word, bool(one), bool(other))


def _environment(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Difference]:
    for part, keys in (
        ("machine", _MACHINE[1:]),
        ("kernel", _KERNEL),
        ("versions", _VERSIONS),
        ("placement", _PLACEMENT),
    ):
        for key in keys:
            yield from _values(f"{part} {key}", _at(a, part, key), _at(b, part, key))
    servers_a, servers_b = _mapping(a.get("servers")), _mapping(b.get("servers"))
    for name in sorted({*servers_a, *servers_b}):
        for key in _SERVER:
            yield from _values(f"server {name}: {key}", _at(servers_a, name, key), _at(servers_b, name, key))


def _loads(matched: Sequence[tuple[TrialRecord, TrialRecord]]) -> Iterator[Difference]:
    """Each difference once, with the number of conditions that have it."""
    found: list[Difference] = []
    for a, b in matched:
        for one in _values("load:", _load(a), _load(b)):
            same = next((place for place, other in enumerate(found) if _is_same(one, other)), None)
            if same is None:
                found.append(one)
            else:
                found[same] = replace(found[same], conditions=found[same].conditions + 1)
    yield from found


def _is_same(one: Difference, other: Difference) -> bool:
    return (one.what, one.a, one.b) == (other.what, other.a, other.b)


def _load(trial: TrialRecord) -> dict[str, Any]:
    """The plan that the driver was given, without what differs from trial to trial; what an older run did not know
    of is as it is by default. Empty where the trial's facts were damaged."""
    plan = trial.facts.plan
    return {} if plan is None else plan.model_dump(mode="json", exclude={**_PLAN_APART, "keys": {"prefix"}})


def _values(name: str, a: Any, b: Any) -> Iterator[Difference]:
    """A clause for each place in which two values differ."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for key in dict.fromkeys((*a, *b)):
            yield from _values(f"{name} {key}", a.get(key), b.get(key))
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for one, other in zip(a, b, strict=True):
            yield from _values(name, one, other)
    elif a != b:
        yield Difference(name, a, b)


def _at(record: Mapping[str, Any], part: str, key: str) -> Any:
    return _mapping(record.get(part)).get(key)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
