"""Times that are subtracted from each other later do not follow a wall clock that somebody sets."""

import time
from collections.abc import Mapping
from typing import ClassVar

import pytest

from loadstone.drivers.driver import drive_alone
from loadstone.drivers.native import NativeDriver
from loadstone.drivers.null_server import NullServerProcess
from loadstone.drivers.outcome import Interval
from loadstone.experiment.plan.drive_plan import Closed, Phases, Plan, Pool
from loadstone.experiment.plan.operations import Operation, ServerCommand
from loadstone.machine import clock
from loadstone.measure.sampler import Sampler
from loadstone.monitors.metric import Metric
from loadstone.monitors.monitor import Sample
from loadstone.servers.server import DeployContext

HOUR_NS = 3600 * 10**9


@pytest.mark.parametrize("step_ns", [HOUR_NS, -HOUR_NS])
def test_it_goes_on_evenly_where_the_wall_clock_is_set(monkeypatch: pytest.MonkeyPatch, step_ns: int) -> None:
    real = time.time_ns
    before = clock.unix_ns()
    monkeypatch.setattr(time, "time_ns", lambda: real() + step_ns)
    monkeypatch.setattr(time, "time", lambda: (real() + step_ns) / 1e9)
    after = clock.unix_ns()
    assert 0 <= after - before < HOUR_NS / 2
    assert abs(clock.ahead_of_wall_ns() + step_ns) < HOUR_NS / 2


def test_samples_do_not_follow_the_wall_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    class OneFigure:
        METRICS: ClassVar[Mapping[str, Metric]] = {}

        def sample(self, unix_s: float) -> list[Sample]:
            return [Sample(unix_s, "part", "figure", 1.0)]

    observed: list[Sample] = []
    real = time.time
    with Sampler([OneFigure()], observed.extend, interval_s=600) as sampler:
        sampler.now()
        monkeypatch.setattr(time, "time", lambda: real() - 3600)
    assert 0 <= observed[-1].unix_s - observed[0].unix_s < 1800


@pytest.mark.parametrize("ahead_ns", [HOUR_NS, -HOUR_NS])
def test_a_drive_is_placed_by_the_steady_clock(monkeypatch: pytest.MonkeyPatch, ahead_ns: int) -> None:
    # As if the wall clock had been set by as much since this process started; the engine reads the wall clock.
    monkeypatch.setattr(clock, "_BASE_NS", clock._BASE_NS + ahead_ns)
    server = NullServerProcess()
    intervals: list[Interval] = []
    try:
        plan = Plan(
            endpoints=(server.start(DeployContext()),),
            model=Closed(users=1),
            pool=Pool(connections=1),
            phases=Phases(warm_up_s=0, measure_s=0.2),
            operations=(Operation(name="ping", commands=(ServerCommand(args=("PING",)),)),),
        )
        before = clock.unix_ns()
        record = drive_alone(NativeDriver(), plan, intervals.append)
    finally:
        server.stop()
    after = clock.unix_ns()
    slack_ns = 10**9  # the wall clock itself may be corrected a little
    assert before - slack_ns <= record.started_unix_ns <= after + slack_ns
    assert all(before - slack_ns <= interval.start_unix_ns <= after + slack_ns for interval in intervals)
    assert intervals
