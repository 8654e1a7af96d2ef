"""The processes of a condition: which the monitors watch, which the driver reads, and which stand still.

Conditions of a block may have processes of their own. An application that does not have its turn stands still: a
collection, a compiler or a timer of it would otherwise fall into another's slices. Servers do next to nothing without
load, and go on. Between two slices the driver holds and releases the applications (`RoundsOptions.paused`).
"""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from urllib.parse import urlsplit

from loadstone.drivers.driver import ProcessOfDrive
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.machine import process_table
from loadstone.machine.process_identity import started
from loadstone.monitors import catalogue
from loadstone.monitors.watch import MetricsPage, MonitorTargets, RemotePartTarget
from loadstone.programs.ready import RunningParts, RunningSubject
from loadstone.programs.subjects.subject import Subject
from loadstone.run_folder.part_kinds import declared
from loadstone.servers.control import Control
from loadstone.servers.deployed import RunningServer
from loadstone.servers.remote_part import RemotePart
from loadstone.servers.transport import is_loopback


def watch_of(
    ready: RunningParts, cpus: Sequence[int], in_turn: Iterable[int] = (), driving: Collection[int] = frozenset()
) -> MonitorTargets:
    """What the monitors may observe of it.

    `in_turn` are processes of conditions that take turns with it, `driving` those that make the load, at any time.
    """
    servers, subjects = ready.servers.values(), ready.subjects.values()
    pids = [*(deployed.processes for deployed in servers), *(deployed.subject.pids for deployed in subjects)]
    names = (*ready.servers, *ready.subjects)
    controls: dict[str, dict[str, Control]] = {}
    for name, deployed in ready.servers.items():
        controls.setdefault(deployed.monitor.software, {})[name] = deployed.monitor
    pages: dict[str, dict[str, MetricsPage]] = {}
    for subject in subjects:
        pages.setdefault(subject.subject.runtime, {}).update(_pages_of(subject.subject))
    workers = {part: some for deployed in subjects for part, some in deployed.subject.workers.items()}
    for part in ready.behind.values():
        if part.control is not None:
            controls.setdefault(part.software, {})[part.name] = part.control
    families = _families(ready)
    of_workers = {part: [worker.pid for worker in some if worker.pid is not None] for part, some in workers.items()}
    return MonitorTargets(
        pids={part: pid for parts in pids for part, pid in parts.items()} | _pids_behind(ready),
        trees=frozenset((*_trees(servers), *_trees_behind(ready), *of_workers, *families)),
        workers={**families, **of_workers},
        parked=ready.parked,
        in_turn=frozenset(in_turn),
        driving=driving,
        complete=all(bool(parts) or name in ready.behind for name, parts in zip(names, pids, strict=True)),
        cpus=tuple(cpus),
        controls=controls,
        stores=frozenset(part.name for part in ready.behind.values() if declared(part.kind).store),
        pages=pages,
        elsewhere=dict(_elsewhere(ready)),
    )


def _pids_behind(ready: RunningParts) -> dict[str, int]:
    return {part.name: part.pid for part in ready.behind.values() if part.pid is not None}


def _trees_behind(ready: RunningParts) -> Iterator[str]:
    """The parts behind subjects that work in many processes."""
    return (name for name in _pids_behind(ready) if declared(ready.behind[name].kind).many_processes)


def _families(ready: RunningParts) -> dict[str, list[int]]:
    """What runs beneath the process of an application, or of a part behind one: its workers.

    A store has children for a while only, to write a snapshot.
    """
    subjects = [(one.subject.workers, one.subject.pids) for one in ready.subjects.values()]
    roots = {part: pid for workers, pids in subjects for part, pid in pids.items() if part not in workers}
    roots |= {name: pid for name, pid in _pids_behind(ready).items() if not declared(ready.behind[name].kind).store}
    trees = {part: process_table.tree([pid]) for part, pid in roots.items()}
    # What started us does not have us for a worker.
    beneath = {part: sorted(tree - {roots[part]}) for part, tree in trees.items() if os.getpid() not in tree}
    return {part: below for part, below in beneath.items() if below}


def _elsewhere(ready: RunningParts) -> Iterator[tuple[str, RemotePartTarget]]:
    """The parts of which no process was found on this machine, as they would be called here."""
    for name, server in ready.servers.items():
        if not server.processes:
            kind = catalogue.PART_KINDS.get(server.control.software)
            many, stores = kind is not None and kind.many_processes, kind is not None and kind.store
            for part, endpoint in _named(name, server.endpoints, hosted=isinstance(server.server, RemotePart)):
                yield part, RemotePartTarget(endpoint.host, endpoint.port, many, stores)
    for name, subject in ready.subjects.items():
        if not subject.subject.pids:
            for part, endpoint in _named(name, subject.endpoints, hosted=isinstance(subject.subject, RemotePart)):
                yield part, RemotePartTarget(endpoint.host, endpoint.port)


def _named(name: str, endpoints: Sequence[Endpoint], *, hosted: bool) -> Iterator[tuple[str, Endpoint]]:
    """Parts of a server or subject by their addresses; what is reached by the loopback is this machine's.

    `hosted`: loadstone started it on a machine of the fleet, wherever that listens.
    """
    loaded = [endpoint for endpoint in endpoints if endpoint.in_service]
    primaries = [endpoint for endpoint in loaded if endpoint.replica_of is None]
    replicas = [endpoint for endpoint in loaded if endpoint.replica_of is not None]
    parts = (
        {name: primaries[0]} if len(primaries) == 1 else {f"{name}-{at}": one for at, one in enumerate(primaries, 1)}
    )
    parts |= {f"{name}-replica-{at}": one for at, one in enumerate(replicas, 1)}
    return (
        (part, one) for part, one in parts.items() if one.unix_path is None and (hosted or not is_loopback(one.host))
    )


def _pages_of(subject: Subject) -> Iterator[tuple[str, MetricsPage]]:
    """Where a subject tells its figures: a replica, or each of its workers (`app-worker-1`)."""
    for part, url in subject.metrics.items():
        workers = subject.workers.get(part, ())
        if not workers:
            yield part, MetricsPage(url)
        for worker in workers:
            at = urlsplit(url)
            own = at._replace(netloc=f"{at.netloc.rpartition(':')[0]}:{worker.port}")
            yield f"{part}-worker-{worker.number}", MetricsPage(own.geturl(), worker.pid)


def _trees(servers: Iterable[RunningServer]) -> Iterator[str]:
    """The parts of servers that have many processes, which come and go."""
    for deployed in servers:
        kind = catalogue.PART_KINDS.get(deployed.control.software)
        if kind is not None and kind.many_processes:
            yield from deployed.server.pids


def watched_apart(every: Sequence[RunningParts]) -> list[tuple[RunningParts, set[int]]]:
    """What is watched apart: parts that differ, each with the processes that take turns with them."""
    apart: list[RunningParts] = []
    for ready in every:
        if not any(same_parts(ready, other) for other in apart):
            apart.append(ready)
    return [(ready, in_turn_with(ready, every)) for ready in apart]


def read_by_driver(ready: RunningParts) -> dict[str, tuple[int, ...]]:
    """Part -> its process, and its workers'. Parts of many processes, which come and go, are the monitors'."""
    watch = watch_of(ready, ())
    alone = {part: pid for part, pid in watch.pids.items() if part not in watch.trees or part in watch.workers}
    return {part: (pid, *watch.workers.get(part, ())) for part, pid in alone.items()}


def processes_to_pause(every: Sequence[RunningParts]) -> tuple[tuple[ProcessOfDrive, ...], ...]:
    """Return, for each condition, the processes of the applications that loadstone started for it. Empty if all
    conditions share them, because then none has to be paused."""
    needed = [
        tuple(process for part in ready.subjects.values() if part.subject.ours for process in _started_by(part))
        for ready in every
    ]
    return tuple(needed) if len(set(needed)) > 1 else ()


def _started_by(deployed: RunningSubject) -> Iterator[ProcessOfDrive]:
    """Those that its guards started, each the leader of a group, and what left such a group."""
    leaders = set(deployed.subject.pids.values())
    for pid in sorted(process_table.tree(leaders)) if leaders else ():
        ticks = started(pid)
        with suppress(ProcessLookupError, PermissionError):
            if ticks is not None and (pid in leaders or os.getpgid(pid) not in leaders):
                yield ProcessOfDrive(pid=pid, started_ticks=ticks)


def in_turn_with(ready: RunningParts, every: Sequence[RunningParts]) -> set[int]:
    """The processes of all of these that are not this one's."""
    return {pid for other in every for pid in _pids(other)} - _pids(ready)


def _pids(ready: RunningParts) -> set[int]:
    servers = (pid for deployed in ready.servers.values() for pid in deployed.processes.values())
    subjects = (pid for deployed in ready.subjects.values() for pid in deployed.subject.pids.values())
    return {*servers, *subjects, *_pids_behind(ready).values()}


def same_parts(a: RunningParts, b: RunningParts) -> bool:
    """Whether both are the same servers and applications."""
    return _ids(a) == _ids(b)


def _ids(ready: RunningParts) -> set[int]:
    return {id(deployed) for deployed in (*ready.servers.values(), *ready.subjects.values())}
