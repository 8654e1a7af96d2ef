"""Whether servers and applications did what was asked of them: what was stored, with which settings and connections."""

from collections.abc import Sequence

from loadstone.judge.validity import limits
from loadstone.judge.validity.evidence import TrialEvidence
from loadstone.judge.validity.result import share, unknown, within
from loadstone.record.facts import SeriesPoint, StoredFacts
from loadstone.record.trial import CheckResult

Thirds = tuple[float, float, float]
_STILL = 0.5
"""A rise goes on if the second half of it is at least so large a part of the first."""


def stored_rows(evidence: TrialEvidence) -> CheckResult | None:
    """Rows or entities that a server has more, against the operations that were answered as stored.

    Failed and unanswered operations may have been stored or not.
    """
    found, limit = evidence.facts.stored, limits.STORED_ROWS
    if not found:
        return None
    uncounted = sorted({one.server for one in found if _grown(one) is None})
    if uncounted:
        return unknown("stored_rows", limit, f"What {', '.join(uncounted)} holds could not be counted.")
    astray = [(off, one) for one in found if (off := _off(one))]
    measured = sum(abs(off) for off, _ in astray)
    reason = " ".join(_astray_words(off, one) for off, one in astray)
    if measured and not evidence.ours:
        return unknown(
            "stored_rows", limit, f"{reason} On a server that is not ours others may have done that.", measured
        )
    result = within("stored_rows", measured, limit, reason)
    keys = "" if measured else " ".join(_key_words(one) for one in found if _has_other_keys(one))
    return result.model_copy(update={"reason": keys}) if keys else result


def _grown(one: StoredFacts) -> int | None:
    return None if one.before is None or one.after is None else one.after - one.before


def _off(one: StoredFacts) -> int:
    """How far the growth lies outside of what the operations can have stored; negative: too few."""
    grown = _grown(one) or 0
    return min(0, grown - one.answered) + max(0, grown - one.answered - one.unknown)


def _astray_words(off: int, one: StoredFacts) -> str:
    grown = _grown(one) or 0
    said = "too few: writes were lost, or one replaced another" if off < 0 else "too many: others write there, too"
    perhaps = f" (and {one.unknown:,} that may have been stored)" if one.unknown else ""
    return f"{one.server} has {grown:,} more for {one.answered:,} correct replies of {one.operation}{perhaps}, {said}."


def _has_other_keys(one: StoredFacts) -> bool:
    keys = _grown_keys(one)
    return keys is not None and keys != _grown(one)


def _grown_keys(one: StoredFacts) -> int | None:
    return None if one.keys_before is None or one.keys_after is None else one.keys_after - one.keys_before


def _key_words(one: StoredFacts) -> str:
    return (
        f"{one.server} has {_grown(one):,} rows more, as answered, and {_grown_keys(one):,} keys more: "
        "counting keys is not counting rows."
    )


def settings(evidence: TrialEvidence) -> CheckResult | None:
    """Settings that the experiment gives a server and that it does not have, as read back right before the trial."""
    facts = evidence.facts
    unlike = {
        (server, name): asked
        for server, wanted in sorted(facts.unlike.items())
        for name, asked in sorted(wanted.items())
    }
    if not unlike and not facts.settings:
        return None
    silent = sorted(name for name, told in facts.settings.items() if not told and name not in facts.unlike)
    if silent and not unlike:
        return unknown("settings", limits.SETTINGS, f"{', '.join(silent)} did not tell its settings.")
    words = ", ".join(
        f"{name} of {server} is {facts.settings.get(server, {}).get(name, 'not told')} instead of {asked}"
        for (server, name), asked in unlike.items()
    )
    return within("settings", len(unlike), limits.SETTINGS, f"A setting is not as asked for: {words}.")


def connection_leak(evidence: TrialEvidence) -> CheckResult | None:
    """Connections at a server that rise all through the measure phase, beyond those that the load itself opened."""
    limit, facts = limits.CONNECTION_LEAK, evidence.facts
    seen = facts.server_connections
    if not seen and not evidence.stores:
        return None
    if not seen:
        return unknown("connection_leak", limit, "How many connections the servers had open could not be followed.")
    rises = {server: _rise(_without_load(evidence, server, thirds)) for server, thirds in seen.items()}
    server = max(rises, key=lambda name: rises[name])
    first, _, last = seen[server]
    reason = (
        f"The connections at {server} rose all the time, from {first:.0f} in the first third to {last:.0f} in the "
        "last: somebody opens them and does not give them back."
    )
    return within("connection_leak", max(0.0, rises[server]), limit, reason)


def _rise(thirds: Thirds) -> float:
    """From the first third to the last; 0 where it did not go on to the end, as of a pool that fills."""
    first, second, third = thirds
    steady = second > first and third - second >= _STILL * (second - first)
    return third - first if steady else 0.0


def _without_load(evidence: TrialEvidence, server: str, thirds: Thirds) -> Thirds:
    """Without the driver's own connections, where the server itself got the load."""
    if evidence.http or server not in evidence.targets or not evidence.facts.series:
        return thirds
    first, second, third = _load_by_third(evidence.facts.series)
    return thirds[0] - first, thirds[1] - second, thirds[2] - third


def _load_by_third(series: Sequence[SeriesPoint]) -> Thirds:
    start_s = series[0].start_s
    step_s = (series[-1].start_s + series[-1].duration_s - start_s) / 3
    found: list[list[int]] = [[], [], []]
    for point in series:
        middle_s = point.start_s + point.duration_s / 2 - start_s
        found[min(2, int(middle_s / step_s))].append(point.connections)
    means = [sum(third) / len(third) if third else float(series[0].connections) for third in found]
    return means[0], means[1], means[2]


def subject_throttled(evidence: TrialEvidence) -> CheckResult | None:
    """Information: how long its CPU limit held a subject back, as a share of the drive. Never held against a trial."""
    limit, driven_s = limits.SUBJECT_THROTTLED, evidence.driven_s
    told = {
        name: share(subject.throttled_s, driven_s * max(1, subject.replicas))
        for name, subject in evidence.facts.subjects.items()
        if subject.throttled_s is not None
    }
    if not told or driven_s <= 0:
        return None
    name = max(told, key=lambda one: told[one])
    held = told[name] > limit.valid
    words = f"The CPU limit of {name} held its threads back for {told[name]:.0f} % of the time: it is the limit here."
    return CheckResult(
        name="subject_throttled",
        verdict="valid",
        measured=round(told[name], 6),
        limit=limit.valid,
        unit=limit.unit,
        reason=words if held else "",
    )
