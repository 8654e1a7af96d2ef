"""Whether the server worked on nothing else, and whether it had anything left."""

from loadstone.judge.validity import limits
from loadstone.judge.validity.evidence import TrialEvidence
from loadstone.judge.validity.result import unknown, within
from loadstone.record.facts import owner_of
from loadstone.record.trial import CheckResult


def _is_redis(evidence: TrialEvidence, part: str) -> bool:
    return owner_of(part, evidence.facts.servers) is not None


def swap(evidence: TrialEvidence) -> CheckResult:
    """Memory moved to or from the disk."""
    moved = evidence.facts.host.swapped_bytes
    if moved is None:
        return unknown("swap", limits.SWAP, "This system does not tell whether memory was swapped.")
    return within("swap", moved, limits.SWAP, f"{moved / 1e6:,.1f} MB of memory were moved to or from the disk.")


def placement(evidence: TrialEvidence) -> CheckResult:
    """Whether driver and servers ran on CPUs of their own, or at least had enough of them."""
    placed, idle = evidence.facts.placement, evidence.facts.host.idle_share
    if placed is None:
        return unknown("placement", limits.PLACEMENT, "Nobody placed the server: where it runs is not known.")
    if not placed.shared:
        return within("placement", 0, limits.PLACEMENT, "")
    roomy = idle is not None and idle >= limits.PLACEMENT_IDLE
    left = "an unknown share" if idle is None else f"{idle:.0%}"
    return CheckResult(
        name="placement",
        verdict="valid" if roomy else "suspect",
        measured=1,
        limit=0,
        unit="",
        reason=""
        if roomy
        else f"Driver and server share CPUs, and {left} of the CPU time was idle: each slows the other.",
    )


def background(evidence: TrialEvidence) -> CheckResult | None:
    """Snapshots and rewrites of the append-only file within the drive."""
    if not evidence.has_redis:
        return None
    names = ("total_forks", "rdb_bgsave_in_progress", "aof_rewrite_in_progress")
    forks = 0.0
    told = False
    for server in evidence.facts.servers.values():
        if server.before is None or server.after is None:
            continue
        before, after = server.before.counters, server.after.counters
        told = told or any(name in after for name in names)
        forks += max(0.0, after.get(names[0], 0.0) - before.get(names[0], 0.0))
        forks += sum(side.get(name, 0.0) for side in (before, after) for name in names[1:])
    if not told:
        return unknown("background", limits.BACKGROUND, "The server does not tell whether it saved in the background.")
    fork_us = max((after.counters.get("latest_fork_usec", 0.0) for _, after in evidence.server_sides), default=0.0)
    stood = f" and the fork stopped it for {fork_us / 1000:.1f} ms" if fork_us else ""
    reason = f"The server saved or rewrote its data during the trial: that takes CPU and disk{stood}."
    return within("background", forks, limits.BACKGROUND, reason)


def evicted_keys(evidence: TrialEvidence) -> CheckResult | None:
    """Keys that the server threw away for want of memory."""
    if not evidence.has_redis:
        return None
    evicted, told = 0.0, False
    for server in evidence.facts.servers.values():
        if server.before is None or server.after is None or "evicted_keys" not in server.after.counters:
            continue
        if server.before.run_id != server.after.run_id:  # it counted from its start, or is another server
            continue
        told = True
        evicted += max(0.0, server.after.counters["evicted_keys"] - server.before.counters.get("evicted_keys", 0.0))
    if not told:
        return unknown("evicted_keys", limits.EVICTED, "The server does not tell whether it threw keys away.")
    reason = f"The server threw {evicted:,.0f} keys away for want of memory: raise maxmemory, or store less."
    return within("evicted_keys", evicted, limits.EVICTED, reason)


def server_cpu(evidence: TrialEvidence) -> CheckResult | None:
    """Information: how busy the servers' busiest main thread was. Never held against a trial."""
    if not evidence.has_redis:
        return None
    shares = [
        (part.main_thread_share, name)
        for name, part in evidence.facts.parts.items()
        if _is_redis(evidence, name) and part.main_thread_share is not None
    ]
    if not shares:
        return unknown("server_cpu", limits.SERVER_CPU, "The server's CPU could not be seen.")
    busiest, name = max(shares)
    bound = 100 * busiest >= limits.SERVER_CPU.valid
    return CheckResult(
        name="server_cpu",
        verdict="valid",
        measured=round(100 * busiest, 6),
        limit=limits.SERVER_CPU.valid,
        unit="%",
        reason=f"Server-bound: the main thread of {name} had nothing left." if bound else "",
    )
