"""Whether the parts that a trial began with are those that it ended with."""

from typing import Literal

from loadstone.judge.validity.check import Finding, Limit, Measured, Unknown, check
from loadstone.judge.validity.evidence import TrialEvidence
from loadstone.message import message
from loadstone.record.facts import PartStart

RESTARTED = Limit(0, 0, "parts", "X: a part that was started again is not the part that the trial began with")
RESTARTED_TOLERANCE_S = 2.0
"""J: a server tells its uptime in whole seconds, at both ends."""


@check(RESTARTED)
def restarted(evidence: TrialEvidence) -> Finding | None:
    """Servers and applications that were started again during the drive: their caches and counters started again."""
    found = {part: _what_became(start) for part, start in _starts(evidence).items()}
    if not found and not evidence.has_redis:
        return None
    again = sorted(part for part, what in found.items() if what == "restarted")
    others = sorted(part for part, what in found.items() if what == "another")
    if others and not again:
        return Unknown(message("check.restarted.another", parts=others))
    if not again and "same" not in found.values():
        return Unknown(message("check.restarted.not_reported"))
    return Measured(len(again), message("check.restarted.again", parts=again))


def _starts(evidence: TrialEvidence) -> dict[str, PartStart]:
    """As recorded; of a Redis whose start was not, as its counters have it."""
    starts = {
        name: PartStart(before=server.before.run_id, after=server.after.run_id)
        for name, server in evidence.facts.servers.items()
        if server.before is not None and server.after is not None
    }
    return starts | evidence.facts.starts


def _what_became(start: PartStart) -> Literal["same", "restarted", "another"] | None:
    """None: that is not known. Who began before the drive did is no new start, but another server."""
    after_s = start.uptime_after_s
    is_older = after_s is not None and after_s > start.between_s + RESTARTED_TOLERANCE_S
    if start.before and start.after:
        is_same = start.before == start.after
    elif start.uptime_before_s is None or after_s is None:
        return None
    else:
        is_same = after_s >= start.uptime_before_s + start.between_s - RESTARTED_TOLERANCE_S
    return "same" if is_same else "another" if is_older else "restarted"
