"""Which start of every part a trial finds before its drive, and which after it: a part that was started again shows."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass

from loadstone.deploy.deployed import Ready
from loadstone.errors import LoadstoneError
from loadstone.process_identity import started
from loadstone.record.facts import PartStart
from loadstone.replies import read_as
from loadstone.software.mariadb.control import MariaDbControl
from loadstone.software.redis.monitor import RedisSnapshot

ENDED = "ended"
"""What is known of the start of a process that is no more."""


@dataclass(frozen=True)
class Start:
    """One start of a part, as far as it can be known at one moment."""

    identity: str | None
    """Another one for each start: a Redis's run id, or a process and when it began."""
    uptime_s: float | None = None
    """How long it has been running, by its own clock."""
    at_s: float = 0.0
    """The moment, by our monotonic clock."""
    pid: int | None = None
    """The process, where that is what is known."""


def starts_before(ready: Ready, snapshots: Mapping[str, RedisSnapshot | None]) -> dict[str, Start]:
    """Part -> its start, of all servers and subjects; `snapshots` are those of `ready_parts.snapshots`."""
    found = _of_processes(ready)
    for name, snapshot in snapshots.items():
        if snapshot is not None:
            found[name] = _of_redis(snapshot)
    for name, control in _mariadbs(ready).items():
        if name not in found:  # a process that can be seen tells more than a clock
            found[name] = _of_mariadb(control)
    return found


def part_starts(
    ready: Ready, before: Mapping[str, Start], snapshots: Mapping[str, RedisSnapshot | None]
) -> dict[str, PartStart]:
    """Part -> its start before the drive and now. Of a part that does not run now nothing is known."""
    mariadbs = _mariadbs(ready)
    found: dict[str, PartStart] = {}
    for part, first in before.items():
        if first.pid is not None:
            last = _process_start(first.pid) or Start(ENDED if _owner_runs(part, ready) else None)
        elif part in mariadbs:
            last = _of_mariadb(mariadbs[part])
        else:
            snapshot = snapshots.get(part)
            last = _of_redis(snapshot) if snapshot is not None else Start(None)
        found[part] = PartStart(
            before=first.identity,
            after=last.identity,
            uptime_before_s=first.uptime_s,
            uptime_after_s=last.uptime_s,
            between_s=max(0.0, last.at_s - first.at_s),
        )
    return found


def prepare_anew(ready: Ready) -> None:
    """After a restart that loadstone did not make: data is written again, and applications are warmed up again."""
    for server in ready.servers.values():
        server.holds.clear()
    for subject in ready.subjects.values():
        subject.warmed.clear()


def _of_processes(ready: Ready) -> dict[str, Start]:
    pids = [*(one.pids for one in ready.servers.values()), *(one.pids for one in ready.subjects.values())]
    found = {part: _process_start(pid) for parts in pids for part, pid in parts.items()}
    return {part: start for part, start in found.items() if start is not None}


def _process_start(pid: int) -> Start | None:
    """None: there is no such process, or none that can be seen."""
    ticks = started(pid)
    return None if ticks is None else Start(f"process {pid}, tick {ticks}", pid=pid)


def _owner_runs(part: str, ready: Ready) -> bool:
    """Whether the server or subject that a process belonged to runs now."""
    servers = any(part in one.pids and one.server.alive() for one in ready.servers.values())
    return servers or any(part in one.pids and one.subject.alive() for one in ready.subjects.values())


def _of_redis(snapshot: RedisSnapshot) -> Start:
    return Start(snapshot.run_id or None, float(snapshot.uptime_s), time.monotonic())


def _mariadbs(ready: Ready) -> dict[str, MariaDbControl]:
    return {name: one.control for name, one in ready.servers.items() if isinstance(one.control, MariaDbControl)}


def _of_mariadb(control: MariaDbControl) -> Start:
    """It has no number for each start, but tells for how long it has been running, in whole seconds."""
    try:
        rows = control.query("SHOW GLOBAL STATUS LIKE 'Uptime'")
        with read_as(control.endpoint.label, "SHOW GLOBAL STATUS", "its uptime"):
            uptime_s = float(rows[0][1])
    except LoadstoneError:
        return Start(None)
    return Start(None, uptime_s if math.isfinite(uptime_s) else None, time.monotonic())
