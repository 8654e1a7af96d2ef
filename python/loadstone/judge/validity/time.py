"""Whether the clock and the schedule were good enough for what is printed."""

from loadstone.judge.validity import limits
from loadstone.judge.validity.evidence import TrialEvidence
from loadstone.judge.validity.result import share, unknown, within
from loadstone.record.trial import CheckResult, Quantiles


def clock(evidence: TrialEvidence) -> CheckResult:
    """The clock's smallest step against the smallest latency that is printed as typical."""
    quantum_ns = evidence.drive.clock_quantum_ns
    printed = [_typical_ns(q) for q in (evidence.trial.response_ns, evidence.trial.service_ns)]
    smallest = min((value for value in printed if value), default=None)
    if quantum_ns <= 0 or smallest is None:
        return unknown("clock", limits.CLOCK, "There is no latency to hold the clock's step against.")
    measured = share(quantum_ns, smallest)
    reason = (
        f"The clock moves in steps of {_us(quantum_ns)}, and a latency of {_us(smallest)} is known only to "
        f"lie between {_us(max(0, smallest - quantum_ns))} and {_us(smallest + quantum_ns)}."
    )
    return within("clock", measured, limits.CLOCK, reason)


def _typical_ns(quantiles: Quantiles) -> float | None:
    """The smallest quantile that is printed; of too few operations the mean."""
    return quantiles.p50 if quantiles.p50 is not None else quantiles.mean


def schedule_sent(evidence: TrialEvidence) -> CheckResult | None:
    """Open model: the share of the schedule that was never sent."""
    counts = evidence.trial.counts
    if evidence.open is None:
        return None
    if not counts.offered:
        return unknown("schedule_sent", limits.SCHEDULE_SENT, "Nothing was due in the measure phase.")
    measured = share(counts.offered - counts.sent, counts.offered)
    reason = (
        f"{counts.offered - counts.sent:,} of {counts.offered:,} operations were never sent: "
        "the server cannot keep up with this rate."
    )
    return within("schedule_sent", measured, limits.SCHEDULE_SENT, reason)


def schedule_lag(evidence: TrialEvidence) -> CheckResult | None:
    """Open model: how late the driver itself was, P99 against the P50 of the response time."""
    if evidence.open is None:
        return None
    lag, p50_ns = evidence.drive.schedule_lag_ns, evidence.trial.response_ns.p50
    if not p50_ns or not lag.count:
        return unknown("schedule_lag", limits.SCHEDULE_LAG, "There is no P50 to hold the driver's lateness against.")
    if share(lag.p50, p50_ns) > limits.SCHEDULE_LAG.invalid:
        measured = share(lag.p50, p50_ns)
        reason = (
            f"Half of the operations left {_us(lag.p50)} late or more because of the driver; the P50 is {_us(p50_ns)}."
        )
    else:
        measured = min(share(lag.p99, p50_ns), limits.SCHEDULE_LAG.invalid)
        reason = (
            f"One operation in a hundred left {_us(lag.p99)} late or more because of the driver, with a P50 of "
            f"{_us(p50_ns)}; service time is free of that."
        )
    return within("schedule_lag", measured, limits.SCHEDULE_LAG, reason)


def dropped_arrivals(evidence: TrialEvidence) -> CheckResult | None:
    """Open model: arrivals that found too many others waiting."""
    if evidence.open is None:
        return None
    dropped = evidence.trial.counts.dropped
    reason = f"{dropped:,} arrivals were dropped: they have no latency, so every quantile looks better than it is."
    return within("dropped_arrivals", dropped, limits.DROPPED, reason)


def _us(nanoseconds: float) -> str:
    return f"{nanoseconds / 1000:,.3g} us" if nanoseconds < 999_500 else f"{nanoseconds / 1e6:,.3g} ms"
