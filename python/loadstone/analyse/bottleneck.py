"""What held a condition back: whatever was full, or that nothing was and the users waited for round trips."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from pydantic import ValidationError

from loadstone.analyse.evidence import TrialEvidence, evidence_of
from loadstone.analyse.metrics import duration, rounded
from loadstone.analyse.model import Bottleneck, Part
from loadstone.record.facts import DRIVER, OWN
from loadstone.record.trial import TrialRecord

FULL = 0.9
"""J: from this share on a part is named."""
BOUND = 0.95
"""J: a server's main thread that is so busy has nothing left: more load would not give more."""
POOL = 0.1
"""J: as the check `pool_wait` has it, beyond a tenth the pool is what is measured, if nothing else is full."""
KEPT = 0.98
"""J: an open model that completes so much of what was due kept its rate; the rest ends in the drain."""
SHORTEST_S = 0.5
"""Parts are seen about once a second: of shorter measure phases their CPU says too little."""


@dataclass(frozen=True)
class Load:
    """One trial: how full its parts were, and how long its users waited. Times in seconds."""

    servers: dict[str, float]
    """How busy the main thread was, of the CPU time that it could have: without what other programs took."""
    subjects: dict[str, float]
    """Share of the CPUs that a part may use, or of one core if its main thread is fuller."""
    generator: float | None
    """The hottest thread's share of its core; None if it spins and so is always busy."""
    pool: float
    """Waiting for a connection as a share of the response time."""
    response_s: float
    throughput_per_s: float
    users: int
    """0 in the open model."""
    think_s: float
    connections: int
    kept: bool
    """Whether the rate that was asked for was reached; of no meaning in the closed model."""
    cores: dict[str, float]
    """CPU that servers and subjects took, in cores; empty where it is not known which CPUs they may use."""
    cpus: int
    """How many CPUs they may use, all together."""


def bottleneck_of(trials: Sequence[TrialRecord]) -> Bottleneck | None:
    """What held one condition back in these trials, by the medians over them.

    None where there is nothing to tell it from: no trial that was driven and answered, or too short ones.
    """
    loads = [load for trial in trials if (load := _load(trial)) is not None]
    if not loads:
        return None
    load = _typical(loads)
    shares = {**load.servers, **load.subjects}
    if load.generator is not None:
        shares[DRIVER] = load.generator
    evidence = {name: round(share, 4) for name, share in {**shares, "pool": load.pool}.items()}
    part, words = _named(load, shares)
    return Bottleneck(part=part, words=words, evidence=evidence)


def _named(load: Load, shares: dict[str, float]) -> tuple[Part, str]:
    """The part, and the line that says why. What is full comes first, then the pool, then the load itself."""
    full = sorted((name for name, share in shares.items() if share >= FULL), key=lambda name: -shares[name])
    bound = [name for name in full if name in load.servers and shares[name] >= BOUND]
    if full:
        first = (bound or full)[0]
        also = "".join(f"; {_busy(load, name, shares)}" for name in full if name != first)
        return _part(load, first), f"{_part(load, first)}-bound: {_busy(load, first, shares)}{also}"
    if len(load.cores) > 1 and sum(load.cores.values()) >= FULL * load.cpus:
        return _crowded(load)
    if load.pool > POOL:
        users = f" for {load.users} users" if load.users else ""
        waiting = f"{_per_cent(load.pool)} of the response time is waiting for a connection"
        return "pool", f"pool-bound: {waiting} ({load.connections} connections{users})"
    if not load.servers and not load.subjects:
        return "unknown", "not known: how busy the server was could not be seen"
    return _idle(load, ", ".join(f"{name} {_per_cent(share)}" for name, share in shares.items()))


def _crowded(load: Load) -> tuple[Part, str]:
    """Several parts that fill their CPUs together, though none does alone: the largest is named first."""
    by_size = sorted(load.cores, key=lambda name: -load.cores[name])
    listed = ", ".join(f"{name} {load.cores[name]:.2f}" for name in by_size)
    part = _part(load, by_size[0])
    return part, f"{part}-bound: {listed} of {load.cpus} CPUs that they share, which are full"


def _idle(load: Load, seen: str) -> tuple[Part, str]:
    """Nothing was full: the load was set from outside, or its users waited for round trips."""
    answer, pause = duration(load.response_s * 1e9), duration(load.think_s * 1e9)
    if not load.users:
        rate = rounded(load.throughput_per_s)
        if load.kept:
            return "paced", f"paced: the rate of {rate} a second was set; nothing was full ({seen})"
        return "unknown", f"not known: {rate} a second is less than was set, though nothing was full ({seen})"
    if load.think_s > load.response_s:
        return "paced", f"paced: users pause for {pause} between answers of {answer}; nothing was full ({seen})"
    cycle = f"({answer} + {pause} pause)" if load.think_s else answer
    rate = rounded(load.users / (load.response_s + load.think_s))
    return (
        "latency",
        f"latency-bound, X = N/(R+Z) = {load.users} users / {cycle} = {rate} a second; nothing was full ({seen})",
    )


def _per_cent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _part(load: Load, name: str) -> Part:
    if name == DRIVER:
        return "generator"
    return "server" if name in load.servers else "subject"


def _busy(load: Load, name: str, shares: dict[str, float]) -> str:
    if name == DRIVER:
        return f"hottest thread of the generator {_per_cent(shares[name])} busy"
    if name in load.servers:
        return f"main thread of {name} {_per_cent(shares[name])} busy"
    return f"{name} {_per_cent(shares[name])} of its CPU busy"


def _load(trial: TrialRecord) -> Load | None:
    """What one trial tells; None if it was not driven, too short, or never answered."""
    try:
        found = evidence_of(trial)
    except ValidationError:
        return None
    if found is None or found.drive.measure_s < SHORTEST_S or not trial.counts.ok:
        return None
    operations = found.drive.operations.values()
    ended = sum(o.counts.ok + sum(o.counts.errors.values()) + o.counts.timeouts for o in operations)
    replies = sum(o.response_ns.count for o in operations)
    if not ended or not replies:
        return None
    mean_ns = sum(o.response_ns.mean * o.response_ns.count for o in operations) / replies
    closed = found.closed
    return Load(
        servers={
            name: _of_its_time(part.main_thread_share, part.wait_share)
            for name, part in found.facts.parts.items()
            if name in found.facts.servers and part.main_thread_share is not None
        },
        subjects=_subjects(found),
        generator=_generator(found),
        pool=found.queued_ns / mean_ns if mean_ns else 0.0,
        response_s=sum(o.response_sum_ns for o in operations) / ended / 1e9,
        throughput_per_s=found.completed / found.drive.measure_s,
        users=closed.users if closed else 0,
        think_s=closed.think_time_ms / 1e3 if closed else 0.0,
        connections=found.plan.pool.connections,
        kept=found.completed >= KEPT * trial.counts.offered,
        cores=_cores(found),
        cpus=_cpus(found),
    )


def _of_its_time(busy: float, waited: float | None) -> float:
    """A share of the time as a share of what was left of it: a thread without a CPU could not be busier."""
    return min(1.0, busy / max(0.05, 1.0 - (waited or 0.0)))


def _subjects(found: TrialEvidence) -> dict[str, float]:
    """Parts that are neither driver nor a Redis: many threads, so of all the CPUs that they may use."""
    cpus = _cpus(found)
    shares: dict[str, float] = {}
    for name, part in found.facts.parts.items():
        if name in (DRIVER, OWN) or name in found.facts.servers:
            continue
        seen = [part.main_thread_share, part.mean_share / cpus if cpus else None]
        told = [share for share in seen if share is not None]
        if told:
            shares[name] = max(told)
    return shares


def _cpus(found: TrialEvidence) -> int:
    """CPUs that servers and subjects may use; 0 where that is not known."""
    placed = found.facts.placement
    return len(placed.server_cpus) if placed is not None else 0


def _cores(found: TrialEvidence) -> dict[str, float]:
    if not _cpus(found):
        return {}
    return {name: part.mean_share for name, part in found.facts.parts.items() if name not in (DRIVER, OWN)}


def _generator(found: TrialEvidence) -> float | None:
    if found.open is not None and found.open.spin_us > 0:
        return None
    threads = [thread for thread in found.drive.threads if thread.wall_s > 0]
    return max((_of_its_time(t.cpu_s / t.wall_s, (t.waited_s or 0.0) / t.wall_s) for t in threads), default=None)


def _typical(loads: Sequence[Load]) -> Load:
    """The medians; a part counts if most of the trials saw it."""
    generator = [load.generator for load in loads if load.generator is not None]
    return Load(
        servers=_medians([load.servers for load in loads]),
        subjects=_medians([load.subjects for load in loads]),
        generator=median(generator) if generator else None,
        pool=median(load.pool for load in loads),
        response_s=median(load.response_s for load in loads),
        throughput_per_s=median(load.throughput_per_s for load in loads),
        users=loads[0].users,
        think_s=loads[0].think_s,
        connections=loads[0].connections,
        kept=2 * sum(load.kept for load in loads) > len(loads),
        cores=_medians([load.cores for load in loads]),
        cpus=loads[0].cpus,
    )


def _medians(shares: Sequence[dict[str, float]]) -> dict[str, float]:
    names = {name: [seen[name] for seen in shares if name in seen] for seen in shares for name in seen}
    return {name: median(values) for name, values in sorted(names.items()) if 2 * len(values) > len(shares)}
