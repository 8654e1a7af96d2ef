"""What a snapshot of a server holds, whatever its software: its counters at one moment."""

from collections.abc import Mapping
from typing import Protocol


class CommandCalls(Protocol):
    """Counts of the calls of one command."""

    @property
    def calls(self) -> int: ...
    @property
    def rejected_calls(self) -> int: ...


class Snapshot(Protocol):
    """A server's own counters at one moment, where it has any; see `Software.has_counters`."""

    @property
    def run_id(self) -> str: ...
    @property
    def uptime_s(self) -> int: ...
    @property
    def figures(self) -> Mapping[str, float]: ...
    @property
    def commands(self) -> Mapping[str, CommandCalls]: ...
    @property
    def settings(self) -> Mapping[str, str]: ...
    @property
    def monitor_clients(self) -> int | None: ...
    @property
    def slow_log_entries(self) -> int | None: ...
    @property
    def latency_events(self) -> Mapping[str, int]: ...
