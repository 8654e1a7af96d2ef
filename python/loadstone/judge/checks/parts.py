"""Whether servers and applications were those that the experiment requests: settings, limits, no new start."""

from math import inf
from typing import Literal

from loadstone.judge.checks.check import Finding, Limit, MeasuredFigure, NotObserved, check, share
from loadstone.judge.checks.evidence import TrialEvidence
from loadstone.run_folder.facts import PartStart
from loadstone.text.message import message

SETTINGS = Limit(0, 0, "settings", "X: a server with other settings is another condition")
SUBJECT_THROTTLED = Limit(5, inf, "%", "J: from 10 % on the application is called the limit")


@check(SETTINGS)
def settings(evidence: TrialEvidence) -> Finding | None:
    """Settings that the experiment gives a server and that it does not have, as read back right before the trial."""
    facts = evidence.facts
    mismatched = [
        message(
            "check.settings.of_one",
            setting=name,
            server=server,
            observed=facts.settings.get(server, {}).get(name),
            requested=requested,
        )
        for server, settings_of_it in sorted(facts.unlike.items())
        for name, requested in sorted(settings_of_it.items())
    ]
    if not mismatched and not facts.settings:
        return None
    silent = sorted(name for name, reported in facts.settings.items() if not reported and name not in facts.unlike)
    if silent and not mismatched:
        return NotObserved(message("check.settings.not_reported", servers=silent))
    reason = message("check.settings.mismatched", settings=mismatched)
    return MeasuredFigure(len(mismatched), reason)


@check(SUBJECT_THROTTLED, information=True)
def subject_throttled(evidence: TrialEvidence) -> Finding | None:
    """Information: how long its CPU limit throttled a subject, as a share of the drive. Never held against a trial."""
    driven_s = evidence.driven_s
    throttled = {
        name: share(subject.throttled_s, driven_s * max(1, subject.replicas))
        for name, subject in evidence.facts.subjects.items()
        if subject.throttled_s is not None
    }
    if not throttled or driven_s <= 0:
        return None
    name = max(throttled, key=lambda name: throttled[name])
    return MeasuredFigure(
        throttled[name], message("check.subject_throttled.limit", subject=name, percent=throttled[name])
    )


LIMITS = Limit(0, inf, "limits", "J: a part without its limit is another condition")


@check(LIMITS)
def limits(evidence: TrialEvidence) -> Finding | None:
    """CPU and memory limits that servers and subjects were to have, and that are not in force."""
    facts = evidence.facts
    parts = {**facts.limits, **{name: subject.limits for name, subject in facts.subjects.items()}}
    required = [(part, name, limit) for part, limits_of_it in parts.items() for name, limit in limits_of_it.items()]
    if not required:
        return None
    missing = [
        message("check.limits.of_one", part=part, limit=name, status=limit.status, why=limit.why)
        for part, name, limit in required
        if limit.status in ("unavailable", "unlimited")
    ]
    if missing:
        return MeasuredFigure(len(missing), message("check.limits.missing", limits=missing))
    silent = [
        message("check.limits.of_one", part=part, limit=name)
        for part, name, limit in required
        if limit.status == "unknown"
    ]
    if silent:
        return NotObserved(message("check.limits.not_reported", limits=silent))
    return MeasuredFigure(0)


RESTARTED = Limit(0, 0, "parts", "X: a part that was started again is not the part that the trial began with")
RESTARTED_TOLERANCE_S = 2.0
"""J: a server tells its uptime in whole seconds, at both ends."""


@check(RESTARTED)
def restarted(evidence: TrialEvidence) -> Finding | None:
    """Servers and applications that were started again during the drive: their caches and counters started again."""
    became = {part: _what_became(start) for part, start in _starts(evidence).items()}
    if not became and not evidence.has_redis:
        return None
    again = sorted(part for part, what in became.items() if what == "restarted")
    others = sorted(part for part, what in became.items() if what == "another")
    if others and not again:
        return NotObserved(message("check.restarted.another", parts=others))
    if not again and "same" not in became.values():
        return NotObserved(message("check.restarted.not_reported"))
    return MeasuredFigure(len(again), message("check.restarted.again", parts=again))


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
