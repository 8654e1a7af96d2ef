"""Whether the limits of servers and subjects that the experiment asks for were in force."""

from loadstone.judge.validity.evidence import TrialEvidence
from loadstone.judge.validity.limits import LIMITS
from loadstone.judge.validity.result import unknown, within
from loadstone.record.facts import UNAVAILABLE, UNKNOWN
from loadstone.record.trial import CheckResult


def limits(evidence: TrialEvidence) -> CheckResult | None:
    """CPU and memory limits that servers and subjects were to have, and that are not in force."""
    facts = evidence.facts
    told = {
        f"{name} of {part}": text
        for part, values in (*facts.limits.items(), *((name, s.limits) for name, s in facts.subjects.items()))
        for name, text in values.items()
    }
    if not told:
        return None
    missing = {what: text for what, text in told.items() if text.startswith((UNAVAILABLE, "inf"))}
    untold = [what for what, text in told.items() if text.startswith(UNKNOWN)]
    if untold and not missing:
        return unknown("limits", LIMITS, f"Nobody tells whether it is in force: {', '.join(untold)}.")
    words = "; ".join(f"{what} ({text})" for what, text in missing.items())
    return within("limits", len(missing), LIMITS, f"Not in force: {words}. The figure is without it.")
