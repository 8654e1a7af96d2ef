"""How many keys the operations of a drive can have added to a server."""

import math
import re

from loadstone.drive.outcome import Counts
from loadstone.plan.drive_plan import Plan
from loadstone.plan.operations import Operation
from loadstone.plan.units import READS

STORES = frozenset(
    {
        *("APPEND", "GETSET", "HINCRBY", "HMSET", "HSET", "INCR", "INCRBY", "JSON.MERGE", "JSON.SET", "LPUSH", "RPUSH"),
        *("MS", "SADD", "SET", "SETRANGE", "ZADD", "ZINCRBY"),
    }
)
"""Commands after which their one key is there."""
EXPIRY = frozenset({"EX", "EXAT", "PX", "PXAT"})
"""Arguments of a command after which its key goes away by itself."""
_META_FLAG = re.compile(r"[TM]\S+")
"""Flags of memcached's `ms` after which its key goes away by itself, or is stored on a condition."""
_BOUND = 6.0
"""Standard deviations: so far from its mean the number of keys that random draws hit does not come by chance."""


def keys_added(plan: Plan, total: Counts, agents: int = 0) -> tuple[int, int] | None:
    """The least and the most keys that a drive's operations can have added; None if that is not known.

    `total`: those of the whole drive; `agents`: of a fleet, each with the plan's threads.
    """
    kinds = {_effect(operation) for operation in plan.operations}
    if None in kinds:
        return None
    if plan.keys.loaded or kinds == {"reads"}:
        return 0, 0
    most = min(plan.keys.count, total.sent)
    return (_least(plan, total.ok, plan.threads * max(1, agents)), most) if kinds == {"stores"} else (0, most)


def _effect(operation: Operation) -> str | None:
    """What an operation does to its key: `reads`, or `stores` it; None if that is not known."""
    names = [_name(operation, i) for i in range(len(operation.commands))]
    arguments = {word.upper() for command in operation.commands for word in command.args}
    keyed = all(len(command.args) > 1 and command.args[1] == "{key}" for command in operation.commands)
    flags = [word for command in operation.commands if command.args[0] == "ms" for word in command.args[3:]]
    if not names or arguments & EXPIRY or any(map(_META_FLAG.fullmatch, flags)):
        return None
    if not keyed or not set(names) <= READS | STORES:
        return None
    return "reads" if set(names) <= READS else "stores"


def _least(plan: Plan, stored: int, threads: int) -> int:
    """The fewest different keys that so many operations can have stored."""
    count = plan.keys.count
    if not stored:
        return 0
    if plan.keys.distribution == "exactly_once" or (plan.keys.distribution == "sequential" and threads == 1):
        return min(count, stored)
    if plan.keys.distribution == "uniform":
        # Draws hit count (1 - (1 - 1/count)^draws) keys on average, with a variance below that mean.
        mean = -count * math.expm1(stored * math.log1p(-1 / count)) if count > 1 else 1.0
        return max(1, math.floor(mean - _BOUND * math.sqrt(min(mean, count - mean + 1))))
    return 1


def _name(operation: Operation, index: int) -> str:
    return operation.commands[index].args[0].upper()
