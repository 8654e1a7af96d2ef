"""Measures one block: conditions that take turns in slices, or one condition in a whole trial.

The steps: prepare, snapshot, drive, snapshot, assemble; each is taken for all conditions before the next one.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TypeVar

from loadstone.drivers.driver import OnInterval, RoundsOptions, drive_alone
from loadstone.drivers.outcome import DriveRecord, Interval
from loadstone.experiment.plan.run_plan import Block
from loadstone.measure.drive_watch import DriveWatch, refused
from loadstone.measure.driven_plan import on_endpoints
from loadstone.measure.failures import failure
from loadstone.measure.key_progress import storing
from loadstone.measure.measurement import Measurement, PreparedTrial
from loadstone.measure.processes import processes_to_pause, read_by_driver
from loadstone.measure.snapshots import SnapshotsBefore, read_after, read_before, readings
from loadstone.programs.ready import RunningParts
from loadstone.run_folder.facts import ConcurrentLoadFacts
from loadstone.run_folder.observation import Observation, ObservedDrive, concurrent_load_of, measure_phase
from loadstone.safety.errors import DriveFailed
from loadstone.servers.free_space import INTERVAL_S as ROOM_S
from loadstone.servers.free_space import SpaceWatch

Read = TypeVar("Read")
REST_S = 1.0
"""Interval of the rests in rounds, in which Python runs: monitors, display, records. It takes some 10 ms."""


@contextmanager
def prepared_block(steps: Measurement, block: Block, ready: Sequence[RunningParts]) -> Iterator[list[PreparedTrial]]:
    """Every trial of the block prepared on its parts, with one watch over all servers; their keys go in the end.

    Raises:
        UserError: what is to be made on a server that is not ours cannot be noted.
    """
    servers = {id(part.server): part.server for parts in ready for part in parts.servers.values()}
    room = SpaceWatch(servers.values(), steps.drivers.stop)
    with ExitStack() as held:
        yield [
            held.enter_context(steps.prepare(planned, parts, room))
            for planned, parts in zip(block.trials, ready, strict=True)
        ]


def observe_block(
    steps: Measurement, block: Block, prepared: Sequence[PreparedTrial], on_interval: OnInterval
) -> list[Observation]:
    """Store the data, snapshot, drive, snapshot: an observation of each trial.

    Raises:
        DriveFailed: no load could be made.
        Exception: what `on_interval` raises.
    """
    for trial in prepared:
        steps.require_going_on()
        _preload(steps, trial)
    before = _once(prepared, lambda trial: read_before(trial.planned, trial.ready, steps.cpus))
    with DriveWatch(steps, block, prepared, on_interval) as watch:
        driver = steps.drivers.of(prepared[0].planned.driver)
        options = _options(block, prepared)
        records = driver.drive([trial.plan for trial in prepared], watch.take, options, watch.rest)
    drives = watch.drives(records)
    first_of = {id(trial): first for trial, first in zip(prepared, before, strict=True)}
    after = _once(prepared, lambda trial: read_after(trial.planned, trial.ready, steps.cpus, first_of[id(trial)]))
    company = _companies(prepared, before, drives)
    return [
        Observation(
            drive=drive,
            slices=measure_phase(drive.record) if block.rounds is None else _slices(drive.record),
            readings=readings(trial.planned, trial.ready, first, drive, last),
            placement=steps.placement_of(trial.ready),
            failure=str(trial.room.reason)
            if trial.room.reason
            else failure(drive.record, trial.ready, trial.oom_before),
            company=others,
        )
        for trial, first, drive, last, others in zip(prepared, before, drives, after, company, strict=True)
    ]


def _preload(measurement: Measurement, prepared: PreparedTrial) -> None:
    """Store the data that the trial needs, if any.

    Raises:
        DriveFailed: not all of it was stored, or a server that is not ours lost something.
    """
    planned = prepared.planned
    if planned.load is None:
        return
    load = on_endpoints(planned.load, prepared.ready, planned.target)
    room = prepared.room
    progress, stored = storing(measurement.progress.step, planned.load.keys.count), 0

    def observe(interval: Interval) -> None:
        nonlocal stored
        room.note_refused(refused(interval))
        stored += sum(operation.ok for operation in interval.operations.values())
        progress.done(stored)

    progress.begin()
    done = drive_alone(measurement.driver, load, observe, room.rest)
    if prepared.room.reason is not None:
        raise DriveFailed.of(prepared.room.reason)
    keys = planned.load.keys.count
    if done.total.ok != keys and not measurement.stopping.is_set():
        why = done.stopped or ", ".join(f"{kind} {number}" for kind, number in done.total.errors.items())
        raise DriveFailed(
            "loading the data: {ok:,} of {keys:,} keys were stored ({why})",
            ok=done.total.ok,
            keys=keys,
            why=why or "time-outs",
        )


def _once(prepared: Sequence[PreparedTrial], read: Callable[[PreparedTrial], Read]) -> list[Read]:
    """What is read of each trial's parts: once where several have the same ones, so that it is of one moment."""
    results: dict[object, Read] = {}
    for trial in prepared:
        if (parts := _parts(trial)) not in results:
            results[parts] = read(trial)
    return [results[_parts(trial)] for trial in prepared]


def _parts(trial: PreparedTrial) -> object:
    running = (*trial.ready.servers.values(), *trial.ready.subjects.values())
    return tuple(map(id, running)), repr((trial.planned.servers, trial.planned.stored))


def _slices(record: DriveRecord) -> tuple[tuple[float, float], ...]:
    return tuple((window.begin_s, window.end_s) for window in record.slices)


def _options(block: Block, prepared: Sequence[PreparedTrial]) -> RoundsOptions | None:
    """What the driver needs in addition to the plans, where they take turns."""
    if block.rounds is None:
        return None
    return RoundsOptions(
        slice_s=block.rounds.measured_s,
        settle_s=block.rounds.settle_s,
        orders=block.orders,
        parts=tuple(read_by_driver(trial.ready) for trial in prepared),
        paused=processes_to_pause([trial.ready for trial in prepared]),
        rest_every_s=ROOM_S if any(trial.room.watches for trial in prepared) else REST_S,
    )


def _companies(
    prepared: Sequence[PreparedTrial], before: Sequence[SnapshotsBefore], drives: Sequence[ObservedDrive]
) -> list[ConcurrentLoadFacts | None]:
    """What the other drives of the block did on the same servers, for each of them."""
    loaded = [_loaded(trial, counted) for trial, counted in zip(prepared, before, strict=True)]
    companies: list[ConcurrentLoadFacts | None] = []
    for here, own in enumerate(loaded):
        shared = [drives[other] for other, servers in enumerate(loaded) if other != here and own & servers]
        companies.append(concurrent_load_of(shared) if shared else None)
    return companies


def _loaded(trial: PreparedTrial, before: SnapshotsBefore) -> set[object]:
    """The servers that get the load: conditions may have different targets, and two addresses may be one server."""
    target, servers = trial.planned.target, set[object]()
    for name, server in trial.ready.servers.items():
        if target in (None, name):
            counters = before.counters.get(name)
            servers.add((counters.run_id if counters is not None else "") or id(server))
    return servers
