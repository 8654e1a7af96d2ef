"""Whether the limits of servers and subjects that the experiment requests were in force."""

from math import inf

from loadstone.judge.validity.check import Finding, Limit, Measured, Unknown, check
from loadstone.judge.validity.evidence import TrialEvidence
from loadstone.message import message

LIMITS = Limit(0, inf, "limits", "J: a part without its limit is another condition")


@check(LIMITS)
def limits(evidence: TrialEvidence) -> Finding | None:
    """CPU and memory limits that servers and subjects were to have, and that are not in force."""
    facts = evidence.facts
    parts = {**facts.limits, **{name: subject.limits for name, subject in facts.subjects.items()}}
    found = [(part, name, limit) for part, limits_of_it in parts.items() for name, limit in limits_of_it.items()]
    if not found:
        return None
    missing = [
        message("check.limits.of_one", part=part, limit=name, status=limit.status, why=limit.why)
        for part, name, limit in found
        if limit.status in ("unavailable", "unlimited")
    ]
    if missing:
        return Measured(len(missing), message("check.limits.missing", limits=missing))
    silent = [
        message("check.limits.of_one", part=part, limit=name)
        for part, name, limit in found
        if limit.status == "unknown"
    ]
    if silent:
        return Unknown(message("check.limits.not_reported", limits=silent))
    return Measured(0)
