"""Whether servers and applications did what they had to: what was stored, with which settings."""

from math import inf

from loadstone.judge.validity.check import check
from loadstone.judge.validity.evidence import TrialEvidence
from loadstone.judge.validity.limits import Limit
from loadstone.judge.validity.result import share, unknown, within
from loadstone.message import Message, message
from loadstone.record.facts import StoredFacts
from loadstone.record.trial import CheckResult

STORED_ROWS = Limit(0, 0, "rows", "X: rows are counted, not keys, by the experiment's own query")
SETTINGS = Limit(0, 0, "settings", "X: a server with other settings is another condition")
SUBJECT_THROTTLED = Limit(5, inf, "%", "J: from 10 % on the application is called the limit")


@check(STORED_ROWS)
def stored_rows(evidence: TrialEvidence) -> CheckResult | None:
    """Rows or entities that a server has more, against the operations that were answered as stored.

    Failed and unanswered operations may have been stored or not.
    """
    found, limit = evidence.facts.stored, STORED_ROWS
    if not found:
        return None
    uncounted = sorted({one.server for one in found if _grown(one) is None})
    if uncounted:
        return unknown("stored_rows", limit, message("check.stored_rows.not_counted", servers=uncounted))
    astray = [(off, one) for one in found if (off := _off(one))]
    measured = sum(abs(off) for off, _ in astray)
    rows = [_astray(off, one) for off, one in astray]
    if measured and not evidence.ours:
        return unknown("stored_rows", limit, message("check.stored_rows.not_ours", rows=rows), measured)
    result = within("stored_rows", measured, limit, message("check.stored_rows.astray", rows=rows))
    keys = [_other_keys(one) for one in found if _has_other_keys(one)]
    if measured or not keys:
        return result
    return result.model_copy(update={"reason": message("check.stored_rows.astray", rows=keys)})


def _grown(one: StoredFacts) -> int | None:
    return None if one.before is None or one.after is None else one.after - one.before


def _off(one: StoredFacts) -> int:
    """How far the growth lies outside of what the operations can have stored; negative: too few."""
    grown = _grown(one) or 0
    return min(0, grown - one.answered) + max(0, grown - one.answered - one.unknown)


def _astray(off: int, one: StoredFacts) -> Message:
    return message(
        "check.stored_rows.of_one",
        server=one.server,
        grown=_grown(one) or 0,
        answered=one.answered,
        operation=one.operation,
        perhaps=one.unknown,
        too_few=off < 0,
    )


def _has_other_keys(one: StoredFacts) -> bool:
    keys = _grown_keys(one)
    return keys is not None and keys != _grown(one)


def _grown_keys(one: StoredFacts) -> int | None:
    return None if one.keys_before is None or one.keys_after is None else one.keys_after - one.keys_before


def _other_keys(one: StoredFacts) -> Message:
    return message("check.stored_rows.keys", server=one.server, rows=_grown(one), keys=_grown_keys(one))


@check(SETTINGS)
def settings(evidence: TrialEvidence) -> CheckResult | None:
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
        return unknown("settings", SETTINGS, message("check.settings.not_reported", servers=silent))
    reason = message("check.settings.mismatched", settings=mismatched)
    return within("settings", len(mismatched), SETTINGS, reason)


@check(SUBJECT_THROTTLED, information=True)
def subject_throttled(evidence: TrialEvidence) -> CheckResult | None:
    """Information: how long its CPU limit throttled a subject, as a share of the drive. Never held against a trial."""
    limit, driven_s = SUBJECT_THROTTLED, evidence.driven_s
    found = {
        name: share(subject.throttled_s, driven_s * max(1, subject.replicas))
        for name, subject in evidence.facts.subjects.items()
        if subject.throttled_s is not None
    }
    if not found or driven_s <= 0:
        return None
    name = max(found, key=lambda one: found[one])
    reason = message("check.subject_throttled.limit", subject=name, percent=found[name])
    return CheckResult(
        name="subject_throttled",
        verdict="valid",
        measured=round(found[name], 6),
        limit=limit.valid,
        unit=limit.unit,
        reason=reason if found[name] > limit.valid else None,
    )
