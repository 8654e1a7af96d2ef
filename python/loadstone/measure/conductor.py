"""Takes a block from its plan to its records: starts the parts, measures, judges, writes."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from loadstone.drivers.driver import OnInterval
from loadstone.drivers.outcome import Interval
from loadstone.experiment.plan.run_plan import Block
from loadstone.judge.checks.checks import judge_trial
from loadstone.machine import clock
from loadstone.measure.ceiling import CeilingGauge
from loadstone.measure.failures import explained
from loadstone.measure.look_behind import look_behind_each
from loadstone.measure.measure_block import observe_block, prepared_block
from loadstone.measure.measurement import Measurement, PreparedTrial
from loadstone.measure.warm_up import warm_up_each
from loadstone.programs.ready import RunningParts
from loadstone.run_folder.facts import Ceiling
from loadstone.run_folder.folder import RunFolder, TrialWriter
from loadstone.run_folder.make_trial import failed_trial_record, make_trial_record
from loadstone.run_folder.observation import Observation, ObservedDrive
from loadstone.run_folder.trial import TrialRecord
from loadstone.safety.errors import DriveFailed, LoadstoneError, OutOfSpace, ServerGone, UserError
from loadstone.text.message import Message

START_TRIES = 2
"""How often in a row the parts of one condition are started at most, where that fails."""


@dataclass
class BlockRunner:
    """Runs blocks one after another on the servers and subjects of a run."""

    measurement: Measurement
    ceiling: CeilingGauge
    folder: RunFolder
    unix_ns: Callable[[], int] = clock.unix_ns
    _not_started: Counter[str] = field(default_factory=Counter)
    """How often the parts of a condition could not be started, by its servers' and subjects' settings."""
    _why_not: dict[str, Message] = field(default_factory=dict)
    """Why they could not the last time."""

    def run(self, block: Block, on_interval: OnInterval) -> list[TrialRecord]:
        """Measure a block and record its trials in their order, whatever became of them.

        `on_interval` gets the place of the interval's trial within the block, too.

        Raises:
            Interrupted: the user requested a stop; nothing of the block counts.
            ServerGone: a part that is not ours stopped answering; the trials are recorded as invalid.
            OutOfRoom: a server that is not ours evicted keys, or is full; the trials are recorded as invalid.
            UserError: the disk is full, or what is to be made on a server that is not ours cannot be noted.
        """
        started_unix_ns = self.unix_ns()
        writers = [self.folder.begin_trial(trial.name) for trial in block.trials]

        def take(place: int, interval: Interval) -> None:
            writers[place].add_interval(interval)
            on_interval(place, interval)

        try:
            ready = self._ready(block)
        except (UserError, OutOfSpace) as error:
            failed = [failed_trial_record(trial, trial.plan, str(error), started_unix_ns) for trial in block.trials]
            written = self._written(writers, failed)
            if isinstance(error, OutOfSpace):
                raise
            return written
        with prepared_block(self.measurement, block, ready) as prepared:
            try:
                with prepared[0].room:
                    warm_up_each(self.measurement, prepared)
                    look_behind_each(self.measurement, prepared)
                    observed = observe_block(self.measurement, block, prepared, take)
            except (DriveFailed, ServerGone) as error:
                records = _failed(prepared, error, started_unix_ns)
            else:
                records = self._records(prepared, observed, writers)
        written = self._written(writers, records)
        _require_undisturbed(written, prepared)
        return written

    def _ready(self, block: Block) -> list[RunningParts]:
        """What its trials need, all of it running. Raises UserError, at once where it could not be started before."""
        kind = repr([(trial.servers, trial.subjects) for trial in block.trials])
        if self._not_started[kind] >= START_TRIES:
            raise UserError("could not be started before, and is not tried again: {why}", why=self._why_not[kind])
        restarted = block.rounds is not None and block.rounds.processes == "restarted"
        try:
            ready = self.measurement.parts.need_all(block.trials, restarted=restarted)
        except UserError as error:
            self._not_started[kind] += 1
            self._why_not[kind] = error.message
            raise
        self._not_started.pop(kind, None)
        return ready

    def _records(
        self, prepared: Sequence[PreparedTrial], observed: Sequence[Observation], writers: Sequence[TrialWriter]
    ) -> list[TrialRecord]:
        """The record of each trial; samples of parts that trials share stand once, with the first of them."""
        records, written = [], set[int]()
        for trial, observation, writer in zip(prepared, observed, writers, strict=True):
            samples = observation.drive.samples
            if id(samples) not in written:
                written.add(id(samples))
                writer.add_samples(samples)
            with_ceiling = replace(observation, ceiling=self._ceiling(trial, observation.drive))
            records.append(make_trial_record(trial.planned, with_ceiling))
        return records

    def _ceiling(self, prepared: PreparedTrial, drive: ObservedDrive) -> Ceiling | None:
        """What the driver can do with this kind of load; None if the drive did not end in order."""
        record = drive.record
        if prepared.room.reason or self.measurement.stopping.is_set() or record.stopped:
            return None
        if record.program is not None:  # the ceiling is the native engine's
            return None
        replies = max(1, record.total.ok + sum(record.total.errors.values()))
        return self.ceiling.measure(drive.plan, record.bytes_received / replies)

    def _written(self, writers: Sequence[TrialWriter], records: Sequence[TrialRecord]) -> list[TrialRecord]:
        """The records, judged and on the disk. Raises Interrupted, before any, where the user requested a stop."""
        self.measurement.require_going_on()
        written = [writer.finish(judge_trial(record)) for writer, record in zip(writers, records, strict=True)]
        for record in written:
            self.measurement.live.recorded(record)
        return written


def _failed(prepared: Sequence[PreparedTrial], error: LoadstoneError, started_unix_ns: int) -> list[TrialRecord]:
    """The records of trials that could not be driven, with the reason."""
    lost = prepared[0].room.reason
    why = str(lost) if lost else explained(str(error), ((trial.ready, trial.oom_before) for trial in prepared))
    return [failed_trial_record(trial.planned, trial.plan, why, started_unix_ns) for trial in prepared]


def _require_undisturbed(written: Sequence[TrialRecord], prepared: Sequence[PreparedTrial]) -> None:
    """After trials were recorded: parts that others started again are prepared again.

    Raises:
        OutOfRoom: a server that is not ours lost something.
        ServerGone: keys could not be removed, since a server that is not ours does not answer.
    """
    if any(check.name == "restarted" and check.verdict == "invalid" for record in written for check in record.checks):
        for trial in prepared:
            _prepare_again(trial.ready)
    for trial in prepared:
        trial.room.require()
        if trial.gone is not None:
            raise trial.gone


def _prepare_again(ready: RunningParts) -> None:
    """After a restart that loadstone did not make: data is written again, and applications are warmed up again."""
    for server in ready.servers.values():
        server.contents.clear()
    for subject in ready.subjects.values():
        subject.warmed.clear()
