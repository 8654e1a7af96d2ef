"""Bounds how wrong a rate can be: what a generator that costs nothing would gain, and what others took.

The gain rule. U is the busy share of the fullest thing on the server's side, G the share of the time that the driver's
thread ran or waited for a CPU. A generator that costs nothing would take away G of each cycle, and the server could
not do more than 1/U times what it did: the rate would rise by at most min(1/U, 1/(1 - G)) - 1. That takes the cost of
an operation as fixed. It is not quite: below U = .95 part of it is waking up, which a busier server does less often
(`WAKING`); and a server that a driver at its limit feeds has few operations at a time, which cost more (`STARVED`).
Waiting for a disk is no part of U: a store that brings all requests that are there to the disk at once waits less for
each, the more of them come together (50 connections with `appendfsync always`: 42,600 a second of a generator that
answers each reply at once, 56,100 to 86,800 of redis-benchmark, which takes all replies of an fsync and then sends).
What others took is bounded by the CPU time that they had. Time for which they kept the driver from running is theirs,
and not the generator's: both shares are of the time without it. Sources and proof: `docs/checks.md`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

from loadstone.experiment.plan.fixed_rate import AT_RATE_GROUP
from loadstone.judge.checks.agents import agents_of, of_agent
from loadstone.judge.checks.check import Finding, Limit, MeasuredFigure, NotObserved, check
from loadstone.judge.checks.evidence import TrialEvidence, evidence_of
from loadstone.judge.checks.link_delay import lost_to_links
from loadstone.judge.checks.stall_checks import stalled_share, stopped_share
from loadstone.judge.checks.utilisation import Busy, CpuUse, busy_parts, generator_cpus, server_cpus
from loadstone.judge.verdict import UNBOUNDED, GeneratorBound, up_to
from loadstone.monitors.metric import PROGRAM
from loadstone.run_folder.facts import DRIVER, OTHERS, PartCpu
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.message import message

FULL = 0.9
"""From this busy share on a side limits the rate, and time that others took is missing from it in proportion."""
SATURATED = 0.95
WAKING = 2.5
"""S: by so much the server's cost of an operation falls, per unit of busy share below `SATURATED`, until it is full."""
STARVING, STARVED_AT = 0.96, 0.985
"""S: between these shares of its time a driver comes to its limit, and the server's operations come one by one."""
STARVED = 0.2
"""S: by so much an operation then costs the server more than it must, and beyond it by its idle share below .95."""
SHARED_WRITES, AT_THE_DISK = 1.3, 0.05
"""S: where the server waits for its disk for at least such a share of the time, requests that come together share its
writes to the file as well as the waiting (18 runs beside redis-benchmark, 50 and 200 connections: 1.0 to 1.25)."""
DISPLACED = 1.15
"""S: CPU time that others take costs so much of the server's: switches, and caches that they leave behind."""
UNEXPLAINED = 0.1
"""CPU time of the servers' CPUs that no process is found for counts as taken by others beyond this share: ticks of
10 ms and interrupts explain less."""
LEFT_MIN = 0.05
"""With less of the time than that left to it a driver says nothing of the server."""
OBSERVED_MIN = 0.8
"""With less of the work observed than that nothing is known of a row."""
QUEUED = 1.0
"""Threads of an application that wait for its own pool on average, from which the pool is full."""
ONE_USER = 1


@dataclass(frozen=True)
class BoundLimits:
    """What limited one trial. Shares of the time; None: it could not be observed."""

    server: float | None
    """U: the fullest thing on the server's side, everything that is not idle counted but for waiting for a disk."""
    disk: float
    """For how much of the time beside it a server of one thread waited for its disk."""
    generator: float | None
    """G: the driver's hottest thread, of the time that others left to it."""
    gain: float | None
    """Share by which the rate would rise at most with a generator that costs nothing; None: not known."""
    taken: float | None
    """Share by which it would rise at most had others taken nothing."""
    round_trip: bool
    """One user: a round trip, and no capacity."""
    agent: str | None = None
    """For a fleet, the agent whose thread that is."""


def limits_of(evidence: TrialEvidence) -> BoundLimits:
    """What limited the rate of a trial, and how wrong the rate can be for it."""
    cpus, parts = server_cpus(evidence), busy_parts(evidence)
    server, lost = _fullest(evidence, cpus, parts), lost_by_driver(evidence)
    disk = _disk_share(evidence)
    generator, agent = _fullest_agent(evidence) or (_driver(evidence, lost), None)
    one = evidence.closed is not None and evidence.closed.users == ONE_USER and evidence.plan.pipeline_depth == 1
    return BoundLimits(
        server=server,
        disk=disk,
        generator=generator,
        gain=None if evidence.open is not None or one else _gain(evidence, server, disk, generator, lost),
        taken=_taken(evidence, None if server is None else min(1.0, server + disk), cpus, lost),
        round_trip=one,
        agent=agent,
    )


def bound_of(trial: TrialRecord) -> GeneratorBound | None:
    """The bound of one trial's rates; None of one that was not driven."""
    evidence = evidence_of(trial)
    if evidence is None:
        return None
    limits = limits_of(evidence)
    # The rate was set, and is held to its schedule; or the driver is part of what is measured.
    gain = 0.0 if evidence.open is not None or evidence.client is not None else limits.gain
    taken = 0.0 if evidence.kept_rate else limits.taken
    return GeneratorBound(generator=gain, taken=taken, round_trip=limits.round_trip)


def bound_over(trials: Sequence[TrialRecord]) -> GeneratorBound | None:
    """The bound of a rate over several trials: what each could have done more, weighed by what it did."""
    bounds = [(trial, bound) for trial in trials if (bound := bound_of(trial)) is not None]
    if not bounds:
        return None
    work = [trial.replies for trial, _ in bounds]
    return GeneratorBound(
        generator=_weighed([bound.generator for _, bound in bounds], work),
        taken=_weighed([bound.taken for _, bound in bounds], work),
        round_trip=all(bound.round_trip for _, bound in bounds),
    )


def gain_over(trials: Sequence[TrialRecord]) -> float:
    """Return by how much a rate over several trials would rise at most without the generator; 0 where that is not
    known."""
    bound = bound_over(trials)
    return 0.0 if bound is None else bound.generator or 0.0


def _weighed(shares: Sequence[float | None], work: Sequence[float]) -> float | None:
    """The mean by work; None where it is not known of too much of the work."""
    known = [(share, done) for share, done in zip(shares, work, strict=True) if share is not None]
    total, everything = sum(done for _, done in known), sum(work)
    if not everything:
        return max((share for share, _ in known), default=None)
    if total < OBSERVED_MIN * everything:
        return None
    return round(sum(share * done for share, done in known) / total, 6)


def _gain(
    evidence: TrialEvidence, server: float | None, disk: float, generator: float | None, lost: float
) -> float | None:
    factors = []
    if server:
        server = min(1.0, server / max(LEFT_MIN, 1 - lost))
        shared = SHARED_WRITES if disk >= AT_THE_DISK else 1.0
        factors.append(max(1.0, shared * _cheaper(server, generator or 0.0) / server))
    if generator is not None:
        # A line to a server is on the generator's side: what it added in excess is missing from the rate as well.
        freed = 1 / (1 - generator) if generator < 1 else 1 + UNBOUNDED
        factors.append(freed * (1 + lost_to_links(evidence)))
    closed = evidence.closed
    if closed is not None and closed.think_time_ms > 0 and evidence.completed and evidence.drive.measure_s > 0:
        factors.append(closed.users / (closed.think_time_ms / 1e3) / (evidence.completed / evidence.drive.measure_s))
    return round(min(UNBOUNDED, max(0.0, min(factors) - 1)), 6) if factors else None


def _disk_share(evidence: TrialEvidence) -> float:
    return max((part.disk_share or 0.0 for part in evidence.server_parts.values()), default=0.0)


def _cheaper(server: float, generator: float) -> float:
    """Return how many times as much an operation costs the server as when it is saturated, at most."""
    idle = max(0.0, SATURATED - server)
    starved = min(1.0, max(0.0, (generator - STARVING) / (STARVED_AT - STARVING)))
    return (1 + WAKING * idle) * (1 + starved * (STARVED + idle))


def _fullest(evidence: TrialEvidence, cpus: CpuUse | None, parts: Mapping[str, Busy]) -> float | None:
    """The fullest of threads, quotas, pools and the CPUs together."""
    shares = [part.cores / part.cpus for part in parts.values() if part.cpus]
    shares += [part.mean_share / part.cpu_limit for part in evidence.server_parts.values() if part.cpu_limit]
    shares += [ready for part in evidence.server_parts.values() if (ready := _ready(evidence, part)) is not None]
    shares += [full for part in parts.values() if (full := _full_pool(part)) is not None]
    if cpus is not None and cpus.busy is not None:
        shares.append(cpus.busy - (evidence.own_share if _shared(evidence) else 0.0) - _left_by_server(evidence, cpus))
    # While it stood still no generator could have had an answer of it.
    return min(1.0, max(shares) + stalled_share(evidence)) if shares else None


def _left_by_server(evidence: TrialEvidence, cpus: CpuUse) -> float:
    """What others had of its CPU while a server of one thread did not want it: to the server it was idle."""
    alone = _one_thread(evidence)
    if alone is None or not cpus.observed or cpus.number > 1:
        return 0.0
    return max(0.0, cpus.others - (alone.wait_share or 0.0))


def _one_thread(evidence: TrialEvidence) -> PartCpu | None:
    """The only part on the server's side, if it has one thread whose waiting is known and the CPU is its own."""
    parts = list(evidence.server_parts.values())
    alone = len(parts) == 1 and parts[0].main_thread_share is not None and parts[0].wait_share is not None
    return parts[0] if alone and not _shared(evidence) else None


def _ready(evidence: TrialEvidence, part: PartCpu) -> float | None:
    """The share of the time that the part's only thread ran or was ready to.

    On a CPU that the generator shares it waits for the generator, which is no work of its own.
    """
    if part.main_thread_share is None:
        return None
    waited = 0.0 if _shared(evidence) else part.wait_share or 0.0
    return part.main_thread_share + waited


def _full_pool(part: Busy) -> float | None:
    """Return how full the application's own pool is for which its threads queue; None where none do."""
    queued = [pool for pool, waiting in part.waiting.items() if waiting >= QUEUED]
    return max((part.filled[pool] for pool in queued if pool in part.filled), default=None)


def _shared(evidence: TrialEvidence) -> bool:
    return evidence.facts.placement is not None and evidence.facts.placement.shared


def _driver(evidence: TrialEvidence, lost: float) -> float | None:
    """G: the hottest thread; of several threads that take turns on fewer CPUs their sum for each CPU.

    Of the time that others left to it. What they took is no time that it ran, nor, but for what was stolen, one that
    it did not wait; where the kernel counts stolen time as run, G is too large, and the bound too wide.
    """
    threads = [thread for thread in evidence.drive.threads if thread.wall_s > 0]
    if not threads:
        return None
    waits = 0.0 if _shared(evidence) else 1.0  # on a shared CPU it waits for the server, which is no cost of its own
    hottest = max((t.working_s + waits * (t.waited_s or 0.0)) / t.wall_s for t in threads)
    placed = evidence.facts.placement
    cpus = len(placed.generator_cpus) if placed is not None and placed.generator_cpus else len(threads)
    together = sum(t.working_s / t.wall_s for t in threads) / cpus if len(threads) > cpus else 0.0
    held = (evidence.facts.host.throttled_s or 0.0) / max(t.wall_s for t in threads)
    held += stopped_share(evidence.facts)
    own = max(hottest, together) + held - _waited_for_others(evidence)
    return min(1.0, max(0.0, own) / max(LEFT_MIN, 1 - lost))


def _fullest_agent(evidence: TrialEvidence) -> tuple[float, str] | None:
    """G of the agent that has least to spare, and its name; None of a single driver.

    What an agent waited for a CPU counts as its own: who had it is known of the machine of the command alone.
    """
    found = []
    for one in agents_of(evidence):
        threads = [thread for thread in one.threads if thread.wall_s > 0]
        if not threads:
            continue
        hottest = max((t.working_s + (t.waited_s or 0.0)) / t.wall_s for t in threads)
        cpus = one.agent.cpus or len(threads)
        together = sum(t.working_s / t.wall_s for t in threads) / cpus if len(threads) > cpus else 0.0
        found.append(
            (min(1.0, max(hottest, together) + stopped_share(evidence.facts, one.agent.stalls)), one.agent.name)
        )
    return max(found, default=None)


def _taken(evidence: TrialEvidence, server: float | None, cpus: CpuUse | None, by_driver: float) -> float | None:
    """What others took: of a side that was full in proportion, otherwise of the whole cycle."""
    if cpus is None:
        return None
    on_servers = _lost_by_servers(evidence, cpus)
    if server is None or server < FULL:
        return _more(on_servers + by_driver)
    if on_servers >= server:
        return UNBOUNDED
    idle = min(1 / server, 1 / max(LEFT_MIN, 1 - by_driver))
    return round(min(UNBOUNDED, idle / (1 - on_servers / server) - 1), 6)


def _more(lost: float) -> float:
    """What was lost of the time as a share of what was had."""
    return round(min(UNBOUNDED, lost / (1 - lost)), 6) if lost < 1 else UNBOUNDED


def _lost_by_servers(evidence: TrialEvidence, cpus: CpuUse) -> float:
    """The share of the servers' time that was stolen or went to others, loadstone's own threads among them.

    A part of one thread loses to others no more than the time for which that thread waited for a CPU; it may have run
    on the CPU from which most was stolen.
    """
    parts, alone = list(evidence.server_parts.values()), _one_thread(evidence)
    own = 0.0 if _shared(evidence) else evidence.facts.lab_share or 0.0
    if alone is not None:
        waited = alone.wait_share or 0.0
        others = max(cpus.worst_others + own, _unexplained(evidence, cpus, parts)) if cpus.observed else waited
        return min(1.0, cpus.worst_stolen + DISPLACED * min(others, waited))
    others = max(cpus.others + own / cpus.number, _unexplained(evidence, cpus, parts))
    return min(1.0, cpus.stolen + DISPLACED * others)


def _unexplained(evidence: TrialEvidence, cpus: CpuUse, parts: Sequence[PartCpu]) -> float:
    """CPU time of the servers' CPUs that neither the condition's parts nor any process found had."""
    if cpus.busy is None or not parts:
        return 0.0
    ours = sum(part.mean_share for part in parts) / cpus.number
    ours += evidence.own_share / cpus.number if _shared(evidence) else 0.0
    allowed = UNEXPLAINED if cpus.observed else 0.0
    return max(0.0, cpus.busy - cpus.stolen - ours - allowed)


def lost_by_driver(evidence: TrialEvidence) -> float:
    """The share of the time for which others kept the driver from running: stolen, or waited for while they ran."""
    cpus = generator_cpus(evidence)
    return 0.0 if cpus is None else min(1.0, cpus.worst_stolen + _waited_for_others(evidence))


def _waited_for_others(evidence: TrialEvidence) -> float:
    """The share of the time for which the driver waited for its CPU while other programs had it.

    Older runs do not know who used its CPU: all of its waiting counts, unless its own threads waited for each other.
    """
    cpus, part = generator_cpus(evidence), evidence.facts.parts.get(DRIVER)
    if cpus is None or part is None or part.wait_share is None:
        return 0.0
    if cpus.observed:
        return min(part.wait_share, cpus.worst_others)
    return 0.0 if len(evidence.drive.threads) > cpus.number else part.wait_share


GAIN = Limit(10, inf, "%", "J: the bound is printed beside the figure")
TAKEN = Limit(10, inf, "%", "J: the bound is printed beside the figure")
FAR = 50.0
"""J: in per cent. With a bound beyond that a comparison is as wide as a rate that could be half as high again."""

TAKEN_AT_RATE = "check.taken.at_rate"

NAMED = 0.02
"""A program that took less of a CPU is not named."""
NAMES_SHOWN = 3
"""Number of the other programs that are named, those that took most."""


@check(GAIN, about="rate")
def gain(evidence: TrialEvidence) -> Finding | None:
    """Check how much more the same system would do at most with a generator that costs nothing.

    A client library that makes the load is part of what is measured, and so is any driver that is compared with another
    one: its cost is no error of the figure.
    """
    if evidence.open is not None:
        return None
    limits = limits_of(evidence)
    if limits.round_trip:
        return None
    if evidence.client is not None:
        why = message("check.gain.client", library=evidence.client, generator=limits.generator)
        return NotObserved(why, None if limits.gain is None else round(100 * limits.gain, 6))
    if limits.gain is None:
        return NotObserved(message("check.gain.not_observed"))
    disk = {"disk": limits.disk} if limits.disk >= AT_THE_DISK else {}
    reason = message(
        "check.gain.bound", generator=limits.generator, server=limits.server, bound=up_to(limits.gain), **disk
    )
    if limits.agent is not None:
        reason = of_agent(limits.agent, reason)
    return MeasuredFigure(100 * limits.gain, reason)


@check(TAKEN, about="rate")
def taken(evidence: TrialEvidence) -> Finding | None:
    """Check how much more the same system would do at most had neighbours and other programs taken nothing.

    At a fixed rate that was kept it would do no more: the rate was set. What others took is in the latencies then, and
    doubts them alone.
    """
    if evidence.trial.group == AT_RATE_GROUP:
        return None
    limits, cpus = limits_of(evidence), server_cpus(evidence)
    if limits.taken is None or cpus is None:
        return NotObserved(message("check.taken.not_observed"))
    beside = {name: figure.avg for name, figure in evidence.facts.seen.get(OTHERS, {}).items() if figure.avg >= NAMED}
    named = {name: cores for name, cores in beside.items() if not name.startswith(PROGRAM)}
    single = _most(beside)
    stolen = cpus.stolen if cpus.stolen >= NAMED else 0.0
    if evidence.kept_rate:
        reason = message("check.taken.at_rate", programs=named, single=single, stolen=stolen)
        return MeasuredFigure(min(100 * limits.taken, TAKEN.invalid), reason)
    reason = message("check.taken.bound", programs=named, single=single, stolen=stolen, bound=up_to(limits.taken))
    return MeasuredFigure(100 * limits.taken, reason)


def _most(beside: Mapping[str, float]) -> dict[str, float]:
    """The other programs that took most, by their names; empty in a folder of before, which has none."""
    programs = {name.removeprefix(PROGRAM): cores for name, cores in beside.items() if name.startswith(PROGRAM)}
    return dict(sorted(programs.items(), key=lambda one: -one[1])[:NAMES_SHOWN])
