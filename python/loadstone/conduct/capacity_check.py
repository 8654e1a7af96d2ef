"""Before a run: whether what it stores fits into the servers that are not ours, beside what others hold there."""

from collections.abc import Sequence

from loadstone.deploy.capacity import (
    MemoryUse,
    disk_room,
    foreign_keys,
    limits_reported,
    machine_free_bytes,
    memory_use,
)
from loadstone.deploy.provider import Server
from loadstone.errors import ServerGone, UserError
from loadstone.plan.footprint import Footprint, disk_of, memory_of
from loadstone.plan.run_plan import PlannedTrial
from loadstone.software.redis.control import RedisControl

LESS = "store less (workload.keys.count, workload.documents.payload_bytes, data.NAME.rows)"


def require_room(server: Server, trials: Sequence[PlannedTrial]) -> None:
    """Hold what these trials store against the room of a server that runs and is not ours.

    Raises:
        UserError: it may not fit; names the server, what is free, what is planned, and what helps.
    """
    if server.ours:
        return
    try:
        with server.control() as control:
            where = f"server {server.name} ({control.endpoint.label})"
            if isinstance(control, RedisControl):
                problem = _memory_problem(control, memory_of(trials, server.name), here=bool(server.pids))
            else:
                disk = disk_room(control, server.pids.get(server.name))
                needed = disk_of(trials, server.name, binary_log=disk.binary_log)
                problem = _disk_problem(disk.folder, disk.free_bytes, needed)
    except ServerGone as gone:
        raise UserError(str(gone)) from None
    if problem:
        raise UserError(f"{where}: {problem}")


def _memory_problem(control: RedisControl, planned: Footprint, *, here: bool) -> str:
    """Why it may not fit, and what helps; empty if it does."""
    use = limits_reported(control, memory_use(control))
    if use.limit_bytes and (problem := _beyond_limit(use, foreign_keys(control, use), planned)):
        return problem
    free = machine_free_bytes(use, here=here)
    if free is not None and planned.bytes > free:
        return (
            f"the run may store {_size(planned.bytes)} there, and its machine has {_size(free)} of memory free: it "
            f"would swap, or end processes; {LESS}, or give a server on a larger machine"
        )
    return ""


def _beyond_limit(use: MemoryUse, foreign: int, planned: Footprint) -> str:
    """Keys of others would be thrown away, or their writes refused. A cache with no key of theirs may overflow."""
    evicts = use.evicts(foreign)
    if planned.bytes + use.reserve_bytes <= use.free_bytes or (evicts and not foreign):
        return ""
    keys = (
        f"{use.expiring_keys:,} keys there expire" if use.policy.startswith("volatile") else f"{use.keys:,} keys there"
    )
    then = f"throw keys of others away ({keys})" if evicts else "refuse the writes of others (OOM)"
    least = ", and more as it goes on," if planned.grows else ""
    return (
        f"the run may store {_size(planned.bytes)}{least} there, and {_size(use.free_bytes)} are free (maxmemory "
        f"{_size(use.limit_bytes)}, policy {use.policy}, {_size(use.reserve_bytes)} stay free): it would {then}; raise "
        f"maxmemory, {LESS}, or give a server of its own"
    )


def _disk_problem(folder: str, free: int | None, needed: int) -> str:
    if free is None or needed <= free:
        return ""
    return (
        f"the run's rows take about {_size(needed)} on its disk, and {_size(free)} are free in {folder}; free some, "
        "ask for fewer rows (data.NAME.rows, --scale), or give another server"
    )


def _size(count: float) -> str:
    """Bytes for people: `12 MB`, `9.1 MB`."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if count >= 10 or unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:,.1f} GB"
