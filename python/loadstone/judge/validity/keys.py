"""Whether the data were what the design says: what reads found, and how many keys there are."""

from loadstone.judge.validity.evidence import TrialEvidence
from loadstone.judge.validity.limits import Limit
from loadstone.judge.validity.result import share, unknown, within
from loadstone.message import message
from loadstone.record.keys_added import READS, keys_added, reads_keys
from loadstone.record.trial import CheckResult

HIT_RATE = Limit(1, 5, "%", "J: a read that finds nothing is cheaper; one in a hundred is within the noise")
KEY_COUNT = Limit(0, 0, "keys", "X: every key that was stored is there, and no other")


def hit_rate(evidence: TrialEvidence) -> CheckResult | None:
    """The share of the reads that found no key, where every key was stored before the trial."""
    limit = HIT_RATE
    plan = evidence.plan
    if not reads_keys(plan):
        return None
    counted = _lookups(evidence)
    if counted is None:
        return unknown("hit_rate", limit, message("check.hit_rate.not_reported"))
    hits, misses = counted
    measured = share(misses, hits + misses)
    if not hits + misses:
        return unknown("hit_rate", limit, message("check.hit_rate.no_read"))
    company = evidence.facts.company
    if not plan.keys.loaded or (company is not None and not company.loaded):
        why = message("check.hit_rate.nothing_stored", percent=100 - measured)
        return unknown("hit_rate", limit, why, round(measured, 6))
    reads = sum(c.replied for name, c in evidence.commands.items() if name.upper() in READS)
    if not evidence.ours and hits + misses > reads * (1 + limit.valid / 100):
        why = message("check.hit_rate.others", reads=hits + misses, ours=reads)
        return unknown("hit_rate", limit, why, round(measured, 6))
    reason = message("check.hit_rate.misses", percent=measured)
    return within("hit_rate", measured, limit, reason)


def _lookups(evidence: TrialEvidence) -> tuple[float, float] | None:
    """Reads that found a key, and reads that did not."""
    hits, misses = evidence.counted("keyspace_hits"), evidence.counted("keyspace_misses")
    return None if hits is None or misses is None else (hits, misses)


def key_count(evidence: TrialEvidence) -> CheckResult | None:
    """How far the number of keys that came or went lies from what the operations must have stored.

    What an application stores is counted by `stored_rows`.
    """
    limit = KEY_COUNT
    if evidence.http:
        return None
    came = evidence.counted("keys")
    if came is None:
        return unknown("key_count", limit, message("check.key_count.not_reported"))
    planned = _planned(evidence)
    if planned is None:
        return unknown("key_count", limit, message("check.key_count.not_known"))
    low, high = planned
    measured = max(low - came, came - high, 0.0)
    if measured and not evidence.ours:
        why = message("check.key_count.not_ours", change=came)
        return unknown("key_count", limit, why, measured)
    reason = message("check.key_count.differs", change=came, low=low, high=high)
    return within("key_count", measured, limit, reason)


def _planned(evidence: TrialEvidence) -> tuple[int, int] | None:
    """The least and the most keys that all drives on the servers can have added; None if that is not known."""
    own, company = keys_added(evidence.plan, evidence.drive.total), evidence.facts.company
    if own is None or company is None:
        return own
    return None if company.keys is None else (own[0] + company.keys[0], own[1] + company.keys[1])
