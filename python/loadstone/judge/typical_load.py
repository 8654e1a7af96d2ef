"""Computes how full the parts of a condition were, and how long its users waited: what a bottleneck is judged by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from loadstone.judge.checks.evidence import TrialEvidence, evidence_of
from loadstone.judge.checks.generator_bounds import lost_by_driver
from loadstone.judge.checks.link_delay import lines_of
from loadstone.judge.checks.utilisation import (
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
from loadstone.run_folder.facts import DRIVER
from loadstone.run_folder.trial import TrialRecord

_NEEDED, _KEPT_FROM = 0.75, 0.1
"""J, by runs beside other programs that had a half and a quarter of the generator's CPU: it needed .80 to .88."""
_KEPT = 0.98
"""J: an open model that completes so much of what was due kept its rate; the rest ends in the drain."""
_SHORTEST_S = 0.5
"""Parts are observed about once a second: of shorter measure phases their CPU says too little."""


@dataclass(frozen=True)
class CpuNeeded:
    """Shares of the time."""

    needed: float
    """It ran, or would have."""
    waited: float
    """Others had its CPU."""

    @property
    def is_the_limit(self) -> bool:
        """Whether that explains where the time went."""
        return self.needed >= _NEEDED and self.waited >= _KEPT_FROM


@dataclass(frozen=True)
class TypicalLoad:
    """One trial: how full its parts were, and how long its users waited. Times in seconds."""

    parts: dict[str, Busy]
    generator: float | None
    """The hottest thread's share of its core; Time that it only stayed awake is none of it; None where
    that is not known."""
    needed: dict[str, CpuNeeded]
    """CPUs needed by the driver and by parts whose main thread was observed."""
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
        """Return how full servers, subjects and the driver were."""
        found = {name: busy.share for name, busy in self.parts.items()}
        return found if self.generator is None else {**found, DRIVER: self.generator}


def typical_load(trials: Sequence[TrialRecord]) -> TypicalLoad | None:
    """Return how full each part was, by the medians over these trials; None where nothing can show it."""
    loads = [load for trial in trials if (load := _load(trial)) is not None]
    return _typical(loads) if loads else None


def _load(trial: TrialRecord) -> TypicalLoad | None:
    """Return how full its parts were in one trial; None if it was not driven, too short, or never answered."""
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
    return TypicalLoad(
        parts=busy_parts(found),
        generator=_generator(found),
        needed=_needed_by_parts(found),
        disk=disk_of(found),
        free=_free(found),
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


def _free(found: TrialEvidence) -> float:
    """What no one used of the CPU, and what the driver stayed awake for without work: it gives that up to anyone."""
    placed, elapsed_s = found.facts.placement, found.drive.measure_s
    if placed is None:
        return free_cpu(found)
    awake_s = sum(thread.cpu_s - thread.working_s for thread in found.drive.threads)
    return min(1.0, free_cpu(found) + awake_s / elapsed_s / max(1, len({*placed.server_cpus, *placed.generator_cpus})))


def _counts_spinning(found: TrialEvidence) -> bool:
    """Whether it is known how long the driver stayed awake without work; older runs do not."""
    return any(thread.calls is not None and thread.calls.spun_ns for thread in found.drive.threads)


def _generator(found: TrialEvidence) -> float | None:
    if found.open is not None and found.open.spin_us and not _counts_spinning(found):
        return None
    threads = [thread for thread in found.drive.threads if thread.wall_s > 0]
    return max((of_its_time(t.working_s / t.wall_s, (t.waited_s or 0.0) / t.wall_s) for t in threads), default=None)


def _typical(loads: Sequence[TypicalLoad]) -> TypicalLoad:
    """The medians over the trials; of several numbers of users the round trip is that of the middle one."""
    several = len({load.users for load in loads}) > 1
    of_users = [sorted(loads, key=lambda load: load.users)[len(loads) // 2]] if several else loads
    generator = [load.generator for load in loads if load.generator is not None]
    disks = sorted((load.disk for load in loads if load.disk is not None), key=lambda disk: disk.share)
    return TypicalLoad(
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


def _needed_by_parts(found: TrialEvidence) -> dict[str, CpuNeeded]:
    """The driver's hottest thread, and the main threads of servers and subjects that were observed in one trial."""
    lost = lost_by_driver(found)
    ran = max((thread.working_s / thread.wall_s for thread in found.drive.threads if thread.wall_s > 0), default=0.0)
    parts = {DRIVER: CpuNeeded(ran + lost, lost)}
    cpus, placed = server_cpus(found), found.facts.placement
    if cpus is None or not cpus.observed or (placed is not None and placed.shared):
        return parts
    for name, part in found.server_parts.items():
        if part.main_thread_share is not None:
            waited = min(part.wait_share or 0.0, cpus.worst_others)
            parts[name] = CpuNeeded(part.main_thread_share + waited, waited)
    return parts


def _typically_needed(trials: Sequence[Mapping[str, CpuNeeded]]) -> dict[str, CpuNeeded]:
    """The medians over several trials, of the parts that all of them have."""
    names = set.intersection(*(set(trial) for trial in trials)) if trials else set()
    return {
        name: CpuNeeded(median(trial[name].needed for trial in trials), median(trial[name].waited for trial in trials))
        for name in sorted(names)
    }
