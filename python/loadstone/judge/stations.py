"""Where a request spends its time: the stations that it passes, and how long each of them takes for it.

A station is whatever serves requests and may be full: a CPU, a disk, a line, a pool, a lock, the generator. Its
**service demand** D is the time of one of its servers that a correct reply takes, waiting in front of it left out: by
the utilisation law D = m U / X for m servers that are busy for U of the time at X replies a second. No more than m / D
replies a second pass it (Denning & Buzen, The operational analysis of queueing network models, 1978; Lazowska et al.,
Quantitative System Performance, 1984). So what limits a condition is the station with the largest D / m, and follows
from what was measured instead of from what is left over.

What each kind is:

- `cpu`: a server or an application. With a main thread that does the work, that thread; else all CPUs it may use.
- `disk`: of a server with such a thread, the time for which that waits for the disk (an fsync, a read). It does nothing
  else meanwhile: `thread` is set on both, and their demands on one thread add up. Of one with many threads the time for
  which any of them waits for it.
- `line`: what passes at most one piece at a time: the narrow place of a line with a bandwidth, or the line's own
  thread, whichever is busier.
- `delay`: what a line adds to each request, however many are on it. It is never full: `servers` is None.
- `lock`: what several threads of a part wait for, in front of whoever has it. Its demand is the time for which they
  wait for it at all, so the lock is held at least so long; `queue_ns` is what a request waits for it. What holds it
  (a CPU, a disk, another server) is a station of its own: the demands of the two do not add up.
- `pool`: connections that requests take and give back: those of the generator, or an application's own. The demand is
  the time that one is held, so it **contains** the stations behind it: a pool bounds how many requests are there, and
  its demand adds to none of theirs. `queue_ns` is what a request waits for one.
- `generator`: the threads that make the load.

Waiting for a CPU that other programs had is in no demand. CPUs that several parts share are those of the placement.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

import numpy as np

from loadstone.drivers.slices import PartSlice, Slice
from loadstone.judge.checks.evidence import TrialEvidence, evidence_of
from loadstone.judge.checks.link_delay import lines_of
from loadstone.judge.checks.utilisation import Busy, busy_parts
from loadstone.judge.compare.round_figures import slices_of
from loadstone.judge.statistics.rounds.row_rate import are_measured, row_rate
from loadstone.judge.statistics.signed_rank import Floats, typical_interval
from loadstone.judge.verdict import AnalysisModel
from loadstone.monitors import catalogue
from loadstone.run_folder.facts import DRIVER
from loadstone.run_folder.trial import TrialRecord

StationKind = Literal["cpu", "disk", "line", "delay", "pool", "lock", "generator"]
LEAST = 0.002
"""A station that is busy for less of the time, or delays a request by less of its response time, is left out."""
_NS = 1e9
_AT_DISK = "disk_wait_share"


class Station(AnalysisModel):
    """One station of a condition. Times in nanoseconds, for one correct reply."""

    name: str
    """The part that it belongs to; of a pool within an application also the pool: `spring.hikari`."""
    part: str
    """Name of the part in the record: a server, an application, a node or a replica group, `generator`."""
    kind: StationKind
    demand_ns: float
    """Time of one of its servers that a correct reply takes, without waiting in front of it."""
    low_ns: float | None = None
    high_ns: float | None = None
    """95 % interval from slices, or from whole trials; None from too few of them."""
    servers: float | None
    """How many requests it serves at once: CPUs, connections, 1 for a thread; None: any number (a delay)."""
    busy: float | None
    """Its servers' share of the time, X D / m; None of a delay. Of a thread that others kept from its CPU it is the
    share of all time, and not of what they left."""
    queue_ns: float | None = None
    """What a request waited in front of it, where that was observed: of pools."""
    thread: bool = False
    """Whether it holds the only thread of its part: such stations of one part are one server, busy for their sum."""


@dataclass(frozen=True)
class _Use:
    """One station in one trial."""

    name: str
    part: str
    kind: StationKind
    servers: float | None
    spent_ns: float
    """Time of all servers together, in the measured time; for a delay, that of all replies together."""
    in_slice: Callable[[Slice], float | None] = lambda _: None
    """Nanoseconds spent in one slice; None where that is not known."""
    queue_ns: float | None = None
    thread: bool = False


def stations_of(trials: Sequence[TrialRecord]) -> list[Station]:
    """The stations of one condition in these trials, the fullest first and delays last.

    Those that were observed in every trial that was driven; none where nothing answered.
    """
    seen = [(trial, evidence) for trial in trials if (evidence := evidence_of(trial)) is not None and trial.counts.ok]
    uses = [{(use.name, use.kind): use for use in _uses(evidence)} for _, evidence in seen]
    common = [key for key in (uses[0] if uses else {}) if all(key in one for one in uses)]
    with_replies = [trial for trial, _ in seen]
    made = (_station([one[key] for one in uses], with_replies) for key in common)
    stations = [one for one in made if one is not None]
    return sorted(stations, key=lambda one: (one.busy is None, -(one.busy or 0.0), -one.demand_ns))


def _station(uses: Sequence[_Use], trials: Sequence[TrialRecord]) -> Station | None:
    replies = [trial.replies for trial in trials]
    first, spent_ns = uses[0], [use.spent_ns for use in uses]
    if not are_measured(np.array(spent_ns), np.array(replies)):
        return None
    demand_ns, time_ns = sum(spent_ns) / sum(replies), _NS * sum(trial.duration_s for trial in trials)
    known = [use.servers for use in uses if use.servers is not None]
    servers = median(known) if len(known) == len(uses) else None
    busy = sum(spent_ns) / time_ns / servers if servers else None
    queues = [use.queue_ns for use in uses if use.queue_ns is not None]
    response_ns = sum(map(_response_ns, trials)) / len(trials)
    if max(busy or 0.0, demand_ns / response_ns if servers is None and response_ns else 0.0) < LEAST:
        return None
    low, high = _interval(uses, trials, replies) or (None, None)
    if low is not None and high is not None:  # as a row has it: the printed figure lies in its own brackets
        low, high = min(low, demand_ns), max(high, demand_ns)
    return Station(
        name=first.name,
        part=first.part,
        kind=first.kind,
        demand_ns=demand_ns,
        low_ns=low,
        high_ns=high,
        servers=servers,
        busy=None if busy is None else min(1.0, busy),
        queue_ns=sum(queues) / len(queues) if queues else None,
        thread=first.thread,
    )


def _response_ns(trial: TrialRecord) -> float:
    return trial.response_ns.mean or 0.0


def _interval(
    uses: Sequence[_Use], trials: Sequence[TrialRecord], replies: Sequence[float]
) -> tuple[float, float] | None:
    """Return the interval by slices where all of them were observed, else by whole trials."""
    figures = [
        (use.in_slice(one), float(one.ok))
        for use, trial in zip(uses, trials, strict=True)
        for one in slices_of(trial).values()
    ]
    if figures and all(slices_of(trial) for trial in trials) and all(spent is not None for spent, _ in figures):
        spent_ns, ok = (np.array(values, dtype=np.float64) for values in zip(*figures, strict=True))
        return _of_slices(spent_ns, ok)
    return typical_interval([use.spent_ns / one for use, one in zip(uses, replies, strict=True) if one])


def _of_slices(spent_ns: Floats, ok: Floats) -> tuple[float, float] | None:
    if not are_measured(spent_ns, ok):
        return None
    found = row_rate(spent_ns, ok)
    return None if found.low is None or found.high is None else (found.low, found.high)


def _uses(evidence: TrialEvidence) -> Iterator[_Use]:
    parts = busy_parts(evidence)
    for name, busy in parts.items():
        if not _gets_load(evidence, name):
            continue
        yield from _of_part(evidence, name, busy)
        yield from _own_pools(evidence, name, busy)
        yield from _locks(evidence, name)
    yield from _generator(evidence)
    yield from _lines(evidence)
    yield from _connections(evidence)


def _gets_load(evidence: TrialEvidence, name: str) -> bool:
    """Whether requests can come to a part: a server that stands beside the one that the load is for gets none."""
    server, target = evidence.server_of(name), evidence.facts.target
    return evidence.http or server is None or target in (None, server)


def _measured_ns(evidence: TrialEvidence) -> float:
    return _NS * evidence.trial.duration_s


def _of_part(evidence: TrialEvidence, name: str, busy: Busy) -> Iterator[_Use]:
    """Its CPU, and its disk where it has one thread that waits for that."""
    time_ns, members = _measured_ns(evidence), _members(evidence, name)
    if busy.cpus is not None:
        yield _Use(name, name, "cpu", busy.cpus, busy.cores * time_ns, _sum_over(members, lambda one: one.cpu_s))
        if at_disk := _seen(evidence, members, _AT_DISK):
            yield _Use(name, name, "disk", float(len(members)), min(1.0, at_disk) * time_ns)
        return
    shares = [evidence.facts.parts[part].main_thread_share for part in members]
    ran = sum(share for share in shares if share is not None)
    servers = float(max(1, busy.processes))
    thread = busy.processes <= 1
    cpus = servers if busy.limit is None else min(servers, busy.limit)
    yield _Use(name, name, "cpu", cpus, ran * time_ns, _sum_over(members, lambda one: one.main_s), thread=thread)
    waits = [evidence.facts.parts[part].disk_share for part in members]
    at_disk = sum(share for share in waits if share is not None)
    if at_disk:
        in_slice = _sum_over(members, lambda one: one.main_disk_s)
        yield _Use(name, name, "disk", servers, at_disk * time_ns, in_slice, thread=thread)


def _members(evidence: TrialEvidence, name: str) -> list[str]:
    """The parts that stand behind one entry of `busy_parts`."""
    return [part for part in evidence.server_parts if (evidence.subject_of(part) or part) == name]


def _sum_over(members: Sequence[str], seconds: Callable[[PartSlice], float | None]) -> Callable[[Slice], float | None]:
    def in_slice(one: Slice) -> float | None:
        spent = [seconds(one.parts[part]) if part in one.parts else None for part in members]
        return None if None in spent or not spent else _NS * sum(value for value in spent if value is not None)

    return in_slice


def _own_pools(evidence: TrialEvidence, name: str, busy: Busy) -> Iterator[_Use]:
    """The pools of an application: how many of its connections are in use, and who waits for one."""
    time_ns, replies = _measured_ns(evidence), evidence.trial.replies
    for pool, size in busy.sizes.items():
        held, waiting = busy.filled.get(pool, 0.0) * size, busy.waiting.get(pool, 0.0)
        queue_ns = waiting * time_ns / replies if replies else None
        yield _Use(f"{name}.{pool}", name, "pool", size, held * time_ns, queue_ns=queue_ns)


def _locks(evidence: TrialEvidence, name: str) -> Iterator[_Use]:
    """The lock for which most threads wait."""
    time_ns, members = _measured_ns(evidence), _members(evidence, name)
    replies = evidence.trial.replies
    locks = [(_seen(evidence, members, lock.waiters), lock) for lock in catalogue.LOCKS]
    waiters, lock = max(locks, key=lambda one: one[0])
    if waiters and replies:
        busy = waiters if lock.busy is None else _seen(evidence, members, lock.busy)
        servers = float(len(members))
        yield _Use(name, name, "lock", servers, min(servers, busy) * time_ns, queue_ns=waiters * time_ns / replies)


def _seen(evidence: TrialEvidence, members: Sequence[str], metric: str) -> float:
    """The average of a metric, all members together; 0 where none has it."""
    observed = (evidence.facts.seen.get(part, {}).get(metric) for part in members)
    return sum(figure.avg for figure in observed if figure is not None)


def _generator(evidence: TrialEvidence) -> Iterator[_Use]:
    threads = [thread for thread in evidence.drive.threads if thread.wall_s > 0]
    worked_ns = _NS * sum(thread.working_s for thread in threads)
    if threads:
        stays_awake = any(thread.calls is not None and thread.calls.spun_ns for thread in threads)
        in_slice = (lambda _: None) if stays_awake else (lambda one: _NS * one.cpu_s)
        yield _Use(DRIVER, DRIVER, "generator", float(len(threads)), worked_ns, in_slice)


def _lines(evidence: TrialEvidence) -> Iterator[_Use]:
    """The narrow place of each line, and what it adds to a request."""
    time_ns, replies = _measured_ns(evidence), evidence.trial.replies
    for name, line in lines_of(evidence).items():
        if line.ran is not None:
            yield _Use(name, name, "line", 1.0, line.ran * time_ns)
        if line.delay_ns > 0 and line.trips > 0:
            yield _Use(name, name, "delay", None, line.delay_ns * line.trips * replies)


def _connections(evidence: TrialEvidence) -> Iterator[_Use]:
    """The generator's own connections, where more users or arrivals share fewer."""
    operations = [one for one in evidence.drive.operations.values() if one.service_ns.count]
    connections, depth = evidence.plan.pool.connections, evidence.plan.pipeline_depth
    users = evidence.closed.users if evidence.closed is not None else None
    if not operations or (users is not None and users <= connections * depth) or not connections:
        return
    held_ns = sum(one.service_ns.mean * one.service_ns.count for one in operations) / sum(
        one.service_ns.count for one in operations
    )
    replies = evidence.trial.replies
    yield _Use(DRIVER, DRIVER, "pool", float(connections * depth), held_ns * replies, queue_ns=evidence.queued_ns)
