"""Whether the lines to servers added what they were to add, and what a rate may have lost to those that added more."""

from dataclasses import dataclass
from math import inf

from loadstone.judge.checks.check import DirectVerdict, Finding, Limit, MeasuredFigure, NotObserved, check, share
from loadstone.judge.checks.evidence import TrialEvidence
from loadstone.judge.verdict import UNBOUNDED
from loadstone.run_folder.facts import LinkFacts
from loadstone.text.message import message

LINK_DELAY = Limit(5, inf, "%", "J: half of the 10 % margin of a latency")
LINK_BUSY = Limit(90, inf, "%", "J: a saturated line queues requests")


@check(LINK_DELAY)
def link_delay(evidence: TrialEvidence) -> Finding | None:
    """Check how far what a line added to a round trip is from what was required."""
    lines = {name: link for name, link in evidence.facts.links.items() if link.requested_ns}
    if not lines:
        return None
    off = {name: _off_percent(link) for name, link in lines.items()}
    if missing := sorted(name for name, percent in off.items() if percent is None):
        return NotObserved(message("check.link_delay.not_measured", servers=missing))
    percent, name = max((percent, name) for name, percent in off.items() if percent is not None)
    value_ns, low_ns, high_ns = lines[name].added_in_drive_ns or (0.0, 0.0, 0.0)
    reason = message(
        "check.link_delay.off",
        server=name,
        requested_ns=lines[name].requested_ns,
        value_ns=value_ns,
        low_ns=low_ns,
        high_ns=high_ns,
    )
    return MeasuredFigure(percent, reason)


@check(LINK_BUSY)
def link_busy(evidence: TrialEvidence) -> Finding | None:
    """Check how busy a line was: the share of the time for which it ran or waited for a CPU.

    What waits in front of one that is saturated is in its own record of how late it was, so the delay is known all the
    same. Where it is not, there is no bound: without that record, and where an application sends several requests at a
    time over one connection, of which the line knows the last alone.
    """
    if not evidence.facts.links:
        return None
    busy = busy_lines(evidence)
    if not busy:
        servers = sorted(evidence.facts.links)
        return NotObserved(message("check.link_busy.not_observed", servers=servers))
    most, name = max((share_of_time, name) for name, share_of_time in busy.items())
    added = evidence.facts.links[name].added_in_drive_ns
    if 100 * most > LINK_BUSY.valid and (added is None or evidence.http):
        return DirectVerdict(
            "invalid", 100 * most, LINK_BUSY.valid, message("check.link_busy.not_bounded", server=name, busy=most)
        )
    value_ns, _, high_ns = added or (0.0, 0.0, 0.0)
    reason = message("check.link_busy.full", server=name, busy=most, value_ns=value_ns, high_ns=high_ns)
    return MeasuredFigure(100 * most, reason)


def lost_to_links(evidence: TrialEvidence) -> float:
    """Return by what share the rate would rise at most had each line added no more than was required (closed model).

    N users whose cycle of N / X would be shorter by what the lines added to it in excess.
    """
    closed, drive = evidence.closed, evidence.drive
    sent, completed = drive.total.sent, evidence.completed
    if closed is None or not sent or not completed or drive.measure_s <= 0:
        return 0.0
    excess_ns = 0.0
    for link in evidence.facts.links.values():
        high_ns = link.excess_ns[2] if link.excess_ns is not None else 0.0
        excess_ns += max(0.0, high_ns) * link.pieces / 2 / sent
    cycle_ns = 1e9 * closed.users * evidence.plan.pipeline_depth * drive.measure_s / completed
    return min(UNBOUNDED, excess_ns / (cycle_ns - excess_ns)) if excess_ns < cycle_ns else UNBOUNDED


def busy_lines(evidence: TrialEvidence) -> dict[str, float]:
    """Server -> how busy the line to it was, as a share of the time; without those of which nothing is known."""
    busy = {name: _busy(evidence, link) for name, link in evidence.facts.links.items()}
    return {name: share_of_time for name, share_of_time in busy.items() if share_of_time is not None}


@dataclass(frozen=True)
class LineUse:
    """What one line did for the requests of a trial."""

    busy: float | None
    """Share of the time for which its narrow place was passed, or its thread ran or waited: whichever is more."""
    ran: float | None
    """Share without waiting: others had that CPU."""
    delay_ns: float
    """What it added to each round trip, without waiting for its narrow place."""
    trips: float
    """Round trips through it that one request waits for, one after the other."""


def lines_of(evidence: TrialEvidence) -> dict[str, LineUse]:
    """Server -> what the line to it did."""
    uses = {}
    for name, link in evidence.facts.links.items():
        busy, narrow, part = _busy(evidence, link), _narrow(evidence, link), evidence.facts.parts.get(link.part)
        ran = busy if part is None else part.mean_share
        uses[name] = LineUse(_more(busy, narrow), _more(ran, narrow), _delay_ns(link), _trips(evidence, name, link))
    return uses


def _more(*shares: float | None) -> float | None:
    return max((share_of_time for share_of_time in shares if share_of_time is not None), default=None)


def _narrow(evidence: TrialEvidence, link: LinkFacts) -> float | None:
    """For how much of the time the fuller way of a line with a bandwidth passed bytes; None without one.

    A line carries the bytes of all drives that take turns, in every phase: their mean a request stands for each.
    """
    requests, measured_s = _requests(evidence), evidence.trial.duration_s
    if not link.bits_per_s or link.carried_bytes is None or not requests or not measured_s:
        return None
    passing_s = 8 * max(link.carried_bytes) / requests / link.bits_per_s
    return min(1.0, passing_s * evidence.completed / measured_s)


def _delay_ns(link: LinkFacts) -> float:
    """What it was to add, and by how much its thread was later than that on average."""
    if link.bits_per_s or link.added_in_drive_ns is None:
        return float(link.requested_ns)
    return max(0.0, link.added_in_drive_ns[0])


def _requests(evidence: TrialEvidence) -> float:
    """Requests of all drives that shared the servers."""
    own = sum(record.sent for record in evidence.drive.commands.values())
    everyone = sum(record.sent for record in evidence.commands.values())
    return evidence.drive.total.sent * (everyone / own if own else 1.0)


def _trips(evidence: TrialEvidence, server: str, link: LinkFacts) -> float:
    """One where the load is for that server; behind an application the commands that a request made of it, or what
    came through the line, where the server does not count."""
    if not evidence.http:
        return 1.0 if evidence.facts.target in (None, server) else 0.0
    requests, sides = _requests(evidence), evidence.facts.servers.get(server)
    if not requests:
        return 0.0
    if sides is None or sides.before is None or sides.after is None:
        return link.pieces / 2 / requests
    commands = sum(sides.after.calls.values()) - sum(sides.before.calls.values())
    return max(0.0, commands) / requests


def _off_percent(link: LinkFacts) -> float | None:
    excess = link.excess_ns
    return None if excess is None else share(abs(excess[0]), link.requested_ns)


def _busy(evidence: TrialEvidence, link: LinkFacts) -> float | None:
    """Return the busy share by its own record and by its CPU in the measure phase, whichever is more."""
    part = evidence.facts.parts.get(link.part)
    known = [link.busy_share, None if part is None else part.mean_share]
    return max((one for one in known if one is not None), default=None)
