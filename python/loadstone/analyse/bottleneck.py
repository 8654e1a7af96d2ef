"""What held a condition back: whatever was full, or that nothing was and the users waited for round trips."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from pydantic import ValidationError

from loadstone import registry
from loadstone.analyse.model import Bottleneck, Part
from loadstone.figures import duration, rounded
from loadstone.judge.validity.cpus import CpuUse, server_cpus
from loadstone.judge.validity.evidence import TrialEvidence, evidence_of
from loadstone.judge.validity.headroom import Disk, disk_of, free_cpu
from loadstone.judge.validity.utilisation import Busy, busy_parts, of_its_time, typical, unseen_servers
from loadstone.record.facts import DRIVER
from loadstone.record.trial import TrialRecord

FULL = 0.9
"""J: from this share on a part is named."""
BOUND = 0.95
"""J: a server's main thread that is so busy has nothing left: more load would not give more."""
HELD = 0.1
"""J: a subject that its CPU limit held back for so much of the time is at its limit, whatever its average says."""
IDLE = 0.5
"""J: a store below that is called idle beside a subject that is full."""
POOL = 0.1
"""J: as the check `pool_wait` has it, beyond a tenth the pool is what is measured, if nothing else is full."""
QUEUE = 1.0
"""J: so many threads of an application that wait for its own pool on average make that pool the limit."""
FREE = 0.05
"""J: with less CPU time left on the machine than that, and nothing of ours full, others had it."""
KEPT = 0.98
"""J: an open model that completes so much of what was due kept its rate; the rest ends in the drain."""
LOST_MIN = 0.03
"""Less than that share of the CPUs, taken by others, is not worth a word."""
SHORTEST_S = 0.5
"""Parts are seen about once a second: of shorter measure phases their CPU says too little."""


@dataclass(frozen=True)
class Load:
    """One trial: how full its parts were, and how long its users waited. Times in seconds."""

    parts: dict[str, Busy]
    generator: float | None
    """The hottest thread's share of its core; None if it spins and so is always busy."""
    disk: Disk | None
    """The server that waited for it, if one did."""
    use: CpuUse | None
    """The CPUs of servers and subjects; None where they were not placed."""
    free: float
    """CPU time of the machine that nobody used, as a share; 1 where it cannot be seen."""
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
    unseen: list[str]
    """Servers and subjects of whose CPU nothing is known."""

    @property
    def shares(self) -> dict[str, float]:
        """How full servers, subjects and the driver were."""
        found = {name: busy.share for name, busy in self.parts.items()}
        return found if self.generator is None else {**found, DRIVER: self.generator}


def bottleneck_of(trials: Sequence[TrialRecord]) -> Bottleneck | None:
    """What held one condition back in these trials, by the medians over them.

    None where there is nothing to tell it from: no trial that was driven and answered, or too short ones.
    """
    loads = [load for trial in trials if (load := _load(trial)) is not None]
    if not loads:
        return None
    load = _typical(loads)
    evidence = {**load.shares, "pool": load.pool, **({"disk": load.disk.share} if load.disk else {})}
    part, words = _named(load)
    return Bottleneck(part=part, words=words, evidence={name: round(share, 4) for name, share in evidence.items()})


def _named(load: Load) -> tuple[Part, str]:
    """The part, and the line that says why. What is full comes first, then disk and pools, then the load itself."""
    full = sorted((name for name in load.shares if _is_full(load, name)), key=lambda name: -load.shares[name])
    bound = [name for name in full if _kind(load, name) == "server" and load.shares[name] >= BOUND]
    if full:
        first = (bound or full)[0]
        also = "".join(f"; {_busy(load, name)}" for name in full if name != first)
        return _kind(load, first), f"{_kind(load, first)}-bound: {_busy(load, first)}{also}{_stores(load, full)}"
    if load.parts and load.use is not None and (load.use.busy or 0.0) >= FULL:
        return _crowded(load, load.use)
    if load.disk is not None:
        return "server", f"server-bound: {load.disk.words}"
    if load.pool > POOL:
        users = f" for {load.users} users" if load.users else ""
        waiting = f"{_per_cent(load.pool)} of the response time is waiting for a connection"
        return "pool", f"pool-bound: {waiting} ({load.connections} connections{users})"
    queue = _own_pool(load.parts)
    if queue is not None:
        return "pool", f"pool-bound: {queue}"
    if not load.parts:
        return "unknown", "not known: how busy the server was could not be seen"
    seen = ", ".join(f"{name} {_per_cent(share)}" for name, share in load.shares.items())
    if load.unseen:
        return (
            "unknown",
            f"not known: how busy {', '.join(load.unseen)} was could not be seen; nothing else was full ({seen})",
        )
    if load.free < FREE:
        return "unknown", f"not known: other programs filled the CPUs; nothing of the measured system was full ({seen})"
    return _idle(load, seen)


def _is_full(load: Load, name: str) -> bool:
    busy = load.parts.get(name)
    held = busy is not None and busy.throttled >= HELD and busy.share >= IDLE
    return held or load.shares[name] >= FULL


def _stores(load: Load, full: Sequence[str]) -> str:
    """How busy the stores were beside a subject that is full: that is what such a study is about."""
    stores = {name: busy.share for name, busy in load.parts.items() if busy.kind.store and name not in full}
    if not stores or all(_kind(load, name) != "subject" for name in full):
        return ""
    listed = ", ".join(f"{name} {_per_cent(share)}" for name, share in stores.items())
    one = len(stores) == 1
    if max(stores.values()) < IDLE:
        return f"; the {'store is' if one else 'stores are'} idle ({listed})"
    return f"; the {'store' if one else 'stores'} beside it: {listed}"


def _crowded(load: Load, use: CpuUse) -> tuple[Part, str]:
    """CPUs that are full, though no part is alone: the largest user is named first, others among them."""
    by_size = sorted(load.parts, key=lambda name: -load.parts[name].cores)
    ours = sum(busy.cores for busy in load.parts.values())
    used = [f"{name} {load.parts[name].cores:.2f}" for name in by_size]
    lost = {"other programs": use.number * use.others, "other machines": use.number * use.stolen}
    lost["other programs"] = max(lost["other programs"], use.number * (use.busy or 0.0) - sum(lost.values()) - ours)
    used += [f"{who} {cores:.2f}" for who, cores in lost.items() if cores >= LOST_MIN * use.number]
    cpus = "1 CPU" if use.number == 1 else f"{use.number} CPUs"
    full = f"{', '.join(used)} of {cpus}, {_per_cent(use.busy or 0.0)} busy"
    if sum(lost.values()) > ours:
        return "unknown", f"not the measured system: {full}"
    part = _kind(load, by_size[0])
    return part, f"{part}-bound: {full}"


def _own_pool(parts: Mapping[str, Busy]) -> str | None:
    """The pool of an application for which most of its threads wait, if any do."""
    queues = [(waiting, name, pool) for name, busy in parts.items() for pool, waiting in busy.waiting.items()]
    waiting, name, pool = max(queues, default=(0.0, "", ""))
    if waiting < QUEUE:
        return None
    used = parts[name].pooled.get(pool)
    full = "" if used is None else f", {used:.0f} of which are in use"
    return f"{rounded(waiting)} threads of {name} wait for its connections {registry.POOLS[pool].leads}{full}"


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


def _kind(load: Load, name: str) -> Part:
    if name == DRIVER:
        return "generator"
    return "server" if load.parts[name].kind.store else "subject"


def _busy(load: Load, name: str) -> str:
    if name == DRIVER:
        return f"hottest thread of the generator {_per_cent(load.shares[name])} busy"
    busy = load.parts[name]
    if busy.cpus is None:
        return f"main thread of {name} {_per_cent(busy.share)} busy"
    cpus = "1 CPU" if busy.cpus == 1 else f"{busy.cpus:g} CPU{'s' if busy.cpus > 1 else ''}"
    held = f", held back by its limit for {_per_cent(busy.throttled)} of the time" if busy.throttled >= HELD else ""
    return f"{name} {busy.cores:.2f} of its {cpus}{held}"


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
        parts=busy_parts(found),
        generator=_generator(found),
        disk=disk_of(found),
        free=free_cpu(found),
        pool=found.queued_ns / mean_ns if mean_ns else 0.0,
        response_s=sum(o.response_sum_ns for o in operations) / ended / 1e9,
        throughput_per_s=found.completed / found.drive.measure_s,
        users=closed.users if closed else 0,
        think_s=closed.think_time_ms / 1e3 if closed else 0.0,
        connections=found.plan.pool.connections,
        kept=found.completed >= KEPT * trial.counts.offered,
        use=server_cpus(found),
        unseen=unseen_servers(found),
    )


def _generator(found: TrialEvidence) -> float | None:
    if found.open is not None and found.open.spin_us > 0:
        return None
    threads = [thread for thread in found.drive.threads if thread.wall_s > 0]
    return max((of_its_time(t.cpu_s / t.wall_s, (t.waited_s or 0.0) / t.wall_s) for t in threads), default=None)


def _typical(loads: Sequence[Load]) -> Load:
    """The medians over the trials."""
    generator = [load.generator for load in loads if load.generator is not None]
    disks = sorted((load.disk for load in loads if load.disk is not None), key=lambda disk: disk.share)
    return Load(
        parts=typical([load.parts for load in loads]),
        generator=median(generator) if generator else None,
        disk=disks[len(disks) // 2] if 2 * len(disks) > len(loads) else None,
        free=median(load.free for load in loads),
        pool=median(load.pool for load in loads),
        response_s=median(load.response_s for load in loads),
        throughput_per_s=median(load.throughput_per_s for load in loads),
        users=loads[0].users,
        think_s=loads[0].think_s,
        connections=loads[0].connections,
        kept=2 * sum(load.kept for load in loads) > len(loads),
        use=_typical_use([load.use for load in loads if load.use is not None]),
        unseen=loads[0].unseen,
    )


def _typical_use(uses: Sequence[CpuUse]) -> CpuUse | None:
    if not uses:
        return None
    busy = [use.busy for use in uses if use.busy is not None]
    return CpuUse(
        number=uses[0].number,
        busy=median(busy) if busy else None,
        stolen=median(use.stolen for use in uses),
        others=median(use.others for use in uses),
        worst_stolen=median(use.worst_stolen for use in uses),
        worst_others=median(use.worst_others for use in uses),
        observed=all(use.observed for use in uses),
    )
