"""Whether the data were what the design says: what reads found, and how many keys there are."""

import math

from loadstone.judge.validity import limits
from loadstone.judge.validity.evidence import TrialEvidence
from loadstone.judge.validity.result import share, unknown, within
from loadstone.plan.model import Operation, Plan
from loadstone.record.trial import CheckResult

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
"""Words of a command after which its key goes away by itself."""
_BOUND = 6.0
"""Standard deviations: so far from its mean the number of keys that random draws hit does not come by chance."""


def hit_rate(evidence: TrialEvidence) -> CheckResult | None:
    """The share of the reads that found no key, where every key was stored before the trial."""
    limit = limits.HIT_RATE
    plan = evidence.plan
    if not any(_name(operation, i) in READS for operation in plan.operations for i in range(len(operation.commands))):
        return None
    counted = _lookups(evidence)
    if counted is None:
        return unknown("hit_rate", limit, "The server does not tell how many reads found a key.")
    hits, misses = counted
    measured = share(misses, hits + misses)
    if not hits + misses:
        return unknown("hit_rate", limit, "The server counted no read.")
    if not plan.keys.loaded:
        found = 100 - measured
        why = f"Nothing was stored before the trial, so what reads should find is not known: {found:.1f} % found a key."
        return unknown("hit_rate", limit, why, round(measured, 6))
    reads = sum(c.replied for name, c in evidence.drive.commands.items() if name.upper() in READS)
    if not evidence.ours and hits + misses > reads * (1 + limit.valid / 100):
        why = f"Others read from this server, too: it counted {hits + misses:,.0f} reads, of which {reads:,} are ours."
        return unknown("hit_rate", limit, why, round(measured, 6))
    reason = f"{measured:.1f} % of the reads found no key, although every key had been stored: they were cheaper."
    return within("hit_rate", measured, limit, reason)


def _lookups(evidence: TrialEvidence) -> tuple[float, float] | None:
    """Reads that found a key, and reads that did not."""
    hits, misses = evidence.counted("keyspace_hits"), evidence.counted("keyspace_misses")
    return None if hits is None or misses is None else (hits, misses)


def key_count(evidence: TrialEvidence) -> CheckResult | None:
    """How far the number of keys that came or went lies from what the operations must have stored.

    What an application stores is counted by `stored_rows`.
    """
    limit = limits.KEY_COUNT
    if evidence.http:
        return None
    came = evidence.counted("keys")
    if came is None:
        return unknown("key_count", limit, "The server does not tell how many keys it holds.")
    planned = _planned(evidence)
    if planned is None:
        return unknown("key_count", limit, "What these commands do to the number of keys is not known beforehand.")
    low, high = planned
    measured = max(low - came, came - high, 0.0)
    if measured and not evidence.ours:
        why = f"The number of keys changed by {came:+,.0f}; on a server that is not ours others may have done that."
        return unknown("key_count", limit, why, measured)
    wanted = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    reason = (
        f"The number of keys changed by {came:+,.0f} where {wanted} were to be stored: others wrote or removed some."
    )
    return within("key_count", measured, limit, reason)


def _planned(evidence: TrialEvidence) -> tuple[int, int] | None:
    """The least and the most keys that the operations can have added; None if that cannot be told."""
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
    words = {word.upper() for command in operation.commands for word in command.args}
    keyed = all(len(command.args) > 1 and command.args[1] == "{key}" for command in operation.commands)
    if not names or words & EXPIRY or not keyed or not set(names) <= READS | STORES:
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
