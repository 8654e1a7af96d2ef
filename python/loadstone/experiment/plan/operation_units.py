"""What one operation is made of: a MGET of ten keys is ten, so that it can be compared with ten GETs.

Only operations of the same kind are counted so: MGET with GET, HSET of five fields with HSET of one. A document in one
SET and in five fields of a hash is one document both times, whatever the commands are called.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadstone.experiment.plan.drive_plan import Plan
from loadstone.experiment.plan.operations import Operation, keys_of_one
from loadstone.text.problem import Problem

KEYS: Mapping[str, tuple[int, int]] = {
    **dict.fromkeys(("MGET", "DEL", "UNLINK", "EXISTS", "TOUCH"), (-1, 1)),
    **dict.fromkeys(("MSET", "MSETNX"), (-1, 2)),
    "JSON.MGET": (-2, 1),
    "JSON.MSET": (-1, 3),
}
"""Commands that do the same to each of their keys: the last key and the step, as `COMMAND INFO` has them."""
ITEMS: Mapping[str, int] = {
    **dict.fromkeys(("HMGET", "HDEL", "SADD", "SREM", "SMISMEMBER", "ZREM", "ZMSCORE", "PFADD"), 1),
    **dict.fromkeys(("LPUSH", "RPUSH", "LPUSHX", "RPUSHX"), 1),
    **dict.fromkeys(("HSET", "HMSET", "ZADD"), 2),
    "GEOADD": 3,
}
"""Commands that do the same to each of the items behind their key: arguments of one item."""
_OPTIONS = {"ZADD": frozenset({"NX", "XX", "GT", "LT", "CH", "INCR"}), "GEOADD": frozenset({"NX", "XX", "CH"})}
_KINDS = {
    **{"MGET": "GET", "MSET": "SET", "MSETNX": "SETNX", "JSON.MGET": "JSON.GET", "JSON.MSET": "JSON.SET"},
    **{"HMGET": "HGET", "HMSET": "HSET", "SMISMEMBER": "SISMEMBER", "ZMSCORE": "ZSCORE"},
    **{"LPUSHX": "LPUSH", "RPUSHX": "RPUSH", "UNLINK": "DEL"},
}
"""Commands of several keys or items -> what they do to each."""
_AROUND = frozenset({"MULTI", "EXEC", "PING", "WAIT", "WAITAOF"})
_GIVEN = re.compile(r"([1-9][0-9]{0,5})(?: ([a-z][a-z ]{0,30}?))?")
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
            "MG",
        ),
        *("LLEN", "LRANGE", "MGET", "SCARD", "SISMEMBER", "SMEMBERS", "STRLEN", "ZCARD", "ZRANGE", "ZRANK", "ZSCORE"),
    }
)
"""Commands that look a key up and change nothing."""


@dataclass(frozen=True)
class OperationUnits:
    """Number of units in an operation."""

    count: int
    unit: str
    """One of them, as people call it: `key`."""
    kind: str
    """What is done to each; only operations of one kind are counted by their units. Empty: whatever it is."""


def units_of(operation: Operation) -> OperationUnits:
    """Those that the user wrote, or else what its commands are made of."""
    if operation.units != "auto":
        count, unit = read_units(operation.units)
        return OperationUnits(count, unit, "")
    if operation.requests:
        keys = keys_of_one(operation)
        return OperationUnits(max(1, keys), "key", " ".join(sorted({request.method for request in operation.requests})))
    counts: dict[str, int] = {}
    of_items = False
    for command in operation.commands:
        name = command.args[0].upper()
        if name in _AROUND:
            continue
        count, items = _of_command(name, command.args[1:])
        of_items |= items
        kind = _KINDS.get(name, name)
        counts[kind] = counts.get(kind, 0) + count
    count = max([1, *counts.values()])
    return OperationUnits(count, "item" if of_items else "key", " ".join(sorted(counts)))


def read_units(text: str) -> tuple[int, str]:
    """`10 messages` as 10 and `message`. Raises ValueError: it is nothing of the kind."""
    given = _GIVEN.fullmatch(text)
    if given is None:
        raise Problem(
            "'{text}' is not how many units an operation is; write auto, 1, or for example 10 messages", text=text
        )
    return int(given[1]), (given[2] or "unit").removesuffix("s") or "unit"


def keys_of(name: str, arguments: Sequence[str]) -> Sequence[str]:
    """The keys of a command that does the same to each of them; none of another one."""
    if name not in KEYS:
        return ()
    last, step = KEYS[name]
    return arguments[: len(arguments) + last + 1 : step]


def _of_command(name: str, arguments: Sequence[str]) -> tuple[int, bool]:
    if name in KEYS:
        return len(keys_of(name, arguments)), False
    if name in ITEMS:
        options = _OPTIONS.get(name, frozenset())
        rest = list(arguments[1:])
        while rest and rest[0].upper() in options:
            del rest[0]
        count = len(rest) // ITEMS[name]
        return max(1, count), count > 1
    return 1, False


@dataclass(frozen=True)
class ConditionUnits:
    """What the operations of one condition are made of, on average."""

    per_operation: float
    unit: str
    kinds: frozenset[str]
    each: tuple[tuple[str, int], ...]
    """Operation -> its units."""


def of_plan(plan: Plan) -> ConditionUnits:
    """Return the units of a plan's operations, by their weights."""
    of_operations = [(operation, units_of(operation)) for operation in plan.operations]
    weights = sum(operation.weight for operation in plan.operations)
    units = {one.unit for _, one in of_operations if one.count > 1} or {one.unit for _, one in of_operations}
    return ConditionUnits(
        sum(operation.weight * one.count for operation, one in of_operations) / weights,
        units.pop() if len(units) == 1 else "item",
        frozenset(one.kind for _, one in of_operations),
        tuple((operation.name, one.count) for operation, one in of_operations),
    )


def are_compared_by_units(plans: Iterable[Plan]) -> bool:
    """Whether operations of these conditions are of one kind, and more of it in some than in others."""
    units = [of_plan(plan) for plan in plans]
    alike = len({unit.kinds - {""} for unit in units if unit.kinds != {""}}) <= 1
    return alike and len({round(unit.per_operation, 9) for unit in units}) > 1


def unit_of(units: Iterable[str]) -> str:
    """The one that all have; `unit` where they differ."""
    different = set(units)
    return different.pop() if len(different) == 1 else "unit"


def each_of(of_plans: Iterable[Mapping[str, int]]) -> list[list[Any]]:
    """Operations and how many units each is, the most first."""
    each = {name: count for plan in of_plans for name, count in plan.items()}
    return [[name, each[name]] for name in sorted(each, key=lambda name: (-each[name], name))]


def reads_keys(plan: Plan) -> bool:
    """Whether a command of the plan looks a key up and changes nothing."""
    return any(command.args[0].upper() in READS for operation in plan.operations for command in operation.commands)
