"""In what two runs differ: experiment, machine, versions, placement, servers and load."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from loadstone.judge.verdict import AnalysisModel
from loadstone.run_folder.reading import RecordedRun, figure_at, mapping_of
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.message import Message, message

_MACHINE = ("machine_id", "architecture", "cpu_model", "cpu_count", "cpus_allowed", "cpu_limit", "virtualisation")
_KERNEL = ("release",)
_VERSIONS = ("loadstone", "engine")
_PLACEMENT = ("server_cpus", "generator_cpus", "shared")
_SERVER = ("software", "version", "mode", "modules", "settings", "network")
_PLAN_APART = {"seed": True, "endpoints": True, "cpus": True, "start_at_unix_ns": True}
"""What differs from trial to trial, or is known from the placement."""
_GATED = ("redis", "valkey")
_GATE_WORD = re.compile(r"[a-z][a-z0-9-]*=[A-Za-z0-9._:/-]+")
"""A part of `gate redis --base redis=8.2.1,io-threads=2` that a shell takes as it is."""
_CHANGED_MAX = 4
_MEASURED_FOR = ("interval_s", "measure_s", "measure_max_s", "warm_up_s")
"""What follows from the length of slices."""


@dataclass(frozen=True)
class _Difference:
    """One thing in which two runs differ."""

    what: str
    a: Any
    b: Any
    conditions: int = 1
    """In so many of the conditions that are compared."""


Names = tuple[str, str]
NAMES: Names = ("A", "B")
"""What two runs are called."""


def costs_not_compared(
    a: RecordedRun, b: RecordedRun, matched: Sequence[tuple[TrialRecord, TrialRecord]], names: Names = NAMES
) -> Message | None:
    """Why what a request costs is not compared between two runs; None if it is.

    Their servers may differ in all but where they stand: that is what is asked. Another machine, kernel, placement or
    engine has other costs, and so has another load.
    """
    found = [
        _said(one, names)
        for one in (*_environment(a.environment, b.environment), *_loads(_driven(a, b, matched)))
        if not _is_of_server(one)
    ]
    if _machine_id(a.environment) != _machine_id(b.environment):
        found.insert(0, message("run_machines_differ", a_name=names[0], b_name=names[1]))
    return message("costs_of_runs_unlike", first=found[0], more=len(found) - 1) if found else None


def differences(
    a: RecordedRun, b: RecordedRun, matched: Sequence[tuple[TrialRecord, TrialRecord]], names: Names = NAMES
) -> list[Message]:
    """Where two runs differ in machine, versions, placement, servers and load, one clause each.

    `matched` holds a trial of each run for every condition that is compared: their loads are compared as the driver
    was given them. `names`: what the runs are called.
    """
    return difference_clauses(surroundings_of(a), surroundings_of(b), _driven(a, b, matched), names)


class RunEnvironment(AnalysisModel):
    """What of a run must be the same in another one for their figures to be compared, beside the load."""

    experiment: str
    quick: bool
    as_published: bool
    environment: dict[str, Any]
    """Part of `environment.json` that is compared."""


class LoadDescription(AnalysisModel):
    """The load of a condition, as its driver was given it."""

    group: str
    slice_s: float | None
    """The length of the slices that it was measured in; None: in one stretch."""
    settled: bool
    """At the group's last look nothing carried over from one slice into the next."""
    load: dict[str, Any]


def surroundings_of(run: RecordedRun) -> RunEnvironment:
    """Those of a run."""
    compared = {"machine": _MACHINE, "kernel": _KERNEL, "versions": _VERSIONS, "placement": _PLACEMENT}
    environment: dict[str, Any] = {
        part: {key: figure_at(run.environment, part, key) for key in keys} for part, keys in compared.items()
    }
    servers = mapping_of(run.environment.get("servers"))
    environment["servers"] = {name: {key: figure_at(servers, name, key) for key in _SERVER} for name in servers}
    return RunEnvironment(
        experiment=run.experiment.name,
        quick=bool(run.plan.quick),
        as_published=bool(run.plan.as_published),
        environment=environment,
    )


def driven_by(run: RecordedRun, trial: TrialRecord) -> LoadDescription:
    """The load of a trial."""
    settled = _is_settled(run, trial.group)
    return LoadDescription(group=trial.group, slice_s=_slice_s(run, trial.group), settled=settled, load=_load(trial))


def difference_clauses(
    a: RunEnvironment,
    b: RunEnvironment,
    driven: Sequence[tuple[LoadDescription, LoadDescription]],
    names: Names = NAMES,
) -> list[Message]:
    """Where two runs differ, one clause each: `differences` of what was kept of them."""
    found = [_said(one, names) for one in _experiment(a, b)]
    if _machine_id(a.environment) != _machine_id(b.environment):
        found.append(message("run_machines_differ", a_name=names[0], b_name=names[1]))
    return [*found, *(_said(one, names) for one in (*_environment(a.environment, b.environment), *_loads(driven)))]


def is_same_but_servers(
    a: RunEnvironment, b: RunEnvironment, driven: Sequence[tuple[LoadDescription, LoadDescription]]
) -> bool:
    """Whether two runs differ in nothing but the versions and settings of their servers, if in anything."""
    beside = (one for one in _environment(a.environment, b.environment) if not _is_of_server(one))
    same_machine = _machine_id(a.environment) == _machine_id(b.environment)
    return same_machine and not any(True for _ in (*_experiment(a, b), *beside, *_loads(driven)))


def servers_unlike(a: RunEnvironment, b: RunEnvironment, names: Names = NAMES) -> list[Message]:
    """In which versions and settings the servers of two runs differ, one clause each."""
    return [_said(one, names) for one in _environment(a.environment, b.environment) if _is_of_server(one)]


def gate_command(a: RunEnvironment, b: RunEnvironment) -> str:
    """The gate that measures the versions of two runs in turns: of a Redis or Valkey with both versions and settings;
    of anything else, or where several servers differ, with words in their place."""
    servers_a, servers_b = (mapping_of(one.environment.get("servers")) for one in (a, b))
    unlike = [name for name in {**servers_a, **servers_b} if servers_a.get(name) != servers_b.get(name)]
    if len(unlike) == 1:
        base, head = _gate_side(servers_a, servers_b, unlike[0]), _gate_side(servers_b, servers_a, unlike[0])
        if base is not None and head is not None:
            return f"loadstone gate redis --base {base} --head {head}"
    return "loadstone gate --base EARLIER --head LATER"


def _gate_side(servers: Mapping[str, Any], others: Mapping[str, Any], name: str) -> str | None:
    """`redis=8.2.1,io-threads=2`: the version, and the settings that are others in the other run."""
    server, other = mapping_of(servers.get(name)), mapping_of(others.get(name))
    settings, unlike = mapping_of(server.get("settings")), mapping_of(other.get("settings"))
    changed = [f"{key}={value}" for key, value in sorted(settings.items()) if unlike.get(key) != value]
    words = [f"{server.get('software')}={server.get('version')}", *changed]
    known = server.get("software") in _GATED and all(_GATE_WORD.fullmatch(word) for word in words)
    return ",".join(words) if known and len(changed) <= _CHANGED_MAX else None


def heads_unlike(a: str, b: str, names: Names = NAMES) -> Message:
    """That the heads of two gates differ."""
    return _said(_Difference("head", a, b), names)


def _machine_id(environment: Mapping[str, Any]) -> object:
    return figure_at(environment, "machine", "machine_id")


def _is_of_server(one: _Difference) -> bool:
    """Return whether a difference is of what runs on a server, and not of where it stands."""
    return one.what.startswith("server ") and not one.what.endswith(": network")


def _driven(
    a: RecordedRun, b: RecordedRun, matched: Sequence[tuple[TrialRecord, TrialRecord]]
) -> list[tuple[LoadDescription, LoadDescription]]:
    return [(driven_by(a, one), driven_by(b, other)) for one, other in matched]


def slices_unlike(
    a: RecordedRun, b: RecordedRun, matched: Sequence[tuple[TrialRecord, TrialRecord]], names: Names = NAMES
) -> list[Message]:
    """A sentence for each group that both runs measured in slices of unlike lengths, as they get longer by themselves:
    the load is the same, and how long a slice lasts is no part of it, see `_lengths_are_means`."""
    found = []
    for group in sorted(
        {
            one.group
            for one, other in _driven(a, b, matched)
            if one.slice_s != other.slice_s and _lengths_are_means(one, other)
        }
    ):
        lengths_s = [_slice_s(a, group), _slice_s(b, group)]
        found.append(message("slices_of_runs_unlike", group=group, names=list(names), slices_s=lengths_s))
    return found


def _lengths_are_means(a: LoadDescription, b: LoadDescription) -> bool:
    """Whether how long both were measured says nothing of their loads: in slices, of one length or settled.

    How many rounds a block has is replication: a run that was cut short has fewer. Slices are made longer until nothing
    of one condition reaches into the next one's figures; so what is left at the end are figures of the conditions
    alone, in both runs. Where something still carries over, or the other run measured whole trials (each begins anew),
    the lengths decide what is measured, and the runs are refused.
    """
    if a.slice_s is None or b.slice_s is None:
        return False
    return a.slice_s == b.slice_s or (a.settled and b.settled)


def _is_settled(run: RecordedRun, group: str) -> bool:
    looks = [look for look in run.looks if look.group == group]
    return bool(looks) and looks[-1].carried is None and all(one.check != "carry_over" for one in looks[-1].verdicts)


def _slice_s(run: RecordedRun, group: str) -> float | None:
    """Length of the slices that count; None where whole trials do."""
    rounds = next((one.rounds for one in run.plan.groups if one.name == group), None)
    return None if rounds is None else rounds.slice_s


def _said(one: _Difference, names: Names) -> Message:
    return message(
        "run_difference",
        what=one.what,
        a_name=names[0],
        b_name=names[1],
        a=one.a,
        b=one.b,
        conditions=one.conditions,
    )


def _experiment(a: RunEnvironment, b: RunEnvironment) -> Iterator[_Difference]:
    if a.experiment != b.experiment:
        yield _Difference("experiment", a.experiment, b.experiment)
    for name, word in (("quick", "--quick"), ("as_published", "--as-published")):
        one, other = getattr(a, name), getattr(b, name)
        if one != other:
            yield _Difference(word, one, other)


def _environment(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[_Difference]:
    for part, keys in (
        ("machine", _MACHINE[1:]),
        ("kernel", _KERNEL),
        ("versions", _VERSIONS),
        ("placement", _PLACEMENT),
    ):
        for key in keys:
            yield from _values(f"{part} {key}", figure_at(a, part, key), figure_at(b, part, key))
    servers_a, servers_b = mapping_of(a.get("servers")), mapping_of(b.get("servers"))
    for name in sorted({*servers_a, *servers_b}):
        for key in _SERVER:
            yield from _values(
                f"server {name}: {key}", figure_at(servers_a, name, key), figure_at(servers_b, name, key)
            )


def _loads(driven: Sequence[tuple[LoadDescription, LoadDescription]]) -> Iterator[_Difference]:
    """Each difference once, with the number of conditions that have it."""
    found: list[_Difference] = []
    for a, b in driven:
        means = _lengths_are_means(a, b)
        for one in _values("load:", *(_without_lengths(side.load) if means else side.load for side in (a, b))):
            same = next((place for place, other in enumerate(found) if _is_same(one, other)), None)
            if same is None:
                found.append(one)
            else:
                found[same] = replace(found[same], conditions=found[same].conditions + 1)
    yield from found


def _without_lengths(load: Mapping[str, Any]) -> dict[str, Any]:
    phases = {key: value for key, value in mapping_of(load.get("phases")).items() if key not in _MEASURED_FOR}
    return {**{key: value for key, value in load.items() if key not in _MEASURED_FOR}, "phases": phases}


def _is_same(one: _Difference, other: _Difference) -> bool:
    return (one.what, one.a, one.b) == (other.what, other.a, other.b)


def _load(trial: TrialRecord) -> dict[str, Any]:
    """The plan that the driver was given, without what differs from trial to trial; what an older run did not know
    of is as it is by default. Empty where the trial's facts were damaged."""
    plan = trial.facts.plan
    return {} if plan is None else plan.model_dump(mode="json", exclude={**_PLAN_APART, "keys": {"prefix"}})


def _values(name: str, a: Any, b: Any) -> Iterator[_Difference]:
    """A clause for each place in which two values differ."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for key in dict.fromkeys((*a, *b)):
            yield from _values(f"{name} {key}", a.get(key), b.get(key))
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for one, other in zip(a, b, strict=True):
            yield from _values(name, one, other)
    elif a != b:
        yield _Difference(name, a, b)
