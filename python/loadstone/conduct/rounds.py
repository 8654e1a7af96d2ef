"""A block in rounds: all its conditions are up, and their drives take turns in slices.

The steps are those of one trial (`measurement.py`), each taken for all conditions before the next one.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

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
    """Drive all of them in rounds, with the monitors in addition: they observe what all conditions share."""
    intervals: list[list[Interval]] = [[] for _ in prepared]
    samples: list[Sample] = []
    ready = prepared[0].ready

    def take(place: int, interval: Interval) -> None:
        intervals[place].append(interval)
        prepared[place].room.note_refused(refused(interval))
        steps.live.observe(interval)
        on_interval(place, interval)

    def deliver(observed: list[Sample]) -> None:
        samples.extend(observed)
        steps.live.sample(observed)

    with Sampler(steps.monitors(watch_of(ready, steps.cpus)), deliver) as sampler:
        sampler.now()
        records = steps.driver.drive_rounds([one.plan for one in prepared], _options(block, ready), take)
    for one, record in zip(prepared, records, strict=True):
        one.offered = record.total.offered
    prepared[0].room.end()
    return [
        Drive(one.planned.name, one.plan, record, intervals[place], samples)
        for place, (one, record) in enumerate(zip(prepared, records, strict=True))
    ]


def _options(block: RoundsBlock, ready: Ready) -> RoundsOptions:
    """What the driver needs in addition to the plans. Parts of many processes, which come and go, are the monitors'."""
    rounds, watch = block.rounds, watch_of(ready, ())
    parts = {part: (pid,) for part, pid in watch.pids.items() if part not in watch.trees}
    return RoundsOptions(
        slice_s=rounds.measured_s,
        settle_s=rounds.settle_s,
        orders=block.orders,
        parts=(parts,) * len(block.trials),
    )


def _companies(prepared: Sequence[PreparedTrial], drives: Sequence[Drive]) -> list[CompanyFacts | None]:
    """What the other drives of the block did on the same servers, for each of them."""
    found: list[CompanyFacts | None] = []
    for here in prepared:
        shared = [
            drive for other, drive in zip(prepared, drives, strict=True) if other is not here and _share(here, other)
        ]
        found.append(company_of(shared) if shared else None)
    return found


def _share(a: PreparedTrial, b: PreparedTrial) -> bool:
    """Whether both load one server: conditions may have different targets."""
    return bool({id(one) for one in _loaded(a)} & {id(one) for one in _loaded(b)})


def _loaded(one: PreparedTrial) -> list[Deployed]:
    target = one.planned.target
    return [server for name, server in one.ready.servers.items() if target in (None, name)]
