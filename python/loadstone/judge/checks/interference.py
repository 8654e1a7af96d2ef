"""Whether the servers worked on nothing else, and had room left: memory, CPUs, connections and the disk."""

from collections.abc import Sequence
from math import inf

from loadstone.judge.checks.check import DirectVerdict, Finding, Limit, MeasuredFigure, NotObserved, check
from loadstone.judge.checks.evidence import TrialEvidence
from loadstone.run_folder.facts import SeriesPoint, owner_of
from loadstone.text.message import message

SWAP = Limit(0, inf, "bytes", "J: memory that comes back from the disk delays what needs it")
ACCEPT_QUEUE = Limit(0, inf, "connections", "J: a client that meets a full queue tries again after 1, 3 and 7 s")
BACKGROUND = Limit(0, inf, "forks", "J: saving takes CPU, memory and disk")
EVICTED = Limit(0, 0, "keys", "J: an evicted key can be neither read nor counted")
PLACEMENT = Limit(0, inf, "", "J: unless a tenth of all CPU time is idle")
PLACEMENT_IDLE = 0.10
SERVER_CPU = Limit(95, inf, "%", "J: from there on the figure is the server's limit")


def _is_redis(evidence: TrialEvidence, part: str) -> bool:
    return owner_of(part, evidence.facts.servers) is not None


@check(SWAP)
def swap(evidence: TrialEvidence) -> Finding:
    """Memory moved to or from the disk."""
    moved = evidence.facts.host.swapped_bytes
    if moved is None:
        return NotObserved(message("check.swap.not_reported"))
    return MeasuredFigure(moved, message("check.swap.moved", megabytes=moved / 1e6))


@check(ACCEPT_QUEUE)
def accept_queue(evidence: TrialEvidence) -> Finding | None:
    """Connections that were not accepted, since too many waited for that: their users wait for seconds, and seldom
    say so, as what they wait for ends after the measure phase. None where the system does not count them."""
    dropped = evidence.facts.host.listen_drops
    if dropped is None:
        return None
    # By samples of a second: of what was counted at its border a part.
    return MeasuredFigure(round(dropped), message("check.accept_queue.full", connections=dropped))


@check(PLACEMENT)
def placement(evidence: TrialEvidence) -> Finding:
    """Whether driver and servers ran on CPUs of their own, or at least had enough of them."""
    placed, idle = evidence.facts.placement, evidence.facts.host.idle_share
    if placed is None:
        return NotObserved(message("check.placement.not_known"))
    if not placed.shared:
        return MeasuredFigure(0)
    if idle is not None and idle >= PLACEMENT_IDLE:
        return DirectVerdict("valid", 1, PLACEMENT.valid)
    return MeasuredFigure(1, message("check.placement.shared", idle=idle))


@check(BACKGROUND)
def background(evidence: TrialEvidence) -> Finding | None:
    """Snapshots and rewrites of the append-only file within the drive."""
    if not evidence.has_redis:
        return None
    names = ("total_forks", "rdb_bgsave_in_progress", "aof_rewrite_in_progress")
    forks = 0.0
    reported = False
    for server in evidence.facts.servers.values():
        if server.before is None or server.after is None:
            continue
        before, after = server.before.counters, server.after.counters
        reported = reported or any(name in after for name in names)
        forks += max(0.0, after.get(names[0], 0.0) - before.get(names[0], 0.0))
        forks += sum(side.get(name, 0.0) for side in (before, after) for name in names[1:])
    if not reported:
        return NotObserved(message("check.background.not_reported"))
    fork_us = max((after.counters.get("latest_fork_usec", 0.0) for _, after in evidence.server_sides), default=0.0)
    return MeasuredFigure(forks, message("check.background.saved", fork_ms=fork_us / 1000))


@check(EVICTED)
def evicted_keys(evidence: TrialEvidence) -> Finding | None:
    """Keys that the server evicted because its memory was full."""
    if not evidence.has_counters:
        return None
    evicted, reported = 0.0, False
    for server in evidence.facts.servers.values():
        if server.before is None or server.after is None or "evicted_keys" not in server.after.counters:
            continue
        if server.before.run_id != server.after.run_id:  # it counted from its start, or is another server
            continue
        reported = True
        evicted += max(0.0, server.after.counters["evicted_keys"] - server.before.counters.get("evicted_keys", 0.0))
    if not reported:
        return NotObserved(message("check.evicted_keys.not_reported"))
    return MeasuredFigure(evicted, message("check.evicted_keys.evicted", keys=evicted))


@check(SERVER_CPU, information=True)
def server_cpu(evidence: TrialEvidence) -> Finding | None:
    """Information: how busy the servers' busiest main thread was. Never held against a trial."""
    if not evidence.has_redis:
        return None
    shares = [
        (part.main_thread_share, name)
        for name, part in evidence.facts.parts.items()
        if _is_redis(evidence, name) and part.main_thread_share is not None
    ]
    if not shares:
        return NotObserved(message("check.server_cpu.not_observed"))
    busiest, name = max(shares)
    return MeasuredFigure(100 * busiest, message("check.server_cpu.full", part=name))


CONNECTION_LEAK = Limit(4, inf, "connections", "J: from the first third of the phase to the last")
TEMPORARY_FILES = Limit(0, inf, "bytes/s", "J: a sort that does not fit into memory measures the disk")

Thirds = tuple[float, float, float]
_STILL = 0.5
"""A rise goes on if the second half of it is at least so large a part of the first."""
_SPILLED = "spilled_bytes_per_s"
"""The metric of those stores that report it."""


@check(CONNECTION_LEAK)
def connection_leak(evidence: TrialEvidence) -> Finding | None:
    """Connections at a server that rise all through the measure phase, beyond those that the load itself opened.

    Of those that the load lost or gave up (after a timeout) a server that does not look still counts the old ones: they
    are no client's that opens more and more. Nor are those of other loads on the same server, which open theirs when
    they need them.
    """
    observed = evidence.facts.server_connections
    if not observed and not any(evidence.kind_of(store).connections for store in evidence.stores):
        return None
    if not observed:
        return NotObserved(message("check.connection_leak.not_observed"))
    own = 0 if evidence.http else evidence.drive.connections.lost + evidence.drive.connections.failed
    rises = {server: _rise(_without_load(evidence, server, thirds)) - own for server, thirds in observed.items()}
    server = max(rises, key=lambda name: rises[name])
    first, _, last = observed[server]
    reason = message("check.connection_leak.rises", server=server, first=first, last=last)
    return MeasuredFigure(max(0.0, rises[server]), reason)


def _rise(thirds: Thirds) -> float:
    """From the first third to the last; 0 where it did not go on to the end, as of a pool that fills."""
    first, second, third = thirds
    steady = second > first and third - second >= _STILL * (second - first)
    return third - first if steady else 0.0


def _without_load(evidence: TrialEvidence, server: str, thirds: Thirds) -> Thirds:
    """Without the driver's own connections, where the server itself got the load; level where several loads had it."""
    if evidence.http or server not in evidence.targets or not evidence.facts.series:
        return thirds
    if evidence.facts.company is not None:
        return thirds[0], thirds[0], thirds[0]
    first, second, third = _load_by_third(evidence.facts.series)
    return thirds[0] - first, thirds[1] - second, thirds[2] - third


def _load_by_third(series: Sequence[SeriesPoint]) -> Thirds:
    start_s = series[0].start_s
    step_s = (series[-1].start_s + series[-1].duration_s - start_s) / 3
    thirds: list[list[int]] = [[], [], []]
    for point in series:
        middle_s = point.start_s + point.duration_s / 2 - start_s
        thirds[(middle_s >= step_s) + (middle_s >= 2 * step_s)].append(point.connections)
    means = [sum(third) / len(third) if third else float(series[0].connections) for third in thirds]
    return means[0], means[1], means[2]


@check(TEMPORARY_FILES)
def temporary_files(evidence: TrialEvidence) -> Finding | None:
    """What stores wrote to temporary files a second, because a sort or a join did not fit into its memory."""
    written = {part: figures[_SPILLED].avg for part, figures in evidence.facts.seen.items() if _SPILLED in figures}
    if not written:
        return None
    store = max(written, key=lambda part: written[part])
    reason = message("check.temporary_files.written", server=store, megabytes_per_s=written[store] / 1e6)
    return MeasuredFigure(written[store], reason)
