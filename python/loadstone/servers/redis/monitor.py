"""What a Redis server reports: to a monitor each second, and in snapshots before and after a trial."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from loadstone.experiment.software import REDIS
from loadstone.machine import clock
from loadstone.monitors.metric import by_name
from loadstone.monitors.metrics import redis
from loadstone.monitors.monitor import Monitor, Sample
from loadstone.monitors.watch import MonitorTargets
from loadstone.safety.bounds.replies import read_as
from loadstone.safety.errors import LoadstoneError
from loadstone.servers.redis.session import RedisSession
from loadstone.text.message import said

SETTINGS = ("disable-thp", "loglevel", "slowlog-log-slower-than", "slowlog-max-len")
"""Settings that may distort a figure; read with each snapshot, because a server that is not ours may change them."""
CLIENTS_MAX = 1000
"""With more connections none is listed: the reply would keep the server busy."""
MONITORS = "O"
"""The flag of a client that has sent MONITOR."""


class RedisMonitor:
    """The server of `part`; `answers` alone is reported while it does not answer."""

    METRICS = by_name(redis.METRICS)

    def __init__(self, part: str, control: RedisSession) -> None:
        self._part = part
        self._control = control

    @classmethod
    def watching(cls, watch: MonitorTargets) -> list[Monitor]:
        """One for each server."""
        return [cls(part, control) for part, control in watch.controls_of(REDIS.name).items()]

    def sample(self, unix_s: float) -> Iterator[Sample]:
        """What INFO says; sends INFO and no other command."""
        try:
            info = self._control.info()
            with read_as(self._part, "INFO", said("figures")):
                values = _figures(info)
        except LoadstoneError:
            values = {}
        yield Sample(unix_s, self._part, "answers", float(bool(values)))
        for name, value in values.items():
            yield Sample(unix_s, self._part, name, value)


@dataclass(frozen=True)
class CommandStat:
    """One command since the server began."""

    calls: int
    usec: int
    rejected_calls: int
    failed_calls: int

    def __add__(self, other: "CommandStat") -> "CommandStat":
        return CommandStat(
            self.calls + other.calls,
            self.usec + other.usec,
            self.rejected_calls + other.rejected_calls,
            self.failed_calls + other.failed_calls,
        )


@dataclass(frozen=True)
class RedisSnapshot:
    """A server at one moment. `run_id` changes when it is started again, and its counters with it."""

    unix_s: float
    run_id: str
    uptime_s: int
    figures: Mapping[str, float]
    """As `METRICS` has them."""
    commands: Mapping[str, CommandStat]
    """Commands by the name that the server uses: `get`, `json.set`, `config|get`."""
    errors: Mapping[str, int]
    """Error replies by their first word: `ERR`, `WRONGTYPE`."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Those of `SETTINGS` that the server has and tells."""
    monitor_clients: int | None = None
    """Clients that are shown every command (MONITOR). None: the server does not tell who is connected."""
    slow_log_entries: int | None = None
    """Commands in the slow log, at most its `slowlog-max-len`. None: the server does not tell."""
    latency_events: Mapping[str, int] = field(default_factory=dict)
    """Event -> its longest in ms so far; only where the server's `latency-monitor-threshold` is above 0."""


def snapshot(control: RedisSession) -> RedisSnapshot:
    """Ask for all that is counted, and for what may spoil a figure.

    Sends INFO, CONFIG GET, CLIENT LIST, SLOWLOG LEN and LATENCY LATEST; of these only INFO must be answered.

    Raises:
        ServerGone: the server does not answer, or its answer cannot be read (BadReply).
    """
    with read_as("of Redis", "INFO", said("figures")):
        return _snapshot(control)


def _snapshot(control: RedisSession) -> RedisSnapshot:
    clients = int(control.info("clients").get("connected_clients", CLIENTS_MAX + 1))
    settings = control.config_get(SETTINGS)
    monitors = _monitor_clients(control) if clients <= CLIENTS_MAX else None
    slow = _reply_to(control, "SLOWLOG LEN")
    events = _reply_to(control, "LATENCY LATEST")
    info = control.info("all")
    errors = {
        name.removeprefix("errorstat_"): int(values["count"])
        for name, values in info.items()
        if name.startswith("errorstat_")
    }
    return RedisSnapshot(
        unix_s=clock.unix_s(),
        run_id=str(info.get("run_id", "")),
        uptime_s=int(info.get("uptime_in_seconds", 0)),
        figures=_figures(info),
        commands=command_stats(info),
        errors=errors,
        settings=dict(settings),
        monitor_clients=monitors,
        slow_log_entries=int(slow) if slow is not None else None,
        latency_events={_text(event[0]): int(event[3]) for event in events or ()},
    )


def command_stats(info: Mapping[str, Any]) -> dict[str, CommandStat]:
    """The commands of an INFO."""
    stats = ((name, values) for name, values in info.items() if name.startswith("cmdstat_"))
    return {name.removeprefix("cmdstat_"): _command(values) for name, values in stats}


def _monitor_clients(control: RedisSession) -> int | None:
    clients = _reply_to(control, "CLIENT LIST")
    return None if clients is None else sum(MONITORS in client.get("flags", "") for client in clients)


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _reply_to(control: RedisSession, command: str) -> Any:
    """The reply; None where the server refuses or does not know the command."""
    try:
        return control.call(command)
    except LoadstoneError:
        return None


def _figures(info: Mapping[str, Any]) -> dict[str, float]:
    """Those of `METRICS` that the server reports as numbers: a ratio of its may be `nan`."""
    reported = {name: float(info[name]) for name in RedisMonitor.METRICS if name in info}
    figures = {name: figure for name, figure in reported.items() if math.isfinite(figure)}
    databases = [values for name, values in info.items() if name.startswith("db") and isinstance(values, Mapping)]
    figures["keys"] = float(sum(int(values.get("keys", 0)) for values in databases))
    return figures


def _command(values: Mapping[str, Any]) -> CommandStat:
    names = ("calls", "usec", "rejected_calls", "failed_calls")
    return CommandStat(*(int(values.get(name, 0)) for name in names))


WATCHING = (RedisMonitor.watching,)
