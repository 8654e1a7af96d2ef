"""How full each server and subject of a trial was, its replicas taken together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from loadstone import registry
from loadstone.judge.validity.evidence import TrialEvidence
from loadstone.record.facts import AvgMax, PartCpu, cpus_in_force
from loadstone.software.part_kind import PartKind, Pool


@dataclass(frozen=True)
class Busy:
    """A server or a subject. CPU is in cores."""

    kind: PartKind
    share: float
    """Of what it may have: of its main thread's core, or of all CPUs that it may use."""
    cores: float
    cpus: float | None
    """How many CPUs it may use, by its limit and its place; None of a part that works in one thread."""
    disk: float = 0.0
    """Of `share`, for how much of the time its only thread waited for the disk."""
    processes: int = 1
    throttled: float = 0.0
    """How long its CPU limit held it back, as a share of the drive."""
    waiting: Mapping[str, float] = field(default_factory=dict)
    """Pool of its own -> threads that wait for a connection of it, on average."""
    pooled: Mapping[str, float] = field(default_factory=dict)
    """Pool of its own -> the most connections of it that were in use."""
    filled: Mapping[str, float] = field(default_factory=dict)
    """Pool of its own -> the share of its connections that was in use, on average."""


def busy_parts(found: TrialEvidence) -> dict[str, Busy]:
    """Servers and subjects whose CPU was observed: replicas of a subject together, nodes of a cluster apart."""
    groups: dict[str, list[str]] = {}
    for part in found.server_parts:
        groups.setdefault(found.subject_of(part) or part, []).append(part)
    reported = {name: _busy(found, name, parts) for name, parts in groups.items()}
    return {name: busy for name, busy in reported.items() if busy is not None}


def unobserved_servers(found: TrialEvidence) -> list[str]:
    """Servers and subjects of the trial of whose CPU nothing is known."""
    observed = {found.server_of(part) or found.subject_of(part) for part in found.facts.parts}
    return sorted({*found.stores, *found.facts.subjects} - observed)


def typical(trials: Sequence[Mapping[str, Busy]]) -> dict[str, Busy]:
    """The medians over several trials; a part counts if most of them saw it."""
    names = sorted({name for observed in trials for name in observed})
    found = {name: [observed[name] for observed in trials if name in observed] for name in names}
    return {name: _median(members) for name, members in found.items() if 2 * len(members) > len(trials)}


def of_its_time(busy: float, waited: float | None) -> float:
    """A share of the time as a share of what was left of it: a thread without a CPU could not be busier."""
    return min(1.0, busy / max(0.05, 1.0 - (waited or 0.0)))


def place_cpus(found: TrialEvidence) -> int:
    """CPUs that servers and subjects may use; 0 where that is not known."""
    placed = found.facts.placement
    return len(placed.server_cpus) if placed is not None else 0


def _busy(found: TrialEvidence, name: str, parts: Sequence[str]) -> Busy | None:
    members = [found.facts.parts[part] for part in parts]
    cores = sum(member.mean_share for member in members)
    kind = found.kind_of(name)
    limit = _limit(found, name, members)
    main = _main_thread(members)
    if kind.threads == "one":
        disk = median(member.disk_share or 0.0 for member in members)
        return None if main is None else Busy(kind, min(1.0, main / min(1.0, limit or 1.0) + disk), cores, None, disk)
    placed = float(place_cpus(found)) or None
    cpus = min((bound for bound in (limit, placed) if bound is not None), default=None)
    shares = [share for share in (main, cores / cpus if cpus else None) if share is not None]
    if not shares:
        return None
    in_one_thread = main is not None and max(shares) == main
    return Busy(
        kind=kind,
        share=max(shares),
        cores=cores,
        cpus=None if in_one_thread else cpus,
        processes=len(parts),
        throttled=_throttled(found, name),
        waiting=_pools(found, parts, lambda pool: pool.pending, lambda figure: figure.avg),
        pooled=_pools(found, parts, lambda pool: pool.active, lambda figure: figure.max),
        filled=_filled(found, parts),
    )


def _main_thread(members: Sequence[PartCpu]) -> float | None:
    """How busy the main threads were on average, where the parts work in theirs."""
    reported = [
        of_its_time(member.main_thread_share, member.wait_share)
        for member in members
        if member.main_thread_share is not None
    ]
    return sum(reported) / len(reported) if reported else None


def _limit(found: TrialEvidence, name: str, members: Sequence[PartCpu]) -> float | None:
    """CPUs that its limits allow, all replicas together; None without a limit that is in force."""
    subject = found.facts.subjects.get(name)
    if subject is not None:
        cpus = cpus_in_force(subject.limits)
        return None if cpus is None else cpus * max(1, subject.replicas)
    return next((member.cpu_limit for member in members if member.cpu_limit is not None), None)


def _throttled(found: TrialEvidence, name: str) -> float:
    subject = found.facts.subjects.get(name)
    if subject is None or not subject.throttled_s or found.driven_s <= 0:
        return 0.0
    return subject.throttled_s / (found.driven_s * max(1, subject.replicas))


def _pools(
    found: TrialEvidence, parts: Sequence[str], metric_of: Callable[[Pool], str], read: Callable[[AvgMax], float]
) -> dict[str, float]:
    """Pool -> a figure of it, all replicas together."""
    observed = [found.facts.seen.get(part, {}) for part in parts]
    metrics = {name: metric_of(pool) for name, pool in registry.POOLS.items()}
    values = {
        pool: [read(figures[metric]) for figures in observed if metric in figures] for pool, metric in metrics.items()
    }
    return {pool: sum(figures) for pool, figures in values.items() if figures}


def _filled(found: TrialEvidence, parts: Sequence[str]) -> dict[str, float]:
    used = _pools(found, parts, lambda pool: pool.active, lambda figure: figure.avg)
    idle = _pools(found, parts, lambda pool: pool.idle, lambda figure: figure.avg)
    return {
        pool: used[pool] / (used[pool] + idle[pool])
        for pool in used
        if used[pool] + idle.get(pool, 0.0) > 0 and pool in idle
    }


def _median(members: Sequence[Busy]) -> Busy:
    first = members[0]
    return Busy(
        kind=first.kind,
        share=median(one.share for one in members),
        cores=median(one.cores for one in members),
        cpus=first.cpus,
        processes=first.processes,
        disk=median(one.disk for one in members),
        throttled=median(one.throttled for one in members),
        waiting=_medians([one.waiting for one in members]),
        pooled=_medians([one.pooled for one in members]),
        filled=_medians([one.filled for one in members]),
    )


def _medians(figures: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {
        name: median([observed[name] for observed in figures if name in observed])
        for name in sorted({n for f in figures for n in f})
    }
