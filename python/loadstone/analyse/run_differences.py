"""What differs between two runs that should be the same but for the one thing that the reader has in mind."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from loadstone.plan.model import Plan
from loadstone.record.reading import Run
from loadstone.record.trial import TrialRecord

_MACHINE = ("machine_id", "architecture", "cpu_model", "cpu_count", "cpus_allowed", "cpu_limit", "virtualisation")
_KERNEL = ("release",)
_VERSIONS = ("loadstone", "engine")
_PLACEMENT = ("server_cpus", "generator_cpus", "shared")
_SERVER = ("software", "version", "mode", "modules", "settings", "network")
_PLAN_APART = {"seed", "endpoints", "cpus", "start_at_unix_ns"}
"""What differs from trial to trial, or is told by the placement."""
_LONGEST = 80


@dataclass(frozen=True)
class Difference:
    """One thing in which two runs differ."""

    what: str
    a: Any = None
    b: Any = None
    """None on both sides: `what` is the whole clause."""
    note: str = ""

    def words(self, names: tuple[str, str]) -> str:
        if self.a is None and self.b is None:
            return self.what.format(*names)
        one, other = names
        return f"{self.what} is {_word(self.a)} in {one} and {_word(self.b)} in {other}{self.note}"


def differences(
    a: Run, b: Run, matched: Sequence[tuple[TrialRecord, TrialRecord]], names: tuple[str, str] = ("A", "B")
) -> list[str]:
    """Where two runs differ in machine, versions, placement, servers and load, one clause each.

    `matched` holds a trial of each run for every condition that is compared: their loads are held
    against each other as the driver was given them. `names`: what the runs are called.
    """
    found = [*_experiment(a, b), *_environment(a.environment, b.environment), *_loads(matched)]
    return [difference.words(names) for difference in found]


def _experiment(a: Run, b: Run) -> Iterator[Difference]:
    if a.experiment.name != b.experiment.name:
        yield Difference("experiment", a.experiment.name, b.experiment.name)
    for name, word in (("quick", "--quick"), ("as_published", "--as-published")):
        one, other = getattr(a.plan, name), getattr(b.plan, name)
        if one != other:
            yield Difference(word, "on" if one else "off", "on" if other else "off")


def _environment(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Difference]:
    if _at(a, "machine", "machine_id") != _at(b, "machine", "machine_id"):
        yield Difference("{} and {} were measured on different machines")
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
    """Each difference once, with the number of conditions that have it where that is more than one."""
    found: dict[str, list[Difference]] = {}
    for a, b in matched:
        for one in _values("load:", _load(a), _load(b)):
            found.setdefault(one.words(("A", "B")), []).append(one)
    for alike in found.values():
        yield replace(alike[0], note=f" ({len(alike)} conditions)") if len(alike) > 1 else alike[0]


def _load(trial: TrialRecord) -> dict[str, Any]:
    """The plan that the driver was given, without what differs from trial to trial; what an older run did not know
    of is as it is by default."""
    written = _mapping(trial.facts.get("plan"))
    with suppress(ValidationError):  # what is of a later version, or damaged, is compared as it stands
        written = Plan.model_validate({"endpoints": [{}], **written}).model_dump(mode="json", exclude={"endpoints"})
    plan = {key: value for key, value in written.items() if key not in _PLAN_APART}
    return {**plan, "keys": {key: value for key, value in _mapping(plan.get("keys")).items() if key != "prefix"}}


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


def _word(value: Any) -> str:
    text = _text(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _text(value: Any) -> str:
    if value is None:
        return "not known"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {word}" for key, word in value.items()) or "none"
    return str(value) or "empty"


def _at(record: Mapping[str, Any], part: str, key: str) -> Any:
    return _mapping(record.get(part)).get(key)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
