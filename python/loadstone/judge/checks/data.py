"""Whether the data were what the design says: what reads found, how many keys there are, and how many rows."""

from loadstone.experiment.plan.operation_units import READS, reads_keys
from loadstone.judge.checks.check import DirectVerdict, Finding, Limit, MeasuredFigure, NotObserved, check, share
from loadstone.judge.checks.evidence import TrialEvidence
from loadstone.run_folder.facts import StoredFacts
from loadstone.run_folder.observation import keys_added
from loadstone.text.message import Message, message

HIT_RATE = Limit(1, 5, "%", "J: a miss is cheaper than a hit; `workload.misses` allows another share")
ALL = 99.5
"""J: per cent of the reads from which on nothing was found: a few keys may be written meanwhile."""
STORED_ROWS = Limit(0, 0, "rows", "X: rows are counted, not keys, by the experiment's own query")
KEY_COUNT = Limit(0, 0, "keys", "X: a difference means that other clients wrote or removed keys")


@check(HIT_RATE)
def hit_rate(evidence: TrialEvidence) -> Finding | None:
    """The share of the reads that found nothing, held against what the design says of it.

    Where the design says nothing, none may where every key was stored before; of others it is not known how many do,
    but reads that find nothing at all measure nothing that anyone wanted to know.
    """
    plan = evidence.plan
    if not reads_keys(plan):
        return None
    counted = _lookups(evidence)
    if counted is None:
        return NotObserved(message("check.hit_rate.not_reported"))
    hits, misses = counted
    measured = share(misses, hits + misses)
    if not hits + misses:
        return NotObserved(message("check.hit_rate.no_read"))
    company = evidence.facts.company
    designed = evidence.facts.misses if plan.recording is None else "any"  # it reads what its own writes left
    loaded = plan.keys.loaded and (company is None or company.loaded)
    reads = sum(c.replied for name, c in evidence.commands.items() if name.upper() in READS)
    found_nothing = measured >= ALL
    if not found_nothing and not evidence.ours and hits + misses > reads * (1 + HIT_RATE.valid / 100):
        why = message("check.hit_rate.others", reads=hits + misses, ours=reads)
        return NotObserved(why, measured)
    if designed == "any":
        return _by_distance(measured, 0.0, None)
    if designed is not None:
        reason = message("check.hit_rate.designed", percent=measured, designed=100 * designed)
        return _by_distance(measured, abs(measured - 100 * designed), reason)
    if loaded:
        return MeasuredFigure(measured, message("check.hit_rate.misses", percent=measured))
    if plan.keys.loaded and not found_nothing:  # another condition on the server has nothing to be found
        why = message("check.hit_rate.nothing_stored", percent=100 - measured)
        return NotObserved(why, measured)
    reason = message("check.hit_rate.not_loaded", percent=measured, all=found_nothing)
    off = measured if found_nothing else min(measured, HIT_RATE.invalid)
    return _by_distance(measured, off, reason)


def _by_distance(measured: float, off: float, reason: Message | None) -> Finding:
    """The verdict of a share that is so far off its design; what is measured is the share itself."""
    verdict = HIT_RATE.verdict(off)
    return DirectVerdict(verdict, measured, limit=None, reason=None if verdict == "valid" else reason)


def _lookups(evidence: TrialEvidence) -> tuple[float, float] | None:
    """Reads that found a key, and reads that did not."""
    hits, misses = evidence.counted("keyspace_hits"), evidence.counted("keyspace_misses")
    return None if hits is None or misses is None else (hits, misses)


@check(KEY_COUNT)
def key_count(evidence: TrialEvidence) -> Finding | None:
    """Check how far the number of keys that came or went lies from what the operations must have stored.

    What an application stores is counted by `stored_rows`.
    """
    if evidence.http:
        return None
    came = evidence.counted("keys")
    if came is None:
        return NotObserved(message("check.key_count.not_reported"))
    planned = _planned(evidence)
    if planned is None:
        return NotObserved(message("check.key_count.not_known"))
    low, high = planned
    measured = max(low - came, came - high, 0.0)
    if measured and not evidence.ours:
        why = message("check.key_count.not_ours", change=came)
        return NotObserved(why, measured)
    reason = message("check.key_count.differs", change=came, low=low, high=high)
    return MeasuredFigure(measured, reason)


def _planned(evidence: TrialEvidence) -> tuple[int, int] | None:
    """The least and the most keys that all drives on the servers can have added; None if that is not known."""
    drive, company = evidence.drive, evidence.facts.company
    own = keys_added(evidence.plan, drive.total, len(drive.agents))
    if own is None or company is None:
        return own
    return None if company.keys is None else (own[0] + company.keys[0], own[1] + company.keys[1])


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
        return NotObserved(message("check.stored_rows.not_counted", servers=uncounted))
    astray = [(off, count) for count in counts if (off := _off(count))]
    measured = sum(abs(off) for off, _ in astray)
    rows = [_astray(off, count) for off, count in astray]
    if measured and not evidence.ours:
        return NotObserved(message("check.stored_rows.not_ours", rows=rows), measured)
    keys = [_other_keys(count) for count in counts if _has_other_keys(count)]
    if keys and not measured:
        return DirectVerdict("valid", measured, STORED_ROWS.valid, message("check.stored_rows.astray", rows=keys))
    return MeasuredFigure(measured, message("check.stored_rows.astray", rows=rows))


def _grown(count: StoredFacts) -> int | None:
    return None if count.before is None or count.after is None else count.after - count.before


def _off(count: StoredFacts) -> int:
    """Return how far the growth lies outside of what the operations can have stored; negative: too few."""
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
