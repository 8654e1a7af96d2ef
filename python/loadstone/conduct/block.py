"""A block, measured: of conditions that take turns in slices, or of one in a whole trial.

The steps: prepare, snapshot, drive, snapshot, assemble; each is taken for all conditions before the next one.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TypeVar

from loadstone.conduct.measurement import Measurement, PreparedTrial, refused
from loadstone.conduct.preload import preload
from loadstone.conduct.ready_parts import failure, watch_of
from loadstone.conduct.snapshots import Before, read_after, read_before, readings
from loadstone.conduct.turns import alike, in_turn_with, paused_of
from loadstone.deploy.capacity_watch import RoomWatch
from loadstone.deploy.deployed import Ready
from loadstone.drive.driver import OnInterval
from loadstone.drive.outcome import DriveRecord, Interval
from loadstone.drive.rounds import RoundsOptions
from loadstone.observe.sample import Sample
from loadstone.observe.sampler import Sampler
from loadstone.plan.block import Block
from loadstone.plan.rounds import Rounds
from loadstone.record.facts import CompanyFacts
from loadstone.record.observation import Drive, Observation, company_of, measure_phase

Read = TypeVar("Read")


@contextmanager
def prepared_block(steps: Measurement, block: Block, ready: Sequence[Ready]) -> Iterator[list[PreparedTrial]]:
    """Every trial of the block prepared on its parts, with one watch over all servers; their keys go in the end.

    Raises:
        UserError: what is to be made on a server that is not ours cannot be noted.
    """
    servers = {id(one): one for each in ready for one in each.servers.values()}
    room = RoomWatch(servers.values(), steps.drivers.stop)
    with ExitStack() as held:
        prepared = [
            held.enter_context(steps.prepare(planned, parts, room))
            for planned, parts in zip(block.trials, ready, strict=True)
        ]
        yield prepared


def observe_block(
    steps: Measurement, block: Block, prepared: Sequence[PreparedTrial], on_interval: OnInterval
) -> list[Observation]:
    """Store the data, snapshot, drive, snapshot: an observation of each trial.

    Raises:
        DriveFailed: no load could be made.
        Exception: what `on_interval` raises.
    """
    for one in prepared:
        steps.require_going_on()
        preload(steps, one)
    before = _once(prepared, lambda one: read_before(one.planned, one.ready, steps.cpus))
    drives = drive_block(steps, block, prepared, on_interval)
    first_of = {id(one): first for one, first in zip(prepared, before, strict=True)}
    after = _once(prepared, lambda one: read_after(one.planned, one.ready, steps.cpus, first_of[id(one)]))
    company = _companies(prepared, before, drives)
    return [
        Observation(
            drive=drive,
            slices=measure_phase(drive.record) if block.rounds is None else _slices(drive.record),
            readings=readings(here.planned, here.ready, first, drive, last),
            placement=steps.placement_of(here.ready),
            failure=here.room.reason or failure(drive.record, here.ready, here.oom_before),
            company=others,
        )
        for here, first, drive, last, others in zip(prepared, before, drives, after, company, strict=True)
    ]


def _once(prepared: Sequence[PreparedTrial], read: Callable[[PreparedTrial], Read]) -> list[Read]:
    """What is read of each trial's parts: once where several have the same ones, so that it is of one moment."""
    found: dict[object, Read] = {}
    for one in prepared:
        if (parts := _parts(one)) not in found:
            found[parts] = read(one)
    return [found[_parts(one)] for one in prepared]


def _parts(one: PreparedTrial) -> object:
    running = (*one.ready.servers.values(), *one.ready.subjects.values())
    return tuple(map(id, running)), repr((one.planned.servers, one.planned.stored))


def drive_block(
    steps: Measurement,
    block: Block,
    prepared: Sequence[PreparedTrial],
    on_interval: OnInterval,
    *,
    monitored: bool = True,
) -> list[Drive]:
    """Drive the load, with all monitors beside it or with none: a set of them for all that share their parts.

    Raises:
        DriveFailed: no load could be made.
        Exception: what `on_interval` raises.
    """
    intervals: list[list[Interval]] = [[] for _ in prepared]
    watched = _watched([one.ready for one in prepared])
    samples: list[list[Sample]] = [[] for _ in watched]
    samplers: list[Sampler] = []

    def take(place: int, interval: Interval) -> None:
        earlier = intervals[place]
        if block.rounds is None and (not earlier or interval.phase != earlier[-1].phase):
            for sampler in samplers:
                sampler.now()
        earlier.append(interval)
        prepared[place].room.note_refused(refused(interval))
        steps.live.observe(interval)
        on_interval(place, interval)

    def deliver_to(place: int, observed: list[Sample]) -> None:
        samples[place].extend(observed)
        steps.live.sample(observed)

    with ExitStack() as held:
        for place, (ready, in_turn) in enumerate(watched):
            watch = watch_of(ready, steps.cpus, in_turn, driving=steps.drivers.pids)
            # Together they are to take no more CPU than those of one condition.
            pause_s = float(len(watched))
            sampler = Sampler(steps.monitors(watch) if monitored else (), partial(deliver_to, place), pause_s)
            samplers.append(held.enter_context(sampler))
            sampler.now()
        driver = steps.drivers.of(prepared[0].planned.driver)
        options = None if block.rounds is None else _options(block, block.rounds, prepared)
        records = driver.drive([one.plan for one in prepared], take, options)
    for one, record in zip(prepared, records, strict=True):
        one.offered = record.total.offered
    prepared[0].room.end()
    observed_of = [next(n for n, (ready, _) in enumerate(watched) if alike(ready, one.ready)) for one in prepared]
    return [
        Drive(one.planned.name, one.plan, record, intervals[place], samples[observed_of[place]])
        for place, (one, record) in enumerate(zip(prepared, records, strict=True))
    ]


def _watched(every: Sequence[Ready]) -> list[tuple[Ready, set[int]]]:
    """What is watched apart: parts that differ, each with the processes that take turns with them."""
    found: list[Ready] = []
    for ready in every:
        if not any(alike(ready, other) for other in found):
            found.append(ready)
    return [(ready, in_turn_with(ready, every)) for ready in found]


def _slices(record: DriveRecord) -> tuple[tuple[float, float], ...]:
    return tuple((one.begin_s, one.end_s) for one in record.slices)


def _options(block: Block, rounds: Rounds, prepared: Sequence[PreparedTrial]) -> RoundsOptions:
    """What the driver needs in addition to the plans."""
    return RoundsOptions(
        slice_s=rounds.measured_s,
        settle_s=rounds.settle_s,
        orders=block.orders,
        parts=tuple(_processes(one.ready) for one in prepared),
        paused=paused_of([one.ready for one in prepared]),
    )


def _processes(ready: Ready) -> dict[str, tuple[int, ...]]:
    """Part -> its process, and its workers'. Parts of many processes, which come and go, are the monitors'."""
    watch = watch_of(ready, ())
    alone = {part: pid for part, pid in watch.pids.items() if part not in watch.trees or part in watch.workers}
    return {part: (pid, *watch.workers.get(part, ())) for part, pid in alone.items()}


def _companies(
    prepared: Sequence[PreparedTrial], before: Sequence[Before], drives: Sequence[Drive]
) -> list[CompanyFacts | None]:
    """What the other drives of the block did on the same servers, for each of them."""
    loaded = [_loaded(one, counted) for one, counted in zip(prepared, before, strict=True)]
    found: list[CompanyFacts | None] = []
    for here, own in enumerate(loaded):
        shared = [drives[other] for other, servers in enumerate(loaded) if other != here and own & servers]
        found.append(company_of(shared) if shared else None)
    return found


def _loaded(one: PreparedTrial, before: Before) -> set[object]:
    """The servers that get the load: conditions may have different targets, and two addresses may be one server."""
    target, found = one.planned.target, set[object]()
    for name, server in one.ready.servers.items():
        if target in (None, name):
            counters = before.counters.get(name)
            found.add((counters.run_id if counters is not None else "") or id(server))
    return found
