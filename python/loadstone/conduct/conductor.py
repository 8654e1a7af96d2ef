"""One trial from its plan to its record: the parts, a measurement, the verdict, the line."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from loadstone.conduct.failures import explained, explained_by_any
from loadstone.conduct.measurement import Measurement, PreparedTrial
from loadstone.conduct.preload import preload
from loadstone.conduct.rounds import RoundsBlock, observe_block, prepared_block
from loadstone.conduct.starts import prepare_again
from loadstone.conduct.turns import warm_up_each
from loadstone.conduct.warm_up import warm_up
from loadstone.deploy.deployed import Ready
from loadstone.drive.driver import OnInterval
from loadstone.drive.outcome import Interval
from loadstone.drive.rounds import OnIntervalOf
from loadstone.errors import DriveFailed, OutOfRoom, ServerGone, UserError
from loadstone.judge.validity.trial_verdict import judge_trial
from loadstone.machine import steady_clock
from loadstone.plan.drive_plan import Plan
from loadstone.plan.run_plan import PlannedTrial
from loadstone.record.facts import Ceiling
from loadstone.record.folder import RunFolder, TrialWriter
from loadstone.record.observation import Drive, Observation
from loadstone.record.trial import TrialRecord
from loadstone.record.trial_record import failed_trial_record, make_trial_record

START_TRIES = 2
"""How often in a row the parts of one condition are started at most, where that fails."""


Started = TypeVar("Started")


class Gauge(Protocol):
    """What the driver can do with a kind of load; see `ceiling.CeilingGauge`."""

    def measure(self, plan: Plan, reply_bytes: float = 0.0) -> Ceiling | None: ...


@dataclass
class Conductor:
    """Runs trials one after another on the servers and subjects of a run."""

    measurement: Measurement
    ceiling: Gauge
    folder: RunFolder
    _not_started: Counter[str] = field(default_factory=Counter)
    """How often the parts of a condition could not be started, by its servers' and subjects' settings."""

    def run(self, planned: PlannedTrial, on_interval: OnInterval) -> TrialRecord:
        """Run one trial and record it, whatever became of it.

        Raises:
            Interrupted: the user requested a stop; nothing of the trial counts.
            ServerGone: a part that is not ours stopped answering; the trial is recorded as invalid.
            OutOfRoom: a server that is not ours evicted keys, or is full; the trial is recorded as invalid.
            UserError: the disk is full, or what is to be made on a server that is not ours cannot be noted.
        """
        writer, started_unix_ns = self.folder.begin_trial(planned.name), steady_clock.unix_ns()
        try:
            ready = self._ready(planned)
        except (UserError, OutOfRoom) as error:
            written = self._written(writer, failed_trial_record(planned, planned.plan, str(error), started_unix_ns))
            if isinstance(error, OutOfRoom):
                raise
            return written
        with self.measurement.prepare(planned, ready) as prepared:
            record = self._record(prepared, writer, on_interval, started_unix_ns)
        written = self._written(writer, record)
        _require_undisturbed([written], [prepared])
        return written

    def run_rounds(self, block: RoundsBlock, on_interval: OnIntervalOf) -> list[TrialRecord]:
        """Run the trials of one block in rounds and record them in their order, whatever became of them.

        `on_interval` gets the number of the interval's trial within the block, too.

        Raises:
            Interrupted, ServerGone, OutOfRoom, UserError: as `run`.
        """
        writers, started_unix_ns = [self.folder.begin_trial(one.name) for one in block.trials], steady_clock.unix_ns()
        try:
            ready = self._all_ready(block)
        except (UserError, OutOfRoom) as error:
            failed = [failed_trial_record(one, one.plan, str(error), started_unix_ns) for one in block.trials]
            written = self._all_written(writers, failed)
            if isinstance(error, OutOfRoom):
                raise
            return written
        with prepared_block(self.measurement, block, ready) as prepared:
            records = self._records(block, prepared, writers, on_interval, started_unix_ns)
        written = self._all_written(writers, records)
        _require_undisturbed(written, prepared)
        return written

    def _ready(self, planned: PlannedTrial) -> Ready:
        """What the trial needs, running. Raises UserError, at once where it could not be started before."""
        return self._started([planned], lambda: self.measurement.parts.need(planned))

    def _all_ready(self, block: RoundsBlock) -> list[Ready]:
        """What the trials of a block need, all of it running. Raises as `_ready`."""
        restarted = block.rounds.processes == "restarted"
        return self._started(block.trials, lambda: self.measurement.parts.need_all(block.trials, restarted=restarted))

    def _started(self, planned: Sequence[PlannedTrial], start: Callable[[], Started]) -> Started:
        kind = repr([(one.servers, one.subjects) for one in planned])
        if self._not_started[kind] >= START_TRIES:
            raise UserError("its servers or its subject could not be started before; its first trial gives the reason")
        try:
            started = start()
        except UserError:
            self._not_started[kind] += 1
            raise
        self._not_started.pop(kind, None)
        return started

    def _record(
        self, prepared: PreparedTrial, writer: TrialWriter, on_interval: OnInterval, started_unix_ns: int
    ) -> TrialRecord:
        try:
            with prepared.room:
                return make_trial_record(prepared.planned, self._observation(prepared, writer, on_interval))
        except (DriveFailed, ServerGone) as error:
            why = prepared.room.reason or explained(str(error), prepared.ready, prepared.oom_before)
            return failed_trial_record(prepared.planned, prepared.plan, why, started_unix_ns)

    def _observation(self, prepared: PreparedTrial, writer: TrialWriter, on_interval: OnInterval) -> Observation:
        """Warm up and load; then snapshot, drive, snapshot, assemble."""
        steps, planned = self.measurement, prepared.planned

        def take(interval: Interval) -> None:
            writer.add_interval(interval)
            on_interval(interval)

        going_on = steps.require_going_on
        warm_up(steps.driver, prepared.ready, planned.target, prepared.plan, steps.progress.step, going_on)
        preload(steps, prepared)
        before = steps.snapshot_before(prepared)
        drive = steps.drive(prepared, take, monitored=True)
        after = steps.snapshot_after(prepared, before)
        writer.add_samples(drive.samples)
        return steps.assemble(prepared, before, drive, after, self._ceiling(prepared, drive))

    def _records(
        self,
        block: RoundsBlock,
        prepared: Sequence[PreparedTrial],
        writers: Sequence[TrialWriter],
        on_interval: OnIntervalOf,
        started_unix_ns: int,
    ) -> list[TrialRecord]:
        def take(place: int, interval: Interval) -> None:
            writers[place].add_interval(interval)
            on_interval(place, interval)

        try:
            warm_up_each(self.measurement, prepared)
            with prepared[0].room:
                observed = observe_block(self.measurement, block, prepared, take)
        except (DriveFailed, ServerGone) as error:
            parts = ((one.ready, one.oom_before) for one in prepared)
            why = prepared[0].room.reason or explained_by_any(str(error), parts)
            return [failed_trial_record(one.planned, one.plan, why, started_unix_ns) for one in prepared]
        records, written = [], set[int]()
        for one, observation, writer in zip(prepared, observed, writers, strict=True):
            samples = observation.drive.samples
            if id(samples) not in written:  # those of shared parts stand once, with the first that has them
                written.add(id(samples))
                writer.add_samples(samples)
            with_ceiling = replace(observation, ceiling=self._ceiling(one, observation.drive))
            records.append(make_trial_record(one.planned, with_ceiling))
        return records

    def _ceiling(self, prepared: PreparedTrial, drive: Drive) -> Ceiling | None:
        """What the driver can do with this kind of load; None if the drive did not end in order."""
        record = drive.record
        if prepared.room.reason or self.measurement.stopping.is_set() or record.stopped:
            return None
        if record.program is not None:  # the ceiling is the native engine's
            return None
        replies = max(1, record.total.ok + sum(record.total.errors.values()))
        return self.ceiling.measure(drive.plan, record.bytes_received / replies)

    def _written(self, writer: TrialWriter, record: TrialRecord) -> TrialRecord:
        """The record, judged and on the disk. Raises Interrupted where the user requested a stop: then it is not."""
        self.measurement.require_going_on()
        return writer.finish(judge_trial(record))

    def _all_written(self, writers: Sequence[TrialWriter], records: Sequence[TrialRecord]) -> list[TrialRecord]:
        """See `_written`."""
        return [self._written(writer, record) for writer, record in zip(writers, records, strict=True)]


def _require_undisturbed(written: Sequence[TrialRecord], prepared: Sequence[PreparedTrial]) -> None:
    """After trials were recorded: parts that others started again are prepared again.

    Raises:
        OutOfRoom: a server that is not ours lost something.
        ServerGone: keys could not be removed, since a server that is not ours does not answer.
    """
    if any(check.name == "restarted" and check.verdict == "invalid" for one in written for check in one.checks):
        for trial in prepared:
            prepare_again(trial.ready)
    for trial in prepared:
        trial.room.require()
        if trial.gone is not None:
            raise trial.gone
