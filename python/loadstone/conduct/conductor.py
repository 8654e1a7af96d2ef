"""One trial from its plan to its record: deploy, warm up, load the data, drive while observing, judge, record."""

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from loadstone import registry, steady_clock
from loadstone.conduct.ceiling import CeilingGauge
from loadstone.conduct.machine_speed import machine_speed, speed_facts
from loadstone.conduct.memory_ends import OomKills, count_oom_kills, killed_for_memory
from loadstone.conduct.ready_parts import (
    failure,
    held,
    limits_of,
    port_facts,
    settings_of,
    snapshots,
    stored_facts,
    subject_facts,
    targets_of,
    throttled_s,
    watch_of,
)
from loadstone.conduct.starts import part_starts, prepare_anew, starts_before
from loadstone.conduct.trial_keys import keys_of, numbered_keys
from loadstone.conduct.warm_up import warm_up
from loadstone.deploy.capacity_watch import RoomWatch
from loadstone.deploy.deployed import Ready
from loadstone.deploy.deployments import Deployments
from loadstone.deploy.placement import Placement
from loadstone.drive.driver import Driver
from loadstone.drive.outcome import DriveRecord, Interval
from loadstone.errors import DriveFailed, Interrupted, OutOfRoom, ServerGone, UserError
from loadstone.judge.validity.trial import judge_trial
from loadstone.local_ports import ports_running_out
from loadstone.observe.sample import Sample
from loadstone.observe.sampler import Sampler
from loadstone.plan.model import Plan
from loadstone.plan.run_plan import PlannedTrial
from loadstone.record.facts import Ceiling
from loadstone.record.folder import RunFolder, TrialWriter
from loadstone.record.trial import TrialRecord
from loadstone.record.trial_record import failed_trial_record, make_trial_record
from loadstone.software.redis.control import RedisControl

OnInterval = Callable[[Interval], None]
START_TRIES = 2
"""How often in a row the parts of one condition are started at most, where that fails."""


class Live(Protocol):
    """Who is shown the figures while they come in; see `report.prometheus.LiveExporter`."""

    def observe(self, interval: Interval) -> None: ...
    def sample(self, samples: list[Sample]) -> None: ...


class Unseen:
    """Nobody."""

    def observe(self, interval: Interval) -> None:
        """Passed over."""

    def sample(self, samples: list[Sample]) -> None:
        """Passed over."""


@dataclass
class Conductor:
    """Runs trials one after another on the servers and subjects of a run."""

    servers: Deployments
    driver: Driver
    ceiling: CeilingGauge
    folder: RunFolder
    placement: Placement
    stopping: threading.Event
    """Set when the user asked to stop: the trial at hand is not recorded."""
    progress: Callable[[str], None]
    live: Live = field(default_factory=Unseen)
    _not_started: Counter[str] = field(default_factory=Counter)
    """How often the parts of a condition could not be started, by its servers' and subjects' settings."""
    _offered: int | None = None
    """Operations of the last drive: where each takes a key of its own, in order, there are no keys beyond them."""

    def run(self, planned: PlannedTrial, on_interval: OnInterval) -> TrialRecord:
        """Run one trial and record it, whatever became of it.

        Raises:
            Interrupted: the user asked to stop; nothing of the trial counts.
            ServerGone: a part that is not ours stopped answering; the trial is recorded as invalid.
            OutOfRoom: a server that is not ours threw keys away, or is full; the trial is recorded as invalid.
            UserError: the disk is full, or what is to be made on a server that is not ours cannot be noted.
        """
        writer = self.folder.begin_trial(planned.name)
        started_unix_ns = steady_clock.unix_ns()
        try:
            ready = self._ready(planned)
        except (UserError, OutOfRoom) as error:
            self._require_going_on()
            failed = failed_trial_record(planned, planned.plan, str(error), started_unix_ns)
            written = writer.finish(judge_trial(failed))
            if isinstance(error, OutOfRoom):
                raise
            return written
        plan = _on(planned.plan, ready, planned.target)
        self._offered, oom_before = None, count_oom_kills(ready)
        room = RoomWatch(ready.servers.values(), self.driver.stop)
        for one in targets_of(ready, planned.target).values():
            one.traces.note(*keys_of(plan))
        try:
            with room:
                warm_up(self.driver, ready, planned.target, plan, self.progress, self._require_going_on)
                self._load(planned, ready, room)
                record = self._drive(planned, plan, ready, writer, on_interval, room, oom_before)
        except (DriveFailed, ServerGone) as error:
            why = room.reason or _first(str(error), ready, oom_before)
            record = failed_trial_record(planned, plan, why, started_unix_ns)
        finally:  # an interrupted trial and a full disk leave no key behind either
            gone = self._clean(planned, ready)
        self._require_going_on()
        written = writer.finish(judge_trial(record))
        if any(check.name == "restarted" and check.verdict == "invalid" for check in written.checks):
            prepare_anew(ready)
        room.require()
        if gone is not None:
            raise gone
        return written

    def _require_going_on(self) -> None:
        if self.stopping.is_set():
            raise Interrupted("interrupted; what was finished is kept")

    def _ready(self, planned: PlannedTrial) -> Ready:
        """What the trial needs, running. Raises UserError, at once where it could not be started before."""
        kind = repr((planned.servers, planned.subjects))
        if self._not_started[kind] >= START_TRIES:
            raise UserError("its servers or its subject could not be started before; the first trial of it says why")
        try:
            ready = self.servers.need(planned)
        except UserError:
            self._not_started[kind] += 1
            raise
        self._not_started.pop(kind, None)
        return ready

    def _load(self, planned: PlannedTrial, ready: Ready, room: RoomWatch) -> None:
        """Store the data that the trial needs. Raises DriveFailed if not all of it was stored, or at a loss."""
        if planned.load is None:
            return
        load = _on(planned.load, ready, planned.target)
        done = self.driver.drive(load, lambda interval: room.note_refused(_refused(interval)))
        if room.reason is not None:
            raise DriveFailed(room.reason)
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
        ready: Ready,
        writer: TrialWriter,
        on_interval: OnInterval,
        room: RoomWatch,
        oom_before: OomKills,
    ) -> TrialRecord:
        """Drive the load with all monitors beside it. The counters are read right before and right after."""
        intervals: list[Interval] = []
        samples: list[Sample] = []
        settings, unlike = settings_of(ready, planned)
        cpus = (*self.placement.server_cpus, *self.placement.generator_cpus)
        speed_before = machine_speed(cpus)
        held_before, throttled_before, before = held(ready, planned.stored), throttled_s(ready), snapshots(ready)
        began_with = starts_before(ready, before)

        def take(interval: Interval) -> None:
            writer.add_interval(interval)
            self.live.observe(interval)
            if not intervals or interval.phase != intervals[-1].phase:
                sampler.now()
            intervals.append(interval)
            room.note_refused(_refused(interval))
            on_interval(interval)

        def deliver(seen: list[Sample]) -> None:
            samples.extend(seen)
            self.live.sample(seen)

        sampler = Sampler(registry.monitors(watch_of(ready, cpus)), deliver)
        with sampler:
            sampler.now()
            drive = self.driver.drive(plan, take)
        self._offered = drive.total.offered
        room.end()
        ports, after = port_facts(), snapshots(ready)
        subjects, held_after = subject_facts(ready, throttled_before), held(ready, planned.stored)
        speed_after = machine_speed(cpus)
        writer.add_samples(samples)
        return make_trial_record(
            planned,
            plan,
            drive,
            intervals,
            software={name: one.control.software for name, one in ready.servers.items()},
            snapshots={name: (before[name], after[name]) for name in before},
            samples=samples,
            ceiling=None if room.reason else self._ceiling(plan, drive),
            placement=self.placement if _all_ours(ready) else None,
            failure=room.reason or failure(drive, ready, oom_before),
            stored=stored_facts(planned, drive, intervals, held_before, held_after),
            subjects=subjects,
            target=planned.target,
            settings=settings,
            unlike=unlike,
            limits=limits_of(ready),
            speed=speed_facts(speed_before, speed_after),
            starts=part_starts(ready, began_with, after),
            ports=ports,
        )

    def _ceiling(self, plan: Plan, drive: DriveRecord) -> Ceiling | None:
        """What the driver can do with this kind of load; None if the drive did not end in order."""
        if self.stopping.is_set() or drive.stopped:
            return None
        replies = max(1, drive.total.ok + sum(drive.total.errors.values()))
        return self.ceiling.measure(plan, drive.bytes_received / replies)

    def _clean(self, planned: PlannedTrial, ready: Ready) -> ServerGone | None:
        """Remove the trial's keys, and no others; the reason if a server that is not ours does not answer."""
        if planned.plan.protocol == "http1":
            return None
        keys = planned.plan.keys
        in_order = keys.distribution == "exactly_once" and planned.load is None and self._offered is not None
        count = min(keys.count, self._offered or 0) if in_order else keys.count
        gone: ServerGone | None = None
        for one in targets_of(ready, planned.target).values():
            if not isinstance(one.control, RedisControl) or (one.server.ours and not one.server.alive()):
                continue
            try:
                one.control.remove_numbered(keys.prefix, count)
                one.traces.gone(numbered_keys(planned.plan))
            except ServerGone as error:
                gone = gone if one.server.ours else error
        return gone


def _on(plan: Plan, ready: Ready, target: str | None) -> Plan:
    """The plan on the endpoints of its target. Each node of a cluster has a pool of the planned size, as in clients."""
    endpoints = ready.endpoints(target)
    if not any(endpoint.slots for endpoint in endpoints):
        return plan.model_copy(update={"endpoints": endpoints})
    pool = plan.pool.model_copy(update={"connections": plan.pool.connections * len(endpoints)})
    return plan.model_copy(update={"endpoints": endpoints, "pool": pool})


def _refused(interval: Interval) -> int:
    """Commands that a server refused for want of memory."""
    return sum(operation.errors.get("server_oom", 0) for operation in interval.operations.values())


def _all_ours(ready: Ready) -> bool:
    """Whether loadstone placed every part."""
    servers = all(one.server.ours for one in ready.servers.values())
    return servers and all(one.subject.ours for one in ready.subjects.values())


def _first(error: str, ready: Ready, oom_before: OomKills) -> str:
    """The driver's words, and after them what explains them, if something does."""
    if explained := killed_for_memory(ready, oom_before) or ports_running_out():
        return f"{error}; {explained}"
    for name, one in ready.subjects.items():
        if one.subject.ours and not one.subject.alive():
            return f"{error}; subject {name} has ended, and its last lines are: {one.subject.last_words() or 'none'}"
    return error
