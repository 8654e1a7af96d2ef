"""Crashes: a server is killed under load and started again, and what it had acknowledged is looked up."""

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from loadstone import steady_clock
from loadstone.conduct.look_up import LookUp
from loadstone.deploy.control import KeyStore
from loadstone.deploy.deployed import Deployed, Ready
from loadstone.deploy.deployments import Deployments
from loadstone.drive.driver import Driver
from loadstone.drive.outcome import DriveRecord
from loadstone.errors import DriveFailed, Interrupted, LoadstoneError, ServerGone, UserError
from loadstone.plan.model import Plan
from loadstone.plan.run_plan import CrashTrial
from loadstone.process_identity import signal_if, started
from loadstone.record.crash import CrashRecord, LookedUp
from loadstone.record.folder import RunFolder


@dataclass
class Crashes:
    """Runs crashes one after another. Only servers that loadstone started are killed."""

    servers: Deployments
    driver: Driver
    folder: RunFolder
    stopping: threading.Event
    progress: Callable[[str], None]

    def run(self, planned: tuple[CrashTrial, ...]) -> None:
        """Run those that are not recorded yet.

        Raises:
            Interrupted: the user asked to stop; the crash at hand is not recorded.
            UserError: the disk is full.
        """
        done = {record.trial for record in self.folder.earlier_crashes}
        for number, one in enumerate(planned, 1):
            if one.crash.trial in done:
                continue
            self.progress(f"crash {number} of {len(planned)}: killing {one.crash.server} under load")
            record = self._one(one)
            self._stop_if_requested()
            self.folder.add_crash(record)

    def _stop_if_requested(self) -> None:
        if self.stopping.is_set():
            raise Interrupted("interrupted; what was finished is kept")

    def _one(self, one: CrashTrial) -> CrashRecord:
        try:
            ready = self.servers.need(one.trial)
            victim = ready.servers[one.crash.server]
            pid = next(iter(victim.server.pids.values()), None)
            if not victim.server.ours or pid is None:
                return _told_nothing(one, "the server is not loadstone's own, and is never killed")
            return self._killed(one, ready, victim, pid)
        except (DriveFailed, ServerGone, UserError) as error:
            return _told_nothing(one, str(error))
        except PermissionError:
            return _told_nothing(one, "the server may not be killed by this user; run as root, or take kind: embedded")
        except ProcessLookupError:
            return _told_nothing(one, "the server was dead before the load began")

    def _killed(self, one: CrashTrial, ready: Ready, victim: Deployed, pid: int) -> CrashRecord:
        if one.crash.look_up and (policy := _evicts(victim)):
            return _told_nothing(
                one, f"the server may throw keys away by itself ({policy}); set maxmemory-policy noeviction"
            )
        plan = one.trial.plan.model_copy(update={"endpoints": ready.endpoints(one.trial.target)})
        before = None if one.crash.look_up else self._counted(one, victim)
        started_unix_ns = steady_clock.unix_ns()
        drive, killed_after_s = self._drive_and_kill(plan, one.crash.after_s, pid)
        again_s = time.monotonic()
        try:
            victim.server.restart()
        except (ServerGone, UserError) as error:
            record = _told_nothing(one, f"it did not start again: {error}")
            return record.model_copy(update={"killed_after_s": round(killed_after_s or 0.0, 3)})
        restart_s = time.monotonic() - again_s
        restarted = self.servers.need(one.trial).servers[one.crash.server]
        failure = None if killed_after_s is not None else "it ended before it was killed"
        try:
            looked_up = self._looked_up(one, plan, restarted, drive)
            found = None if before is None else self._counted(one, restarted, before)
        finally:
            self._clean(one, restarted, drive.total.offered)
        if looked_up is not None:
            failure = failure or _contradiction(plan, looked_up, drive)
        return CrashRecord(
            name=one.crash.name,
            trial=one.crash.trial,
            condition=one.trial.condition,
            number=one.crash.number,
            acknowledged=drive.total.ok,
            unknown=sum(drive.total.errors.values()) + drive.total.timeouts + drive.total.in_flight,
            found=found,
            looked_up=looked_up,
            restart_s=round(restart_s, 3),
            killed_after_s=round(killed_after_s or 0.0, 3),
            failure=failure,
            started_unix_ns=started_unix_ns,
        )

    @staticmethod
    def _counted(one: CrashTrial, server: Deployed, before: int = 0) -> int | None:
        """What the server counts, without what was there before; None: nothing says how to count."""
        return None if one.crash.count is None else server.control.count(one.crash.count) - before

    def _looked_up(self, one: CrashTrial, plan: Plan, server: Deployed, drive: DriveRecord) -> LookedUp | None:
        """What became of every acknowledged key; None where keys cannot be looked up."""
        if not one.crash.look_up or drive.acknowledged is None or not isinstance(server.control, KeyStore):
            return None
        look_up = LookUp(server.control, plan, one.crash.look_up, self.progress, self._stop_if_requested)
        return look_up.run(drive.acknowledged)

    def _drive_and_kill(self, plan: Plan, after_s: float, pid: int) -> tuple[DriveRecord, float | None]:
        """The drive, and after how many seconds of load the server was killed; None if the drive ended before."""
        began, over = threading.Event(), threading.Event()
        began_s, killed_s = [0.0], [0.0]
        os.kill(pid, 0)  # raises where it may not be killed, as a container of another user
        begun = started(pid)

        def kill() -> None:
            began.wait()
            if not over.wait(after_s) and signal_if(pid, signal.SIGKILL, lambda: started(pid) == begun):
                killed_s[0] = time.monotonic()

        killer = threading.Thread(target=kill, name="killer", daemon=True)
        killer.start()
        try:
            began_s[0] = time.monotonic()
            drive = self.driver.drive(plan, lambda _: began.set())
        finally:
            over.set()
            began.set()
            killer.join()
        return drive, killed_s[0] - began_s[0] if killed_s[0] else None

    @staticmethod
    def _clean(one: CrashTrial, server: Deployed, offered: int) -> None:
        """Remove the keys of the drive: those that are taken in order end with what was offered."""
        keys = one.trial.plan.keys
        count = min(keys.count, offered) if keys.distribution == "exactly_once" else keys.count
        if isinstance(server.control, KeyStore):
            with suppress(LoadstoneError):
                server.control.remove_numbered(keys.prefix, count)


def _contradiction(plan: Plan, looked_up: LookedUp, drive: DriveRecord) -> str | None:
    """Why the record of keys cannot be right: each write of a key that is written once has a key of its own."""
    if plan.keys.distribution != "exactly_once" or looked_up.keys == drive.total.ok:
        return None
    return f"{drive.total.ok} writes were acknowledged, of {looked_up.keys} keys; please report this"


def _evicts(victim: Deployed) -> str:
    """By which policy the server may throw away what it acknowledged; empty where it does not."""
    return victim.control.evicting_policy() if isinstance(victim.control, KeyStore) else ""


def _told_nothing(one: CrashTrial, why: str) -> CrashRecord:
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
