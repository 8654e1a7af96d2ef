"""Computes how full the machine was in one trial: its disk, its CPUs, and each server and subject."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median

from loadstone.judge.checks.evidence import TrialEvidence
from loadstone.monitors import catalogue
from loadstone.monitors.part_kind import PartKind, PoolMetrics
from loadstone.run_folder.facts import HOST, AvgMax, PartCpu, cpus_in_force
from loadstone.safety.bounds.replies import whole_number

WAITING = 0.4
"""J: from so much of one CPU's time on, the disk is what a store waits for."""


WAITING_THREAD = 0.25
"""J: a server of one thread that waits for its disk for so much of the time does nothing else then."""


@dataclass(frozen=True)
class Disk:
    """A server that waits for the disk."""

    share: float
    """Time that CPUs had nothing to do but wait for it, of one CPU."""
    server: str
    wait_share: float
    """Share of the time of all CPUs that waited for the disk, as vmstat's `wa` has it."""
    fsyncs_per_s: float | None
    """None where they are not known."""
    of_thread: bool = False
    """Whether `share` is that of the server's only thread; then `wait_share` is not known."""


def disk_of(evidence: TrialEvidence) -> Disk | None:
    """The server that waits for the disk; None where none does, or it cannot be observed.

    By its own thread, where it has one and that was looked at; else by what the CPUs waited.
    """
    if (thread := _thread_at_the_disk(evidence)) is not None:
        return thread
    wait = evidence.facts.seen.get(HOST, {}).get("wa")
    placed = evidence.facts.placement
    if wait is None or placed is None:
        return None
    cpus = len({*placed.server_cpus, *placed.generator_cpus}) or 1
    share = wait.avg / 100 * cpus
    writer = _writer(evidence)
    if share < WAITING or writer is None:
        return None
    server, fsyncs_per_s = writer
    return Disk(share, server, wait.avg / 100, fsyncs_per_s)


def _thread_at_the_disk(evidence: TrialEvidence) -> Disk | None:
    parts = [(part.disk_share or 0.0, name) for name, part in evidence.server_parts.items() if evidence.server_of(name)]
    share, name = max(parts, default=(0.0, ""))
    if share < WAITING_THREAD:
        return None
    server = evidence.server_of(name) or name
    fsyncs = evidence.facts.seen.get(name, {}).get(evidence.kind_of(server).fsyncs or "")
    return Disk(share, server, 0.0, None if fsyncs is None else fsyncs.avg, of_thread=True)


def free_cpu(evidence: TrialEvidence) -> float:
    """CPU time of the machine that no one used, waiting for the disk included, as a share; 1 if not known."""
    idle, wait = evidence.facts.host.idle_share, evidence.facts.seen.get(HOST, {}).get("wa")
    return 1.0 if idle is None else idle + (wait.avg / 100 if wait is not None else 0.0)


def _writer(evidence: TrialEvidence) -> tuple[str, float | None] | None:
    """The store with most work on the disk, and its fsyncs; where none reports it, one that always writes a file."""
    observed = [store for store in evidence.stores if store in evidence.facts.seen]
    busiest, name = max(((_disk_work(evidence, store), store) for store in observed), default=(0.0, ""))
    if busiest > 0:
        fsyncs = evidence.facts.seen[name].get(evidence.kind_of(name).fsyncs or "")
        return name, None if fsyncs is None else fsyncs.avg
    kept = (store for store in observed if evidence.kind_of(store).disk_file in evidence.facts.seen[store])
    server = next(kept, None)
    return None if server is None else (server, None)


def _disk_work(evidence: TrialEvidence, store: str) -> float:
    """Reads, writes and fsyncs a second."""
    figures = evidence.facts.seen[store]
    return sum(figures[name].avg for name in evidence.kind_of(store).disk_rates if name in figures)


@dataclass(frozen=True)
class CpuUse:
    """One side's CPUs, as shares of the time of one of them; None: it was not observed."""

    number: int
    busy: float | None
    """Everything that is not idle, stolen time included, on average over the CPUs."""
    stolen: float
    """What the host gave to other machines, on average."""
    others: float
    """What processes took that are none of the condition's, on average."""
    worst_stolen: float
    """Stolen share of the CPU from which most was stolen."""
    worst_others: float
    """Share that other programs took of the CPU of which they took most."""
    observed: bool
    """Whether others were observed at all."""


def server_cpus(evidence: TrialEvidence) -> CpuUse | None:
    """The CPUs of servers and subjects; of those on this host that no one placed all that are watched.

    None where the servers are not observed at all.
    """
    placed = evidence.facts.placement
    if placed is not None:
        if not placed.server_cpus:
            return None
        return _of(evidence, placed.server_cpus) or _from_totals(evidence, placed.server_cpus, placed.generator_cpus)
    watched = _watched(evidence)
    on_this_host = bool(evidence.server_parts.keys() - _machines(evidence, evidence.server_parts).keys())
    return _of(evidence, watched) if on_this_host and watched else None


def _watched(evidence: TrialEvidence) -> list[int]:
    """The CPUs of this host that were watched."""
    return [int(part[3:]) for part in evidence.facts.seen if part[:3] == "cpu" and whole_number(part[3:]) is not None]


def generator_cpus(evidence: TrialEvidence) -> CpuUse | None:
    """The CPUs of the driver's threads; None where they are the servers', too, or not known, as of a fleet's agents."""
    if evidence.drive.agents:
        return None
    placed = evidence.facts.placement
    cpus = evidence.plan.cpus if placed is None else () if placed.shared else placed.generator_cpus
    if not cpus:
        return None
    return _of(evidence, cpus) or _stolen_only(evidence, cpus)


def _of(evidence: TrialEvidence, cpus: Sequence[int]) -> CpuUse | None:
    """From what was observed of each CPU; None of a run that was made before that was recorded.

    In a phase of less than half a second the kernel's ticks say nothing, and only who else ran is known.
    """
    figures = [evidence.facts.seen.get(f"cpu{cpu}", {}) for cpu in cpus]
    ticks = all("busy" in figure and "stolen" in figure for figure in figures)
    if not figures or not (ticks or all("others" in figure for figure in figures)):
        return None
    return CpuUse(
        number=len(cpus),
        busy=fmean(_share(figure, "busy") for figure in figures) if ticks else None,
        stolen=fmean(_share(figure, "stolen") for figure in figures),
        others=fmean(_share(figure, "others") for figure in figures),
        worst_stolen=max(_share(figure, "stolen") for figure in figures),
        worst_others=max(_share(figure, "others") for figure in figures),
        observed=all("others" in figure for figure in figures),
    )


def _share(figures: Mapping[str, AvgMax], name: str) -> float:
    return min(1.0, max(0.0, figures[name].avg / 100)) if name in figures else 0.0


def _from_totals(evidence: TrialEvidence, servers: Sequence[int], generator: Sequence[int]) -> CpuUse | None:
    """From the machine's totals, as older runs have them: what the driver's side did not use was the servers'."""
    everything = len({*servers, *generator})
    stolen = min(1.0, (evidence.facts.host.steal_share or 0.0) * everything / len(servers))
    if evidence.facts.host.idle_share is None:
        return CpuUse(len(servers), None, stolen, 0.0, stolen, 0.0, observed=False) if stolen else None
    busy = min(1.0, max(0.0, (everything * (1 - free_cpu(evidence)) - evidence.own_share) / len(servers)))
    stolen = min(stolen, busy)
    return CpuUse(len(servers), busy, stolen, 0.0, stolen, 0.0, observed=False)


def _stolen_only(evidence: TrialEvidence, cpus: Sequence[int]) -> CpuUse | None:
    """Older runs have one share of stolen time for all CPUs: it is counted on the servers' side, and once."""
    return (
        CpuUse(len(cpus), None, 0.0, 0.0, 0.0, 0.0, observed=False)
        if evidence.facts.host.steal_share is not None
        else None
    )


@dataclass(frozen=True)
class Busy:
    """A server or a subject. CPU is in cores."""

    kind: PartKind
    share: float
    """Busy share of what it may have: of its main thread's core, or of all CPUs that it may use."""
    cores: float
    cpus: float | None
    """How many CPUs it may use, by its limit and its place; None of a part that works in one thread."""
    disk: float = 0.0
    """Part of `share` in which its only thread waited for the disk."""
    limit: float | None = None
    """CPUs that its limits allow; None without one in force."""
    processes: int = 1
    throttled: float = 0.0
    """How long its CPU limit held it back, as a share of the drive."""
    waiting: Mapping[str, float] = field(default_factory=dict)
    """Pool of its own -> threads that wait for a connection of it, on average."""
    pooled: Mapping[str, float] = field(default_factory=dict)
    """Pool of its own -> the most connections of it that were in use."""
    filled: Mapping[str, float] = field(default_factory=dict)
    """Pool of its own -> the share of its connections that was in use, on average."""
    sizes: Mapping[str, float] = field(default_factory=dict)
    """Pool of its own -> the connections that it had, in use or free, on average."""


def busy_parts(evidence: TrialEvidence) -> dict[str, Busy]:
    """Servers and subjects whose CPU was observed: replicas of a subject together, nodes of a cluster apart."""
    groups: dict[str, list[str]] = {}
    for part in evidence.server_parts:
        groups.setdefault(evidence.subject_of(part) or part, []).append(part)
    reported = {name: _busy(evidence, name, parts) for name, parts in groups.items()}
    return {name: busy for name, busy in reported.items() if busy is not None}


def unobserved_servers(evidence: TrialEvidence) -> list[str]:
    """Servers and subjects of the trial of whose CPU nothing is known."""
    observed = {evidence.server_of(part) or evidence.subject_of(part) for part in evidence.facts.parts}
    return sorted({*evidence.stores, *evidence.facts.subjects} - observed)


def typical(trials: Sequence[Mapping[str, Busy]]) -> dict[str, Busy]:
    """The medians over several trials; a part counts if most of them saw it."""
    names = sorted({name for observed in trials for name in observed})
    members_of = {name: [observed[name] for observed in trials if name in observed] for name in names}
    return {name: _median(members) for name, members in members_of.items() if 2 * len(members) > len(trials)}


def of_its_time(busy: float, waited: float | None) -> float:
    """A share of the time as a share of what was left of it: a thread without a CPU could not be busier."""
    return min(1.0, busy / max(0.05, 1.0 - (waited or 0.0)))


def place_cpus(evidence: TrialEvidence, parts: Iterable[str] = ()) -> int:
    """CPUs that servers and subjects may use: all watched ones where no one placed them; 0 where it is not known.

    `parts`: of these, or of all; on other machines those of their machines.
    """
    machines = _machines(evidence, [*parts] or evidence.server_parts)
    if machines:
        return sum(dict(machines.values()).values())
    placed = evidence.facts.placement
    return len(placed.server_cpus) if placed is not None else len(_watched(evidence))


def _machines(evidence: TrialEvidence, parts: Iterable[str]) -> dict[str, tuple[int, int]]:
    """The number and the CPUs of the machine of each of these parts that a monitor of a fleet saw elsewhere."""
    seen = {part: evidence.facts.seen.get(part, {}) for part in parts}
    return {
        part: (round(figures["machine_number"].avg), round(figures["machine_cpus"].avg))
        for part, figures in seen.items()
        if {"machine_number", "machine_cpus"} <= figures.keys()
    }


def _busy(evidence: TrialEvidence, name: str, parts: Sequence[str]) -> Busy | None:
    members = [evidence.facts.parts[part] for part in parts]
    cores = sum(member.mean_share for member in members)
    kind = evidence.kind_of(name)
    limit = _limit(evidence, name, members)
    main = _main_thread(members)
    if kind.threads == "one":
        disk = median(member.disk_share or 0.0 for member in members)
        return (
            None
            if main is None
            else Busy(kind, min(1.0, main / min(1.0, limit or 1.0) + disk), cores, None, disk, limit)
        )
    placed = float(place_cpus(evidence, parts)) or None
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
        limit=limit,
        processes=len(parts),
        throttled=_throttled(evidence, name),
        waiting=_pools(evidence, parts, lambda pool: pool.pending, lambda figure: figure.avg),
        pooled=_pools(evidence, parts, lambda pool: pool.active, lambda figure: figure.max),
        filled=_filled(evidence, parts),
        sizes=_sizes(evidence, parts),
    )


def _main_thread(members: Sequence[PartCpu]) -> float | None:
    """Return how busy the main threads were on average, where the parts work in theirs."""
    reported = [
        of_its_time(member.main_thread_share, member.wait_share)
        for member in members
        if member.main_thread_share is not None
    ]
    return sum(reported) / len(reported) if reported else None


def _limit(evidence: TrialEvidence, name: str, members: Sequence[PartCpu]) -> float | None:
    """CPUs that its limits allow, all replicas together; None without a limit that is in force."""
    subject = evidence.facts.subjects.get(name)
    if subject is not None:
        cpus = cpus_in_force(subject.limits)
        return None if cpus is None else cpus * max(1, subject.replicas)
    return next((member.cpu_limit for member in members if member.cpu_limit is not None), None)


def _throttled(evidence: TrialEvidence, name: str) -> float:
    subject = evidence.facts.subjects.get(name)
    if subject is None or not subject.throttled_s or evidence.driven_s <= 0:
        return 0.0
    return subject.throttled_s / (evidence.driven_s * max(1, subject.replicas))


def _pools(
    evidence: TrialEvidence,
    parts: Sequence[str],
    metric_of: Callable[[PoolMetrics], str],
    read: Callable[[AvgMax], float],
) -> dict[str, float]:
    """Pool -> a figure of it, all replicas together."""
    observed = [evidence.facts.seen.get(part, {}) for part in parts]
    metrics = {name: metric_of(pool) for name, pool in catalogue.POOLS.items()}
    values = {
        pool: [read(figures[metric]) for figures in observed if metric in figures] for pool, metric in metrics.items()
    }
    return {pool: sum(figures) for pool, figures in values.items() if figures}


def _sizes(evidence: TrialEvidence, parts: Sequence[str]) -> dict[str, float]:
    used = _pools(evidence, parts, lambda pool: pool.active, lambda figure: figure.avg)
    idle = _pools(evidence, parts, lambda pool: pool.idle, lambda figure: figure.avg)
    return {pool: used[pool] + idle[pool] for pool in used if pool in idle and used[pool] + idle[pool] > 0}


def _filled(evidence: TrialEvidence, parts: Sequence[str]) -> dict[str, float]:
    used = _pools(evidence, parts, lambda pool: pool.active, lambda figure: figure.avg)
    return {pool: used[pool] / size for pool, size in _sizes(evidence, parts).items()}


def _median(members: Sequence[Busy]) -> Busy:
    first = members[0]
    return Busy(
        kind=first.kind,
        share=median(member.share for member in members),
        cores=median(member.cores for member in members),
        cpus=first.cpus,
        limit=first.limit,
        processes=first.processes,
        disk=median(member.disk for member in members),
        throttled=median(member.throttled for member in members),
        waiting=_medians([member.waiting for member in members]),
        pooled=_medians([member.pooled for member in members]),
        filled=_medians([member.filled for member in members]),
        sizes=_medians([member.sizes for member in members]),
    )


def _medians(figures: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {
        name: median([observed[name] for observed in figures if name in observed])
        for name in sorted({n for f in figures for n in f})
    }
