"""Whether the clock and the schedule were good enough for what is printed."""

from loadstone.judge.validity.evidence import TrialEvidence
from loadstone.judge.validity.limits import Limit
from loadstone.judge.validity.result import share, unknown, within
from loadstone.message import message
from loadstone.record.trial import CheckResult, Quantiles

CLOCK = Limit(2.5, 5, "%", "S: half of the margin of 5 %; a quantum of a whole margin can hide or make a difference")
SCHEDULE_SENT = Limit(1, 1, "%", "J: 99 % of the schedule must be sent")
SCHEDULE_LAG = Limit(5, 50, "%", "J: its P99 against the P50; invalid: its P50 is half of the P50")
DROPPED = Limit(0, 0, "arrivals", "J: an arrival that was dropped has no latency")


def clock(evidence: TrialEvidence) -> CheckResult:
    """The clock's smallest step against the smallest latency that is printed as typical."""
    quantum_ns = evidence.drive.clock_quantum_ns
    printed = [_typical_ns(q) for q in (evidence.trial.response_ns, evidence.trial.service_ns)]
    smallest = min((value for value in printed if value), default=None)
    if quantum_ns <= 0 or smallest is None:
        return unknown("clock", CLOCK, message("check.clock.no_latency"))
    measured = share(quantum_ns, smallest)
    reason = message(
        "check.clock.coarse",
        step_ns=quantum_ns,
        latency_ns=smallest,
        low_ns=max(0, smallest - quantum_ns),
        high_ns=smallest + quantum_ns,
    )
    return within("clock", measured, CLOCK, reason)


def _typical_ns(quantiles: Quantiles) -> float | None:
    """The smallest quantile that is printed; of too few operations the mean."""
    return quantiles.p50 if quantiles.p50 is not None else quantiles.mean


def schedule_sent(evidence: TrialEvidence) -> CheckResult | None:
    """Open model: the share of the schedule that was never sent."""
    counts = evidence.trial.counts
    if evidence.open is None:
        return None
    if not counts.offered:
        return unknown("schedule_sent", SCHEDULE_SENT, message("check.schedule_sent.nothing_due"))
    measured = share(counts.offered - counts.sent, counts.offered)
    reason = message("check.schedule_sent.not_sent", operations=counts.offered - counts.sent, of=counts.offered)
    return within("schedule_sent", measured, SCHEDULE_SENT, reason)


def schedule_lag(evidence: TrialEvidence) -> CheckResult | None:
    """Open model: how late the driver itself was, P99 against the P50 of the response time."""
    if evidence.open is None:
        return None
    lag, p50_ns = evidence.drive.schedule_lag_ns, evidence.trial.response_ns.p50
    if not p50_ns or not lag.count:
        return unknown("schedule_lag", SCHEDULE_LAG, message("check.schedule_lag.no_p50"))
    if share(lag.p50, p50_ns) > SCHEDULE_LAG.invalid:
        measured = share(lag.p50, p50_ns)
        reason = message("check.schedule_lag.half", lag_ns=lag.p50, p50_ns=p50_ns)
    else:
        measured = min(share(lag.p99, p50_ns), SCHEDULE_LAG.invalid)
        reason = message("check.schedule_lag.some", lag_ns=lag.p99, p50_ns=p50_ns)
    return within("schedule_lag", measured, SCHEDULE_LAG, reason)


def dropped_arrivals(evidence: TrialEvidence) -> CheckResult | None:
    """Open model: arrivals that found too many others waiting."""
    if evidence.open is None:
        return None
    dropped = evidence.trial.counts.dropped
    reason = message("check.dropped_arrivals.dropped", arrivals=dropped)
    return within("dropped_arrivals", dropped, DROPPED, reason)
