"""The engine of an agent: a process of its own beside the cluster's worker, so that neither disturbs the other.

It is run as `python -m loadstone.addons.fleet.engine_process PARENT`, with the id of the process that starts it, and
spoken to by lines of JSON. Orders on its input:

    {"order": "drive", "drive": ID, "plans": [...], "rounds": ..., "lease_s": 5, "files": {NAME: TEXT}}
                                                                   open the connections of a plan; of several that take
                                                                   turns, see `RoundsOptions`. files: `certificates.py`
    {"order": "begin", "drive": ID, "at_monotonic_ns": T}          let its load begin, by CLOCK_MONOTONIC
    {"order": "end_measure", "drive": ID, "at_monotonic_ns": T}    measure up to then, and drain
    {"order": "lease", "drive": ID, "lease_s": 5}                  go on for so long
    {"order": "stop", "drive": ID}                                 end the drive within 100 ms

Its output has a line each: `opened` or `failed`; `interval` as each ends, with the number of its plan, and `heartbeat`
once a second; `records` at the end, one a plan. Every line names its drive.

It makes no load without a lease: the engine counts it down by its own clock in a thread of its own, whatever Python and
the rest of the machine do. It is killed with the process that started it, ends when its input does, and after a while
without any order.
"""

import contextlib
import ctypes
import json
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from loadstone import _engine
from loadstone.addons.fleet.certificates import tls_files_in_memory
from loadstone.drivers.held_intervals import held_from_s

HEARTBEAT_S = 1.0
HOLD_S = 0.4
"""Intervals that end while a drive without rounds is measured are handed on together, after so long: to take one costs
time of the CPUs that make load. Where a number of operations ends the drive they are counted as they end."""
IDLE_S = 30.0
"""After so long without an order it ends: whoever gave them is gone. The next drive starts another one."""
BEGIN_WITHIN_S = 60.0
"""How long an open drive waits for its beginning."""
_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG."""

Order = dict[str, Any]
Running = _engine.Engine | _engine.Rounds


class Orders:
    """The orders on the input, in a thread of its own: leases and stops reach the engine at once."""

    def __init__(self) -> None:
        self._given: queue.Queue[Order] = queue.Queue()
        self._lock = threading.Lock()
        self._engine: Running | None = None
        self._drive = ""

    def read(self) -> None:
        """Read the input to its end; then end this process at once, and with it any load."""
        for line in sys.stdin:
            with contextlib.suppress(ValueError, KeyError):
                self._take(json.loads(line))
        os.kill(os.getpid(), signal.SIGKILL)

    def next(self, within_s: float) -> Order | None:
        """The next order that begins something; None if there was none for so long."""
        with contextlib.suppress(queue.Empty):
            return self._given.get(timeout=within_s)
        return None

    def drives(self, drive: str, engine: Running | None) -> None:
        """Leases and stops are this drive's from now on; those of others are dropped."""
        with self._lock:
            self._drive, self._engine = drive, engine

    def _take(self, order: Order) -> None:
        if order["order"] in ("drive", "begin"):
            self._given.put(order)
            return
        with self._lock:
            if order["drive"] != self._drive or self._engine is None:
                return
            if order["order"] == "lease":
                self._engine.lease(float(order["lease_s"]))
            elif order["order"] == "stop":
                self._engine.stop()
            elif isinstance(self._engine, _engine.Engine):
                self._engine.end_measure(int(order["at_monotonic_ns"]))


class EngineOutput:
    """Lines to whoever started this."""

    def say(self, kind: str, drive: str, **said: Any) -> None:
        """A message."""
        self._write(json.dumps({"type": kind, "drive": drive, **said}))

    def interval(self, drive: str, number: int, document: str) -> None:
        """One of the engine's, which is JSON as it stands."""
        head = f'{{"type": "interval", "drive": {json.dumps(drive)}, "number": {number}'
        self._write(f'{head}, "interval": {document}}}')

    def records(self, drive: str, documents: Sequence[str]) -> None:
        """Write the records of a drive."""
        self._write(f'{{"type": "records", "drive": {json.dumps(drive)}, "records": [{", ".join(documents)}]}}')

    def _write(self, line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


def main() -> None:
    """One drive after another, until nobody orders any."""
    _die_with(int(sys.argv[1]))
    orders, output = Orders(), EngineOutput()
    threading.Thread(target=orders.read, name="orders", daemon=True).start()
    while (order := orders.next(IDLE_S)) is not None:
        if order["order"] == "drive":
            _drive(order, orders, output)


def _drive(order: Order, orders: Orders, output: EngineOutput) -> None:
    with tls_files_in_memory(order["plans"], order.get("files", {})) as names:
        _driven(order, orders, output, names)


def _driven(order: Order, orders: Orders, output: EngineOutput, names: Mapping[str, str]) -> None:
    """`names`: of the user's files, by those that the plans have."""
    drive = str(order["drive"])
    try:
        engine = _made(order)
        engine.lease(float(order["lease_s"]))
        orders.drives(drive, engine)
        engine.open()
        output.say("opened", drive, pid=os.getpid(), cpus=_cpus())
        while (begin := orders.next(BEGIN_WITHIN_S)) is not None and begin["drive"] != drive:
            pass
        if begin is None:
            output.say("failed", drive, why=f"it was given no beginning for {BEGIN_WITHIN_S:g} s")
            return
        late_s = (time.monotonic_ns() - int(begin["at_monotonic_ns"])) / 1e9
        if late_s >= 0:
            output.say("failed", drive, why=f"the order to begin came {late_s:.3f} s too late", late=True)
            return
        engine.begin(int(begin["at_monotonic_ns"]))
        _follow(drive, engine, output)
        output.records(drive, _records(engine, len(order["plans"])))
    except (ValueError, ConnectionError, RuntimeError) as error:
        why = str(error)
        for ours, theirs in names.items():
            why = why.replace(ours, theirs)
        output.say("failed", drive, why=why)
    finally:
        orders.drives("", None)


def _made(order: Order) -> Running:
    plans = [json.dumps(plan) for plan in order["plans"]]
    if order["rounds"] is not None:
        return _engine.Rounds(plans, json.dumps(order["rounds"]))
    engine = _engine.Engine(*plans)
    (plan,) = order["plans"]
    phases = plan["phases"]
    if phases["measure_operations"] is None:
        before_s = float(phases["ramp_up_s"]) + float(phases["warm_up_s"])
        engine.hold_intervals(HOLD_S, held_from_s(before_s, float(plan["interval_s"])))
    return engine


def _records(engine: Running, plans: int) -> list[str]:
    if isinstance(engine, _engine.Engine):
        return [engine.result()]
    return [engine.result(number) for number in range(plans)]


def _follow(drive: str, engine: Running, output: EngineOutput) -> None:
    """Hand on the intervals of a drive until it ended, and say once a second how far the engine is."""
    due_s, sent = time.monotonic(), 0
    while not engine.finished():
        if time.monotonic() >= due_s:
            due_s = max(due_s + HEARTBEAT_S, time.monotonic())
            output.say("heartbeat", drive, sent=sent)
        delivered = engine.next_interval(max(0.0, min(0.2, due_s - time.monotonic())))
        if delivered is not None:
            number, text = (0, delivered) if isinstance(delivered, str) else delivered
            sent += sum(operation["sent"] for operation in json.loads(text)["operations"].values())
            output.interval(drive, number, text)


def _cpus() -> int:
    """That it may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _die_with(parent: int) -> None:
    """Have the system kill this process when the thread that started it ends; at once if that has happened.

    `parent`: whoever started it, which in a container may be process 1.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
