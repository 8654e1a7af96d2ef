"""Conditions with processes of their own that take turns: whose processes those are, and who runs alone meanwhile.

An application that does not have its turn stands still: a collection, a compiler or a timer of it would otherwise fall
into another's slices. Servers do next to nothing without load, and go on. Between two slices the driver holds and
releases them (`RoundsOptions.paused`); while one is warmed up, its guard does (`processes.paused`).
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from loadstone.conduct.measurement import Measurement, PreparedTrial
from loadstone.conduct.warm_up import cold_subjects, warm_up
from loadstone.deploy.deployed import DeployedSubject, Ready
from loadstone.deploy.processes.paused import hold, release
from loadstone.drive.rounds import ProcessOfDrive
from loadstone.machine import process_table
from loadstone.machine.process_identity import started


def warm_up_each(steps: Measurement, prepared: Sequence[PreparedTrial]) -> None:
    """Warm the applications of each condition up that never were under its load, while those of others stand still.

    Raises:
        Interrupted: the user requested a stop.
    """
    for one in prepared:
        target, driver = one.planned.target, steps.driver
        if cold_subjects(one.ready, target, one.plan):
            with _alone(one.ready, [other.ready for other in prepared]):
                warm_up(driver, one.ready, target, one.plan, steps.progress.step, steps.require_going_on)


@contextmanager
def _alone(ready: Ready, every: Sequence[Ready]) -> Iterator[None]:
    own = {id(one) for one in ready.subjects.values()}
    others = [one for other in every for one in other.subjects.values() if id(one) not in own]
    try:
        for one in others:
            hold(one.subject)
        yield
    finally:
        for one in others:
            release(one.subject)


def paused_of(every: Sequence[Ready]) -> tuple[tuple[ProcessOfDrive, ...], ...]:
    """By condition: the processes of its applications that loadstone started; none where all have the same ones."""
    found = [
        tuple(process for one in ready.subjects.values() if one.subject.ours for process in _processes_of(one))
        for ready in every
    ]
    return tuple(found) if len(set(found)) > 1 else ()


def _processes_of(one: DeployedSubject) -> Iterator[ProcessOfDrive]:
    """Those that its guards started, each the leader of a group, and what left such a group."""
    leaders = set(one.subject.pids.values())
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
