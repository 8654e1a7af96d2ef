"""A conductor of fakes on a real folder: everything that a trial needs, and nothing that takes time."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest

from loadstone.drivers.outcome import Interval
from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.experiment.plan.run_plan import Block, PlannedTrial, RunPlan
from loadstone.experiment.spec.experiment import Experiment
from loadstone.experiment.spec.loading import load_experiment
from loadstone.machine.placement import Placement
from loadstone.measure.conductor import BlockRunner
from loadstone.measure.measurement import Measurement
from loadstone.programs.clients.drivers import Drivers
from loadstone.run_folder.folder import RunFolder
from loadstone.run_folder.plan_summary import summarise_plan
from loadstone.run_folder.trial import TrialRecord

from ..fake_redis import FakeServer
from ..fakes import FakeDriver, FakeGauge, FakeLive, FakeParts, FakeProgress, FakeSubject, fake_monitors

EXPERIMENT = """\
format: 1
name: faked
question: What is recorded?
factors:
  operation: {levels: [get, set]}
tables:
  - {name: all, title: All, vary: {operation: [get, set]}}
servers:
  redis: {kind: embedded}
workload:
  model: {kind: closed, users: 4}
  pool: {connections: 4}
  phases: {warm_up_s: 100 ms, measure_s: 1 s, drain_s: 1 s}
  keys: {count: 250}
  operations:
    - {name: set, when: {operation: [set]}, commands: [{args: "SET {key} {value}", expect: ok}]}
    - {name: get, when: {operation: [get]}, commands: [{args: "GET {key}", expect: value}]}
  load:
    - {operation: set, when: {operation: [get]}}
design: {table_blocks: 1, rounds: never, at_rate: never}
"""


@cache
def planned_run(text: str = EXPERIMENT) -> tuple[Experiment, RunPlan]:
    """The experiment and its plan, read once."""
    experiment = load_experiment(text)
    return experiment, make_run_plan(experiment, blocks=1, seed=7)


def ignored(*_: object) -> None:
    """No one looks at the intervals."""


@dataclass
class FakeRig:
    """One trial after another, on fakes."""

    server: FakeServer
    driver: FakeDriver
    parts: FakeParts
    measurement: Measurement
    conductor: BlockRunner
    folder: RunFolder
    progress: FakeProgress
    live: FakeLive
    gauge: FakeGauge

    @property
    def stopping(self) -> threading.Event:
        return self.measurement.stopping

    def interrupt(self) -> None:
        """What Ctrl-C does."""
        self.stopping.set()
        self.driver.stop()

    def planned(self, operation: str = "set") -> PlannedTrial:
        found = next(one for one in planned_run()[1].trials if one.condition["operation"] == operation)
        return replace(found, target="app") if self.parts.subjects else found

    def trial(self, operation: str = "set", on_interval: Callable[[Interval], None] = ignored) -> TrialRecord:
        return self.conductor.run(Block.alone(self.planned(operation)), lambda _, interval: on_interval(interval))[0]

    def recorded(self) -> list[TrialRecord]:
        lines = (self.folder.path / "trials.jsonl").read_text().splitlines()
        return [TrialRecord.model_validate_json(line) for line in lines]


@pytest.fixture
def fake_rig(tmp_path: Path) -> Iterator[Callable[..., FakeRig]]:
    """Opens a rig: on a server of loadstone's own or of the user's, with or without an application."""
    with contextlib.ExitStack() as stack:

        def open_(*, ours: bool = True, subject: FakeSubject | None = None) -> FakeRig:
            experiment, run_plan = planned_run()
            written = experiment.model_dump(mode="json", by_alias=True)
            folder = RunFolder.create(tmp_path / "runs", experiment.name, written, {}, summarise_plan(run_plan))
            stack.callback(folder.close)
            server = FakeServer("redis", ours=ours)
            driver, progress, live, gauge = FakeDriver([server]), FakeProgress(), FakeLive(), FakeGauge()
            parts = FakeParts({"redis": server}, {} if subject is None else {subject.name: subject})
            placement = Placement((), (), shared=True, note="not placed")
            stopping = threading.Event()
            measurement = Measurement(parts, Drivers(driver), placement, stopping, progress, live, fake_monitors)
            conductor = BlockRunner(measurement, gauge, folder)
            return FakeRig(server, driver, parts, measurement, conductor, folder, progress, live, gauge)

        yield open_
