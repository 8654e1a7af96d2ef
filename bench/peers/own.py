"""loadstone itself: its plans, and the process that drives them."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from bench.peers.child import pinned_to
from bench.peers.load import Case, Reading, Target
from loadstone.drivers.outcome import DriveRecord
from loadstone.experiment.plan.drive_plan import (
    SPIN_US,
    Closed,
    Documents,
    Keys,
    Open,
    Phases,
    Plan,
    Pool,
    Timeouts,
    Verify,
)
from loadstone.experiment.plan.operations import HttpRequest, Operation, ServerCommand

NAME = "loadstone"
PREFIX = "loadstone:peers:"
_REDIS = {
    "GET": ServerCommand(args=("GET", "{key}"), expect="value"),
    "SET": ServerCommand(args=("SET", "{key}", "{value}"), expect="ok"),
    "JSON.SET": ServerCommand(args=("JSON.SET", "{key}", "$", "{document}"), expect="ok"),
}


def plan_of(
    case: Case,
    target: Target,
    cpus: Sequence[int],
    seconds: float,
    model: Closed | Open | None = None,
    warm_up_s: float = 0.0,
    ramp_up_s: float = 0.0,
) -> Plan:
    """A case as a plan: every reply is decoded and checked, every request has both of its times recorded.

    `model`: None is a user a connection at full speed, by a thread that has its CPU to itself, as a run has it.
    """
    if case.of_http:
        operations = (Operation(name="load", requests=(HttpRequest(path=case.path),)),)
    else:
        writes = "document" if case.kind == "JSON.SET" else "nothing"
        operations = tuple(
            Operation(name=kind.lower().replace(".", "-"), commands=(_REDIS[kind],), writes=writes)
            for kind in case.kind.split(" and ")
        )
    return Plan(
        protocol="http1" if case.of_http else "resp2",
        endpoints=(target.endpoint,),
        cpus=tuple(cpus[:1]),
        model=model or Closed(users=case.connections, spin_us=SPIN_US),
        pool=Pool(connections=case.connections),
        pipeline_depth=case.pipeline,
        phases=Phases(ramp_up_s=ramp_up_s, warm_up_s=warm_up_s, measure_s=seconds, drain_s=5),
        operations=operations,
        keys=Keys(prefix=PREFIX + ("json:" if case.kind == "JSON.SET" else ""), count=case.keys),
        documents=Documents(payload_bytes=case.value_bytes, field_bytes=1),
        timeouts=Timeouts(request_ms=5000, gone_s=10),
        verify=Verify(read_back_max=0),
    )


@dataclass(frozen=True)
class Driven:
    """One drive of the engine."""

    record: DriveRecord
    cpu_s: float
    memory_kib: int

    @property
    def cpu_us(self) -> float:
        """Microseconds of CPU a request, of all that were sent."""
        return 1e6 * self.cpu_s / self.record.total.sent

    @property
    def awake_us(self) -> float:
        """What of it the engine's threads stayed awake for in waits; counted while it was measured."""
        calls = [thread.calls for thread in self.record.threads if thread.calls is not None]
        requests = sum(one.requests for one in calls)
        return sum(one.spun_ns for one in calls) / 1e3 / requests if requests else 0.0

    @property
    def timeouts(self) -> int:
        """Requests whose replies did not come in time."""
        return self.record.total.timeouts

    @property
    def reading(self) -> Reading:
        """As a peer would print it. Quantiles count from the intended time; of more than one command there are none."""
        done = list(self.record.operations.values())
        completed = sum(one.window_completed for one in done)
        rate = completed / self.record.measure_s
        if len(done) > 1:
            return Reading(completed, rate)
        times = done[0].response_ns
        return Reading(completed, rate, times.p50 / 1e6, times.p99 / 1e6, times.p999 / 1e6)


class OwnDriver:
    """The process; a context."""

    def __init__(self, cpus: Sequence[int]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.peers.driven"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=pinned_to(cpus),
        )
        self.start_cpu_s: float = self._line()["ready"]
        """What Python and its libraries took to start; it is in no figure."""

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def drive(self, plan: Plan, *, may_time_out: bool = False) -> Driven:
        """Drive it to its end. Raises ValueError where requests failed, where a GET brought less than a value (a key
        that is not there is answered fast, and with nothing), and where it does not end in order.

        `may_time_out`: requests that had no reply in time are no failure, only counted.
        """
        assert self._process.stdin is not None
        self._process.stdin.write(f"{plan.model_dump_json()}\n")
        self._process.stdin.flush()
        found = self._line()
        driven = Driven(DriveRecord.model_validate(found["record"]), found["cpu_s"], found["memory_kib"])
        total = driven.record.total
        accounted = total.ok + (total.timeouts if may_time_out else 0)
        if driven.record.stopped is not None or accounted != total.sent:
            raise ValueError(f"loadstone: {driven.record.stopped or total}")
        if [one.name for one in plan.operations] == ["get"] and total.ok:
            received, size = driven.record.bytes_received / total.ok, plan.documents.payload_bytes
            if received < size:
                raise ValueError(f"loadstone: a GET of {size:,} bytes brought {received:,.0f}: store the keys first")
        return driven

    def _line(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise ValueError("loadstone: its process ended; what it printed stands above")
        found: dict[str, Any] = json.loads(line)
        return found
