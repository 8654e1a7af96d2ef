"""Which commands look a key up, so that the server counts whether it was there."""

from loadstone.plan.drive_plan import Plan

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


def reads_keys(plan: Plan) -> bool:
    """Whether a command of the plan looks a key up and changes nothing."""
    return any(command.args[0].upper() in READS for operation in plan.operations for command in operation.commands)
