"""What a Redis counted between two snapshots."""

from collections.abc import Mapping
from dataclasses import dataclass

from loadstone.monitors.metrics.redis import METRICS
from loadstone.servers.redis.monitor import CommandStat, RedisSnapshot


@dataclass(frozen=True)
class Counted:
    """Commands that were called, counters that grew, and errors that were answered."""

    commands: Mapping[str, CommandStat]
    counters: Mapping[str, float]
    errors: Mapping[str, int]


def counted(before: RedisSnapshot, after: RedisSnapshot) -> Counted:
    """Between two snapshots of one start of a server."""
    assert before.run_id == after.run_id
    names = [metric.name for metric in METRICS if metric.kind == "counter" and metric.name in before.figures]
    commands = {name: _less(stat, before.commands.get(name)) for name, stat in after.commands.items()}
    errors = {name: count - before.errors.get(name, 0) for name, count in after.errors.items()}
    return Counted(
        commands={name: stat for name, stat in commands.items() if stat.calls or stat.rejected_calls},
        counters={name: after.figures[name] - before.figures[name] for name in names},
        errors={name: count for name, count in errors.items() if count},
    )


def _less(after: CommandStat, before: CommandStat | None) -> CommandStat:
    if before is None:
        return after
    return CommandStat(
        after.calls - before.calls,
        after.usec - before.usec,
        after.rejected_calls - before.rejected_calls,
        after.failed_calls - before.failed_calls,
    )
