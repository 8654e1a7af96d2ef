"""Lines of JSON: what loadstone sends on standard input, and what it gets on standard output."""

import json
import os
import queue
import sys
import threading
from collections.abc import Callable
from typing import Any

from driver.control import clock_quantum_ns
from driver.load import Load
from driver.recorder import Interval
from driver.schedule import PHASES, S

TICK_S = 0.1
CHUNK_BYTES = 1 << 16


class Input:
    """Standard input, read in a thread: the plan, and then what ends the load."""

    def __init__(self) -> None:
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def next(self) -> bytes | None:
        """The next line; None at the end of the input."""
        return self._lines.get()

    def then(self, stop: Callable[[], None]) -> None:
        """Calls `stop` at the next line, or at the end of the input."""

        def wait() -> None:
            self.next()
            stop()

        threading.Thread(target=wait, daemon=True).start()

    def _read(self) -> None:
        # Not sys.stdin: a thread that waits there would keep the program from ending.
        rest = b""
        while chunk := os.read(0, CHUNK_BYTES):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self._lines.put(line)
        self._lines.put(None)


def write(type_: str, **content: object) -> None:
    """One message. (Loadstone may be gone: then nobody reads it, and the program ends anyway.)"""
    try:
        sys.stdout.write(json.dumps({"type": type_, **content}, separators=(",", ":")) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        os._exit(1)


class Writer:
    """Writes the intervals of a load as they end, in a thread of its own."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._thread = threading.Thread(target=self._write, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        """Returns when the last interval is written."""
        self._thread.join()

    def _write(self) -> None:
        while True:
            try:
                interval = self._load.intervals.get(timeout=TICK_S)
            except queue.Empty:
                self._load.recorder.tick(self._load.control.now())
                continue
            if interval is None:
                return
            write("interval", **interval_message(interval, self._load.control.started_unix_ns))


def interval_message(interval: Interval, started_unix_ns: int) -> dict[str, Any]:
    operations = {}
    for name, operation in interval.operations.items():
        counts = operation.tally.counts()
        kept = ("offered", "sent", "ok", "errors", "timeouts", "dropped")
        operations[name] = {key: counts[key] for key in kept} | operation.latencies.encoded()
    return {
        "phase": interval.phase,
        "start_s": interval.start_ns / S,
        "duration_s": (interval.end_ns - interval.start_ns) / S,
        "start_unix_ns": started_unix_ns + interval.start_ns,
        "operations": operations,
        **interval.gauges,
    }


def record_message(load: Load, connections: dict[str, int]) -> dict[str, Any]:
    """What a load came to, once it is over."""
    recorder, end_ns = load.recorder, load.end_ns
    phases = {}
    for phase in PHASES:
        phase_end_ns = load.timeline.end_of(phase)
        until_ns = end_ns if phase_end_ns is None else min(phase_end_ns, end_ns)
        phases[phase] = {"start_s": min(load.timeline.start_of(phase), end_ns) / S, "end_s": until_ns / S}
    operations = {
        name: {
            "counts": measured.tally.counts(),
            "window_completed": measured.window_completed,
            "window_ok": measured.window_ok,
            "response_sum_ns": measured.response_sum_ns,
            "earlier_ns": measured.earlier_ns,
            **measured.latencies.encoded(),
        }
        for name, measured in recorder.measured.items()
    }
    read_back = load.workload.read_back
    return {
        "started_unix_ns": load.control.started_unix_ns,
        "phases": phases,
        "operations": operations,
        "total": recorder.total.counts(),
        "commands": {
            name: {"sent": sent, "replied": recorder.commands_replied[name]}
            for name, sent in recorder.commands_sent.items()
        },
        "connections": connections,
        "pool_wait_histogram": recorder.pool_wait.encoded(),
        "schedule_lag_histogram": recorder.schedule_lag.encoded(),
        "read_back": {"checked": read_back.checked, "wrong": read_back.wrong, "skipped": read_back.skipped},
        "overflowed": recorder.overflowed,
        "clock_quantum_ns": clock_quantum_ns(),
        "stopped": load.control.reason,
    }
