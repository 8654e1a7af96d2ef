"""The processes of a condition: what the monitors watch, whose CPU time the driver reads, and what stands still.

Conditions of a block may have processes of their own. An application that does not have its turn stands still: a
collection, a compiler or a timer of it would otherwise fall into another's slices. Servers do next to nothing without
load, and go on. Between two slices the driver holds and releases the applications (`RoundsOptions.paused`).
"""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from urllib.parse import urlsplit

from loadstone import registry
from loadstone.deploy.control import Control
from loadstone.deploy.deployed import Deployed, DeployedSubject, Ready
from loadstone.deploy.subjects.subject import Subject
from loadstone.drive.driver import ProcessOfDrive
from loadstone.machine import process_table
from loadstone.machine.process_identity import started
from loadstone.observe.watch import Page, Watch

LOOPBACK = "127.0.0.1"


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


def watched_apart(every: Sequence[Ready]) -> list[tuple[Ready, set[int]]]:
    """What is watched apart: parts that differ, each with the processes that take turns with them."""
    apart: list[Ready] = []
    for ready in every:
        if not any(alike(ready, other) for other in apart):
            apart.append(ready)
    return [(ready, in_turn_with(ready, every)) for ready in apart]


def read_by_driver(ready: Ready) -> dict[str, tuple[int, ...]]:
    """Part -> its process, and its workers'. Parts of many processes, which come and go, are the monitors'."""
    watch = watch_of(ready, ())
    alone = {part: pid for part, pid in watch.pids.items() if part not in watch.trees or part in watch.workers}
    return {part: (pid, *watch.workers.get(part, ())) for part, pid in alone.items()}


def paused_of(every: Sequence[Ready]) -> tuple[tuple[ProcessOfDrive, ...], ...]:
    """By condition: the processes of its applications that loadstone started; none where all have the same ones."""
    needed = [
        tuple(process for part in ready.subjects.values() if part.subject.ours for process in _started_by(part))
        for ready in every
    ]
    return tuple(needed) if len(set(needed)) > 1 else ()


def _started_by(deployed: DeployedSubject) -> Iterator[ProcessOfDrive]:
    """Those that its guards started, each the leader of a group, and what left such a group."""
    leaders = set(deployed.subject.pids.values())
    for pid in sorted(process_table.tree(leaders)) if leaders else ():
        ticks = started(pid)
        with suppress(ProcessLookupError, PermissionError):
            if ticks is not None and (pid in leaders or os.getpgid(pid) not in leaders):
                yield ProcessOfDrive(pid=pid, started_ticks=ticks)


def in_turn_with(ready: Ready, every: Sequence[Ready]) -> set[int]:
    """The processes of all of these that are not this one's."""
    return {pid for other in every for pid in _pids(other)} - _pids(ready)


def _pids(ready: Ready) -> set[int]:
    servers = (pid for one in ready.servers.values() for pid in one.processes.values())
    return {*servers, *(pid for one in ready.subjects.values() for pid in one.subject.pids.values())}


def alike(a: Ready, b: Ready) -> bool:
    """Whether both are the same servers and applications."""
    return _ids(a) == _ids(b)


def _ids(ready: Ready) -> set[int]:
    return {id(one) for one in (*ready.servers.values(), *ready.subjects.values())}
