"""Which keys of a crash can be looked up one by one after it, and by which command."""

from loadstone.plan.drive_plan import Command, Operation, Plan
from loadstone.plan.protocols import PROTOCOLS

STORING = frozenset(
    {
        "APPEND",
        "GETSET",
        "HMSET",
        "HSET",
        "INCR",
        "INCRBY",
        "JSON.SET",
        "LPUSH",
        "MSET",
        "RPUSH",
        "SADD",
        "SET",
        "SETNX",
    }
    | {"XADD", "ZADD"}
)
"""Commands that leave their key where it is once they were acknowledged."""
KEEPING = frozenset(
    {"ECHO", "EXISTS", "GET", "HGET", "HGETALL", "HMGET", "JSON.GET", "PING", "STRLEN", "TYPE", "WAIT", "WAITAOF"}
)
"""Commands that change nothing."""
EXPIRING = frozenset({"EX", "EXAT", "PX", "PXAT"})
EXISTS = ("EXISTS",)


def look_up_of(plan: Plan) -> tuple[str, ...]:
    """The command that tells whether a key's write is there; empty: it can only be counted.

    The key goes behind the first word. Keys that are written once are there or not. Documents that are overwritten
    name their version.
    """
    if not PROTOCOLS[plan.protocol].of_redis or not all(map(_keeps_its_key, plan.operations)):
        return ()
    if plan.keys.distribution == "exactly_once":
        return EXISTS
    found = {_of_version(operation) for operation in plan.operations}
    return found.pop() if len(found) == 1 else ()


def _keeps_its_key(operation: Operation) -> bool:
    """Whether the key is there once the operation was acknowledged, for good."""
    names = {command.args[0].upper() for command in operation.commands}
    stores = any(map(_stores, operation.commands)) and not any(map(_expires, operation.commands))
    return stores and names <= STORING | KEEPING


def _stores(command: Command) -> bool:
    return command.args[0].upper() in STORING and command.args[1:2] == ("{key}",)


def _expires(command: Command) -> bool:
    return command.args[0].upper() == "SET" and any(argument.upper() in EXPIRING for argument in command.args[3:])


def _of_version(operation: Operation) -> tuple[str, ...]:
    """What reads the version that an operation of one command stored; empty where none does."""
    name, *arguments = operation.commands[0].args
    if len(operation.commands) > 1 or operation.writes != "document":
        return ()
    match name.upper(), arguments:
        case "SET", ["{key}", "{document}"]:
            return ("GET",)
        case "JSON.SET", ["{key}", "$" | ".", "{document}"]:
            return ("JSON.GET",)
        case "HSET" | "HMSET", ["{key}", *fields] if "{version}" in fields[1::2]:
            return ("HGET", fields[2 * fields[1::2].index("{version}")])
    return ()
