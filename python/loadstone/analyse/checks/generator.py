"""Whether the driver kept out of its own measurement."""

from loadstone.analyse import limits
from loadstone.analyse.checks.result import share, unknown, within
from loadstone.analyse.evidence import TrialEvidence
from loadstone.record.trial import CheckResult


def generator_cpu(evidence: TrialEvidence) -> CheckResult:
    """CPU of the driver's hottest thread; throttled by a control group, it is invalid."""
    closed, opened = evidence.closed, evidence.open
    few = closed is not None and closed.users < limits.FEW_USERS
    limit = limits.GENERATOR_CPU_FEW_USERS if few else limits.GENERATOR_CPU
    threads = [thread for thread in evidence.drive.threads if thread.wall_s > 0]
    if not threads:
        return unknown("generator_cpu", limit, "The driver did not report its CPU.")
    measured = max(share(thread.cpu_s, thread.wall_s) for thread in threads)
    held_back_s = evidence.facts.host.throttled_s or 0.0
    if held_back_s > 0:
        return CheckResult(
            name="generator_cpu",
            verdict="invalid",
            measured=round(measured, 6),
            limit=limit.valid,
            unit=limit.unit,
            reason=f"The driver's CPU limit held it back for {held_back_s:.2f} s: give it more CPU.",
        )
    if opened is not None and opened.spin_us > 0:
        why = "The driver spins before each send, so its CPU tells nothing; schedule_lag does."
        return unknown("generator_cpu", limit, why, round(measured, 6))
    reason = (
        f"The driver's hottest thread used {measured:.0f} % of its core: the rates may be its own; "
        "give it more threads (workload.threads) or fewer users."
    )
    return within("generator_cpu", measured, limit, reason)


def generator_wait(evidence: TrialEvidence) -> CheckResult:
    """How long the driver's hottest thread was ready to run and had no CPU: other programs took it."""
    found = evidence.facts.parts.get("generator")
    if found is None or found.wait_share is None:
        return unknown(
            "generator_wait", limits.CPU_WAIT, "This system does not tell how long the driver waited for a CPU."
        )
    measured = 100 * found.wait_share
    reason = (
        f"Other programs kept the driver waiting for its CPU for {measured:.0f} % of the time: "
        "stop them, or give it a core of its own."
    )
    return within("generator_wait", measured, limits.CPU_WAIT, reason)


def generator_ceiling(evidence: TrialEvidence) -> CheckResult:
    """Throughput against what the same driver could do if the server cost nothing."""
    found = evidence.facts.ceiling
    if found is None or found.throughput_per_s <= 0 or evidence.drive.measure_s <= 0:
        return unknown("generator_ceiling", limits.CEILING, "The driver was not measured against the null server.")
    capacity = found.capacity_per_s
    measured = share(evidence.completed / evidence.drive.measure_s, capacity)
    reason = (
        f"The rate is {measured:.0f} % of the {capacity:,.0f} a second that the driver itself can do: "
        "the server may be able to do more."
    )
    return within("generator_ceiling", measured, limits.CEILING, reason)


def round_trip(evidence: TrialEvidence) -> CheckResult:
    """How much of the P50 a server that does nothing would also have. Never held against the trial."""
    found, p50_ns = evidence.facts.ceiling, evidence.trial.response_ns.p50
    if found is None or found.floor_p50_ns is None:
        return unknown("round_trip", limits.ROUND_TRIP, "The empty round trip was not measured.")
    if not p50_ns:
        return unknown("round_trip", limits.ROUND_TRIP, "There is no P50 to hold the empty round trip against.")
    measured = share(found.floor_p50_ns, p50_ns)
    if measured <= limits.ROUND_TRIP.valid:
        return within("round_trip", measured, limits.ROUND_TRIP, "")
    why = (
        f"An answer from a server that does nothing takes {found.floor_p50_ns / 1000:.0f} us of the P50 of "
        f"{p50_ns / 1000:.0f} us: the P50 is what a client waits, but cannot tell the server's own time."
    )
    return unknown("round_trip", limits.ROUND_TRIP, why, round(measured, 6))
