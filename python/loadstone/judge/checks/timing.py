"""Whether the times are the server's: the clock, the schedule, and the round trip that any answer would take."""

from dataclasses import dataclass, replace
from math import inf

from loadstone.drivers.histogram import quantiles_of_summary
from loadstone.drivers.outcome import AgentRecord, Counts, Quantiles
from loadstone.judge.checks.agents import of_agent, worst_agent
from loadstone.judge.checks.check import DirectVerdict, Finding, Limit, MeasuredFigure, NotObserved, check, share
from loadstone.judge.checks.evidence import KEPT, TrialEvidence
from loadstone.text.message import Message, message

CLOCK = Limit(2.5, 5, "%", "S: half of the 5 % margin")
SCHEDULE_SENT = Limit(1, 1, "%", "J: else the measured rate is not the requested one")
SCHEDULE_LAG = Limit(
    10,
    inf,
    "%",
    "J: a late generator lengthens response times; the bound is printed",
)
LIBRARY_LAG = Limit(50, inf, "%", "J: of a library's P50; more of it is waiting to be sent than for the server")
BEHIND_S = 0.1
"""J: nor can one that sends half of its requests later than by this share of the measure phase."""
DROPPED = Limit(0, 0, "arrivals", "J: it has no latency, so quantiles look too good")


@check(CLOCK, about="latency")
def clock(evidence: TrialEvidence) -> Finding:
    """The clock's smallest step against the smallest latency that is printed as typical; of a fleet each agent's."""
    quantum_ns = evidence.drive.clock_quantum_ns
    printed = [_typical_ns(q) for q in (evidence.trial.response_ns, evidence.trial.service_ns)]
    smallest = min((value for value in printed if value), default=None)
    if quantum_ns <= 0 or smallest is None:
        return NotObserved(message("check.clock.no_latency"))
    worst = worst_agent(evidence, _step)
    if worst is not None:
        own = next(agent for agent in evidence.drive.agents if agent.name == worst[1])
        return MeasuredFigure(worst[0], of_agent(own.name, _coarse(own.clock_quantum_ns, own.response_ns.p50)))
    return MeasuredFigure(share(quantum_ns, smallest), _coarse(quantum_ns, smallest))


def _step(agent: AgentRecord) -> float | None:
    return share(agent.clock_quantum_ns, agent.response_ns.p50) if agent.response_ns.p50 else None


def _coarse(step_ns: int, latency_ns: float) -> Message:
    return message(
        "check.clock.coarse",
        step_ns=step_ns,
        latency_ns=latency_ns,
        low_ns=max(0, latency_ns - step_ns),
        high_ns=latency_ns + step_ns,
    )


def _typical_ns(quantiles: Quantiles) -> float | None:
    """The smallest quantile that is printed; of too few operations the mean."""
    return quantiles.p50 if quantiles.p50 is not None else quantiles.mean


@check(SCHEDULE_SENT)
def schedule_sent(evidence: TrialEvidence) -> Finding | None:
    """Open model: the share of the schedule that was never sent; of a fleet that of the agent with most."""
    counts = evidence.trial.counts
    if evidence.open is None:
        return None
    if not counts.offered:
        return NotObserved(message("check.schedule_sent.nothing_due"))
    worst = worst_agent(evidence, lambda agent: _not_sent(agent.counts))
    if worst is not None:
        own = next(agent for agent in evidence.drive.agents if agent.name == worst[1])
        return MeasuredFigure(worst[0], of_agent(own.name, _never_sent(own.counts)))
    return MeasuredFigure(_not_sent(counts), _never_sent(counts))


def _not_sent(counts: Counts) -> float:
    return share(counts.offered - counts.sent, counts.offered)


def _never_sent(counts: Counts) -> Message:
    return message("check.schedule_sent.not_sent", operations=counts.offered - counts.sent, of=counts.offered)


@check(SCHEDULE_LAG, about="latency")
def schedule_lag(evidence: TrialEvidence) -> Finding | None:
    """Open model: how much of the latencies may be the driver's own, as a share of P50 or of P99; of a fleet that
    of the agent with most.

    It bounds them, and refuses none. What a client library sends late is its own, and part of what is measured; one
    that falls behind more and more cannot keep the rate.
    """
    if evidence.open is None:
        return None
    response, least, lag = evidence.trial.response_ns, evidence.trial.least_ns, evidence.drive.schedule_lag_ns
    if not response.p50 or not lag.count:
        return NotObserved(message("check.schedule_lag.no_p50"))
    if evidence.drive.program is not None:
        return _library_lag(evidence, evidence.drive.program.library, response.p50)
    if least is None:
        measured = share(lag.p99, response.p50)
        reason = message("check.schedule_lag.some", lag_ns=lag.p99, p50_ns=response.p50)
        return MeasuredFigure(measured, reason)
    found = _own_time(response, least)
    by_agent = [
        replace(own, agent=agent.name)
        for agent in evidence.drive.agents
        if agent.least_ns is not None
        and (own := _own_time(quantiles_of_summary(agent.response_ns), quantiles_of_summary(agent.least_ns)))
    ]
    most = max([one for one in (found, *by_agent) if one is not None], key=lambda one: one.share)
    reason = message("check.schedule_lag.own", quantile=most.quantile, figure_ns=most.figure_ns, own_ns=most.own_ns)
    return MeasuredFigure(most.share, reason if most.agent is None else of_agent(most.agent, reason))


@dataclass(frozen=True)
class _OwnTime:
    """Part of one quantile that may be the driver's own; of an agent, if one is named."""

    quantile: str
    figure_ns: int
    own_ns: int
    agent: str | None = None

    @property
    def share(self) -> float:
        return share(self.own_ns, self.figure_ns)


def _own_time(response: Quantiles, least: Quantiles) -> _OwnTime | None:
    """Return the own time of the quantile that has most; None where none is known."""
    quantiles = [("P50", response.p50, least.p50), ("P99", response.p99, least.p99)]
    known = [_OwnTime(name, most, max(0, most - low)) for name, most, low in quantiles if most and low is not None]
    return max(known, key=lambda one: one.share, default=None)


def _library_lag(evidence: TrialEvidence, library: str, p50_ns: int) -> Finding:
    lag, trial = evidence.drive.schedule_lag_ns, evidence.trial
    due = trial.counts.offered / trial.duration_s if trial.duration_s > 0 else 0.0
    is_behind = lag.p50 > p50_ns / 2 and (
        trial.throughput_per_s < KEPT * due or lag.p50 > BEHIND_S * 1e9 * trial.duration_s
    )
    figures = {"library": library, "lag_ns": lag.p50, "p50_ns": p50_ns}
    measured = share(lag.p50, p50_ns)
    if is_behind:
        return DirectVerdict(
            "invalid", measured, SCHEDULE_LAG.valid, message("check.schedule_lag.cannot_keep", **figures)
        )
    return MeasuredFigure(measured, message("check.schedule_lag.library", **figures), limit=LIBRARY_LAG)


@check(DROPPED, about="latency")
def dropped_arrivals(evidence: TrialEvidence) -> Finding | None:
    """Open model: arrivals that found too many others waiting."""
    if evidence.open is None:
        return None
    dropped = evidence.trial.counts.dropped
    reason = message("check.dropped_arrivals.dropped", arrivals=dropped)
    return MeasuredFigure(dropped, reason)


ROUND_TRIP = Limit(
    10,
    inf,
    "%",
    "J: a server that does nothing would have nearly the same P50",
    beyond="unknown",
)


@check(ROUND_TRIP, about="latency")
def round_trip(evidence: TrialEvidence) -> Finding:
    """Check how much of the P50 a server that does nothing would also have. Never held against the trial."""
    found, p50_ns = evidence.facts.ceiling, evidence.trial.response_ns.p50
    if found is None or found.floor_p50_ns is None:
        return NotObserved(message("check.round_trip.not_measured"))
    if not p50_ns:
        return NotObserved(message("check.round_trip.no_p50"))
    measured = share(found.floor_p50_ns, p50_ns)
    if measured <= ROUND_TRIP.valid:
        return MeasuredFigure(measured)
    why = message("check.round_trip.empty", floor_us=found.floor_p50_ns / 1000, p50_us=p50_ns / 1000)
    return NotObserved(why, measured)
