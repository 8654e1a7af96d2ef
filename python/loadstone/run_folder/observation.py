"""An observation: one condition's figures of one block, with the drive and the slices that it came from."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from loadstone.drivers.outcome import CommandRecord, Counts, DriveRecord, Interval
from loadstone.experiment.plan.drive_plan import Plan
from loadstone.experiment.plan.operation_units import READS
from loadstone.experiment.plan.operations import Operation
from loadstone.machine.limits_in_force import LimitInForce, LimitName
from loadstone.machine.placement import Placement
from loadstone.monitors.monitor import Sample
from loadstone.run_folder.facts import (
    Ceiling,
    ConcurrentLoadFacts,
    LinkFacts,
    PartStart,
    PortFacts,
    SnapshotPair,
    StoredFacts,
    SubjectFacts,
)
from loadstone.run_folder.window import SlicedWindow, Window

STORES = frozenset(
    {
        *("APPEND", "GETSET", "HINCRBY", "HMSET", "HSET", "INCR", "INCRBY", "JSON.MERGE", "JSON.SET", "LPUSH", "RPUSH"),
        *("MS", "SADD", "SET", "SETRANGE", "ZADD", "ZINCRBY"),
    }
)
"""Commands after which their one key is there."""
EXPIRY = frozenset({"EX", "EXAT", "PX", "PXAT"})
"""Arguments of a command after which its key goes away by itself."""
_META_FLAG = re.compile(r"[TM]\S+")
"""Flags of memcached's `ms` after which its key goes away by itself, or is stored on a condition."""
_BOUND = 6.0
"""Standard deviations: so far from its mean the number of keys that random draws hit does not come by chance."""


def keys_added(plan: Plan, total: Counts, agents: int = 0) -> tuple[int, int] | None:
    """The least and the most keys that a drive's operations can have added; None if that is not known.

    `total`: those of the whole drive; `agents`: of a fleet, each with the plan's threads.
    """
    kinds = {_effect(operation) for operation in plan.operations}
    if None in kinds:
        return None
    if plan.keys.loaded or kinds == {"reads"}:
        return 0, 0
    most = min(plan.keys.count, total.sent)
    return (_least(plan, total.ok, plan.threads * max(1, agents)), most) if kinds == {"stores"} else (0, most)


def _effect(operation: Operation) -> str | None:
    """What an operation does to its key: `reads`, or `stores` it; None if that is not known."""
    names = [_name(operation, i) for i in range(len(operation.commands))]
    arguments = {word.upper() for command in operation.commands for word in command.args}
    keyed = all(len(command.args) > 1 and command.args[1] == "{key}" for command in operation.commands)
    flags = [word for command in operation.commands if command.args[0] == "ms" for word in command.args[3:]]
    if not names or arguments & EXPIRY or any(map(_META_FLAG.fullmatch, flags)):
        return None
    if not keyed or not set(names) <= READS | STORES:
        return None
    return "reads" if set(names) <= READS else "stores"


def _least(plan: Plan, stored: int, threads: int) -> int:
    """The fewest different keys that so many operations can have stored."""
    count = plan.keys.count
    if not stored:
        return 0
    if plan.keys.distribution == "exactly_once" or (plan.keys.distribution == "sequential" and threads == 1):
        return min(count, stored)
    if plan.keys.distribution == "uniform":
        # Draws hit count (1 - (1 - 1/count)^draws) keys on average, with a variance below that mean.
        mean = -count * math.expm1(stored * math.log1p(-1 / count)) if count > 1 else 1.0
        return max(1, math.floor(mean - _BOUND * math.sqrt(min(mean, count - mean + 1))))
    return 1


def _name(operation: Operation, index: int) -> str:
    return operation.commands[index].args[0].upper()


SliceSpan = tuple[float, float]
"""Begin and end in seconds since the load of the drive started."""


@dataclass(frozen=True)
class ObservedDrive:
    """One execution of the engine, with what the monitors observed beside it. It may yield several observations."""

    name: str
    plan: Plan
    """What the driver was given, with endpoints and CPUs filled in."""
    record: DriveRecord
    """What the driver brought back."""
    intervals: Sequence[Interval]
    """All of them, in their order."""
    samples: Sequence[Sample] = ()
    """What the monitors observed, some seconds to both sides of the load included."""
    lab_share: float | None = None
    """For which share of the time threads of this process that make no load ran on the servers' CPUs; None where these
    are not known."""


@dataclass(frozen=True)
class PartReadings:
    """What was read of servers and subjects right before and right after the slices."""

    software: Mapping[str, str] = field(default_factory=dict)
    """Server -> the software that it is, as its control has it."""
    behind: Mapping[str, str] = field(default_factory=dict)
    """Part behind a subject that is watched only -> its kind."""
    links: Mapping[str, LinkFacts] = field(default_factory=dict)
    """Server -> what its line did, of those that have one."""
    counters: Mapping[str, SnapshotPair] = field(default_factory=dict)
    """Server -> its own counters before and after, of those that have some."""
    stored: Sequence[StoredFacts] = ()
    """What was counted on servers before and after."""
    subjects: Mapping[str, SubjectFacts] = field(default_factory=dict)
    """The applications that ran, by name."""
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Server -> settings that the experiment gives it, as read back before."""
    mismatched: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Server -> those of them that are not as required: what was required."""
    limits: Mapping[str, Mapping[LimitName, LimitInForce]] = field(default_factory=dict)
    """Server -> its limits as they are in force, or why they are not."""
    speed: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """CPU -> what a fixed piece of work took on it before and after, in nanoseconds."""
    starts: Mapping[str, PartStart] = field(default_factory=dict)
    """Part -> which start of it answered before and after."""
    ports: PortFacts | None = None
    """The ports for connections that this machine makes, after."""


@dataclass(frozen=True)
class Observation:
    """All that the record of one condition in one block is made from."""

    drive: ObservedDrive
    slices: tuple[SliceSpan, ...]
    """When the condition was measured within the drive, one after the other; none: the load ended before."""
    readings: PartReadings = field(default_factory=PartReadings)
    ceiling: Ceiling | None = None
    """What the same driver did against the null server."""
    placement: Placement | None = None
    """Which CPUs servers and driver were given; None: the servers' place is not known."""
    company: ConcurrentLoadFacts | None = None
    """What other drives did on the same servers meanwhile; None: there were none."""
    failure: str | None = None
    """Why the figures do not count although the load was driven, in one line (a server went away)."""

    @property
    def window(self) -> Window:
        """What the monitors observed from the begin of the first slice to the end of the last."""
        record = self.drive.record
        started_s = record.started_unix_ns / 1e9
        if record.slices:
            return SlicedWindow(self.drive.samples, started_s, record.slices, record.cpus)
        begin_s, end_s = (self.slices[0][0], self.slices[-1][1]) if self.slices else (0.0, 0.0)
        return Window(self.drive.samples, started_s + begin_s, started_s + end_s)


def measure_phase(record: DriveRecord) -> tuple[SliceSpan, ...]:
    """The slices of a drive of one condition: its measure phase, if it came to that."""
    measure = record.phases.get("measure")
    return () if measure is None else ((measure.start_s, measure.end_s),)


def concurrent_load_of(drives: Sequence[ObservedDrive]) -> ConcurrentLoadFacts:
    """What other drives did on the same servers at the same time, beside a condition measured in rounds.

    A server counts the commands of all of them together: its counters are held against the sum. At least one drive
    must be given.
    """
    commands: dict[str, CommandRecord] = {}
    for drive in drives:
        for name, record in drive.record.commands.items():
            before = commands.get(name, CommandRecord(sent=0, replied=0))
            commands[name] = before + record
    added = [keys_added(drive.plan, drive.record.total, len(drive.record.agents)) for drive in drives]
    known = [keys for keys in added if keys is not None]
    return ConcurrentLoadFacts(
        drives=len(drives),
        commands=commands,
        bytes_sent=sum(drive.record.bytes_sent for drive in drives),
        keys=(sum(low for low, _ in known), sum(high for _, high in known)) if len(known) == len(added) else None,
        loaded=all(drive.plan.keys.loaded for drive in drives),
    )
