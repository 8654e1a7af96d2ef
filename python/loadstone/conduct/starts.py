"""Which start of every part a trial finds before its drive, and which after it: a part that was started again shows."""

import time
from collections.abc import Mapping

from loadstone.deploy.control import Snapshot, Start
from loadstone.deploy.deployed import Ready
from loadstone.machine.process_identity import started
from loadstone.record.facts import PartStart

ENDED = "ended"
"""What is known of the start of a process that is no more."""


def starts_before(ready: Ready, snapshots: Mapping[str, Snapshot | None]) -> dict[str, Start]:
    """Part -> its start, of all servers and subjects; `snapshots` are those of `ready_parts.snapshots`."""
    found = _of_processes(ready)
    for name, snapshot in snapshots.items():
        if snapshot is not None:
            found[name] = _of_counters(snapshot)
    for name, one in ready.servers.items():
        # A process that can be observed says more than a clock.
        if name not in found and (start := one.control.start()) is not None:
            found[name] = start
    return found


def part_starts(
    ready: Ready, before: Mapping[str, Start], snapshots: Mapping[str, Snapshot | None]
) -> dict[str, PartStart]:
    """Part -> its start before the drive and now. Of a part that does not run now nothing is known."""
    found: dict[str, PartStart] = {}
    for part, first in before.items():
        if first.pid is not None:
            last = _process_start(first.pid) or Start(ENDED if _owner_runs(part, ready) else None)
        elif (snapshot := snapshots.get(part)) is not None:
            last = _of_counters(snapshot)
        else:
            last = (ready.servers[part].control.start() if part in ready.servers else None) or Start(None)
        found[part] = PartStart(
            before=first.identity,
            after=last.identity,
            uptime_before_s=first.uptime_s,
            uptime_after_s=last.uptime_s,
            between_s=max(0.0, last.at_s - first.at_s),
        )
    return found


def prepare_again(ready: Ready) -> None:
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
    """None: there is no such process, or none that can be observed."""
    ticks = started(pid)
    return None if ticks is None else Start(f"process {pid}, tick {ticks}", pid=pid)


def _owner_runs(part: str, ready: Ready) -> bool:
    """Whether the server or subject that a process belonged to runs now."""
    servers = any(part in one.pids and one.server.alive() for one in ready.servers.values())
    return servers or any(part in one.pids and one.subject.alive() for one in ready.subjects.values())


def _of_counters(snapshot: Snapshot) -> Start:
    return Start(snapshot.run_id or None, float(snapshot.uptime_s), time.monotonic())
