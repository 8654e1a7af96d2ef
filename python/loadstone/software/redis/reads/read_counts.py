"""What replicas counted of the load: their reads, added to what their primary counted.

A replica counts the writes that its primary passes on as well; those are the primary's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from loadstone.plan.endpoints import Endpoint
from loadstone.software.redis.commands.info import ServerCommands
from loadstone.software.redis.commands.reading import only_reads
from loadstone.software.redis.monitor import CommandStat, RedisSnapshot, command_stats
from loadstone.software.redis.session import RedisSession

OF_READS = ("keyspace_hits", "keyspace_misses")
"""Figures that only reads change."""
BETWEEN = "+"


class ReplicaReads:
    """The reads of the replicas that the load reads from."""

    def __init__(self, endpoints: Sequence[Endpoint], timeout_s: float) -> None:
        self._sessions = [RedisSession(endpoint, timeout_s) for endpoint in endpoints]
        self._commands = {session: ServerCommands(session) for session in self._sessions}

    def close(self) -> None:
        """Close the connections. May be called more than once."""
        for session in self._sessions:
            session.close()

    def added_to(self, snapshot: RedisSnapshot) -> RedisSnapshot:
        """The snapshot of the primaries with them. Raises ServerGone: one does not answer."""
        for session in self._sessions:
            info = session.info("all")
            snapshot = replace(
                snapshot,
                run_id=f"{snapshot.run_id}{BETWEEN}{info.get('run_id', '')}",
                commands=_together(snapshot.commands, self._reads(session, info)),
                figures={**snapshot.figures, **_sums(snapshot.figures, info)},
            )
        return snapshot

    def _reads(self, session: RedisSession, info: Mapping[str, Any]) -> dict[str, CommandStat]:
        commands = self._commands[session]
        return {name: stat for name, stat in command_stats(info).items() if only_reads(commands, name.split("|"))}


def _together(one: Mapping[str, CommandStat], other: Mapping[str, CommandStat]) -> dict[str, CommandStat]:
    return {**one, **{name: stat + one[name] if name in one else stat for name, stat in other.items()}}


def _sums(figures: Mapping[str, float], info: Mapping[str, Any]) -> dict[str, float]:
    return {name: figures[name] + float(info[name]) for name in OF_READS if name in figures and name in info}
