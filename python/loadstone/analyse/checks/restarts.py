"""Whether the parts that a trial began with are those that it ended with."""

from loadstone.analyse import limits
from loadstone.analyse.checks.result import unknown, within
from loadstone.analyse.evidence import TrialEvidence
from loadstone.record.facts import PartStart
from loadstone.record.trial import CheckResult


def restarted(evidence: TrialEvidence) -> CheckResult | None:
    """Servers and applications that were started again during the drive: their caches and counters began anew."""
    found = {part: _again(start) for part, start in _starts(evidence).items()}
    if not found and not evidence.has_redis:
        return None
    again = sorted(part for part, is_so in found.items() if is_so)
    if not again and not any(is_so is False for is_so in found.values()):
        return unknown("restarted", limits.RESTARTED, "No part tells since when it has been running.")
    was = "was" if len(again) == 1 else "were"
    reason = f"{', '.join(again)} {was} restarted during the trial: caches, connections and counters began anew."
    return within("restarted", len(again), limits.RESTARTED, reason)


def _starts(evidence: TrialEvidence) -> dict[str, PartStart]:
    """As recorded; of a Redis whose start was not, as its counters have it."""
    starts = {
        name: PartStart(before=server.before.run_id, after=server.after.run_id)
        for name, server in evidence.facts.servers.items()
        if server.before is not None and server.after is not None
    }
    return starts | evidence.facts.starts


def _again(start: PartStart) -> bool | None:
    """Whether it was started again; None: that is not known."""
    if start.before and start.after:
        return start.before != start.after
    if start.uptime_before_s is None or start.uptime_after_s is None:
        return None
    expected_s = start.uptime_before_s + start.between_s
    return start.uptime_after_s < expected_s - limits.RESTARTED_TOLERANCE_S
