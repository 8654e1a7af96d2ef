"""Whether servers and applications did what they had to: what was stored, with which settings."""

from math import inf

from loadstone.judge.validity.check import Finding, Judged, Limit, Measured, Unknown, check, share
from loadstone.judge.validity.evidence import TrialEvidence
from loadstone.message import Message, message
from loadstone.record.facts import StoredFacts

STORED_ROWS = Limit(0, 0, "rows", "X: rows are counted, not keys, by the experiment's own query")
SETTINGS = Limit(0, 0, "settings", "X: a server with other settings is another condition")
SUBJECT_THROTTLED = Limit(5, inf, "%", "J: from 10 % on the application is called the limit")


@check(STORED_ROWS)
def stored_rows(evidence: TrialEvidence) -> Finding | None:
    """Rows or entities that a server has more, against the operations that were answered as stored.

    Failed and unanswered operations may have been stored or not.
    """
    counts = evidence.facts.stored
    if not counts:
        return None
    uncounted = sorted({count.server for count in counts if _grown(count) is None})
    if uncounted:
        return Unknown(message("check.stored_rows.not_counted", servers=uncounted))
    astray = [(off, count) for count in counts if (off := _off(count))]
    measured = sum(abs(off) for off, _ in astray)
    rows = [_astray(off, count) for off, count in astray]
    if measured and not evidence.ours:
        return Unknown(message("check.stored_rows.not_ours", rows=rows), measured)
    keys = [_other_keys(count) for count in counts if _has_other_keys(count)]
    if keys and not measured:
        return Judged("valid", measured, STORED_ROWS.valid, message("check.stored_rows.astray", rows=keys))
    return Measured(measured, message("check.stored_rows.astray", rows=rows))


def _grown(count: StoredFacts) -> int | None:
    return None if count.before is None or count.after is None else count.after - count.before


def _off(count: StoredFacts) -> int:
    """How far the growth lies outside of what the operations can have stored; negative: too few."""
    grown = _grown(count) or 0
    return min(0, grown - count.answered) + max(0, grown - count.answered - count.unknown)


def _astray(off: int, count: StoredFacts) -> Message:
    return message(
        "check.stored_rows.of_one",
        server=count.server,
        grown=_grown(count) or 0,
        answered=count.answered,
        operation=count.operation,
        perhaps=count.unknown,
        too_few=off < 0,
    )


def _has_other_keys(count: StoredFacts) -> bool:
    keys = _grown_keys(count)
    return keys is not None and keys != _grown(count)


def _grown_keys(count: StoredFacts) -> int | None:
    return None if count.keys_before is None or count.keys_after is None else count.keys_after - count.keys_before


def _other_keys(count: StoredFacts) -> Message:
    return message("check.stored_rows.keys", server=count.server, rows=_grown(count), keys=_grown_keys(count))


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
        return Unknown(message("check.settings.not_reported", servers=silent))
    reason = message("check.settings.mismatched", settings=mismatched)
    return Measured(len(mismatched), reason)


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
    return Measured(throttled[name], message("check.subject_throttled.limit", subject=name, percent=throttled[name]))
