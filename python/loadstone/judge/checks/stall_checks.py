"""Whether the server answered all the time, and loadstone ran all the time.

A server that stood still is a result: the trial is used, and that is said beside it. Where it was loadstone, no figure
of that time is the server's.
"""

from collections.abc import Sequence
from math import inf

from loadstone.drivers.outcome import Stall
from loadstone.judge.checks.agents import of_agent
from loadstone.judge.checks.check import DirectVerdict, Finding, Limit, MeasuredFigure, check, share
from loadstone.judge.checks.evidence import TrialEvidence
from loadstone.run_folder.facts import StallFacts, TrialFacts
from loadstone.text.message import message

STALLS = Limit(
    0,
    inf,
    "s",
    "J: a stall is .25 s or more without any answer while requests wait; the figures remain valid",
)
OWN_STALLS = Limit(
    0,
    inf,
    "s",
    "J: that time counts in `gain` or `taken`, and the longest latencies are loadstone's",
)
OWN_STALLS_AT_A_RATE = Limit(0, 1, "% of the time", "J: what came due meanwhile is late by loadstone: so is the P99")
OWN_TIME = Limit(0.2, inf, "% of the time", "J: a fifth of what a P99 rests on")
CLOCK_SET = Limit(0.1, inf, "s", "J: only times of day in logs rest on it")
LONG = 10
"""J: of a load whose replies take long, a pause of so many typical response times is none of theirs."""


def server_stalls(facts: TrialFacts, p50_ns: float | None) -> list[StallFacts]:
    """Each time that the server answered nothing for far longer than its replies take, in their order."""
    return [stall for stall in facts.stalls if stall.length_s >= LONG * (p50_ns or 0.0) / 1e9]


def driver_stalls(facts: TrialFacts) -> list[Stall]:
    """Each time that the driver's threads did not run; of a fleet, those of any agent."""
    return [] if facts.drive is None else [stall for stall in facts.drive.stalls if stall.of == "driver"]


def stopped_share(facts: TrialFacts, stalls: Sequence[Stall] | None = None) -> float:
    """Return the share of the measured time for which loadstone was stopped; waiting for a CPU, which others had, is
    not. With `stalls` by those of one agent."""
    lost_s = 0.0
    of_driver = driver_stalls(facts) if stalls is None else [stall for stall in stalls if stall.of == "driver"]
    for stall in of_driver:
        stopped = 1 - min(1.0, stall.no_cpu_s / stall.length_s) if stall.length_s > 0 else 0.0
        lost_s += stopped * _measured_s(facts, stall.begin_s, stall.end_s)
    return _of_measured(facts, lost_s)


def stalled_share(evidence: TrialEvidence) -> float:
    """Return the share of the measured time in which the server answered nothing."""
    all_of_them = server_stalls(evidence.facts, evidence.trial.response_ns.p50)
    lost_s = sum(_measured_s(evidence.facts, stall.begin_s, stall.begin_s + stall.length_s) for stall in all_of_them)
    return _of_measured(evidence.facts, lost_s)


def _measured_s(facts: TrialFacts, begin_s: float, end_s: float) -> float:
    """Return how much of the time from `begin_s` to `end_s` was measured."""
    return sum(max(0.0, min(end_s, end) - max(begin_s, begin)) for begin, end in facts.measured_times)


def _of_measured(facts: TrialFacts, lost_s: float) -> float:
    measured_s = sum(end - begin for begin, end in facts.measured_times)
    return min(1.0, lost_s / measured_s) if measured_s > 0 else 0.0


def waited_s(evidence: TrialEvidence) -> float:
    """Seconds of all users together that went by while the server answered nothing or loadstone did not run."""
    drive = evidence.drive
    return sum(stall.waiting * stall.length_s for stall in drive.stalls)


@check(STALLS)
def stalls(evidence: TrialEvidence) -> Finding | None:
    """Whether the server answered all the time, warm-up and drain included. Client libraries do not notice that."""
    if evidence.drive.program is not None:
        return None
    of_server = server_stalls(evidence.facts, evidence.trial.response_ns.p50)
    longest = max(of_server, key=lambda stall: stall.length_s, default=None)
    if longest is None:
        return MeasuredFigure(0)
    seen = next((stall for stall in of_server if stall.state == "stopped"), longest)
    timeouts = evidence.drive.total.timeouts
    reason = message(
        "check.stalls.server",
        part=seen.part,
        state=seen.state,
        total_s=sum(stall.length_s for stall in of_server),
        times=len(of_server),
        longest_s=longest.length_s,
        begin_s=longest.begin_s,
        waiting=max(stall.waiting for stall in of_server),
        timeouts=timeouts,
    )
    return MeasuredFigure(sum(stall.length_s for stall in of_server), reason)


@check(OWN_STALLS)
def own_stalls(evidence: TrialEvidence) -> Finding | None:
    """Whether loadstone's threads ran all the time. Of a load at a rate what came due meanwhile was late by that."""
    if evidence.drive.program is not None:
        return None
    of_driver = driver_stalls(evidence.facts)
    joined = evidence.drive.joined_intervals
    if joined and not of_driver:
        return DirectVerdict("valid", 0, OWN_STALLS.valid, message("check.own_stalls.joined", joined=joined))
    total_s = sum(stall.length_s for stall in of_driver)
    no_cpu_s = sum(stall.no_cpu_s for stall in of_driver)
    waiting = max((stall.waiting for stall in of_driver), default=0)
    stopped = [agent.name for agent in evidence.drive.agents if any(one.of == "driver" for one in agent.stalls)]
    reason = message(
        "check.own_stalls.driver",
        total_s=total_s,
        no_cpu_s=no_cpu_s,
        times=len(of_driver),
        waiting=waiting,
        **({"agents": stopped} if stopped else {}),
    )
    if evidence.open is not None and total_s:
        lost_s = sum(_measured_s(evidence.facts, stall.begin_s, stall.end_s) for stall in of_driver)
        lost = share(lost_s, evidence.drive.measure_s)
        return MeasuredFigure(max(lost, 1e-6), reason, limit=OWN_STALLS_AT_A_RATE)
    return MeasuredFigure(total_s, reason)


@check(OWN_TIME, about="latency")
def own_time(evidence: TrialEvidence) -> Finding | None:
    """For which share of the time loadstone's own threads ran on the servers' CPUs, the generator's not counted.

    What they may have made late is in the bound of each latency (`run_folder.delayed`), and in that of `taken`.
    """
    own = evidence.facts.lab_share
    if own is None:
        return None
    waits = [part.wait_share for part in evidence.server_parts.values() if part.wait_share is not None]
    if not waits:
        return MeasuredFigure(100 * own, message("check.own_time.ran", percent=100 * own))
    waited = max(waits)
    explained = min(own, waited)
    return MeasuredFigure(
        100 * own, message("check.own_time.waited", percent=100 * own, waited=100 * waited, of=100 * explained)
    )


@check(CLOCK_SET, information=True)
def clock_set(evidence: TrialEvidence) -> Finding | None:
    """For information: whether the wall clock was set, or the machine slept. No figure rests on that clock."""
    moved_s = evidence.drive.clock_set_s
    # What a clock is slewed by is no step: at most 500 millionths of the time.
    if abs(moved_s) <= CLOCK_SET.valid + evidence.driven_s / 1000:
        return None
    reason = message("check.clock_set.moved", moved_s=moved_s)
    whose = next((agent.name for agent in evidence.drive.agents if agent.clock_set_s == moved_s), None)
    return DirectVerdict(
        "valid", round(moved_s, 3), CLOCK_SET.valid, reason if whose is None else of_agent(whose, reason)
    )
