"""What a condition did under each number of users: its rate, and what each part took of its CPUs for it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal

from loadstone.experiment.spec.levels import Condition, drop_factors, identity
from loadstone.judge.checks.evidence import TrialEvidence, evidence_of
from loadstone.judge.checks.utilisation import busy_parts, place_cpus
from loadstone.judge.cost import common_parts, costs_of
from loadstone.judge.stations import stations_of
from loadstone.run_folder.facts import DRIVER, LINK
from loadstone.run_folder.trial import TrialRecord
from loadstone.safety.bounds.replies import whole_number

_SHORTEST_S = 0.2
"""For shorter trials the kernel's CPU times say too little."""
FAILED_MAX = 0.01
"""With more wrong or missing replies a rate is no property of what was requested."""
_BENEATH_S = 1e-9
_CPUS_MIN = 1e-3
_COST_S, _PER_S = (1e-12, 1e6), (1e-6, 1e12)
"""What no machine is beyond: such figures were written by hand, and no network of them can be solved."""


CpuPlace = Literal["servers", "generator", "own"]


@dataclass(frozen=True)
class PartLoad:
    """One part under one load."""

    demand_s: float
    """CPU time for a correct reply: the cost that reports show (`judge.cost`), where that is known."""
    cpus: float | None
    """How many CPUs it can keep busy: by its threads, its limit and its place. None: that is not known."""
    one_thread: bool
    """Whether a process of it works in one thread, so that more CPUs do not help it."""
    processes: int
    place: CpuPlace
    """Whose CPUs it runs on, with the others that do."""
    disk_s: float = 0.0
    """What its only thread waits for the disk a reply, and does nothing else meanwhile (`judge.stations`)."""


@dataclass(frozen=True)
class LoadLevel:
    """One number of users, over all trials with it."""

    users: int
    think_s: float
    per_s: float
    """Correct replies."""
    pool: int
    """How many requests the generator's connections carry at once."""
    parts: dict[str, PartLoad]
    """Servers, applications, lines and the generator, by their names."""
    cpus_of: Mapping[CpuPlace, int]
    """How many CPUs there are in each place; those of none that is not known."""
    trials: tuple[TrialRecord, ...]
    spread: float
    """Share by which the rates of single trials differ: half of the range around their median; 0 if there is one
    trial."""

    @property
    def response_s(self) -> float:
        """Return the response time by Little's law."""
        return self.users / self.per_s - self.think_s


def levels_of(trials: Sequence[TrialRecord], apart: Collection[str] = ()) -> list[LoadLevel]:
    """The levels of one condition in the order of their users; of a closed model, and such as have figures.

    Args:
        trials: judged, and not forbidden by a check. Of a search for a saturation point its sweeps count, and the
            search alone where there are none: its first steps find a cold server.
        apart: servers that the experiment gives CPUs of their own (`machine.placement.own_cpus`).
    """
    sweeps = [trial for trial in trials if trial.search is not None and trial.search.get("phase") == "sweep"]
    by_users: dict[tuple[int, float], list[TrialEvidence]] = {}
    for trial in sweeps or trials:
        found = evidence_of(trial)
        if found is None or found.closed is None or not _says_enough(found):
            continue
        by_users.setdefault((found.closed.users, found.closed.think_time_ms / 1e3), []).append(found)
    levels = (_level(users, think_s, found, apart) for (users, think_s), found in sorted(by_users.items()))
    return [level for level in levels if level is not None]


def _says_enough(found: TrialEvidence) -> bool:
    trial, ramp = found.trial, found.trial.search is not None and found.trial.search.get("phase") == "ramp"
    counts = trial.counts
    failed = counts.sent - counts.ok
    enough = trial.duration_s >= _SHORTEST_S and trial.goodput_per_s > 0
    return enough and not ramp and failed <= FAILED_MAX * counts.sent + (counts.in_flight or 0)


def _level(users: int, think_s: float, found: Sequence[TrialEvidence], apart: Collection[str]) -> LoadLevel | None:
    trials = [one.trial for one in found]
    replies = sum(trial.replies for trial in trials)
    rates = [trial.goodput_per_s for trial in trials]
    connections = found[0].drive.connections.planned or found[0].plan.pool.connections
    cpus_of = _cpus_of(found[0], apart)
    parts = {name: _placed(name, part, cpus_of, apart) for name, part in _parts(found, replies).items()}
    if not parts:
        return None
    disks = {one.part: one.demand_ns / 1e9 for one in stations_of(trials) if one.kind == "disk" and one.thread}
    parts = {name: replace(part, disk_s=disks.get(name, 0.0)) for name, part in parts.items()}
    per_s = replies / sum(trial.duration_s for trial in trials)
    taken_s = [part.demand_s + part.disk_s for part in parts.values()]
    if not (_PER_S[0] <= per_s <= _PER_S[1] and all(_COST_S[0] <= each <= _COST_S[1] for each in taken_s)):
        return None
    return LoadLevel(
        users=users,
        think_s=think_s,
        per_s=per_s,
        pool=connections * max(1, found[0].plan.pipeline_depth),
        parts=parts,
        cpus_of=cpus_of,
        trials=tuple(trials),
        spread=(max(rates) - min(rates)) / 2 / median(rates),
    )


def _cpus_of(found: TrialEvidence, apart: Collection[str]) -> dict[CpuPlace, int]:
    """Return the number of CPUs in each place: parts that stand apart have the last of the servers' CPUs if there are
    several, else the generator's. What no one placed runs on all CPUs of this machine, the generator's among them."""
    placed = found.facts.placement
    if placed is None:
        cpus = place_cpus(found, [DRIVER])
        return {"servers": cpus} if cpus else {}
    if not placed.server_cpus:
        return {}
    servers = len(placed.server_cpus)
    if apart and servers > 1:
        return {"servers": servers - 1, "own": 1, "generator": len(placed.generator_cpus)}
    return {"servers": servers, "generator": len(placed.generator_cpus)}


def _placed(name: str, part: PartLoad, cpus_of: Mapping[CpuPlace, int], apart: Collection[str]) -> PartLoad:
    if part.cpus is not None and not part.cpus >= _CPUS_MIN:
        part = replace(part, cpus=None)
    if name not in apart or not cpus_of:
        return part
    return replace(part, place="own" if "own" in cpus_of else "generator")


def _parts(found: Sequence[TrialEvidence], replies: float) -> dict[str, PartLoad]:
    """Return the load of each part that every trial has. The generator is one of them, and the thread of a line, which
    works on its CPUs: both take a part of each response time."""
    parts, trials = {}, [one.trial for one in found]
    costs = costs_of(trials)
    for name, owned in common_parts(trials).items():
        spent_s = sum(one.trial.cpu_s[part] for one, its in zip(found, owned, strict=True) for part in its)
        if name != DRIVER and spent_s > _BENEATH_S:
            demand_s = costs[name].ns / 1e9 if name in costs else spent_s / replies
            parts[name] = _server(name, demand_s, found[-1])
    lines = [name for name, kind in found[0].facts.kinds.items() if kind == LINK]
    for line in lines:
        spent_s = sum(one.trial.cpu_s.get(line, 0.0) for one in found)
        if spent_s > _BENEATH_S:
            parts[line] = PartLoad(spent_s / replies, 1.0, True, 1, "generator")
    driver_s = sum(one.trial.cpu_s.get(DRIVER, 0.0) for one in found)
    if parts and driver_s > _BENEATH_S:
        parts[DRIVER] = _generator(driver_s / replies, found[-1])
    return parts


def _server(name: str, demand_s: float, found: TrialEvidence) -> PartLoad:
    owners = {found.subject_of(part) or found.server_of(part) or part: part for part in found.server_parts}
    observed = busy_parts(found)
    nodes = [busy for part, busy in observed.items() if (found.server_of(part) or found.subject_of(part)) == name]
    kind, placed = found.kind_of(owners.get(name, name)), float(place_cpus(found)) or None
    place: CpuPlace = "servers" if placed is not None and _is_here(found, name) else "own"
    if not nodes:
        one = kind.threads == "one"
        return PartLoad(demand_s, 1.0 if one else placed, one, 1, place)
    processes = sum(busy.processes for busy in nodes)
    one_thread = all(busy.cpus is None for busy in nodes)
    if one_thread:
        limits = [part.cpu_limit for part in found.server_parts.values() if part.cpu_limit is not None]
        return PartLoad(demand_s, processes * min([1.0, *limits]), True, processes, place)
    cpus = sum(busy.cpus or 1.0 for busy in nodes)
    threads = whole_number(found.facts.settings.get(name, {}).get("threads", ""))
    return PartLoad(demand_s, min(cpus, threads) if threads else cpus, False, processes, place)


def _is_here(found: TrialEvidence, name: str) -> bool:
    """Whether a part runs on the CPUs of a placement; where there is none, on this machine by one of its processes."""
    if found.facts.placement is not None:
        return True
    parts = (part for part in found.server_parts if (found.subject_of(part) or found.server_of(part) or part) == name)
    seen = [found.facts.seen.get(part, {}) for part in parts]
    return any("cpu_share" in figures and "machine_number" not in figures for figures in seen)


def _generator(demand_s: float, found: TrialEvidence) -> PartLoad:
    placed, threads = found.facts.placement, max(1, found.plan.threads)
    cpus = len(placed.generator_cpus) if placed is not None else 0
    elsewhere = bool(found.drive.agents) and not any(agent.here for agent in found.drive.agents)
    shared = not elsewhere if placed is None else placed.shared
    place: CpuPlace = "servers" if shared else "generator"
    return PartLoad(demand_s, float(min(threads, cpus) if cpus else threads), True, threads, place)


def conditions_of(trials: Sequence[TrialRecord]) -> list[tuple[Condition, list[TrialRecord]]]:
    """The conditions apart from their users: factors that change nothing but these are left out of each.

    Such a factor has another number of users at each of its levels, whatever the levels of the others, and the users do
    the same work on the same servers. Trials of the open model have no users, and are left out.
    """
    trials = [trial for trial in trials if trial.facts.closed is not None]
    factors = {name for trial in trials for name in trial.condition if _counts_users(name, trials)}
    groups: dict[str, tuple[Condition, list[TrialRecord]]] = {}
    for trial in trials:
        rest = drop_factors(trial.condition, factors)
        groups.setdefault(identity(rest), (rest, []))[1].append(trial)
    return list(groups.values())


def _counts_users(factor: str, trials: Sequence[TrialRecord]) -> bool:
    users_at: dict[str, dict[str, set[int]]] = {}
    works: dict[str, set[str]] = {}
    for trial in trials:
        closed = trial.facts.closed
        if closed is None or factor not in trial.condition:
            return False  # it does not say what all trials have
        rest = identity(drop_factors(trial.condition, {factor}))
        users_at.setdefault(rest, {}).setdefault(identity({factor: trial.condition[factor]}), set()).add(closed.users)
        works.setdefault(rest, set()).add(_work(trial))
    if any(len(of_rest) > 1 for of_rest in works.values()):
        return False
    several = [levels for levels in users_at.values() if len(levels) > 1]
    return bool(several) and all(_differ(levels) for levels in several)


def _work(trial: TrialRecord) -> str:
    """What the users request, and of what: the same text where only their number differs."""
    facts, plan = trial.facts, trial.facts.plan
    if plan is None:
        return ""
    kept = {"operations", "documents", "pipeline_depth", "protocol", "data", "recording"}
    subjects = {name: (subject.replicas, subject.limits) for name, subject in facts.subjects.items()}
    links = {name: link.requested_ns for name, link in facts.links.items()}
    beside = [f"{one}" for one in (sorted(facts.kinds.items()), facts.settings, facts.limits, subjects, links)]
    return " ".join([plan.model_dump_json(include=kept), *beside])


def _differ(levels: Mapping[str, set[int]]) -> bool:
    return all(len(users) == 1 for users in levels.values()) and len(set.union(*levels.values())) == len(levels)
