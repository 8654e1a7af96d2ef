"""What is read of all parts right before a drive, and right after it: the second and the fourth step of a measurement.

The servers' counters are read last before and first after, so that what is read here is not among what they counted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loadstone.conduct.links import begin_links, link_facts
from loadstone.conduct.machine_speed import machine_speed, speed_facts
from loadstone.conduct.ready_parts import (
    Held,
    held,
    limits_of,
    port_facts,
    settings_of,
    snapshots,
    stored_facts,
    subject_facts,
    throttled_s,
)
from loadstone.conduct.starts import part_starts, starts_before
from loadstone.deploy.control import Snapshot, Start
from loadstone.deploy.deployed import Ready
from loadstone.plan.run_plan import PlannedTrial
from loadstone.record.facts import LinkFacts, PortFacts, SubjectFacts
from loadstone.record.observation import Drive, PartReadings


@dataclass(frozen=True)
class Before:
    """The parts right before a drive."""

    settings: Mapping[str, Mapping[str, str]]
    mismatched: Mapping[str, Mapping[str, str]]
    """Settings that are not as required: what was required."""
    speed: dict[int, int]
    held: Sequence[Held]
    throttled_s: Mapping[str, float | None]
    counters: Mapping[str, Snapshot | None]
    starts: Mapping[str, Start]
    links: Mapping[str, LinkFacts]
    """Servers with a line: what it adds, measured by pings."""


@dataclass(frozen=True)
class After:
    """The parts right after a drive."""

    ports: PortFacts | None
    counters: Mapping[str, Snapshot | None]
    subjects: Mapping[str, SubjectFacts]
    held: Sequence[Held]
    speed: dict[int, int]
    links: Mapping[str, LinkFacts]
    """Those of before, with what the lines did since."""


def read_before(planned: PlannedTrial, ready: Ready, cpus: Sequence[int]) -> Before:
    """Read the parts; `cpus` are those whose speed is taken."""
    settings, mismatched = settings_of(ready, planned)
    speed, links = machine_speed(cpus), begin_links(ready)
    stored, throttled, counters = held(ready, planned.stored), throttled_s(ready), snapshots(ready)
    return Before(settings, mismatched, speed, stored, throttled, counters, starts_before(ready, counters), links)


def read_after(planned: PlannedTrial, ready: Ready, cpus: Sequence[int], before: Before) -> After:
    """Read the parts that were as `before` before the drive."""
    ports, counters, links = port_facts(), snapshots(ready), link_facts(ready, before.links)
    subjects, stored = subject_facts(ready, before.throttled_s), held(ready, planned.stored)
    return After(ports, counters, subjects, stored, machine_speed(cpus), links)


def readings(planned: PlannedTrial, ready: Ready, before: Before, drive: Drive, after: After) -> PartReadings:
    """Both put together, as an observation has them."""
    return PartReadings(
        software={name: one.control.software for name, one in ready.servers.items()},
        counters={name: (before.counters[name], after.counters[name]) for name in before.counters},
        stored=stored_facts(planned, drive.record, drive.intervals, before.held, after.held),
        subjects=after.subjects,
        settings=before.settings,
        mismatched=before.mismatched,
        limits=limits_of(ready),
        speed=speed_facts(before.speed, after.speed),
        starts=part_starts(ready, before.starts, after.counters),
        ports=after.ports,
        links=after.links,
    )
