"""Crashes: a server is killed under load and started again, and what it had acknowledged is looked up.

A crash is a measurement without monitors. It differs in its snapshots: before the load what the server counts, after
it and a restart the same again, or what became of every acknowledged key.
"""

import time
from dataclasses import dataclass

from loadstone.conduct.block import drive_block
from loadstone.conduct.killer import Killer
from loadstone.conduct.look_up import LookUp
from loadstone.conduct.measurement import Measurement, PreparedTrial
from loadstone.deploy.control import KeyStore
from loadstone.deploy.deployed import Deployed
from loadstone.deploy.provider import Step
from loadstone.drive.outcome import DriveRecord
from loadstone.errors import DriveFailed, ServerGone, UserError
from loadstone.goals.goal import Kill
from loadstone.machine import steady_clock
from loadstone.plan.block import Block
from loadstone.plan.drive_plan import Plan
from loadstone.plan.run_plan import CrashTrial
from loadstone.record.crash import CrashRecord, LookedUp


@dataclass(frozen=True)
class Kept:
    """What a server still holds after its restart of what the drive wrote."""

    found: int | None
    """By its count; None: nothing says how to count, or the keys are looked up."""
    looked_up: LookedUp | None


@dataclass
class Crashes:
    """Runs crashes one after another. Only servers that loadstone started are killed."""

    measurement: Measurement

    def run(self, planned: Kill) -> CrashRecord:
        """The record of one crash, whatever became of it.

        Raises:
            Interrupted: the user requested a stop; the crash does not count.
        """
        one = planned.crash
        said = f"crash {planned.number} of {planned.of}: killing {one.crash.server} under load"
        self.measurement.progress.step(Step(said, about=f"killing {one.crash.server} under load"))
        record = self._one(one)
        self.measurement.require_going_on()
        return record

    def _one(self, one: CrashTrial) -> CrashRecord:
        try:
            ready = self.measurement.parts.need(one.trial)
            victim = ready.servers[one.crash.server]
            pid = next(iter(victim.server.pids.values()), None)
            if not victim.server.ours or pid is None:
                return _without_result(one, "the server is not loadstone's own, and is never killed")
            if one.crash.look_up and (policy := _evicts(victim)):
                why = f"the server may evict keys by itself ({policy}); set maxmemory-policy noeviction"
                return _without_result(one, why)
            killer = Killer(pid, one.crash.after_s)
            with self.measurement.prepare(one.trial, ready) as prepared:
                return self._measured(one, prepared, victim, killer)
        except (DriveFailed, ServerGone, UserError) as error:
            return _without_result(one, str(error))
        except PermissionError:
            return _without_result(one, "the server may not be killed by this user; run as root, or use kind: embedded")
        except ProcessLookupError:
            return _without_result(one, "the server was dead before the load began")

    def _measured(self, one: CrashTrial, prepared: PreparedTrial, victim: Deployed, killer: Killer) -> CrashRecord:
        """Snapshot, drive, restart and snapshot, assemble."""
        before = None if one.crash.look_up else _counted(one, victim)
        started_unix_ns = steady_clock.unix_ns()
        with killer:
            alone = Block.alone(one.trial)
            (done,) = drive_block(self.measurement, alone, [prepared], killer.on_interval, monitored=False)
        drive = done.record
        killed_after_s = round(killer.killed_after_s or 0.0, 3)
        again_s = time.monotonic()
        try:
            victim.server.restart()
        except (ServerGone, UserError) as error:
            record = _without_result(one, f"it did not start again: {error}")
            return record.model_copy(update={"killed_after_s": killed_after_s})
        restart_s = time.monotonic() - again_s
        prepared.ready = self.measurement.parts.need(one.trial)
        kept = self._kept(one, prepared, drive, before)
        failure = "it ended before it was killed" if killer.killed_after_s is None else None
        return CrashRecord(
            name=one.crash.name,
            trial=one.crash.trial,
            condition=one.trial.condition,
            number=one.crash.number,
            acknowledged=drive.total.ok,
            unknown=sum(drive.total.errors.values()) + drive.total.timeouts + drive.total.in_flight,
            found=kept.found,
            looked_up=kept.looked_up,
            restart_s=round(restart_s, 3),
            killed_after_s=killed_after_s,
            failure=failure or _contradiction(prepared.plan, kept.looked_up, drive),
            started_unix_ns=started_unix_ns,
        )

    def _kept(self, one: CrashTrial, prepared: PreparedTrial, drive: DriveRecord, before: int | None) -> Kept:
        """What became of every acknowledged key, or what the server counts. Raises ServerGone, UserError."""
        server = prepared.ready.servers[one.crash.server]
        return Kept(
            looked_up=self._looked_up(one, prepared.plan, server, drive),
            found=None if before is None else _counted(one, server, before),
        )

    def _looked_up(self, one: CrashTrial, plan: Plan, server: Deployed, drive: DriveRecord) -> LookedUp | None:
        """None where keys cannot be looked up."""
        if not one.crash.look_up or drive.acknowledged is None or not isinstance(server.control, KeyStore):
            return None
        steps = self.measurement
        look_up = LookUp(server.control, plan, one.crash.look_up, steps.progress.step, steps.require_going_on)
        return look_up.run(drive.acknowledged)


def _counted(one: CrashTrial, server: Deployed, before: int = 0) -> int | None:
    """What the server counts, without what was there before; None: nothing says how to count."""
    return None if one.crash.count is None else server.control.count(one.crash.count) - before


def _contradiction(plan: Plan, looked_up: LookedUp | None, drive: DriveRecord) -> str | None:
    """Why the record of keys cannot be correct: each write of a key that is written once has a key of its own."""
    if looked_up is None or plan.keys.distribution != "exactly_once" or looked_up.keys == drive.total.ok:
        return None
    return f"{drive.total.ok} writes were acknowledged, of {looked_up.keys} keys; please report this"


def _evicts(victim: Deployed) -> str:
    """By which policy the server may throw away what it acknowledged; empty where it does not."""
    return victim.control.evicting_policy() if isinstance(victim.control, KeyStore) else ""


def _without_result(one: CrashTrial, why: str) -> CrashRecord:
    """The record of a crash that says nothing of what was lost, and why."""
    return CrashRecord(
        name=one.crash.name,
        trial=one.crash.trial,
        condition=one.trial.condition,
        number=one.crash.number,
        acknowledged=0,
        unknown=0,
        found=None,
        restart_s=None,
        killed_after_s=0.0,
        failure=why,
        started_unix_ns=steady_clock.unix_ns(),
    )
