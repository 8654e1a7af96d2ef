"""One trial from its plan to its record: deploy, load the data, drive while observing, judge, record."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from loadstone import registry
from loadstone.analyse.judge import judge_trial
from loadstone.ceiling import CeilingGauge
from loadstone.deploy.deployments import Deployed, Deployments
from loadstone.deploy.placement import Placement
from loadstone.drive.driver import Driver
from loadstone.drive.outcome import DriveRecord, Interval
from loadstone.errors import DriveFailed, Interrupted, LoadstoneError, ServerGone
from loadstone.observe.redis import RedisSnapshot, snapshot
from loadstone.observe.sample import Sample
from loadstone.observe.sampler import Sampler
from loadstone.observe.watch import Watch
from loadstone.plan.model import Plan
from loadstone.plan.run_plan import PlannedTrial
from loadstone.record.folder import RunFolder, TrialWriter
from loadstone.record.trial import TrialRecord
from loadstone.record.trial_record import failed_trial_record, make_trial_record

OnInterval = Callable[[Interval], None]


@dataclass
class Conductor:
    """Runs trials one after another on the servers of a run."""

    servers: Deployments
    driver: Driver
    ceiling: CeilingGauge
    folder: RunFolder
    placement: Placement
    stopping: threading.Event
    """Set when the user asked to stop: the trial at hand is not recorded."""

    def run(self, planned: PlannedTrial, on_interval: OnInterval) -> TrialRecord:
        """Run one trial and record it, whatever became of it.

        Raises:
            Interrupted: the user asked to stop; nothing of the trial counts.
            ServerGone: a server that is not ours stopped answering; the trial is recorded as invalid.
            UserError: a server cannot be started, or the disk is full.
        """
        deployed = self.servers.need(planned.servers)
        plan = _with_endpoint(planned.plan, deployed)
        writer = self.folder.begin_trial(planned.name)
        started_unix_ns = time.time_ns()
        try:
            self._load(planned, deployed)
            record = self._drive(planned, plan, deployed, writer, on_interval)
        except (DriveFailed, ServerGone) as error:
            record = failed_trial_record(planned, plan, str(error), started_unix_ns)
        finally:  # an interrupted trial and a full disk leave no key behind either
            gone = self._clean(plan, deployed)
        if self.stopping.is_set():
            raise Interrupted("interrupted; what was finished is kept")
        written = writer.finish(judge_trial(record))
        if gone is not None:
            raise gone
        return written

    def _load(self, planned: PlannedTrial, deployed: Mapping[str, Deployed]) -> None:
        """Store the data that the trial needs. Raises DriveFailed if not all of it was stored."""
        if planned.load is None:
            return
        done = self.driver.drive(_with_endpoint(planned.load, deployed), lambda _: None)
        keys = planned.load.keys.count
        if done.total.ok != keys and not self.stopping.is_set():
            why = done.stopped or ", ".join(f"{kind} {number}" for kind, number in done.total.errors.items())
            raise DriveFailed(
                f"loading the data: {done.total.ok:,} of {keys:,} keys were stored ({why or 'time-outs'})"
            )

    def _drive(
        self,
        planned: PlannedTrial,
        plan: Plan,
        deployed: Mapping[str, Deployed],
        writer: TrialWriter,
        on_interval: OnInterval,
    ) -> TrialRecord:
        """Drive the load with all monitors beside it. The counters are read right before and right after."""
        intervals: list[Interval] = []
        samples: list[Sample] = []
        before = _snapshots(deployed)
        sampler = Sampler(registry.monitors(self._watch(deployed)), samples.extend)

        def take(interval: Interval) -> None:
            writer.add_interval(interval)
            if not intervals or interval.phase != intervals[-1].phase:
                sampler.now()
            intervals.append(interval)
            on_interval(interval)

        with sampler:
            sampler.now()
            drive = self.driver.drive(plan, take)
        after = _snapshots(deployed)
        writer.add_samples(samples)
        ceiling = None if self.stopping.is_set() or drive.stopped else self.ceiling.measure(plan, _rate_per_s(drive))
        return make_trial_record(
            planned,
            plan,
            drive,
            intervals,
            snapshots={name: (before[name], after[name]) for name in deployed},
            samples=samples,
            ceiling=ceiling,
            placement=self.placement if all(one.server.ours for one in deployed.values()) else None,
            failure=_failure(drive, deployed),
        )

    def _watch(self, deployed: Mapping[str, Deployed]) -> Watch:
        pids = {part: pid for one in deployed.values() for part, pid in one.server.pids.items()}
        cpus = (*self.placement.server_cpus, *self.placement.generator_cpus)
        return Watch(pids=pids, redis={name: one.monitor for name, one in deployed.items()}, cpus=cpus)

    @staticmethod
    def _clean(plan: Plan, deployed: Mapping[str, Deployed]) -> ServerGone | None:
        """Remove the trial's keys, and no others; the reason if a server that is not ours does not answer."""
        gone: ServerGone | None = None
        for one in deployed.values():
            if one.server.ours and not one.server.alive():
                continue
            try:
                one.control.remove_numbered(plan.keys.prefix, plan.keys.count)
            except ServerGone as error:
                gone = gone if one.server.ours else error
        return gone


def _with_endpoint(plan: Plan, deployed: Mapping[str, Deployed]) -> Plan:
    return plan.model_copy(update={"endpoints": tuple(one.endpoint for one in deployed.values())})


def _snapshots(deployed: Mapping[str, Deployed]) -> dict[str, RedisSnapshot | None]:
    """The counters of each server; None of one that does not answer."""
    found: dict[str, RedisSnapshot | None] = {}
    for name, one in deployed.items():
        try:
            found[name] = snapshot(one.control)
        except LoadstoneError:
            found[name] = None
    return found


def _rate_per_s(drive: DriveRecord) -> float:
    """Completions a second in the measure phase."""
    completed = sum(operation.window_completed for operation in drive.operations.values())
    return completed / drive.measure_s if drive.measure_s > 0 else 0.0


def _failure(drive: DriveRecord, deployed: Mapping[str, Deployed]) -> str | None:
    """Why the trial does not count although it was driven."""
    dead = [name for name, one in deployed.items() if not one.server.alive()]
    if dead:
        return f"server {', '.join(dead)} died during the trial" + (f" ({drive.stopped})" if drive.stopped else "")
    return drive.stopped
