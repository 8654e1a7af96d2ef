"""Crashes: kills a server under load, starts it again, and looks up what it had acknowledged.

A crash is a measurement without monitors. It differs in its snapshots: before the load what the server counts, after
it and a restart the same again, or what became of every acknowledged key.
"""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from loadstone.drivers.outcome import Acknowledged, DriveRecord, Interval
from loadstone.experiment.plan.crashes import EXISTS
from loadstone.experiment.plan.drive_plan import Plan, numbered_key
from loadstone.experiment.plan.run_plan import Block, CrashTrial
from loadstone.machine import clock
from loadstone.machine.process_identity import signal_if, started
from loadstone.machine.start_context import Step
from loadstone.measure.drive_watch import DriveWatch
from loadstone.measure.goals.goal import CrashServer
from loadstone.measure.measurement import Measurement, PreparedTrial
from loadstone.run_folder.crash import CrashRecord, LookedUp
from loadstone.safety.errors import DriveFailed, ServerGone, UserError
from loadstone.servers.control import KeyStore
from loadstone.servers.deployed import RunningServer
from loadstone.text.language import _

Versions = NDArray[np.int64]

BATCH = 1000
BATCH_BYTES = 8 * 1024 * 1024
QUIET_S = 2.0
"""A look-up that takes longer reports how far it is, about once a second."""
NAMED = 5
"""Number of lost keys that are named."""


class DelayedKill:
    """A context around a drive: the process is killed so many seconds after the load's first interval.

    It is spared if the drive ends before that, and if another process has its id by then.
    """

    def __init__(self, pid: int, after_s: float) -> None:
        """Raises:
        PermissionError: it may not be killed, as a container of another user.
        ProcessLookupError: there is no such process.
        """
        os.kill(pid, 0)
        self._pid, self._after_s, self._start = pid, after_s, started(pid)
        self._loaded, self._over = threading.Event(), threading.Event()
        self._began_s = 0.0
        self._killed_s: float | None = None
        self._thread = threading.Thread(target=self._run, name="killer", daemon=True)

    @property
    def killed_after_s(self) -> float | None:
        """Seconds from the begin of the drive to the kill; None: it was spared."""
        return None if self._killed_s is None else self._killed_s - self._began_s

    def on_interval(self, _: int, __: Interval) -> None:
        """The load is there: from the first call on the time runs."""
        self._loaded.set()

    def __enter__(self) -> Self:
        self._began_s = time.monotonic()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._loaded.set()
        self._thread.join()

    def _run(self) -> None:
        self._loaded.wait()
        if not self._over.wait(self._after_s) and signal_if(self._pid, signal.SIGKILL, self._is_the_same):
            self._killed_s = time.monotonic()

    def _is_the_same(self) -> bool:
        return started(self._pid) == self._start


@dataclass(frozen=True)
class SurvivingWrites:
    """What a server still holds after its restart of what the drive wrote."""

    found: int | None
    """Number by its count; None: nothing says how to count, or the keys are looked up."""
    looked_up: LookedUp | None


@dataclass
class Crashes:
    """Runs crashes one after another. Only servers that loadstone started are killed."""

    measurement: Measurement

    def run(self, planned: CrashServer) -> CrashRecord:
        """The record of one crash, whatever became of it.

        Raises:
            Interrupted: the user requested a stop; the crash does not count.
        """
        one = planned.crash
        told = _(
            "crash {number} of {of}: killing {server} under load",
            number=planned.number,
            of=planned.of,
            server=one.crash.server,
        )
        self.measurement.progress.step(Step(told, about=f"killing {one.crash.server} under load"))
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
            killer = DelayedKill(pid, one.crash.after_s)
            with self.measurement.prepare(one.trial, ready) as prepared:
                return self._measured(one, prepared, victim, killer)
        except (DriveFailed, ServerGone, UserError) as error:
            return _without_result(one, str(error))
        except PermissionError:
            return _without_result(one, "the server may not be killed by this user; run as root, or use kind: embedded")
        except ProcessLookupError:
            return _without_result(one, "the server was dead before the load began")

    def _measured(
        self, one: CrashTrial, prepared: PreparedTrial, victim: RunningServer, killer: DelayedKill
    ) -> CrashRecord:
        """Snapshot, drive, restart and snapshot, assemble."""
        before = None if one.crash.look_up else _counted(one, victim)
        started_unix_ns = clock.unix_ns()
        alone, driver = Block.alone(one.trial), self.measurement.drivers.of_this_machine(one.trial.driver)
        with killer, DriveWatch(self.measurement, alone, [prepared], killer.on_interval, monitored=False) as watch:
            records = driver.drive([prepared.plan], watch.take, None, watch.rest)
        (done,) = watch.drives(records)
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

    def _kept(
        self, one: CrashTrial, prepared: PreparedTrial, drive: DriveRecord, before: int | None
    ) -> SurvivingWrites:
        """What became of every acknowledged key, or what the server counts. Raises ServerGone, UserError."""
        server = prepared.ready.servers[one.crash.server]
        return SurvivingWrites(
            looked_up=self._looked_up(one, prepared.plan, server, drive),
            found=None if before is None else _counted(one, server, before),
        )

    def _looked_up(self, one: CrashTrial, plan: Plan, server: RunningServer, drive: DriveRecord) -> LookedUp | None:
        """None where keys cannot be looked up."""
        if not one.crash.look_up or drive.acknowledged is None or not isinstance(server.control, KeyStore):
            return None
        steps = self.measurement
        look_up = KeyLookup(server.control, plan, one.crash.look_up, steps.progress.step, steps.require_going_on)
        return look_up.run(drive.acknowledged)


def _counted(one: CrashTrial, server: RunningServer, before: int = 0) -> int | None:
    """What the server counts, without what was there before; None: nothing says how to count."""
    return None if one.crash.count is None else server.control.count(one.crash.count) - before


def _contradiction(plan: Plan, looked_up: LookedUp | None, drive: DriveRecord) -> str | None:
    """Why the record of keys cannot be correct: each write of a key that is written once has a key of its own."""
    if looked_up is None or plan.keys.distribution != "exactly_once" or looked_up.keys == drive.total.ok:
        return None
    return f"{drive.total.ok} writes were acknowledged, of {looked_up.keys} keys; please report this"


def _evicts(victim: RunningServer) -> str:
    """Return the policy by which the server may throw away what it acknowledged; empty where it does not."""
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
        started_unix_ns=clock.unix_ns(),
    )


@dataclass(frozen=True)
class KeyLookup:
    """Looks up the keys of one drive by `command` (`PlannedCrash.look_up`)."""

    control: KeyStore
    plan: Plan
    command: tuple[str, ...]
    progress: Callable[[str], None]
    stop_if_requested: Callable[[], None]
    """Raises where the user requested it."""

    def run(self, acknowledged: Acknowledged) -> LookedUp:
        """Compare what is stored with what was acknowledged. Raises ServerGone."""
        begun, newest, certain = map(_versions, (acknowledged.begun, acknowledged.newest, acknowledged.certain))
        stored = self._stored(begun)
        known = newest > 0
        lost = known & (stored < np.maximum(certain, 1))
        unordered = known & ~lost & (stored < newest)
        return LookedUp(
            keys=int(known.sum()),
            present=int((known & (stored >= newest)).sum()),
            lost=int(lost.sum()),
            unordered=int(unordered.sum()),
            unacknowledged_present=int((stored > newest).sum()),
            lost_keys=tuple(self._key(number) for number in np.flatnonzero(lost)[:NAMED]),
        )

    def _stored(self, begun: Versions) -> Versions:
        """The version that each key holds, of those that were begun; 0 for none of this drive's."""
        stored, numbers = np.zeros_like(begun), np.flatnonzero(begun)
        size = max(1, min(BATCH, BATCH_BYTES // self.plan.documents.payload_bytes))
        next_s = time.monotonic() + QUIET_S
        for start in range(0, len(numbers), size):
            self.stop_if_requested()
            batch = numbers[start : start + size]
            stored[batch] = self._versions_of([self._key(number) for number in batch])
            if time.monotonic() >= next_s:
                next_s = time.monotonic() + 1.0
                told = _(
                    "looking up what was acknowledged: {done:,} of {keys:,} keys",
                    done=start + len(batch),
                    keys=len(numbers),
                )
                self.progress(Step(told, about="looking up what was acknowledged"))
        stored[stored > begun] = 0
        return stored

    def _versions_of(self, keys: Sequence[str]) -> list[int]:
        if self.command == EXISTS:
            return [int(there) for there in self.control.present(keys)]
        name, *rest = self.command
        return [_version(reply) for reply in self.control.pipelined([(name, key, *rest) for key in keys])]

    def _key(self, number: int) -> str:
        return numbered_key(self.plan.keys.prefix, number)


def _versions(runs: Sequence[int]) -> Versions:
    """The version of each key (see `drivers.outcome.Acknowledged`)."""
    return np.repeat(np.array(runs[1::2], dtype=np.int64), np.array(runs[::2], dtype=np.int64))


def _version(reply: Any) -> int:
    """The version that a document names, or the number that was stored; 0 for anything else."""
    try:
        version = int(reply if reply is None or reply.isdigit() else json.loads(reply)["version"])
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError, RecursionError):
        return 0
    return version if 0 <= version < 2**63 else 0
