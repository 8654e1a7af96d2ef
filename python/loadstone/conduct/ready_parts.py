"""What is read from the running servers and subjects around a drive: counters, counts, settings, and who died."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from urllib.parse import urlsplit

from loadstone import registry
from loadstone.bounds.conversation import SNAPSHOT, conversation
from loadstone.conduct.memory_ends import OomKills, how_it_ended, killed_for_memory
from loadstone.deploy.control import Control, KeyStore, Snapshot, TableStore
from loadstone.deploy.deployed import Deployed, Ready
from loadstone.deploy.limit_in_force import LimitInForce, LimitName
from loadstone.deploy.settings_in_force import mismatched
from loadstone.deploy.subjects.subject import Subject
from loadstone.drive.outcome import DriveRecord, Interval
from loadstone.errors import LoadstoneError
from loadstone.machine.local_ports import local_ports, tcp_sockets
from loadstone.observe.watch import Page, Watch
from loadstone.plan.required import StoredCount
from loadstone.plan.run_plan import PlannedTrial
from loadstone.record.facts import PortFacts, StoredFacts, SubjectFacts

LOOPBACK = "127.0.0.1"


def targets_of(ready: Ready, target: str | None) -> dict[str, Deployed]:
    """The servers that get the load themselves, and so hold the keys of the plan."""
    stores = {name: one for name, one in ready.servers.items() if isinstance(one.control, KeyStore)}
    return {name: one for name, one in stores.items() if target is None or name == target}


def watch_of(
    ready: Ready, cpus: Sequence[int], in_turn: Iterable[int] = (), driving: Collection[int] = frozenset()
) -> Watch:
    """What the monitors may observe of it.

    `in_turn` are processes of conditions that take turns with it, `driving` those that make the load, at any time.
    """
    servers, subjects = ready.servers.values(), ready.subjects.values()
    pids = [*(one.processes for one in servers), *(one.subject.pids for one in subjects)]
    controls: dict[str, dict[str, Control]] = {}
    for name, one in ready.servers.items():
        controls.setdefault(one.monitor.software, {})[name] = one.monitor
    pages: dict[str, dict[str, Page]] = {}
    for subject in subjects:
        pages.setdefault(subject.subject.runtime, {}).update(_pages_of(subject.subject))
    workers = {part: some for one in subjects for part, some in one.subject.workers.items()}
    return Watch(
        pids={part: pid for parts in pids for part, pid in parts.items()},
        trees=frozenset((*(part for one in servers if _has_many_processes(one) for part in one.server.pids), *workers)),
        workers={part: [one.pid for one in some if one.pid is not None] for part, some in workers.items()},
        parked=ready.parked,
        in_turn=frozenset(in_turn),
        driving=driving,
        complete=all(pids),
        cpus=tuple(cpus),
        controls=controls,
        pages=pages,
    )


def _pages_of(subject: Subject) -> Iterator[tuple[str, Page]]:
    """Where a subject tells its figures: a replica, or each of its workers (`app-worker-1`)."""
    for part, url in subject.metrics.items():
        workers = subject.workers.get(part, ())
        if not workers:
            yield part, Page(url)
        for one in workers:
            own = urlsplit(url)._replace(netloc=f"{LOOPBACK}:{one.port}")
            yield f"{part}-worker-{one.number}", Page(own.geturl(), one.pid)


def _has_many_processes(one: Deployed) -> bool:
    kind = registry.PART_KINDS.get(one.control.software)
    return kind is not None and kind.many_processes


def snapshots(ready: Ready) -> dict[str, Snapshot | None]:
    """The counters of each server that has some; None of one that does not answer."""
    found: dict[str, Snapshot | None] = {}
    for name, one in ready.servers.items():
        if registry.SOFTWARE[one.control.software].has_counters:
            try:
                with conversation(SNAPSHOT):
                    found[name] = one.control.snapshot()
            except LoadstoneError:
                found[name] = None
    return found


@dataclass(frozen=True)
class Held:
    """What a server holds at one moment; None: it could not be counted, or it has no keys."""

    count: int | None
    keys: int | None


def held(ready: Ready, counts: Iterable[StoredCount]) -> list[Held]:
    """What the servers hold, in the order of `counts`."""
    return [_held(ready.servers[required.server], required.count) for required in counts]


def _held(one: Deployed, text: str) -> Held:
    # A SELECT that counts may take minutes, and has a deadline of its own.
    bounds = nullcontext() if isinstance(one.control, TableStore) else conversation(SNAPSHOT)
    try:
        with bounds:
            return Held(one.control.count(text), one.control.keys())
    except LoadstoneError:
        return Held(None, None)


def stored_facts(
    planned: PlannedTrial,
    drive: DriveRecord,
    intervals: Sequence[Interval],
    before: Sequence[Held],
    after: Sequence[Held],
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
                answered=sum(one.ok for one in observed),
                unknown=sum(one.timeouts + sum(one.errors.values()) for one in observed) + drive.total.in_flight,
                keys_before=first.keys,
                keys_after=last.keys,
            )
        )
    return facts


def settings_of(ready: Ready, planned: PlannedTrial) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]]:
    """Server -> the settings that the experiment gives it, as read back; and those that are not as requested."""
    reported: dict[str, dict[str, str]] = {}
    wrong: dict[str, dict[str, str]] = {}
    for name, one in ready.servers.items():
        requested = planned.servers.get(name, {}).get("settings")
        if not isinstance(requested, Mapping) or not requested:
            continue
        try:
            with conversation(SNAPSHOT):
                reported[name] = dict(one.control.settings(requested))
        except LoadstoneError:
            continue
        if different := mismatched(requested, reported[name], one.control.spelling):
            wrong[name] = different
    return reported, wrong


def limits_of(ready: Ready) -> dict[str, Mapping[LimitName, LimitInForce]]:
    """Server -> its CPU and memory limits as they are in force, or why they are not."""
    return {name: one.server.facts.limits for name, one in ready.servers.items()}


def port_facts() -> PortFacts | None:
    """The ports for connections that this machine makes, and what has them; None where the system does not tell."""
    ports, sockets = local_ports(), tcp_sockets()
    if ports is None or sockets is None:
        return None
    return PortFacts(first=ports.first, last=ports.last, count=ports.count, **sockets._asdict())


def throttled_s(ready: Ready) -> dict[str, float | None]:
    """Subject -> how long its CPU limit throttled it since its start, in seconds; None without a limit."""
    reported = {name: one.subject.throttling() for name, one in ready.subjects.items()}
    return {name: sum(one.throttled_s for one in each.values()) if each else None for name, each in reported.items()}


def subject_facts(ready: Ready, before: Mapping[str, float | None]) -> dict[str, SubjectFacts]:
    """Each subject during the drive that began when it was throttled for `before`."""
    after = throttled_s(ready)
    facts = {}
    for name, one in ready.subjects.items():
        first, last = before.get(name), after[name]
        facts[name] = SubjectFacts(
            replicas=len(one.endpoints),
            ours=one.subject.ours,
            limits=dict(one.subject.limits),
            throttled_s=None if first is None or last is None else max(0.0, last - first),
            restless_cores=one.restless_cores,
        )
    return facts


def failure(drive: DriveRecord, ready: Ready, before: OomKills) -> str | None:
    """Why the trial does not count although it was driven; `before`: what the OOM killer had ended by then."""
    because = f" ({drive.stopped})" if drive.stopped else ""
    if out_of_memory := killed_for_memory(ready, before):
        return f"{out_of_memory}{because}"
    dead = [name for name, one in ready.servers.items() if not one.server.alive()]
    if dead:
        reported = how_it_ended(ready, f"server {dead[0]}", before)
        return f"server {', '.join(dead)} died during the trial{reported}{because}"
    for name, one in ready.servers.items():
        if one.line is not None and not one.line.alive():
            return f"the link of {name} ended during the trial: {one.line.how_it_ended()}{because}"
    for name, subject in ready.subjects.items():
        if not subject.subject.alive():
            output = subject.subject.last_output()
            said = f"; its last lines are: {output}" if output else ""
            reported = how_it_ended(ready, f"subject {name}", before)
            return f"subject {name} died during the trial{reported}{because}{said}"
    return drive.stopped
