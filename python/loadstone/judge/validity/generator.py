"""What of a latency is the round trip that any answer would take."""

from math import inf

from loadstone.judge.validity.check import Finding, Limit, Measured, Unknown, check, share
from loadstone.judge.validity.evidence import TrialEvidence
from loadstone.message import message

ROUND_TRIP = Limit(
    10,
    inf,
    "%",
    "J: a P50 that a server which does nothing would have as well does not describe the server",
    beyond="unknown",
)


@check(ROUND_TRIP, about="latency")
def round_trip(evidence: TrialEvidence) -> Finding:
    """How much of the P50 a server that does nothing would also have. Never held against the trial."""
    found, p50_ns = evidence.facts.ceiling, evidence.trial.response_ns.p50
    if found is None or found.floor_p50_ns is None:
        return Unknown(message("check.round_trip.not_measured"))
    if not p50_ns:
        return Unknown(message("check.round_trip.no_p50"))
    measured = share(found.floor_p50_ns, p50_ns)
    if measured <= ROUND_TRIP.valid:
        return Measured(measured)
    why = message("check.round_trip.empty", floor_us=found.floor_p50_ns / 1000, p50_us=p50_ns / 1000)
    return Unknown(why, measured)
