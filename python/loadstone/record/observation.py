"""An observation: one condition's figures of one block, with the drive and the slices that it came from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from loadstone.deploy.limit_in_force import LimitInForce, LimitName
from loadstone.deploy.placement import Placement
from loadstone.drive.outcome import CommandRecord, DriveRecord, Interval
from loadstone.observe.sample import Sample
from loadstone.plan.drive_plan import Plan
from loadstone.record.facts import (
    Ceiling,
    CompanyFacts,
    LinkFacts,
    PartStart,
    PortFacts,
    SnapshotPair,
    StoredFacts,
    SubjectFacts,
)
from loadstone.record.keys_added import keys_added
from loadstone.record.window import SlicedWindow, Window

Slice = tuple[float, float]
"""Begin and end in seconds since the load of the drive started."""


@dataclass(frozen=True)
class Drive:
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

    drive: Drive
    slices: tuple[Slice, ...]
    """When the condition was measured within the drive, one after the other; none: the load ended before."""
    readings: PartReadings = field(default_factory=PartReadings)
    ceiling: Ceiling | None = None
    """What the same driver did against the null server."""
    placement: Placement | None = None
    """Which CPUs servers and driver were given; None: the servers' place is not known."""
    company: CompanyFacts | None = None
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


def measure_phase(record: DriveRecord) -> tuple[Slice, ...]:
    """The slices of a drive of one condition: its measure phase, if it came to that."""
    measure = record.phases.get("measure")
    return () if measure is None else ((measure.start_s, measure.end_s),)


def company_of(drives: Sequence[Drive]) -> CompanyFacts:
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
    return CompanyFacts(
        drives=len(drives),
        commands=commands,
        bytes_sent=sum(drive.record.bytes_sent for drive in drives),
        keys=(sum(low for low, _ in known), sum(high for _, high in known)) if len(known) == len(added) else None,
        loaded=all(drive.plan.keys.loaded for drive in drives),
    )
