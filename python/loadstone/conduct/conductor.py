"""One trial from its plan to its record: the parts, a measurement, the verdict, the line."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

from loadstone.conduct.failures import explained
from loadstone.conduct.measurement import Measurement, PreparedTrial
from loadstone.conduct.preload import preload
from loadstone.conduct.starts import prepare_again
from loadstone.conduct.warm_up import warm_up
from loadstone.deploy.deployed import Ready
from loadstone.drive.driver import OnInterval
from loadstone.drive.outcome import Interval
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
        if any(check.name == "restarted" and check.verdict == "invalid" for check in written.checks):
            prepare_again(ready)
        prepared.room.require()
        if prepared.gone is not None:
            raise prepared.gone
        return written

    def _ready(self, planned: PlannedTrial) -> Ready:
        """What the trial needs, running. Raises UserError, at once where it could not be started before."""
        kind = repr((planned.servers, planned.subjects))
        if self._not_started[kind] >= START_TRIES:
            raise UserError("its servers or its subject could not be started before; its first trial gives the reason")
        try:
            ready = self.measurement.parts.need(planned)
        except UserError:
            self._not_started[kind] += 1
            raise
        self._not_started.pop(kind, None)
        return ready

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

    def _ceiling(self, prepared: PreparedTrial, drive: Drive) -> Ceiling | None:
        """What the driver can do with this kind of load; None if the drive did not end in order."""
        record = drive.record
        if prepared.room.reason or self.measurement.stopping.is_set() or record.stopped:
            return None
        replies = max(1, record.total.ok + sum(record.total.errors.values()))
        return self.ceiling.measure(drive.plan, record.bytes_received / replies)

    def _written(self, writer: TrialWriter, record: TrialRecord) -> TrialRecord:
        """The record, judged and on the disk. Raises Interrupted where the user requested a stop: then it is not."""
        self.measurement.require_going_on()
        return writer.finish(judge_trial(record))
