"""Crashes: a server is killed under load, started again, and asked what it kept of what it had acknowledged."""

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from loadstone.deploy.deployed import Deployed, Ready
from loadstone.deploy.deployments import Deployments
from loadstone.deploy.redis_control import RedisControl
from loadstone.drive.driver import Driver
from loadstone.drive.outcome import DriveRecord
from loadstone.errors import DriveFailed, Interrupted, LoadstoneError, ServerGone, UserError
from loadstone.plan.model import Plan
from loadstone.plan.run_plan import CrashTrial
from loadstone.record.crash import CrashRecord
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
            if self.stopping.is_set():
                raise Interrupted("interrupted; what was finished is kept")
            self.folder.add_crash(record)

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
        plan = one.trial.plan.model_copy(update={"endpoints": ready.endpoints(one.trial.target)})
        before = victim.control.count(one.crash.count)
        started_unix_ns = time.time_ns()
        drive, killed_after_s = self._drive_and_kill(plan, one.crash.after_s, pid)
        again_s = time.monotonic()
        victim.server.restart()
        restart_s = time.monotonic() - again_s
        restarted = self.servers.need(one.trial).servers[one.crash.server]
        try:
            found = restarted.control.count(one.crash.count) - before
        finally:
            self._clean(one, restarted, drive.total.offered)
        failure = None if killed_after_s is not None else "it ended before it was killed"
        return CrashRecord(
            name=one.crash.name,
            trial=one.crash.trial,
            condition=one.trial.condition,
            number=one.crash.number,
            acknowledged=drive.total.ok,
            unknown=sum(drive.total.errors.values()) + drive.total.timeouts + drive.total.in_flight,
            found=found,
            restart_s=round(restart_s, 3),
            killed_after_s=round(killed_after_s or 0.0, 3),
            failure=failure,
            started_unix_ns=started_unix_ns,
        )

    def _drive_and_kill(self, plan: Plan, after_s: float, pid: int) -> tuple[DriveRecord, float | None]:
        """The drive, and after how many seconds of load the server was killed; None if the drive ended before."""
        began, over = threading.Event(), threading.Event()
        began_s, killed_s = [0.0], [0.0]
        os.kill(pid, 0)  # raises where it may not be killed, as a container of another user

        def kill() -> None:
            began.wait()
            if not over.wait(after_s):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
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
        """Remove the keys of the drive: they are taken in order, so there are none beyond what was offered."""
        keys = one.trial.plan.keys
        if isinstance(server.control, RedisControl):
            with suppress(LoadstoneError):
                server.control.remove_numbered(keys.prefix, min(keys.count, offered))


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
        started_unix_ns=time.time_ns(),
    )
