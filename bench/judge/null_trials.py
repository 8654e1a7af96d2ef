"""Trials against null servers of known service times, observed, recorded and judged as those of a run."""

import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from loadstone.drivers.driver import drive_alone
from loadstone.drivers.native import NativeDriver
from loadstone.drivers.null_server import NullServerProcess
from loadstone.drivers.outcome import Interval
from loadstone.experiment.plan.drive_plan import Closed, Keys, Phases, Plan, Pool, Verify
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.operations import Operation, ServerCommand
from loadstone.experiment.plan.run_plan import PlannedTrial
from loadstone.judge.checks.checks import judge_trial
from loadstone.machine.placement import place
from loadstone.measure.ceiling import CeilingGauge
from loadstone.measure.sampler import Sampler
from loadstone.monitors.monitor import Sample
from loadstone.monitors.watch import MonitorTargets
from loadstone.run_folder.facts import Ceiling
from loadstone.run_folder.make_trial import make_trial_record
from loadstone.run_folder.observation import Observation, ObservedDrive, measure_phase
from loadstone.run_folder.trial import TrialRecord
from loadstone.servers import registry
from loadstone.servers.server import DeployContext

USERS = 4
"""Enough that a server which takes some hundred microseconds a command always has one waiting."""


class NullBench:
    """A null server for each condition, all running at once; those that are not queried sleep."""

    def __init__(self, factor: str, busy_us: Mapping[str, float], phases: Phases) -> None:
        self._factor = factor
        self._placement = place()
        self._servers = {name: NullServerProcess({"busy_us": value}) for name, value in busy_us.items()}
        self._endpoints: dict[str, Endpoint] = {}
        self._phases = phases
        self._driver = NativeDriver()
        self._gauge = CeilingGauge(self._driver, DeployContext(cpus=self._placement.server_cpus))
        self._ceiling: Ceiling | None = None

    def __enter__(self) -> Self:
        try:
            for name, server in self._servers.items():
                self._endpoints[name] = server.start(DeployContext(cpus=self._placement.server_cpus))
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._stop()

    def _stop(self) -> None:
        for server in self._servers.values():
            server.stop()

    def trial(self, name: str, block: int, order: int) -> TrialRecord:
        """Drive one trial of a condition and judge it. Raises DriveFailed."""
        plan = self._plan(name, seed=1000 * block + order)
        planned = PlannedTrial(
            name=f"{self._factor}-b{block:02d}-{order:03d}",
            condition={self._factor: name},
            block=block,
            order=order,
            servers={},
            plan=plan,
            load=None,
            group=self._factor,
        )
        record = self._driven(planned, name)
        return judge_trial(record)

    def _driven(self, planned: PlannedTrial, name: str) -> TrialRecord:
        intervals: list[Interval] = []
        samples: list[Sample] = []
        lock = threading.Lock()

        def add(some: list[Sample]) -> None:
            with lock:
                samples.extend(some)

        cpus = (*self._placement.server_cpus, *self._placement.generator_cpus)
        watch = MonitorTargets(pids=self._servers[name].pids, cpus=cpus)
        with Sampler(registry.monitors(watch), add, interval_s=self._phases.measure_s / 4) as sampler:
            sampler.now()

            def take(interval: Interval) -> None:
                if not intervals or interval.phase != intervals[-1].phase:
                    sampler.now()
                intervals.append(interval)

            drive = drive_alone(self._driver, planned.plan, take, sampler.rest)
        if self._ceiling is None:
            self._ceiling = self._gauge.measure(planned.plan)
        observation = Observation(
            ObservedDrive(planned.name, planned.plan, drive, intervals, samples),
            measure_phase(drive),
            ceiling=self._ceiling,
            placement=self._placement,
            failure=drive.stopped,
        )
        return make_trial_record(planned, observation)

    def _plan(self, name: str, seed: int) -> Plan:
        return Plan(
            seed=seed,
            endpoints=(self._endpoints[name],),
            cpus=self._placement.generator_cpus[:1],
            model=Closed(users=USERS),
            pool=Pool(connections=USERS),
            phases=self._phases,
            operations=(Operation(name="get", commands=(ServerCommand(args=("GET", "{key}")),)),),
            keys=Keys(prefix="loadstone:ab:"),
            verify=Verify(count_mismatch=False, read_back_max=0),
        )
