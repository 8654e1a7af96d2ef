"""What limited a condition: the station that requests filled, or that users waited for round trips.

How busy each was decides, by the medians over trials; what a request takes of it (`judge/stations.py`) is said beside.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from pydantic import Field

from loadstone.judge.stations import Kind, Station, stations_of
from loadstone.judge.validity.bounds import lost_by_driver
from loadstone.judge.validity.evidence import TrialEvidence, evidence_of
from loadstone.judge.validity.link_delay import lines_of
from loadstone.judge.validity.utilisation import (
    WAITING_THREAD,
    Busy,
    CpuUse,
    Disk,
    busy_parts,
    disk_of,
    free_cpu,
    of_its_time,
    server_cpus,
    typical,
    unobserved_servers,
)
from loadstone.judge.verdict import Piece
from loadstone.message import Message, Recorded, message
from loadstone.record.facts import DRIVER
from loadstone.record.trial import TrialRecord

Part = Literal[
    "generator", "subject", "server", "disk", "lock", "pool", "network", "cpu", "latency", "paced", "unknown"
]


class Bottleneck(Piece):
    """What limited a condition."""

    part: Part
    """cpu: parts that share CPUs filled them, and none was full alone.

    disk, lock: what a server or an application waited for; network: a line, by its width or by its delay.

    latency: nothing was saturated, users waited for round trips; paced: the load was set by a rate or by pauses.
    """
    message: Recorded
    """One line with the evidence, e.g. `server-bound: main thread of redis 98 % busy`."""
    named: list[str] = Field(default_factory=list)
    """The parts that the line names, servers and applications by their names."""
    evidence: dict[str, float]
    """The figures it rests on, shares of one core or of the response time: `redis`, `generator`, `pool`."""
    share: float | None = None
    """For how much of the time the limit was busy, of what others left to it; of a pool and of a line's delay the share
    of the response time. None where nothing was full."""
    demand_ns: float | None = None
    """What a correct reply takes of it, in nanoseconds; None where that is not known."""


_NEEDED, _KEPT_FROM = 0.75, 0.1
"""J, by runs beside other programs that had a half and a quarter of the generator's CPU: it needed .80 to .88."""


@dataclass(frozen=True)
class _CpuNeeded:
    """Shares of the time."""

    needed: float
    """It ran, or would have."""
    waited: float
    """Others had its CPU."""

    @property
    def is_the_limit(self) -> bool:
        """Whether that explains where the time went."""
        return self.needed >= _NEEDED and self.waited >= _KEPT_FROM


_FULL = 0.9
"""J: from this share on a part is named."""
_BOUND = 0.95
"""J: a server's main thread that is so busy has nothing left: more load would not give more."""
_THROTTLED = 0.1
"""J: a subject that its CPU limit stops for so much of the time is at its limit, whatever its average says."""
_IDLE = 0.5
"""J: a store below that is called idle beside a subject that is full."""
_POOL = 0.1
"""J: as the check `pool_wait` has it, beyond a tenth the pool is what is measured, if nothing else is full."""
_QUEUE = 1.0
"""J: so many threads of an application that wait for its own pool on average make that pool the limit."""
_FREE = 0.05
"""J: with less CPU time left on the machine than that, and nothing of ours full, others had it."""
_KEPT = 0.98
"""J: an open model that completes so much of what was due kept its rate; the rest ends in the drain."""
_APART = 0.2
"""A rate by the users' round trips that is so far from the measured one is not said: a stall stands in their mean."""
_LOST_MIN = 0.03
"""Less than that share of the CPUs, taken by others, is not mentioned."""
_DISK_NAMED = 0.05
"""J: of a full thread, less waiting for the disk is not mentioned."""
_STOPS, _HELD_UP = 0.1, 0.6
"""J: a thread that waits for its disk for a tenth of the time stops all users at once: they send again together, and
the thread has a pause in each turn. So it is the limit from this share on, and is never quite full."""
_IN_FSYNC = 0.75
"""J: for so much of the time one of many threads waits for the disk."""
_LOCKED, _HELD = 0.25, 0.5
"""J: a lock that takes so much of the response time, and for which some thread waits for so much of the time."""
_UNSEEN, _UNSEEN_S = 0.5, 0.002
"""J: an application that keeps requests for so much of their time, and so long, waits for something."""
_PASSED: tuple[Kind, ...] = ("cpu", "disk", "line", "delay", "generator")
"""What a request passes one after the other; a lock and a pool hold what is behind them."""
_DELAYED = 0.5
"""J: a line that adds so much of the response time is what users wait for."""
_SHORTEST_S = 0.5
"""Parts are observed about once a second: of shorter measure phases their CPU says too little."""


@dataclass(frozen=True)
class Load:
    """One trial: how full its parts were, and how long its users waited. Times in seconds."""

    parts: dict[str, Busy]
    generator: float | None
    """The hottest thread's share of its core; Time that it only stayed awake is none of it; None where
    that is not known."""
    needed: dict[str, _CpuNeeded]
    """By the driver and by parts whose main thread was observed."""
    disk: Disk | None
    """The server that waited for it, if one did."""
    use: CpuUse | None
    """The CPUs of servers and subjects; None where they were not placed."""
    free: float
    """CPU time of the machine that no one used, as a share; 1 where it cannot be observed."""
    pool: float
    """Waiting for a connection as a share of the response time."""
    response_s: float
    throughput_per_s: float
    users: int
    """0 in the open model."""
    think_s: float
    connections: int
    kept: bool
    """Whether the required rate was reached; of no meaning in the closed model."""
    unobserved: list[str]
    """Servers and subjects of whose CPU nothing is known."""
    lines: dict[str, float]
    """Server -> how busy the line to it was, of the time."""
    delays_ns: dict[str, float]
    """Server -> what the line to it added to a request."""
    http: bool
    """Whether the load is for an application."""

    @property
    def shares(self) -> dict[str, float]:
        """How full servers, subjects and the driver were."""
        found = {name: busy.share for name, busy in self.parts.items()}
        return found if self.generator is None else {**found, DRIVER: self.generator}


def bottleneck_of(trials: Sequence[TrialRecord]) -> Bottleneck | None:
    """What limited one condition in these trials, by the medians over them.

    None where nothing can show it: no trial that was driven and answered, or too short ones.
    """
    load = typical_load(trials)
    if load is None:
        return None
    evidence = {**load.shares, "pool": load.pool, **({"disk": load.disk.share} if load.disk else {})}
    evidence |= {f"{name}.link": busy for name, busy in load.lines.items()}
    evidence |= {f"{name}.disk": busy.disk for name, busy in load.parts.items() if busy.disk >= _DISK_NAMED}
    limit = _named(load, _demands(trials))
    rounded = {name: round(share, 4) for name, share in evidence.items()}
    return Bottleneck(
        part=limit.part,
        message=limit.said,
        named=list(limit.names),
        evidence=rounded,
        share=None if limit.share is None else round(limit.share, 4),
        demand_ns=limit.demand_ns,
    )


def typical_load(trials: Sequence[TrialRecord]) -> Load | None:
    """How full each part was, by the medians over these trials; None where nothing can show it."""
    loads = [load for trial in trials if (load := _load(trial)) is not None]
    return _typical(loads) if loads else None


_Demands = Mapping[tuple[str, Kind], Station]
"""The stations by their names and kinds."""


def _demands(trials: Sequence[TrialRecord]) -> _Demands:
    return {(one.name, one.kind): one for one in stations_of(trials)}


def _demand_ns(demands: _Demands, name: str, kind: Kind) -> float | None:
    station = demands.get((name, kind))
    return None if station is None else station.demand_ns


@dataclass(frozen=True)
class _Limit:
    part: Part
    said: Message
    """The line that says why."""
    names: Sequence[str] = ()
    """The parts that stand in it."""
    share: float | None = None
    demand_ns: float | None = None


def _named(load: Load, demands: _Demands) -> _Limit:
    """What is full comes first, then disk and pools, then the load itself."""
    full = sorted((name for name in load.shares if _is_full(load, name)), key=lambda name: -load.shares[name])
    line, busy = max(load.lines.items(), key=lambda item: item[1], default=("", 0.0))
    if busy >= _FULL and all(busy > load.shares[name] for name in full):
        demand_ns = _demand_ns(demands, line, "line")
        said = message(
            "bottleneck_line", server=line, busy_share=busy, shares=_shares(load.shares), demand_ns=demand_ns
        )
        return _Limit("network", said, share=busy, demand_ns=demand_ns)
    if full:
        return _full(load, full, demands)
    if load.parts and load.use is not None and (load.use.busy or 0.0) >= _FULL:
        crowded = _crowded(load, load.use)
        # What a line adds by its own record is not the neighbours', however full the CPUs are.
        return (crowded.part == "unknown" and _delayed(load, _shares(load.shares), demands)) or crowded
    if (thread := _held_up(load)) is not None:
        return _at_the_disk(load, thread, demands)
    if load.disk is not None and not load.disk.of_thread:
        disk = load.disk
        waits = message("bottleneck_disk", name=disk.server, fsyncs_per_s=disk.fsyncs_per_s, wait_share=disk.wait_share)
        return _Limit("disk", waits, [disk.server], disk.share)
    if (by_many := _disk_of_many(load, demands)) is not None:
        return by_many
    if load.pool > _POOL:
        small = {"connections": load.connections, "users": load.users}
        held_ns = _demand_ns(demands, DRIVER, "pool")
        said = message("bottleneck_connections", waiting_share=load.pool, **small, held_ns=held_ns)
        return _Limit("pool", said, share=load.pool, demand_ns=held_ns)
    if (queue := _own_pool(load.parts, demands)) is not None:
        return queue
    if (lock := _lock(load, demands)) is not None:
        return lock
    if not load.parts:
        return _Limit("unknown", message("bottleneck_server_not_observed"))
    return _by_shares(load, _shares(load.shares), demands)


def _disk_of_many(load: Load, demands: _Demands) -> _Limit | None:
    """The part of many threads of which one or more wait for the disk nearly all the time."""
    disks = [one for (_, kind), one in demands.items() if kind == "disk" and not one.thread and one.busy is not None]
    disk = max(disks, key=lambda one: one.busy or 0.0, default=None)
    if disk is None or (disk.busy or 0.0) < _IN_FSYNC:
        return None
    said = message(
        "bottleneck_disk_of_many",
        name=disk.part,
        busy_share=disk.busy,
        demand_ns=disk.demand_ns,
        shares=_shares(load.shares),
    )
    return _Limit("disk", said, list(load.shares), disk.busy, disk.demand_ns)


def _lock(load: Load, demands: _Demands) -> _Limit | None:
    """The lock for which requests wait most of their time, with several threads in front of it."""
    locks = [one for (_, kind), one in demands.items() if kind == "lock" and one.queue_ns]
    lock = max(locks, key=lambda one: one.queue_ns or 0.0, default=None)
    if lock is None or lock.queue_ns is None or not load.response_s:
        return None
    share = min(1.0, lock.queue_ns / (1e9 * load.response_s))
    if share < _LOCKED or (lock.busy or 0.0) < _HELD:
        return None
    said = message(
        "bottleneck_lock",
        name=lock.part,
        share=share,
        queue_ns=lock.queue_ns,
        busy_share=lock.busy,
        demand_ns=lock.demand_ns,
        shares=_shares(load.shares),
    )
    return _Limit("lock", said, list(load.shares), share, lock.demand_ns)


def _held_up(load: Load) -> str | None:
    """The server whose thread stops for its disk and has little time beside, if one does."""
    threads = [name for name, busy in load.parts.items() if busy.cpus is None and busy.disk >= _STOPS]
    name = max(threads, key=lambda part: load.shares[part], default=None)
    if name is None or (load.shares[name] < _HELD_UP and load.parts[name].disk < WAITING_THREAD):
        return None
    return name


def _at_the_disk(load: Load, name: str, demands: _Demands) -> _Limit:
    """A thread that runs and waits for its disk by turns: named by what takes more of a request."""
    busy = load.parts[name]
    cpu = busy.share - busy.disk
    demand = {kind: _demand_ns(demands, name, kind) for kind in ("disk", "cpu")}
    fsyncs = load.disk.fsyncs_per_s if load.disk is not None and load.disk.server == name else None
    kind = "disk" if busy.disk >= cpu else "cpu"
    said = message(
        "bottleneck_thread_and_disk",
        by=kind,
        name=name,
        disk_share=busy.disk,
        disk_ns=demand["disk"],
        cpu_share=cpu,
        cpu_ns=demand["cpu"],
        fsyncs_per_s=fsyncs,
        shares=_shares({other: share for other, share in load.shares.items() if other != name}),
    )
    part: Part = "disk" if kind == "disk" else _kind(load, name)
    return _Limit(part, said, [name], busy.disk if kind == "disk" else cpu, demand[kind])


def _by_shares(load: Load, shares: Sequence[Message], demands: _Demands) -> _Limit:
    """What is said of all parts together, of which none is full."""
    names = list(load.shares)
    if (starved := _starved(load, demands)) is not None:
        return starved
    if load.unobserved:
        return _Limit("unknown", message("bottleneck_parts_not_observed", names=load.unobserved, shares=shares), names)
    if load.free < _FREE:
        return _Limit("unknown", message("bottleneck_other_programs", shares=shares), names)
    if (delayed := _delayed(load, shares, demands)) is not None:
        return delayed
    if (within := _within_application(load, shares, demands)) is not None:
        return within
    part, said = _nothing_full(load, shares)
    return _Limit(part, said, names)


def _within_application(load: Load, shares: Sequence[Message], demands: _Demands) -> _Limit | None:
    """The application on this machine that keeps requests for most of their time, with nothing that is seen at work.

    What the stations explain is each demand, longer by the share for which its station was busy: a queue of one server
    (Lazowska et al., chapter 5). A round trip on this machine is far below `_UNSEEN_S`.
    """
    names = [name for name, busy in load.parts.items() if not busy.kind.store]
    if not load.http or not load.users or not names or load.think_s > load.response_s:
        return None
    known_ns = sum(
        one.demand_ns / (1 - min(_FULL, one.busy or 0.0)) for (_, kind), one in demands.items() if kind in _PASSED
    )
    unseen_ns = 1e9 * load.response_s - known_ns
    if unseen_ns < 1e9 * max(_UNSEEN * load.response_s, _UNSEEN_S):
        return None
    share = unseen_ns / (1e9 * load.response_s)
    said = message("bottleneck_unseen", names=names, unseen_ns=unseen_ns, share=share, shares=shares)
    return _Limit("subject", said, list(load.shares), share)


def _delayed(load: Load, shares: Sequence[Message], demands: _Demands) -> _Limit | None:
    """The line that adds most of the response time, where users wait for nothing else."""
    line, delay_ns = max(load.delays_ns.items(), key=lambda item: item[1], default=("", 0.0))
    share = delay_ns / (1e9 * load.response_s) if load.response_s else 0.0
    if not load.users or share < _DELAYED or load.think_s > load.response_s:
        return None
    share = min(1.0, share)
    said = message(
        "bottleneck_line_delay", server=line, delay_ns=delay_ns, share=share, users=load.users, shares=shares
    )
    return _Limit("network", said, list(load.shares), share, _demand_ns(demands, line, "delay"))


def _is_full(load: Load, name: str) -> bool:
    busy = load.parts.get(name)
    throttled = busy is not None and busy.throttled >= _THROTTLED and busy.share >= _IDLE
    return throttled or load.shares[name] >= _FULL


def _starved(load: Load, demands: _Demands) -> _Limit | None:
    """The thread that needed most of its CPU, where others had that and nothing else set the load."""
    if (not load.users and load.kept) or load.think_s > load.response_s:
        return None
    parts = [name for name, one in load.needed.items() if one.is_the_limit and (name == DRIVER or name in load.parts)]
    if not parts:
        return None
    name = max(parts, key=lambda part: load.needed[part].needed)
    others = {part: share for part, share in load.shares.items() if part != name}
    part, needed = _kind(load, name), min(1.0, load.needed[name].needed)
    said = message(
        "bottleneck_starved",
        part=part,
        name=None if name == DRIVER else name,
        needed_share=needed,
        waited_share=load.needed[name].waited,
        shares=_shares(others),
    )
    return _Limit(part, said, list(load.shares), needed, _demand_of(demands, name))


def _demand_of(demands: _Demands, name: str) -> float | None:
    """The CPU time that a request takes of a part, or of the generator's threads."""
    return _demand_ns(demands, name, "generator" if name == DRIVER else "cpu")


def _full(load: Load, full: Sequence[str], demands: _Demands) -> _Limit:
    """The part that is named first, and all that are full; a server that has nothing left comes before others."""
    bound = [name for name in full if _kind(load, name) == "server" and load.shares[name] >= _BOUND]
    first = (bound or full)[0]
    alone = load.parts.get(first)
    if len(full) == 1 and alone is not None and alone.cpus is None and 2 * alone.disk >= alone.share:
        return _at_the_disk(load, first, demands)
    busy = [_busy(load, name, demands) for name in (first, *(name for name in full if name != first))]
    part = "cpu" if _crowd_one_cpu(load, first) else _kind(load, first)
    stores = _stores(load, full)
    said = message("bottleneck_full", part=part, busy=busy, stores=_beside(stores) if stores else None)
    return _Limit(part, said, [*full, *stores], load.shares[first], _demand_of(demands, first))


def _crowd_one_cpu(load: Load, name: str) -> bool:
    """Whether it is several processes that fill fewer CPUs, by their place and by no limit of their own."""
    busy = load.parts.get(name)
    return busy is not None and busy.cpus is not None and busy.processes > busy.cpus and busy.throttled < _THROTTLED


def _stores(load: Load, full: Sequence[str]) -> Mapping[str, float]:
    """How busy the stores were beside a subject that is full: that is what such a study is about."""
    if all(_kind(load, name) != "subject" for name in full):
        return {}
    return {name: busy.share for name, busy in load.parts.items() if busy.kind.store and name not in full}


def _beside(stores: Mapping[str, float]) -> Message:
    shares = _shares(stores)
    if max(stores.values()) < _IDLE:
        return message("bottleneck_stores_idle", stores=shares)
    return message("bottleneck_stores", stores=shares)


def _shares(shares: Mapping[str, float]) -> list[Message]:
    return [message("bottleneck_share", name=name, busy_share=share) for name, share in shares.items()]


def _crowded(load: Load, use: CpuUse) -> _Limit:
    """CPUs that are full, though no part is alone: the largest user is named first, others among them.

    Where several processes of ours share them, that is the limit, and none of the processes.
    """
    by_size = sorted(load.parts, key=lambda name: -load.parts[name].cores)
    ours = sum(busy.cores for busy in load.parts.values())
    machines = use.number * use.stolen
    programs = max(use.number * use.others, use.number * (use.busy or 0.0) - use.number * use.others - machines - ours)
    used = [_cores(load, name) for name in by_size]
    least = _LOST_MIN * use.number
    used += [message("bottleneck_cores_of_programs", cores=programs)] if programs >= least else []
    used += [message("bottleneck_cores_of_machines", cores=machines)] if machines >= least else []
    shared = sum(busy.processes for busy in load.parts.values()) > 1
    part: Part = "unknown" if programs + machines > ours else "cpu" if shared else _kind(load, by_size[0])
    named = None if part == "unknown" else part
    said = message("bottleneck_crowded", part=named, used=used, cpus=use.number, busy_share=use.busy or 0.0)
    return _Limit(part, said, by_size, use.busy)


def _cores(load: Load, name: str) -> Message:
    processes = load.parts[name].processes
    return message("bottleneck_cores", name=name, cores=load.parts[name].cores, processes=processes)


def _own_pool(parts: Mapping[str, Busy], demands: _Demands) -> _Limit | None:
    """The pool of an application for which most of its threads wait, if any do."""
    queues = [(waiting, name, pool) for name, busy in parts.items() for pool, waiting in busy.waiting.items()]
    waiting, name, pool = max(queues, default=(0.0, "", ""))
    if waiting < _QUEUE:
        return None
    in_use = parts[name].pooled.get(pool)
    held = demands.get((f"{name}.{pool}", "pool"))
    figures = {} if held is None else {"held_ns": held.demand_ns, "queue_ns": held.queue_ns}
    said = message("bottleneck_own_pool", threads=waiting, name=name, pool=pool, in_use=in_use, **figures)
    return _Limit("pool", said, [name], None, None if held is None else held.demand_ns)


def _nothing_full(load: Load, shares: Sequence[Message]) -> tuple[Part, Message]:
    """The load was set from outside, or its users waited for round trips."""
    if not load.users:
        if load.kept:
            return "paced", message("bottleneck_rate_set", rate_per_s=load.throughput_per_s, shares=shares)
        return "unknown", message("bottleneck_rate_missed", rate_per_s=load.throughput_per_s, shares=shares)
    response_ns, pause_ns = 1e9 * load.response_s, 1e9 * load.think_s
    if load.think_s > load.response_s:
        return "paced", message("bottleneck_pauses", pause_ns=pause_ns, response_ns=response_ns, shares=shares)
    rate_per_s = load.users / (load.response_s + load.think_s)
    if abs(rate_per_s - load.throughput_per_s) > _APART * load.throughput_per_s:
        rates = {"rate_per_s": load.throughput_per_s}
        return "latency", message("bottleneck_round_trips_measured", users=load.users, **rates, shares=shares)
    return "latency", message(
        "bottleneck_round_trips",
        users=load.users,
        response_ns=response_ns,
        pause_ns=pause_ns,
        rate_per_s=rate_per_s,
        shares=shares,
    )


def _kind(load: Load, name: str) -> Part:
    if name == DRIVER:
        return "generator"
    return "server" if load.parts[name].kind.store else "subject"


def _busy(load: Load, name: str, demands: _Demands) -> Message:
    demand_ns = _demand_of(demands, name)
    if name == DRIVER:
        return message("bottleneck_generator_busy", busy_share=load.shares[name], demand_ns=demand_ns)
    busy = load.parts[name]
    if busy.cpus is None:
        disk = busy.disk if busy.disk >= _DISK_NAMED else None
        return message(
            "bottleneck_main_thread_busy", name=name, busy_share=busy.share, disk_share=disk, demand_ns=demand_ns
        )
    throttled = busy.throttled if busy.throttled >= _THROTTLED else None
    crowd = busy.processes if busy.processes > busy.cpus else None
    figures = {"cores": busy.cores, "cpus": busy.cpus, "processes": crowd}
    return message("bottleneck_cores_busy", name=name, **figures, throttled_share=throttled, demand_ns=demand_ns)


def _load(trial: TrialRecord) -> Load | None:
    """How full its parts were in one trial; None if it was not driven, too short, or never answered."""
    found = evidence_of(trial)
    if found is None or found.drive.measure_s < _SHORTEST_S or not trial.counts.ok:
        return None
    operations = found.drive.operations.values()
    ended = sum(o.counts.ok + sum(o.counts.errors.values()) + o.counts.timeouts for o in operations)
    replies = sum(o.response_ns.count for o in operations)
    if not ended or not replies:
        return None
    mean_ns = sum(o.response_ns.mean * o.response_ns.count for o in operations) / replies
    closed, lines = found.closed, lines_of(found)
    return Load(
        parts=busy_parts(found),
        generator=_generator(found),
        needed=_needed_by_parts(found),
        disk=disk_of(found),
        free=free_cpu(found),
        pool=found.queued_ns / mean_ns if mean_ns else 0.0,
        response_s=sum(o.response_sum_ns for o in operations) / ended / 1e9,
        throughput_per_s=found.completed / found.drive.measure_s,
        users=closed.users if closed else 0,
        think_s=closed.think_time_ms / 1e3 if closed else 0.0,
        connections=found.plan.pool.connections,
        kept=found.completed >= _KEPT * trial.counts.offered,
        use=server_cpus(found),
        unobserved=unobserved_servers(found),
        lines={name: line.busy for name, line in lines.items() if line.busy is not None},
        delays_ns={name: line.delay_ns * line.trips for name, line in lines.items()},
        http=found.http,
    )


def _counts_spinning(found: TrialEvidence) -> bool:
    """Whether it is known how long the driver stayed awake without work; older runs do not."""
    return any(thread.calls is not None and thread.calls.spun_ns for thread in found.drive.threads)


def _generator(found: TrialEvidence) -> float | None:
    if found.open is not None and (found.open.spin_us or 0) > 0 and not _counts_spinning(found):
        return None
    threads = [thread for thread in found.drive.threads if thread.wall_s > 0]
    return max((of_its_time(t.working_s / t.wall_s, (t.waited_s or 0.0) / t.wall_s) for t in threads), default=None)


def _typical(loads: Sequence[Load]) -> Load:
    """The medians over the trials; of several numbers of users the round trip is that of the middle one."""
    several = len({load.users for load in loads}) > 1
    of_users = [sorted(loads, key=lambda load: load.users)[len(loads) // 2]] if several else loads
    generator = [load.generator for load in loads if load.generator is not None]
    disks = sorted((load.disk for load in loads if load.disk is not None), key=lambda disk: disk.share)
    return Load(
        parts=typical([load.parts for load in loads]),
        generator=median(generator) if generator else None,
        needed=_typically_needed([load.needed for load in loads]),
        disk=disks[len(disks) // 2] if 2 * len(disks) > len(loads) else None,
        free=median(load.free for load in loads),
        pool=median(load.pool for load in loads),
        response_s=median(load.response_s for load in of_users),
        throughput_per_s=median(load.throughput_per_s for load in of_users),
        users=of_users[0].users,
        think_s=loads[0].think_s,
        connections=loads[0].connections,
        kept=2 * sum(load.kept for load in loads) > len(loads),
        use=_typical_use([load.use for load in loads if load.use is not None]),
        unobserved=loads[0].unobserved,
        lines={name: median(load.lines.get(name, 0.0) for load in loads) for name in loads[0].lines},
        delays_ns={name: median(load.delays_ns.get(name, 0.0) for load in loads) for name in loads[0].delays_ns},
        http=loads[0].http,
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


def _needed_by_parts(found: TrialEvidence) -> dict[str, _CpuNeeded]:
    """The driver's hottest thread, and the main threads of servers and subjects that were observed in one trial."""
    lost = lost_by_driver(found)
    ran = max((thread.working_s / thread.wall_s for thread in found.drive.threads if thread.wall_s > 0), default=0.0)
    parts = {DRIVER: _CpuNeeded(ran + lost, lost)}
    cpus, placed = server_cpus(found), found.facts.placement
    if cpus is None or not cpus.observed or (placed is not None and placed.shared):
        return parts
    for name, part in found.server_parts.items():
        if part.main_thread_share is not None:
            waited = min(part.wait_share or 0.0, cpus.worst_others)
            parts[name] = _CpuNeeded(part.main_thread_share + waited, waited)
    return parts


def _typically_needed(trials: Sequence[Mapping[str, _CpuNeeded]]) -> dict[str, _CpuNeeded]:
    """The medians over several trials, of the parts that all of them have."""
    names = set.intersection(*(set(trial) for trial in trials)) if trials else set()
    return {
        name: _CpuNeeded(median(trial[name].needed for trial in trials), median(trial[name].waited for trial in trials))
        for name in sorted(names)
    }
