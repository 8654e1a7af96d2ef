"""What of a latency is the round trip that any answer would take."""

from loadstone.judge.validity import limits
from loadstone.judge.validity.evidence import TrialEvidence
from loadstone.judge.validity.result import share, unknown, within
from loadstone.record.trial import CheckResult


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
