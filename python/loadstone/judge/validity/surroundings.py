"""Whether the server worked on nothing else, and whether it had anything left."""

from math import inf

from loadstone.judge.validity.check import Finding, Judged, Limit, Measured, Unknown, check
from loadstone.judge.validity.evidence import TrialEvidence
from loadstone.message import message
from loadstone.record.facts import owner_of

SWAP = Limit(0, inf, "bytes", "J: memory that comes back from the disk delays what needs it")
ACCEPT_QUEUE = Limit(
    0, inf, "connections", "J: a client that finds the queue full is not answered, and tries again after 1, 3 and 7 s"
)
BACKGROUND = Limit(
    0, inf, "forks", "J: a fork, a snapshot or a rewrite of the append-only file takes CPU, memory and disk"
)
EVICTED = Limit(0, 0, "keys", "J: an evicted key can be neither read nor counted")
PLACEMENT = Limit(0, inf, "", "J: parts that share a CPU slow each other down, unless a tenth of all CPU time is idle")
PLACEMENT_IDLE = 0.10
SERVER_CPU = Limit(95, inf, "%", "J: from there on the figure is the server's limit")


def _is_redis(evidence: TrialEvidence, part: str) -> bool:
    return owner_of(part, evidence.facts.servers) is not None


@check(SWAP)
def swap(evidence: TrialEvidence) -> Finding:
    """Memory moved to or from the disk."""
    moved = evidence.facts.host.swapped_bytes
    if moved is None:
        return Unknown(message("check.swap.not_reported"))
    return Measured(moved, message("check.swap.moved", megabytes=moved / 1e6))


@check(ACCEPT_QUEUE)
def accept_queue(evidence: TrialEvidence) -> Finding | None:
    """Connections that were not accepted, since too many waited for that: their users wait for seconds, and seldom
    say so, as what they wait for ends after the measure phase. None where the system does not count them."""
    dropped = evidence.facts.host.listen_drops
    if dropped is None:
        return None
    # By samples of a second: of what was counted at its border a part.
    return Measured(round(dropped), message("check.accept_queue.full", connections=dropped))


@check(PLACEMENT)
def placement(evidence: TrialEvidence) -> Finding:
    """Whether driver and servers ran on CPUs of their own, or at least had enough of them."""
    placed, idle = evidence.facts.placement, evidence.facts.host.idle_share
    if placed is None:
        return Unknown(message("check.placement.not_known"))
    if not placed.shared:
        return Measured(0)
    if idle is not None and idle >= PLACEMENT_IDLE:
        return Judged("valid", 1, PLACEMENT.valid)
    return Measured(1, message("check.placement.shared", idle=idle))


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
        return Unknown(message("check.background.not_reported"))
    fork_us = max((after.counters.get("latest_fork_usec", 0.0) for _, after in evidence.server_sides), default=0.0)
    return Measured(forks, message("check.background.saved", fork_ms=fork_us / 1000))


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
        return Unknown(message("check.evicted_keys.not_reported"))
    return Measured(evicted, message("check.evicted_keys.evicted", keys=evicted))


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
        return Unknown(message("check.server_cpu.not_observed"))
    busiest, name = max(shares)
    return Measured(100 * busiest, message("check.server_cpu.full", part=name))
