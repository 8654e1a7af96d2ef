"""What limited a condition: the station that requests filled, or that users waited for round trips.

How busy each was decides, by the medians over trials; what a request takes of it (`judge/stations.py`) is said beside.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from loadstone.judge.checks.utilisation import WAITING_THREAD, Busy, CpuUse
from loadstone.judge.stations import Station, StationKind, stations_of
from loadstone.judge.typical_load import TypicalLoad, typical_load
from loadstone.judge.verdict import AnalysisModel
from loadstone.run_folder.facts import DRIVER
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.message import Message, message

PartName = Literal[
    "generator", "subject", "server", "disk", "lock", "pool", "network", "cpu", "latency", "paced", "unknown"
]


class Bottleneck(AnalysisModel):
    """What limited a condition."""

    part: PartName
    """cpu: parts that share CPUs filled them, and none was full alone.

    disk, lock: what a server or an application waited for; network: a line, by its width or by its delay.

    latency: nothing was saturated, users waited for round trips; paced: the load was set by a rate or by pauses.
    """
    message: Message
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
_PASSED: tuple[StationKind, ...] = ("cpu", "disk", "line", "delay", "generator")
"""What a request passes one after the other; a lock and a pool hold what is behind them."""
_DELAYED = 0.5
"""J: a line that adds so much of the response time is what users wait for."""


def bottleneck_of(trials: Sequence[TrialRecord], stations: Sequence[Station] | None = None) -> Bottleneck | None:
    """What limited one condition in these trials, by the medians over them.

    None where nothing can show it: no trial that was driven and answered, or too short ones. `stations`: of these
    trials, where they are known already.
    """
    load = typical_load(trials)
    if load is None:
        return None
    evidence = {**load.shares, "pool": load.pool, **({"disk": load.disk.share} if load.disk else {})}
    evidence |= {f"{name}.link": busy for name, busy in load.lines.items()}
    evidence |= {f"{name}.disk": busy.disk for name, busy in load.parts.items() if busy.disk >= _DISK_NAMED}
    found = stations_of(trials) if stations is None else stations
    limit = _named(load, {(one.name, one.kind): one for one in found})
    rounded = {name: round(share, 4) for name, share in evidence.items()}
    return Bottleneck(
        part=limit.part,
        message=limit.said,
        named=list(limit.names),
        evidence=rounded,
        share=None if limit.share is None else round(limit.share, 4),
        demand_ns=limit.demand_ns,
    )


_Demands = Mapping[tuple[str, StationKind], Station]
"""The stations by their names and kinds."""


def _demand_ns(demands: _Demands, name: str, kind: StationKind) -> float | None:
    station = demands.get((name, kind))
    return None if station is None else station.demand_ns


@dataclass(frozen=True)
class _Limit:
    part: PartName
    said: Message
    """The line that says why."""
    names: Sequence[str] = ()
    """The parts that stand in it."""
    share: float | None = None
    demand_ns: float | None = None


def _named(load: TypicalLoad, demands: _Demands) -> _Limit:
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


def _disk_of_many(load: TypicalLoad, demands: _Demands) -> _Limit | None:
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


def _lock(load: TypicalLoad, demands: _Demands) -> _Limit | None:
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


def _held_up(load: TypicalLoad) -> str | None:
    """The server whose thread stops for its disk and has little time beside, if one does."""
    threads = [name for name, busy in load.parts.items() if busy.cpus is None and busy.disk >= _STOPS]
    name = max(threads, key=lambda part: load.shares[part], default=None)
    if name is None or (load.shares[name] < _HELD_UP and load.parts[name].disk < WAITING_THREAD):
        return None
    return name


def _at_the_disk(load: TypicalLoad, name: str, demands: _Demands) -> _Limit:
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
    part: PartName = "disk" if kind == "disk" else _kind(load, name)
    return _Limit(part, said, [name], busy.disk if kind == "disk" else cpu, demand[kind])


def _by_shares(load: TypicalLoad, shares: Sequence[Message], demands: _Demands) -> _Limit:
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


def _within_application(load: TypicalLoad, shares: Sequence[Message], demands: _Demands) -> _Limit | None:
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


def _delayed(load: TypicalLoad, shares: Sequence[Message], demands: _Demands) -> _Limit | None:
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


def _is_full(load: TypicalLoad, name: str) -> bool:
    busy = load.parts.get(name)
    throttled = busy is not None and busy.throttled >= _THROTTLED and busy.share >= _IDLE
    return throttled or load.shares[name] >= _FULL


def _starved(load: TypicalLoad, demands: _Demands) -> _Limit | None:
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


def _full(load: TypicalLoad, full: Sequence[str], demands: _Demands) -> _Limit:
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


def _crowd_one_cpu(load: TypicalLoad, name: str) -> bool:
    """Whether it is several processes that fill fewer CPUs, by their place and by no limit of their own."""
    busy = load.parts.get(name)
    return busy is not None and busy.cpus is not None and busy.processes > busy.cpus and busy.throttled < _THROTTLED


def _stores(load: TypicalLoad, full: Sequence[str]) -> Mapping[str, float]:
    """Return how busy the stores were beside a subject that is full: that is what such a study is about."""
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


def _crowded(load: TypicalLoad, use: CpuUse) -> _Limit:
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
    part: PartName = "unknown" if programs + machines > ours else "cpu" if shared else _kind(load, by_size[0])
    named = None if part == "unknown" else part
    said = message("bottleneck_crowded", part=named, used=used, cpus=use.number, busy_share=use.busy or 0.0)
    return _Limit(part, said, by_size, use.busy)


def _cores(load: TypicalLoad, name: str) -> Message:
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


def _nothing_full(load: TypicalLoad, shares: Sequence[Message]) -> tuple[PartName, Message]:
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


def _kind(load: TypicalLoad, name: str) -> PartName:
    if name == DRIVER:
        return "generator"
    return "server" if load.parts[name].kind.store else "subject"


def _busy(load: TypicalLoad, name: str, demands: _Demands) -> Message:
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
