"""Whether the load was the one that was planned."""

import math
from dataclasses import replace
from math import inf

import numpy as np

from loadstone.drivers.histogram import measurable, rank_of
from loadstone.experiment.plan.drive_plan import Pool
from loadstone.judge.checks.check import DirectVerdict, Finding, Limit, MeasuredFigure, NotObserved, check, share
from loadstone.judge.checks.evidence import TrialEvidence
from loadstone.judge.checks.stall_checks import server_stalls, waited_s
from loadstone.judge.statistics.warm_up_end import mser5_cut
from loadstone.run_folder.facts import SeriesPoint
from loadstone.run_folder.trial import CheckVerdict
from loadstone.text.message import Message, message

LITTLE_TOLERANCE = 0.01
"""S: |1 - X R / N| may be so much, and the edges of the window beside it, R / T at least."""
LITTLE = Limit(0.95, 0.80, "", "S: below .95 time of the users is missing, below .8 the generator is the limit")
POOL_WAIT = Limit(10, inf, "%", "J: valid where the plan makes users share connections")
CONNECTIONS = Limit(
    1,
    10,
    "%",
    "J: intervals without the planned connections; a lost connection is suspect, a missing local port invalid",
)
RECONNECTS = Limit(0, inf, "connections", "J: a connection that was lost had to be made again within the measurement")
BEYOND_THE_POOL = Limit(0, 0, "connections", "X: a driver with more connections than its pool drives another load")
CLOSING_SHARE = 0.1
"""J: of a pool that closes connections and opens others; beyond a tenth it is another experiment."""
LOCAL_PORTS = Limit(0, 0, "connections", "X: waiting for a local port of the generator is not the server's time")
WARM_UP = Limit(10, inf, "%", "S: beyond noise, from the first third of 10 s or more to the last")
WARM_UP_SHORTEST_S = 10.0
"""J: in a shorter measure phase a change is the machine's noise as often as a warm-up."""
WARM_UP_NOISE = 2
"""J: a change within so many standard errors is the machine's noise, not a trend."""
WARM_UP_CORRELATION = 0.6
"""S: correlation of neighbouring intervals in the noise model."""
WARM_UP_INTERVALS = 6
"""Fewer intervals than that cannot show a trend."""
SAMPLES = Limit(
    100,
    0,
    "operations",
    "J: each quantile needs 100 operations beyond it",
    beyond="unknown; invalid without a correct reply",
)


@check(None, less_is_worse=True)
def finished(evidence: TrialEvidence) -> Finding:
    """Whether the trial ran to its planned end."""
    why = evidence.facts.failure or evidence.drive.stopped
    reason = message("check.finished.early", why=why) if why else None
    return DirectVerdict("invalid" if why else "valid", evidence.drive.measure_s, limit=None, reason=reason, unit="s")


@check(SAMPLES, less_is_worse=True, about="latency")
def samples(evidence: TrialEvidence) -> Finding:
    """Whether enough operations were measured for every quantile that is printed.

    A server that stood still all the time did nothing, and that is its figure.
    """
    operations = evidence.trial.counts.offered
    beyond = operations - rank_of(999, operations)
    verdict: CheckVerdict = "valid"
    reason: Message | None = None
    if not evidence.trial.counts.ok and server_stalls(evidence.facts, None):
        verdict, reason = "suspect", message("check.no_correct_reply")
    elif not evidence.trial.counts.ok:
        verdict, reason = "invalid", message("check.no_correct_reply")
    elif not measurable(999, operations):
        known = [name for name, rank in (("P50", 500), ("P95", 950), ("P99", 990)) if measurable(rank, operations)]
        verdict = "unknown"
        reason = message("check.samples.few", operations=operations, highest=known[-1] if known else None)
    return DirectVerdict(verdict, beyond, SAMPLES.valid, reason)


@check(LITTLE, less_is_worse=True)
def little(evidence: TrialEvidence) -> Finding | None:
    """Closed model: the users' time that is accounted for, X R / N, which is 1 by Little's law.

    R holds the waiting for a connection, and the think time is added to it. At the edges of the window operations
    are cut: what is in progress at a moment still lasts E[R^2] / 2 E[R] (the mean residual life of renewal theory:
    D. R. Cox, 'Renewal Theory', 1962, section 5.2), so much of T may be missing or too much. In slices that happens
    at the edges of each: a long one is followed to its end, and none is in progress where a slice begins, so that much
    more may be too much than by chance is missing.

    What waited while the server or loadstone stood still lies beside the window, or is missing in it: `stalls` and
    `own_stalls` say so.

    Users whose operations began before the phase were busy in it. Where their time makes up for what is missing, the
    rate is that of all users, and the latencies alone are too small: suspect.
    """
    closed, drive, plan = evidence.closed, evidence.drive, evidence.plan
    if closed is None:
        return None
    ended = sum(o.counts.ok + sum(o.counts.errors.values()) + o.counts.timeouts for o in drive.operations.values())
    if not ended or drive.measure_s <= 0:
        return NotObserved(message("check.little.nothing_ended"))
    if plan.pipeline_depth > 1:
        return NotObserved(message("check.little.pipeline"))
    if closed.operations_per_user is not None:
        return NotObserved(message("check.little.users_stop"))
    response_s = sum(o.response_sum_ns for o in drive.operations.values()) / 1e9
    think_s = ended * closed.think_time_ms / 1e3
    ratio = (response_s + think_s) / (closed.users * drive.measure_s)
    away = abs(1 - ratio)
    slices = max(1, len(drive.slices))
    of_one = (
        (response_s + think_s) / ended / drive.measure_s * max(1.0, (evidence.facts.response_dispersion or 0.0) / 2)
    )
    edges = of_one * (slices if ratio > 1 else math.sqrt(slices))
    verdict: CheckVerdict = "valid"
    if away > max(1 - LITTLE.invalid, LITTLE_TOLERANCE + edges):
        verdict = "invalid"
    elif away > max(1 - LITTLE.valid, LITTLE_TOLERANCE + edges):
        verdict = "suspect"
    stood_still = waited_s(evidence) / (closed.users * drive.measure_s)
    if verdict != "valid" and away <= LITTLE_TOLERANCE + edges + stood_still:
        reason = message("check.little.stood_still", ratio=ratio)
        return DirectVerdict("valid", ratio, None, reason)
    earlier = sum(o.earlier_ns for o in drive.operations.values()) / 1e9 / (closed.users * drive.measure_s)
    waited = ratio < 1 and earlier >= (1 - ratio) / 2
    # What began in a slice is followed beyond it: so much more than all users' time may be accounted for.
    most = 1 - LITTLE.invalid
    if waited and verdict == "invalid" and -most - of_one * slices <= 1 - ratio - earlier <= most:
        verdict = "suspect"
    mean_s = closed.users * drive.measure_s / ended - closed.think_time_ms / 1e3
    if verdict == "valid":
        return DirectVerdict(verdict, ratio, LITTLE.valid)
    crossed = LITTLE.invalid if verdict == "invalid" else LITTLE.valid
    return DirectVerdict(verdict, ratio, crossed, _missing(ratio, earlier if waited else None, mean_s))


def _missing(ratio: float, earlier: float | None, mean_s: float) -> Message:
    """Where users were of whose time only `ratio` is accounted for; `earlier` went to what began before the phase.

    `mean_s`: the response time of all of them, by Little's law.
    """
    if ratio > 1:
        return message("check.little.went_on", ratio=ratio)
    if earlier is None:
        return message("check.little.idle_users", ratio=ratio)
    return message("check.little.begun_earlier", ratio=ratio, earlier=earlier, mean_s=mean_s)


@check(POOL_WAIT, about="latency")
def pool_wait(evidence: TrialEvidence) -> Finding:
    """Time spent waiting for a connection, as a share of the response time.

    Users who are planned to share fewer connections, and pools that are compared with each other, wait by design: that
    is the condition, and for information. Elsewhere no one required it: users with a connection each who wait for one,
    or arrivals at a rate that the pool is too small for.
    """
    means = [(o.response_ns.mean, o.response_ns.count) for o in evidence.drive.operations.values()]
    replies = sum(count for _, count in means)
    program = evidence.drive.program
    if program is not None and not program.reports_pool_wait:
        return NotObserved(message("check.pool_wait.not_reported", library=program.library))
    if not replies:
        return NotObserved(message("check.no_correct_reply"))
    response_ns = sum(mean * count for mean, count in means) / replies
    measured = share(evidence.queued_ns, response_ns)
    connections, users = evidence.plan.pool.connections, evidence.closed.users if evidence.closed else None
    sizes = {"percent": measured, "connections": connections, "users": users}
    if measured > POOL_WAIT.valid and ("pool" in evidence.facts.studied or (users is not None and connections < users)):
        return DirectVerdict("valid", measured, None, message("check.pool_wait.planned", **sizes))
    return MeasuredFigure(measured, message("check.pool_wait.bound", **sizes))


@check(CONNECTIONS)
def connections(evidence: TrialEvidence) -> Finding:
    """Whether the planned number of connections was there, without a reconnect."""
    found, plan = evidence.drive.connections, evidence.plan.pool
    if found.no_local_port:
        reason = message("check.connections.no_port", connections=found.no_local_port, ports=_ports(evidence))
        return MeasuredFigure(found.no_local_port, reason, limit=LOCAL_PORTS)
    if (extra := _beyond_the_pool(evidence)) is not None:
        return extra
    broken = found.lost + found.failed
    if broken:
        reason = message("check.connections.broken", lost=found.lost, failed=found.failed)
        return MeasuredFigure(broken, reason, limit=RECONNECTS)
    if not _is_fixed(plan):
        return MeasuredFigure(0, limit=RECONNECTS)
    series = evidence.facts.series
    if not series:
        return NotObserved(message("check.connections.too_short"))
    without = sum(point.connections != plan.connections for point in series)
    reason = message("check.connections.missing", intervals=without, of=len(series), planned=plan.connections)
    return MeasuredFigure(share(without, len(series)), reason)


def _beyond_the_pool(evidence: TrialEvidence) -> Finding | None:
    """A program that had more connections open than its pool has, as its servers counted them; None where none did.

    Those that were open before are not its own, nor is one of each server's, its monitor's, which may come later. On
    servers that others use, too, they may be theirs: suspect at most.
    """
    if evidence.drive.program is None or not evidence.targets:
        return None
    before, most = 0.0, 0.0
    for name, server in evidence.targets.items():
        metric = evidence.kind_of(name).connections
        figures = evidence.facts.seen.get(name, {})
        if server.before is None or metric is None or metric not in figures:
            return None
        before += server.before.counters.get(metric, 0.0)
        most += figures[metric].max
    planned = evidence.plan.pool.connections
    beyond = int(most - before) - planned - len(evidence.targets)
    if beyond <= 0:
        return None
    reason = message("check.connections.beyond", connections=planned + beyond, planned=planned)
    return MeasuredFigure(beyond, reason, limit=_beyond_limit(evidence))


def _beyond_limit(evidence: TrialEvidence) -> Limit:
    """Return the limit of connections beyond the pool. If a pool closes connections and opens others meanwhile, a
    server still counts some that were closed."""
    pool = evidence.plan.pool
    let_pass = BEYOND_THE_POOL.invalid if _is_fixed(pool) else CLOSING_SHARE * pool.connections
    return replace(BEYOND_THE_POOL, invalid=let_pass if evidence.ours else inf)


def _is_fixed(pool: Pool) -> bool:
    """Whether all connections of a pool are open all the time."""
    return pool.max_idle is None and (pool.min_idle is None or pool.min_idle >= pool.connections)


def _ports(evidence: TrialEvidence) -> Message | None:
    """Return a message that says how many ports there are, and what had them; None where that is not known."""
    ports = evidence.facts.ports
    return None if ports is None else message("check.connections.ports", **ports.model_dump())


@check(WARM_UP)
def warm_up(evidence: TrialEvidence) -> Finding | None:
    """Whether the rate had settled: first third against last third, and where MSER-5 would cut. At most suspect.

    Of a short phase it says nothing: there the trend over all trials of a condition does (`judge.compare.warming_up`).
    """
    if evidence.open is not None and len({step.rate_per_s for step in evidence.open.schedule}) > 1:
        return None
    if evidence.closed is not None and evidence.closed.operations_per_user is not None:
        return NotObserved(message("check.warm_up.users_stop"))
    rates = _rates(evidence.facts.series, evidence.plan.interval_s)
    if evidence.drive.measure_s < WARM_UP_SHORTEST_S or len(rates) < WARM_UP_INTERVALS:
        return NotObserved(message("check.warm_up.too_short", measured_s=evidence.drive.measure_s))
    third = len(rates) // 3
    first, last = float(np.mean(rates[:third])), float(np.mean(rates[-third:]))
    mean = float(np.mean(rates))
    if mean <= 0:
        return NotObserved(message("check.warm_up.no_rate"))
    measured = share(abs(first - last), mean)
    noise = share(_noise_of_a_difference(rates, third), mean)
    cut = mser5_cut(rates)
    if measured <= WARM_UP.valid and cut is not None and not cut.settled:
        reason = message("check.warm_up.late", intervals=cut.observations, of=len(rates))
        return DirectVerdict("suspect", measured, WARM_UP.valid, reason)
    reason = message("check.warm_up.changed", first=first, last=last)
    return MeasuredFigure(measured, reason, limit=replace(WARM_UP, valid=max(WARM_UP.valid, WARM_UP_NOISE * noise)))


def _noise_of_a_difference(rates: list[float], third: int) -> float:
    """Standard error of the difference of two thirds' means, from what is left of the second and the last third
    beside a straight line.

    (The first may hold a start-up that is no line. Without taking the line away a trend would pass for noise, and
    hide itself.) For a series whose neighbours correlate by rho the variance of a mean is (1 + rho) / (1 - rho)
    times that of independent values (Bayley and Hammersley 1946).
    """
    later = np.array(rates[third:])
    moments = np.arange(len(later))
    left = later - np.polyval(np.polyfit(moments, later, 1), moments)
    variance = float(np.sum(left**2)) / (len(later) - 2)
    rho = WARM_UP_CORRELATION
    return math.sqrt(2 * variance / third * (1 + rho) / (1 - rho))


def _rates(series: tuple[SeriesPoint, ...], interval_s: float) -> list[float]:
    """Completions a second of the whole intervals; a cut one at the end of the phase is left out."""
    return [point.completed / point.duration_s for point in series if point.duration_s > interval_s / 2]
