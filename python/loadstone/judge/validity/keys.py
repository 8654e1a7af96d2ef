"""Whether the data were what the design says: what reads found, and how many keys there are."""

import math

from loadstone.judge.validity.evidence import TrialEvidence
from loadstone.judge.validity.limits import Limit
from loadstone.judge.validity.result import share, unknown, within
from loadstone.message import message
from loadstone.plan.drive_plan import Operation, Plan
from loadstone.record.trial import CheckResult

HIT_RATE = Limit(1, 5, "%", "J: a read that finds nothing is cheaper; one in a hundred is within the noise")
KEY_COUNT = Limit(0, 0, "keys", "X: every key that was stored is there, and no other")

READS = frozenset(
    {
        *(
            "EXISTS",
            "GET",
            "GETRANGE",
            "HEXISTS",
            "HGET",
            "HGETALL",
            "HLEN",
            "HMGET",
            "JSON.GET",
            "JSON.MGET",
            "LINDEX",
        ),
        *("LLEN", "LRANGE", "MGET", "SCARD", "SISMEMBER", "SMEMBERS", "STRLEN", "ZCARD", "ZRANGE", "ZRANK", "ZSCORE"),
    }
)
"""Commands that look a key up and change nothing."""
STORES = frozenset(
    {
        *("APPEND", "GETSET", "HINCRBY", "HMSET", "HSET", "INCR", "INCRBY", "JSON.MERGE", "JSON.SET", "LPUSH", "RPUSH"),
        *("SADD", "SET", "SETRANGE", "ZADD", "ZINCRBY"),
    }
)
"""Commands after which their one key is there."""
EXPIRY = frozenset({"EX", "EXAT", "PX", "PXAT"})
"""Arguments of a command after which its key goes away by itself."""
_BOUND = 6.0
"""Standard deviations: so far from its mean the number of keys that random draws hit does not come by chance."""


def hit_rate(evidence: TrialEvidence) -> CheckResult | None:
    """The share of the reads that found no key, where every key was stored before the trial."""
    limit = HIT_RATE
    plan = evidence.plan
    if not any(_name(operation, i) in READS for operation in plan.operations for i in range(len(operation.commands))):
        return None
    counted = _lookups(evidence)
    if counted is None:
        return unknown("hit_rate", limit, message("check.hit_rate.not_reported"))
    hits, misses = counted
    measured = share(misses, hits + misses)
    if not hits + misses:
        return unknown("hit_rate", limit, message("check.hit_rate.no_read"))
    if not plan.keys.loaded:
        why = message("check.hit_rate.nothing_stored", percent=100 - measured)
        return unknown("hit_rate", limit, why, round(measured, 6))
    reads = sum(c.replied for name, c in evidence.drive.commands.items() if name.upper() in READS)
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
    """The least and the most keys that the operations can have added; None if that is not known."""
    plan, total = evidence.plan, evidence.drive.total
    kinds = {_effect(operation) for operation in plan.operations}
    if None in kinds:
        return None
    if plan.keys.loaded or kinds == {"reads"}:
        return 0, 0
    most = min(plan.keys.count, total.sent)
    return (_least(plan, total.ok), most) if kinds == {"stores"} else (0, most)


def _effect(operation: Operation) -> str | None:
    """What an operation does to its key: `reads`, or `stores` it; None if that is not known."""
    names = [_name(operation, i) for i in range(len(operation.commands))]
    arguments = {word.upper() for command in operation.commands for word in command.args}
    keyed = all(len(command.args) > 1 and command.args[1] == "{key}" for command in operation.commands)
    if not names or arguments & EXPIRY or not keyed or not set(names) <= READS | STORES:
        return None
    return "reads" if set(names) <= READS else "stores"


def _least(plan: Plan, stored: int) -> int:
    """The fewest different keys that so many operations can have stored."""
    count = plan.keys.count
    if not stored:
        return 0
    if plan.keys.distribution == "exactly_once" or (plan.keys.distribution == "sequential" and plan.threads == 1):
        return min(count, stored)
    if plan.keys.distribution == "uniform":
        # Draws hit count (1 - (1 - 1/count)^draws) keys on average, with a variance below that mean.
        mean = -count * math.expm1(stored * math.log1p(-1 / count)) if count > 1 else 1.0
        return max(1, math.floor(mean - _BOUND * math.sqrt(min(mean, count - mean + 1))))
    return 1


def _name(operation: Operation, index: int) -> str:
    return operation.commands[index].args[0].upper()
