"""A block in rounds: all its conditions are up, and their drives take turns in slices.

The steps are those of one trial (`measurement.py`), each taken for all conditions before the next one.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from loadstone.conduct.measurement import Measurement, PreparedTrial, refused
from loadstone.conduct.preload import preload
from loadstone.conduct.ready_parts import failure, watch_of
from loadstone.conduct.snapshots import read_after, read_before, readings
from loadstone.deploy.capacity_watch import RoomWatch
from loadstone.deploy.deployed import Deployed, Ready
from loadstone.drive.outcome import Interval
from loadstone.drive.rounds import RoundsOptions
from loadstone.observe.sample import Sample
from loadstone.observe.sampler import Sampler
from loadstone.plan.rounds import Rounds
from loadstone.plan.run_plan import PlannedTrial
from loadstone.record.company import company_of
from loadstone.record.facts import CompanyFacts
from loadstone.record.observation import Drive, Observation

OnIntervalOf = Callable[[int, Interval], None]
"""Gets each interval with the place of its condition in the block."""


@dataclass(frozen=True)
class RoundsBlock:
    """One block: its trials, and their places in the order of each round."""

    trials: tuple[PlannedTrial, ...]
    orders: tuple[tuple[int, ...], ...]
    rounds: Rounds


@contextmanager
def prepared_block(steps: Measurement, block: RoundsBlock, ready: Sequence[Ready]) -> Iterator[list[PreparedTrial]]:
    """Every trial of the block prepared on its parts, with one watch over all servers; their keys go in the end.

    Raises:
        UserError: what is to be made on a server that is not ours cannot be noted.
    """
    servers = {id(one): one for each in ready for one in each.servers.values()}
    room = RoomWatch(servers.values(), steps.driver.stop)
    with ExitStack() as held:
        prepared = [
            held.enter_context(steps.prepare(planned, parts, room))
            for planned, parts in zip(block.trials, ready, strict=True)
        ]
        yield prepared


def observe_block(
    steps: Measurement, block: RoundsBlock, prepared: Sequence[PreparedTrial], on_interval: OnIntervalOf
) -> list[Observation]:
    """Store the data, snapshot, drive in rounds, snapshot: an observation of each trial.

    Raises:
        DriveFailed: no load could be made.
        Exception: what `on_interval` raises.
    """
    for one in prepared:
        steps.require_going_on()
        preload(steps, one)
    before = [read_before(one.planned, one.ready, steps.cpus) for one in prepared]
    drives = _drive(steps, block, prepared, on_interval)
    after = [read_after(one.planned, one.ready, steps.cpus, first) for one, first in zip(prepared, before, strict=True)]
    company = _companies(prepared, drives)
    return [
        Observation(
            drive=drive,
            slices=tuple((one.begin_s, one.end_s) for one in drive.record.slices),
            readings=readings(here.planned, here.ready, first, drive, last),
            placement=steps.placement_of(here.ready),
            failure=here.room.reason or failure(drive.record, here.ready, here.oom_before),
            company=others,
        )
        for here, first, drive, last, others in zip(prepared, before, drives, after, company, strict=True)
    ]


def _drive(
    steps: Measurement, block: RoundsBlock, prepared: Sequence[PreparedTrial], on_interval: OnIntervalOf
) -> list[Drive]:
    """Drive all of them in rounds, with the monitors of each set of parts beside it."""
    intervals: list[list[Interval]] = [[] for _ in prepared]
    samples: dict[int, list[Sample]] = {}
    sets = _sets(prepared)

    def take(place: int, interval: Interval) -> None:
        intervals[place].append(interval)
        prepared[place].room.note_refused(refused(interval))
        steps.live.observe(interval)
        on_interval(place, interval)

    with ExitStack() as held:
        for number, ready in enumerate(sets.members):
            collected = samples.setdefault(number, [])
            others = [watch_of(other, ()).pids.values() for other in sets.members if other is not ready]
            watch = replace(watch_of(ready, steps.cpus), in_turn=frozenset(pid for pids in others for pid in pids))
            watched = steps.monitors(watch)

            def deliver(observed: list[Sample], collected: list[Sample] = collected) -> None:
                collected.extend(observed)
                steps.live.sample(observed)

            held.enter_context(Sampler(watched, deliver)).now()
        records = steps.driver.drive_rounds([one.plan for one in prepared], _options(block, prepared, sets), take)
    for one, record in zip(prepared, records, strict=True):
        one.offered = record.total.offered
    prepared[0].room.end()
    return [
        Drive(one.planned.name, one.plan, record, intervals[place], samples[sets.number_of(one.ready)])
        for place, (one, record) in enumerate(zip(prepared, records, strict=True))
    ]


@dataclass(frozen=True)
class _Sets:
    """The different sets of parts that the conditions of a block have."""

    members: tuple[Ready, ...]

    def number_of(self, ready: Ready) -> int:
        return next(number for number, one in enumerate(self.members) if _same(one, ready))


def _sets(prepared: Sequence[PreparedTrial]) -> _Sets:
    found: list[Ready] = []
    for one in prepared:
        if not any(_same(one.ready, other) for other in found):
            found.append(one.ready)
    return _Sets(tuple(found))


def _same(a: Ready, b: Ready) -> bool:
    return _servers(a) == _servers(b)


def _servers(ready: Ready) -> list[int]:
    return [id(one) for one in ready.servers.values()]


def _options(block: RoundsBlock, prepared: Sequence[PreparedTrial], sets: _Sets) -> RoundsOptions:
    """What the driver needs beside the plans; each drive's own parts by their names, those of other sets by number."""
    parts: list[dict[str, tuple[int, ...]]] = []
    for one in prepared:
        own = sets.number_of(one.ready)
        pids = _pids(one.ready)
        for number, other in enumerate(sets.members):
            if number != own:
                pids |= {f"{number}:{part}": ids for part, ids in _pids(other).items()}
        parts.append(pids)
    rounds = block.rounds
    return RoundsOptions(slice_s=rounds.measured_s, settle_s=rounds.settle_s, orders=block.orders, parts=tuple(parts))


def _pids(ready: Ready) -> dict[str, tuple[int, ...]]:
    """Part -> its process; parts of many processes, which come and go, are left to the monitors."""
    watch = watch_of(ready, ())
    return {part: (pid,) for part, pid in watch.pids.items() if part not in watch.trees}


def _companies(prepared: Sequence[PreparedTrial], drives: Sequence[Drive]) -> list[CompanyFacts | None]:
    """What the other drives of the block did on the same servers, for each of them."""
    found: list[CompanyFacts | None] = []
    for here in prepared:
        shared = [
            drive for other, drive in zip(prepared, drives, strict=True) if other is not here and _shares(here, other)
        ]
        found.append(company_of(shared) if shared else None)
    return found


def _shares(a: PreparedTrial, b: PreparedTrial) -> bool:
    """Whether both load one server."""
    return bool({id(one) for one in _loaded(a)} & {id(one) for one in _loaded(b)})


def _loaded(one: PreparedTrial) -> list[Deployed]:
    target = one.planned.target
    return [server for name, server in one.ready.servers.items() if target in (None, name)]
