"""How a check says what it found."""

from loadstone.judge.validity.limits import Limit
from loadstone.message import Message
from loadstone.record.trial import CheckResult, CheckVerdict


def within(name: str, measured: float, limit: Limit, reason: Message | None = None) -> CheckResult:
    """Valid up to `limit.valid`, suspect up to `limit.invalid`, else invalid; the crossed limit is named."""
    verdict: CheckVerdict = "valid"
    crossed = limit.valid
    if measured > limit.invalid:
        verdict, crossed = "invalid", limit.invalid
    elif measured > limit.valid:
        verdict = "suspect"
    return CheckResult(
        name=name,
        verdict=verdict,
        measured=round(measured, 6),
        limit=crossed,
        unit=limit.unit,
        reason=reason if verdict != "valid" else None,
    )


def unknown(name: str, limit: Limit, why: Message, measured: float | None = None) -> CheckResult:
    """What could not be observed: never valid, and not held against the trial."""
    return CheckResult(name=name, verdict="unknown", measured=measured, limit=limit.valid, unit=limit.unit, reason=why)


def share(part: float, whole: float) -> float:
    """`part` in per cent of `whole`; 0 of nothing is 0."""
    return 100 * part / whole if whole else 0.0
