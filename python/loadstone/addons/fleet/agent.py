"""What an agent does: functions that the command has called on a member of its cluster (`cluster_seam.Cluster.call`).

They hold no more than the engine's process, and pass lines on: orders to it, and what it says to those who listen to
`TOPIC`. None of them raises an error: the cluster would write its arguments to a log, and a plan holds passwords.
"""

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections import deque
from typing import IO, Any

from loadstone.addons.fleet.cluster_seam import say
from loadstone.machine.processes.endings import ending_of_process

TOPIC = "engine"
"""A message is a line of the engine's process, as it wrote it; or `ended`, with the reason, where that is gone."""
END_S = 2.0
"""How long an engine's process may take to end."""
LOG_LINES = 20
_LAST = tuple(f'{{"type": "{kind}"' for kind in ("records", "failed"))
"""Beginnings of the last line of a drive."""

AgentReply = dict[str, Any]


class EngineOfAgent:
    """One process of `engine_process`, and the thread that started it and reads what it says.

    Linux kills the process with that thread, and so with this one's process.
    """

    def __init__(self) -> None:
        self._started = threading.Event()
        self._answered = threading.Condition()
        self._answers: dict[str, AgentReply] = {}
        self._opening = ""
        self._log: deque[str] = deque(maxlen=LOG_LINES)
        self._writing = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._why = ""
        self.drive = ""
        """The drive that it was given last."""
        self.idle = True
        """Whether that has ended."""
        threading.Thread(target=self._run, name="engine-of-agent", daemon=True).start()
        self._started.wait()

    @property
    def alive(self) -> bool:
        """Whether it runs and takes orders."""
        return self._process is not None and self._process.poll() is None and not self._why

    def open(self, drive: str, work: AgentReply, lease_s: float, within_s: float) -> AgentReply:
        """Have it open plans; `opened` or `failed`, as it says."""
        self.drive, self._opening, self.idle = drive, drive, False
        self.order({"order": "drive", "drive": drive, **work, "lease_s": lease_s})
        with self._answered:
            self._answered.wait_for(lambda: drive in self._answers or self._why, within_s)
            if drive in self._answers:
                return self._answers.pop(drive)
            why = self._why or f"its connections were not open after {within_s:g} s"
        self.end()
        return {"type": "failed", "drive": drive, "why": why}

    def order(self, order: AgentReply) -> bool:
        """Write an order; whether it is still read."""
        if self._process is None or self._process.stdin is None:
            return False
        with self._writing:
            try:
                self._process.stdin.write(json.dumps(order) + "\n")
                self._process.stdin.flush()
            except (OSError, ValueError):
                return False
        return True

    def end(self) -> None:
        """End it. May be called more than once."""
        if self._process is not None:
            with contextlib.suppress(OSError, ValueError):
                self._process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(END_S)

    def _run(self) -> None:
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "loadstone.addons.fleet.engine_process", str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        except OSError as error:
            self._why = f"its engine cannot be started ({error})"
            self._started.set()
            return
        self._started.set()
        process = self._process
        if process.stdout is None or process.stderr is None:
            return
        logging = threading.Thread(target=self._keep_log, args=(process.stderr,), daemon=True)
        logging.start()
        with contextlib.suppress(OSError), process:  # orders that it did not read any more
            for line in process.stdout:
                self._take(line)
            process.wait()
            logging.join(END_S)
        self._gone(f"its engine ended during the drive: {ending_of_process(process.wait())}{self._last_words()}")

    def _keep_log(self, lines: IO[str]) -> None:
        for line in lines:
            self._log.append(line.strip())

    def _last_words(self) -> str:
        said = [line for line in self._log if line]
        return f"; it wrote last: {said[-1][:200]}" if said else ""

    def _take(self, line: str) -> None:
        if self._opening:
            message = json.loads(line)
            if message["type"] in ("opened", "failed") and message["drive"] == self._opening:
                self.idle = message["type"] == "failed"
                self._answer(message)
                return
        self.idle = self.idle or line.startswith(_LAST)
        say(TOPIC, line)

    def _answer(self, message: AgentReply) -> None:
        with self._answered:
            self._opening = ""
            self._answers[message["drive"]] = message
            self._answered.notify_all()

    def _gone(self, why: str) -> None:
        with self._answered:
            self._why, opening = why, self._opening
            self._answered.notify_all()
        if not opening:  # who opens a drive has that as the answer, and begins with a new engine
            say(TOPIC, json.dumps({"type": "ended", "drive": self.drive, "why": why}))


_HELD: list[EngineOfAgent] = []
"""The engine of this process: none or one."""
_HOLDING = threading.Lock()


def open_drive(drive: str, work: AgentReply, lease_s: float, within_s: float) -> AgentReply:
    """Open the connections of the `plans` of `work`, in place of whatever else this agent drives.

    Several take turns as its `rounds` say, which is None for one alone.
    The answer has `type` `opened`, with the engine's `pid`; or `failed`, with `why`.
    """
    with _HOLDING:
        kept = bool(_HELD) and _HELD[0].alive and _HELD[0].idle
        engine = _HELD[0] if kept else _fresh()
    answer = engine.open(drive, work, lease_s, within_s)
    if kept and not engine.alive:  # it had just ended for want of orders, or stands still
        with _HOLDING:
            engine = _fresh()
        answer = engine.open(drive, work, lease_s, within_s)
    return answer


def _fresh() -> EngineOfAgent:
    for engine in _HELD:
        engine.end()
    _HELD[:] = [EngineOfAgent()]
    return _HELD[0]


def begin(drive: str, at_monotonic_ns: int) -> None:
    """Let the load of an open drive begin at this time of this machine's CLOCK_MONOTONIC."""
    _order(drive, {"order": "begin", "drive": drive, "at_monotonic_ns": at_monotonic_ns})


def end_measure(drive: str, at_monotonic_ns: int) -> None:
    """Let a drive measure up to this time, and then drain."""
    _order(drive, {"order": "end_measure", "drive": drive, "at_monotonic_ns": at_monotonic_ns})


def renew(drive: str, lease_s: float) -> None:
    """Let a drive go on for so long; one whose lease ran out has ended."""
    _order(drive, {"order": "lease", "drive": drive, "lease_s": lease_s})


def stop(drive: str) -> None:
    """End a drive within 100 ms; its record comes as that of any other."""
    _order(drive, {"order": "stop", "drive": drive})


def end(drive: str) -> None:
    """End the engine's process, if it is the one of this drive."""
    with _HOLDING:
        for engine in [engine for engine in _HELD if engine.drive == drive]:
            engine.end()
            _HELD.remove(engine)


def here() -> AgentReply:
    """That this agent answers, and its process."""
    return {"pid": os.getpid(), "monotonic_ns": time.monotonic_ns()}


def _order(drive: str, order: AgentReply) -> None:
    with _HOLDING:
        engines = [engine for engine in _HELD if engine.drive == drive]
    for engine in engines:
        engine.order(order)
