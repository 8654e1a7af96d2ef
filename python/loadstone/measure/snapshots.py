"""Reads all parts right before a drive and right after it: the second and fourth step of a measurement.

The servers' counters are read last before and first after, so that what is read here is not among what they counted.
"""

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial

from loadstone.drivers.outcome import DriveRecord, Interval
from loadstone.experiment.plan.drive_plan import Plan
from loadstone.experiment.plan.operations import begins_with_key, is_one_key
from loadstone.experiment.plan.protocols import PROTOCOLS
from loadstone.experiment.plan.required import StoredCount
from loadstone.experiment.plan.run_plan import PlannedTrial
from loadstone.experiment.software import SOFTWARE
from loadstone.experiment.spec.experiment import OUR_PREFIX
from loadstone.machine.limits_in_force import LimitInForce, LimitName
from loadstone.machine.ports import local_ports, tcp_sockets
from loadstone.machine.process_identity import started
from loadstone.machine.start_context import never, silent
from loadstone.measure.driven_plan import targets_of
from loadstone.measure.key_progress import removing
from loadstone.measure.links import begin_links, link_facts
from loadstone.measure.machine_speed import machine_speed, speed_facts
from loadstone.monitors.snapshot import Snapshot
from loadstone.programs.ready import RunningParts
from loadstone.run_folder.facts import LinkFacts, PartStart, PortFacts, StoredFacts, SubjectFacts
from loadstone.run_folder.ledger import CreatedObject
from loadstone.run_folder.observation import ObservedDrive, PartReadings
from loadstone.safety.bounds.deadlines import REMOVAL, SNAPSHOT, deadline
from loadstone.safety.errors import LoadstoneError, ServerGone
from loadstone.servers.addresses import resolved
from loadstone.servers.control import KeyStore, Start, TableStore
from loadstone.servers.deployed import RunningServer
from loadstone.servers.patience import is_busy, patiently
from loadstone.servers.settings_in_force import mismatched

ENDED = "ended"
"""What is known of the start of a process that is no more."""


@dataclass(frozen=True)
class StoredCounts:
    """What a server holds at one moment; None: it could not be counted, or it has no keys."""

    count: int | None
    keys: int | None


@dataclass(frozen=True)
class SnapshotsBefore:
    """The parts right before a drive."""

    settings: Mapping[str, Mapping[str, str]]
    mismatched: Mapping[str, Mapping[str, str]]
    """Settings that are not as required: what was required."""
    speed: dict[int, int]
    held: Sequence[StoredCounts]
    throttled_s: Mapping[str, float | None]
    counters: Mapping[str, Snapshot | None]
    starts: Mapping[str, Start]
    links: Mapping[str, LinkFacts]
    """Servers with a line: what it adds, measured by pings."""


@dataclass(frozen=True)
class SnapshotsAfter:
    """The parts right after a drive."""

    ports: PortFacts | None
    counters: Mapping[str, Snapshot | None]
    subjects: Mapping[str, SubjectFacts]
    held: Sequence[StoredCounts]
    speed: dict[int, int]
    links: Mapping[str, LinkFacts]
    """Those of before, with what the lines did since."""


def read_before(planned: PlannedTrial, ready: RunningParts, cpus: Sequence[int]) -> SnapshotsBefore:
    """Read the parts; `cpus` are those whose speed is taken."""
    settings, mismatched = settings_of(ready, planned)
    speed, links = machine_speed(cpus), begin_links(ready)
    stored, throttled, counters = held(ready, planned.stored), throttled_s(ready), snapshots(ready)
    return SnapshotsBefore(
        settings, mismatched, speed, stored, throttled, counters, starts_before(ready, counters), links
    )


def read_after(
    planned: PlannedTrial, ready: RunningParts, cpus: Sequence[int], before: SnapshotsBefore
) -> SnapshotsAfter:
    """Read the parts that were as `before` before the drive."""
    ports, counters, links = port_facts(), snapshots(ready), link_facts(ready, before.links)
    subjects, stored = subject_facts(ready, before.throttled_s), held(ready, planned.stored)
    return SnapshotsAfter(ports, counters, subjects, stored, machine_speed(cpus), links)


def readings(
    planned: PlannedTrial, ready: RunningParts, before: SnapshotsBefore, drive: ObservedDrive, after: SnapshotsAfter
) -> PartReadings:
    """Both put together, as an observation has them."""
    return PartReadings(
        software={name: deployed.control.software for name, deployed in ready.servers.items()},
        behind={part.name: part.kind for part in ready.behind.values()},
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


def starts_before(ready: RunningParts, snapshots: Mapping[str, Snapshot | None]) -> dict[str, Start]:
    """Part -> its start, of all servers and subjects; `snapshots` are those of `snapshots`."""
    starts = _of_processes(ready)
    for name, snapshot in snapshots.items():
        if snapshot is not None:
            starts[name] = _of_counters(snapshot)
    for name, deployed in ready.servers.items():
        # A process that can be observed says more than a clock.
        if name not in starts and (start := deployed.control.start()) is not None:
            starts[name] = start
    return starts


def part_starts(
    ready: RunningParts, before: Mapping[str, Start], snapshots: Mapping[str, Snapshot | None]
) -> dict[str, PartStart]:
    """Part -> its start before the drive and now. Of a part that does not run now nothing is known."""
    starts: dict[str, PartStart] = {}
    for part, first in before.items():
        if first.pid is not None:
            last = _process_start(first.pid) or Start(ENDED if _owner_runs(part, ready) else None)
        elif (snapshot := snapshots.get(part)) is not None:
            last = _of_counters(snapshot)
        else:
            last = (ready.servers[part].control.start() if part in ready.servers else None) or Start(None)
        starts[part] = PartStart(
            before=first.identity,
            after=last.identity,
            uptime_before_s=first.uptime_s,
            uptime_after_s=last.uptime_s,
            between_s=max(0.0, last.at_s - first.at_s),
        )
    return starts


def _of_processes(ready: RunningParts) -> dict[str, Start]:
    pids = [
        *(deployed.pids for deployed in ready.servers.values()),
        *(deployed.pids for deployed in ready.subjects.values()),
        {part.name: part.pid for part in ready.behind.values() if part.pid is not None},
    ]
    starts = {part: _process_start(pid) for parts in pids for part, pid in parts.items()}
    return {part: start for part, start in starts.items() if start is not None}


def _process_start(pid: int) -> Start | None:
    """None: there is no such process, or none that can be observed."""
    ticks = started(pid)
    return None if ticks is None else Start(f"process {pid}, tick {ticks}", pid=pid)


def _owner_runs(part: str, ready: RunningParts) -> bool:
    """Whether the server or subject that a process belonged to runs now."""
    if part in ready.behind:
        return True  # of such a part nobody knows what else serves in its place
    servers = any(part in deployed.pids and deployed.server.alive() for deployed in ready.servers.values())
    return servers or any(part in deployed.pids and deployed.subject.alive() for deployed in ready.subjects.values())


def _of_counters(snapshot: Snapshot) -> Start:
    return Start(snapshot.run_id or None, float(snapshot.uptime_s), time.monotonic())


def snapshots(ready: RunningParts) -> dict[str, Snapshot | None]:
    """The counters of each server that has some; None of one that does not answer."""
    counters: dict[str, Snapshot | None] = {}
    for name, deployed in ready.servers.items():
        if SOFTWARE[deployed.control.software].has_counters:
            try:
                with deadline(SNAPSHOT):
                    counters[name] = deployed.control.snapshot()
            except LoadstoneError:
                counters[name] = None
    return counters


def held(ready: RunningParts, counts: Iterable[StoredCount]) -> list[StoredCounts]:
    """What the servers hold, in the order of `counts`."""
    return [_held(ready.servers[required.server], required.count) for required in counts]


def _held(one: RunningServer, text: str) -> StoredCounts:
    # A SELECT that counts may take minutes, and has a deadline of its own.
    bounds = nullcontext() if isinstance(one.control, TableStore) else deadline(SNAPSHOT)
    try:
        with bounds:
            return StoredCounts(one.control.count(text), one.control.keys())
    except LoadstoneError:
        return StoredCounts(None, None)


def stored_facts(
    planned: PlannedTrial,
    drive: DriveRecord,
    intervals: Sequence[Interval],
    before: Sequence[StoredCounts],
    after: Sequence[StoredCounts],
) -> list[StoredFacts]:
    """The counts before and after, with what the driver was answered in between, in every phase."""
    facts = []
    for count, first, last in zip(planned.stored, before, after, strict=True):
        observed = [
            interval.operations[count.operation] for interval in intervals if count.operation in interval.operations
        ]
        facts.append(
            StoredFacts(
                operation=count.operation,
                server=count.server,
                before=first.count,
                after=last.count,
                answered=sum(operation.ok for operation in observed),
                unknown=sum(operation.timeouts + sum(operation.errors.values()) for operation in observed)
                + drive.total.in_flight,
                keys_before=first.keys,
                keys_after=last.keys,
            )
        )
    return facts


def settings_of(
    ready: RunningParts, planned: PlannedTrial
) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]]:
    """Server -> the settings that the experiment gives it, as read back; and those that are not as requested."""
    reported: dict[str, dict[str, str]] = {}
    wrong: dict[str, dict[str, str]] = {}
    for name, deployed in ready.servers.items():
        requested = planned.servers.get(name, {}).get("settings")
        if not isinstance(requested, Mapping) or not requested:
            continue
        try:
            with deadline(SNAPSHOT):
                reported[name] = dict(deployed.control.settings(requested))
        except LoadstoneError:
            continue
        if different := mismatched(requested, reported[name], deployed.control.spelling):
            wrong[name] = different
    return reported, wrong


def limits_of(ready: RunningParts) -> dict[str, Mapping[LimitName, LimitInForce]]:
    """Server -> its CPU and memory limits as they are in force, or why they are not."""
    return {name: deployed.server.facts.limits for name, deployed in ready.servers.items()}


def port_facts() -> PortFacts | None:
    """The ports for connections that this machine makes, and what has them; None where the system does not tell."""
    ports, sockets = local_ports(), tcp_sockets()
    if ports is None or sockets is None:
        return None
    return PortFacts(first=ports.first, last=ports.last, count=ports.count, **sockets._asdict())


def throttled_s(ready: RunningParts) -> dict[str, float | None]:
    """Subject -> how long its CPU limit throttled it since its start, in seconds; None without a limit."""
    reported = {name: deployed.subject.throttling() for name, deployed in ready.subjects.items()}
    return {name: sum(one.throttled_s for one in each.values()) if each else None for name, each in reported.items()}


def subject_facts(ready: RunningParts, before: Mapping[str, float | None]) -> dict[str, SubjectFacts]:
    """Each subject during the drive that began when it was throttled for `before`."""
    after = throttled_s(ready)
    facts = {}
    for name, deployed in ready.subjects.items():
        first, last = before.get(name), after[name]
        facts[name] = SubjectFacts(
            replicas=len(deployed.endpoints),
            ours=deployed.subject.ours,
            limits=dict(deployed.subject.limits),
            throttled_s=None if first is None or last is None else max(0.0, last - first),
            restless_cores=deployed.restless_cores,
            addresses=() if deployed.subject.ours else resolved(deployed.endpoints),
        )
    return facts


BUSY_S = 20.0
"""How long a server that is busy for now is tried again after a trial."""
_BRACE = re.compile(r"\{\{|[{}]")
_NAMED = re.compile(rf"{OUR_PREFIX}[^:]+:")
"""A beginning that is removed as a whole must name something of its own."""


def numbered_keys(plan: Plan) -> CreatedObject:
    """The keys of the plan's key space."""
    return CreatedObject("numbered_keys", plan.keys.prefix, plan.keys.count)


def keys_of(plan: Plan) -> list[CreatedObject]:
    """All that the plan's commands may make below `loadstone:`; nothing where the load is HTTP.

    Any argument of that form is taken for a key: to remove too much is not possible, because all of it is ours.
    """
    if not PROTOCOLS[plan.protocol].has_keys:
        return []
    if plan.recording is not None:
        return [CreatedObject("keys_beginning", plan.keys.prefix)]
    commands = [command for operation in plan.operations for command in operation.commands]
    named = {_named(text, plan.keys.prefix) for command in commands for text in command.args[1:]}
    return [numbered_keys(plan), *sorted(made for made in named if made is not None)]


def _named(text: str, prefix: str) -> CreatedObject | None:
    """The key, or the keys' beginning, that an argument names; None for `{key}` or `{key2}` itself, and
    for what is not ours."""
    if begins_with_key(text):
        return None if is_one_key(text) else CreatedObject("keys_beginning", prefix)
    if not text.startswith(OUR_PREFIX):
        return None
    place = next((brace.start() for brace in _BRACE.finditer(text) if brace[0] != "{{"), None)
    literal = text[:place].replace("{{", "{")
    if place is None:
        return CreatedObject("key", literal)
    return CreatedObject("keys_beginning", literal) if _NAMED.match(literal) else None


def _remove(control: KeyStore, prefix: str, count: int, tell: Callable[[int], None]) -> None:
    with deadline(REMOVAL, count):
        control.remove_numbered(prefix, count, tell)


def remove_keys(
    planned: PlannedTrial,
    ready: RunningParts,
    offered: int | None,
    tell: Callable[[str], None] = silent,
    ending: Callable[[], bool] = never,
) -> ServerGone | None:
    """Remove the plan's keys, and no others; the reason if a server that is not ours does not answer.

    `offered`: operations of the drive, once it ended. `tell` is told how far it is. Where the run is `ending` by the
    user's request, the keys of a server of ours end with it.
    """
    if not PROTOCOLS[planned.plan.protocol].has_keys:
        return None
    keys = planned.plan.keys
    in_order = keys.distribution == "exactly_once" and planned.load is None and offered is not None
    count = min(keys.count, offered or 0) if in_order else keys.count
    gone: ServerGone | None = None
    for server in targets_of(ready, planned.target).values():
        gone_anyway = server.server.ours and (ending() or not server.server.alive())
        if not isinstance(server.control, KeyStore) or gone_anyway:
            continue
        progress = removing(tell, count, server.control.endpoint.label, ending)
        progress.begin(lasting=ending())
        remove = partial(_remove, server.control, keys.prefix, count, progress.done)
        try:
            patiently(remove, time.monotonic() + BUSY_S, is_busy)
            server.traces.gone(numbered_keys(planned.plan))
        except ServerGone as error:
            gone = gone if server.server.ours else error
    return gone
