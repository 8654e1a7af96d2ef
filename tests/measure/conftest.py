"""A conductor on a real folder, with the real engine; and a Redis of the user's that may be killed and come back."""

import contextlib
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import redis

from loadstone.drivers.native import NativeDriver
from loadstone.drivers.outcome import Interval
from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.experiment.plan.run_plan import Block, PlannedTrial, RunPlan
from loadstone.experiment.spec.loading import load_experiment
from loadstone.machine.placement import Placement
from loadstone.machine.ports import free_port
from loadstone.measure.ceiling import CeilingGauge
from loadstone.measure.conductor import BlockRunner
from loadstone.measure.measurement import Measurement
from loadstone.programs.clients.drivers import Drivers
from loadstone.programs.deployments import Deployments
from loadstone.run_folder.folder import RunFolder
from loadstone.run_folder.plan_summary import summarise_plan
from loadstone.run_folder.trial import CheckResult, TrialRecord
from loadstone.servers import registry
from loadstone.servers.redis import packages
from loadstone.servers.server import DeployContext

from ..fakes import FakeLive, FakeProgress
from .fake_rig import fake_rig  # noqa: F401 (a fixture)

PATIENCE_S = 60.0
READY = "Ready to accept connections"
EXPERIMENT = """\
format: 1
name: conducted
question: What becomes of the server?
factors:
  operation: {levels: [get, set]}
tables:
  - {name: all, title: All, vary: {operation: [get, set]}}
servers:
  redis: SERVER
workload:
  model: {kind: closed, users: 4, think_time_ms: 2}
  pool: {connections: 4}
  phases: {warm_up_s: 100 ms, measure_s: MEASURE, drain_s: 1 s}
  timeouts: {gone_s: 60}
  keys: {count: COUNT}
  documents: {payload_bytes: BYTES}
  operations:
    - {name: set, when: {operation: [set]}, commands: [{args: "SET {key} {value}", expect: ok}]}
    - {name: get, when: {operation: [get]}, commands: [{args: "GET {key}", expect: value}]}
  load:
    - {operation: set, when: {operation: [get]}}
design: {table_blocks: 1}
"""


@dataclass
class UsersRedis:
    """A server that is not loadstone's, on one port however often it is started."""

    folder: Path
    arguments: tuple[str, ...]
    port: int = field(default_factory=free_port)
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def client(self) -> redis.Redis:
        return redis.Redis(port=self.port, decode_responses=True)

    def start(self) -> None:
        """Start it, and return when it serves."""
        log = self.folder / "log"
        log.unlink(missing_ok=True)
        command = [str(packages.need_server()), "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]
        with log.open("w") as file:
            self.process = subprocess.Popen([*command, "--dir", str(self.folder), *self.arguments], stdout=file)
        deadline = time.monotonic() + PATIENCE_S
        while READY not in log.read_text():
            assert self.process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, "waited too long"
            time.sleep(0.01)

    def kill(self) -> None:
        """End it as kill -9 does."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()


@pytest.fixture
def users_redis(tmp_path: Path) -> Iterator[Callable[..., UsersRedis]]:
    """Starts a Redis of the user's, with these arguments."""
    with contextlib.ExitStack() as stack:

        def start(*arguments: str) -> UsersRedis:
            folder = tmp_path / "users"
            folder.mkdir()
            theirs = UsersRedis(folder, arguments)
            theirs.start()
            stack.callback(theirs.kill)
            return theirs

        yield start


def none_of(_: Interval) -> None:
    """No one looks at the intervals."""


@dataclass
class Rig:
    """One experiment's trials, run as a loop runs them."""

    conductor: BlockRunner
    servers: Deployments
    run_plan: RunPlan
    folder: RunFolder

    def planned(self, operation: str = "get") -> PlannedTrial:
        return next(trial for trial in self.run_plan.trials if trial.condition["operation"] == operation)

    def trial(self, on_interval: Callable[[Interval], None] = none_of, operation: str = "get") -> TrialRecord:
        return self.conductor.run(Block.alone(self.planned(operation)), lambda _, interval: on_interval(interval))[0]

    def recorded(self) -> list[TrialRecord]:
        """What stands in the folder."""
        lines = (self.folder.path / "trials.jsonl").read_text().splitlines()
        return [TrialRecord.model_validate_json(line) for line in lines]


def experiment_text(server: str, *, measure: str = "1 s", count: int = 100, payload: str = "100 B") -> str:
    words = {"SERVER": server, "MEASURE": measure, "COUNT": str(count), "BYTES": payload}
    text = EXPERIMENT
    for word, stands_for in words.items():
        text = text.replace(word, stands_for)
    return text


@pytest.fixture
def rig(tmp_path: Path, synthetic: object) -> Iterator[Callable[[str], Rig]]:
    """Opens the conductor of an experiment; all that it started is gone after the test."""
    (tmp_path / "work").mkdir()
    with contextlib.ExitStack() as stack:

        def open_(text: str) -> Rig:
            experiment = load_experiment(text)
            run_plan = make_run_plan(experiment, blocks=1)
            context = DeployContext(work_root=tmp_path / "work")
            servers = stack.enter_context(Deployments(registry.make_server, context))
            summary, environment = summarise_plan(run_plan), synthetic.ENVIRONMENT  # type: ignore[attr-defined]
            written = experiment.model_dump(mode="json", by_alias=True)
            folder = RunFolder.create(tmp_path / "runs", experiment.name, written, environment, summary)
            stack.callback(folder.close)
            driver = NativeDriver()
            placement = Placement((), (), shared=True, note="not placed")
            shown = FakeProgress(), FakeLive()
            measurement = Measurement(servers, Drivers(driver), placement, threading.Event(), *shown)
            conductor = BlockRunner(measurement, CeilingGauge(driver, context), folder)
            return Rig(conductor, servers, run_plan, folder)

        yield open_


def check_of(record: TrialRecord, name: str) -> CheckResult:
    return next(check for check in record.checks if check.name == name)
