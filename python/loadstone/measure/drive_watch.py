"""Runs the monitors beside a drive, and keeps its intervals and samples."""

from collections.abc import Collection, Sequence
from contextlib import ExitStack
from functools import partial
from types import TracebackType
from typing import Self

from loadstone.drivers.driver import OnInterval
from loadstone.drivers.held_intervals import EARLY_S, ROUNDING_S, is_told_early
from loadstone.drivers.outcome import DriveRecord, Interval
from loadstone.experiment.plan.run_plan import Block
from loadstone.machine.own_threads import ServerCpuTime, kept_to
from loadstone.measure.measurement import Measurement, PreparedTrial
from loadstone.measure.processes import same_parts, watch_of, watched_apart
from loadstone.measure.sampler import Sampler
from loadstone.monitors.monitor import Sample
from loadstone.programs.ready import RunningParts
from loadstone.run_folder.observation import ObservedDrive


class DriveWatch:
    """A context around one drive.

    Trials that share their parts share the monitors, too; with `monitored` false there are none. Within it nothing of
    this process but the engine's threads runs on the servers' CPUs, as far as the system lets us choose, and what does
    run there while it is measured is counted.
    """

    def __init__(
        self,
        steps: Measurement,
        block: Block,
        prepared: Sequence[PreparedTrial],
        on_interval: OnInterval,
        *,
        monitored: bool = True,
    ) -> None:
        self._steps, self._prepared, self._on_interval = steps, prepared, on_interval
        self._in_rounds = block.rounds is not None
        self._monitored = monitored
        self._watched = watched_apart([trial.ready for trial in prepared])
        self._intervals: list[list[Interval]] = [[] for _ in prepared]
        self._beginnings = Beginnings()
        self._samples: list[list[Sample]] = [[] for _ in self._watched]
        self._samplers: list[Sampler] = []
        self._own_time = ServerCpuTime(steps.placement.server_cpus)
        self._held = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as held:
            held.enter_context(kept_to(self._steps.placement.lab_cpus))
            for place, (ready, in_turn) in enumerate(self._watched):
                sampler = held.enter_context(self._sampler(place, ready, in_turn))
                self._samplers.append(sampler)
                sampler.now()
            self._held = held.pop_all()
        self._own_time.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._own_time.end()
        self._held.__exit__(kind, error, trace)

    def take(self, place: int, interval: Interval) -> None:
        """An interval of the trial at this place ended. Raises what `on_interval` raises."""
        phases = self._prepared[place].plan.phases
        if self._in_rounds:
            self._own_time.end()  # a rest has begun
        elif self._beginnings.begins(interval, phases.before_s):
            for sampler in self._samplers:
                sampler.begin_anew()
        self._intervals[place].append(interval)
        self._prepared[place].room.note_refused(refused(interval))
        self._steps.live.observe(interval, self._prepared[place].planned.condition)
        self._on_interval(place, interval)

    def rest(self) -> None:
        """Do what is put off while slices are measured; see `OnRest`. Raises what the display of samples raises."""
        if self._in_rounds:
            self._own_time.end()
        for sampler in self._samplers:
            sampler.rest()
        for trial in self._prepared:
            trial.room.rest()
        if self._in_rounds:
            self._own_time.begin()

    def drives(self, records: Sequence[DriveRecord]) -> list[ObservedDrive]:
        """The records with what was kept beside them, once the drive ended."""
        for trial, record in zip(self._prepared, records, strict=True):
            trial.offered = record.total.offered
        self._prepared[0].room.end()
        return [
            ObservedDrive(
                trial.planned.name,
                trial.plan,
                record,
                intervals,
                self._samples_of(trial.ready),
                lab_share=self._own_time.share,
            )
            for trial, record, intervals in zip(self._prepared, records, self._intervals, strict=True)
        ]

    def _sampler(self, place: int, ready: RunningParts, in_turn: Collection[int]) -> Sampler:
        watch = watch_of(ready, self._steps.cpus, in_turn, driving=self._steps.drivers.pids)
        monitors = self._steps.monitors(watch) if self._monitored else ()
        # Together they are to take no more CPU than those of one condition.
        return Sampler(monitors, partial(self._deliver, place), interval_s=float(len(self._watched)))

    def _deliver(self, place: int, observed: list[Sample]) -> None:
        self._samples[place].extend(observed)
        self._steps.live.sample(observed)

    def _samples_of(self, ready: RunningParts) -> list[Sample]:
        return next(
            samples
            for (watched, _), samples in zip(self._watched, self._samples, strict=True)
            if same_parts(watched, ready)
        )


class Beginnings:
    """Which intervals of a whole trial begin what its samples must tell from what came before.

    The measured phase is told a little early: what is asked then takes no time from what is measured. That needs as
    long a time before as rates are reported over.
    """

    def __init__(self) -> None:
        self._earlier: Interval | None = None
        self._told_early = False

    def begins(self, interval: Interval, before_s: float) -> bool:
        """Whether this next interval does; `before_s`: length of the phases before the measured one."""
        earlier, self._earlier = self._earlier, interval
        left_s = before_s - (interval.start_s + interval.duration_s)
        is_before = interval.phase not in ("measure", "drain") and is_told_early(before_s)
        if is_before and not self._told_early and left_s <= EARLY_S + ROUNDING_S:
            self._told_early = True
            return True
        if earlier is None:
            return True
        return interval.phase != earlier.phase and not (interval.phase == "measure" and self._told_early)


def refused(interval: Interval) -> int:
    """Commands that a server refused because its memory was full."""
    return sum(operation.errors.get("server_oom", 0) for operation in interval.operations.values())
